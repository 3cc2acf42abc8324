"""Exported models, read and applied: to a table by its columns' names, to images, to features, as
the file's card says."""

import contextlib
import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.backbones import extract
from pillar_core.backbones.cards import BACKBONES, identity_of
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.data import encoding, frames, raw, recipes
from pillar_core.data.encoding import TEXT
from pillar_core.data.images.loading import load_unlabelled
from pillar_core.data.npz import UNREADABLE
from pillar_core.data.parts import place_of
from pillar_core.data.reading import array_of, read_rows
from pillar_core.data.wording import join
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, SettingError, shown
from pillar_core.methods.parts.deep.classifier import Design, NetworkClassifier
from pillar_core.methods.parts.deep.networks import portable
from pillar_core.runs import statement, use
from pillar_core.runs.models import (
    CARD,
    FIELDS,
    FORMAT,
    READ_ME,
    STATEMENT,
    SUMS,
    WEIGHTS,
    in_paragraphs,
    json_of,
    kinds_of,
    write_model,
    zip_of,
)
from pillar_core.runs.private_tests import PrivateTest, model_of, stated
from pillar_core.runs.statement import Statement
from pillar_core.splits import Transform
from pillar_core.types import Dataset, Form

LARGE, LARGE_TEXTS = 2**27, 2**22
"""Bytes of a csv, and of one with texts, whose numbers are larger, beyond which it is not read at
once."""


class Model:
    """A loaded model: `predict` gives labels, `predict_proba` probabilities, `classes` their names,
    `card` what it promises.

    Rows are a DataFrame, the path of a table, npz, npy, folder or zip of images, an array, or a
    list of texts; `notes` say what was understood of the last ones. `weights`: a local file for the
    backbone of the model's features, where that needs one.
    """

    def __init__(self, classifier: LinearClassifier | NetworkClassifier, card: Form) -> None:
        self.classifier = classifier
        self.card = card
        self.classes: tuple[str, ...] = tuple(card["classes"])
        self.notes: tuple[str, ...] = ()
        self.weights: str | Path | None = None

    def predict(self, rows: Any) -> Array:
        """(n,) int64 labels of rows: of a table by its columns' names, else (n, d) numbers in the
        features that the model was trained on.

        Raises DataError, SettingError: no such rows: columns that are absent, by name, another
        dimension, NaN, pixels out of range.
        """
        return np.concatenate([p.argmax(axis=1) for p in self.blocks(rows)])

    def predict_proba(self, rows: Any) -> Array:
        """(n, C) float64: the softmax of the classes' scores, no measured frequencies. Raises as
        `predict`."""
        return np.concatenate(list(self.blocks(rows)))

    def blocks(self, rows: Any) -> Iterator[Array]:
        """`predict_proba`, some thousand rows at a time; of a table that `is_large` no more is in
        memory."""
        if self.is_large(rows):
            return map(self._probabilities, self._streamed(place_of(rows)))
        x = self.features(rows)
        pieces = (x[start : start + use.AT_ONCE] for start in range(0, len(x), use.AT_ONCE))
        return map(self._probabilities, pieces)

    def is_large(self, rows: Any) -> bool:
        """Whether rows are a csv that is read piece by piece: without texts as `use.py` reads it,
        plain numbers and no decimal comma."""
        form = self.card["input"]
        if not isinstance(rows, str | Path) or form.get("kind") != "table":
            return False
        has_texts, place = TEXT in kinds_of(form), place_of(rows)
        endings = frames.TEXTS if has_texts else (".csv", ".tsv", ".txt")
        least = LARGE_TEXTS if has_texts else LARGE
        return (
            frames.ending_of(place) in endings and place.is_file() and place.stat().st_size > least
        )

    def _streamed(self, place: Path) -> Iterator[Array]:
        self.notes, counts = (), Counter[tuple[str, str]]()
        if TEXT in kinds_of(self.card["input"]):
            recipe = recipes.recipe_of(self.card["input"]["recipe"])
            text, names = str(recipe.text), None
            for piece in frames.pieces_of(place, frames.ending_of(place), as_written=(text,)):
                names = names or dict(
                    zip(piece.columns, encoding.with_text_column(piece, text).columns, strict=True)
                )
                x, self.notes = raw.new_rows(piece.rename(columns=names), recipe, counts)
                yield x
            return
        yield from use.read(place, self.card["input"], self.classifier.width)

    def _probabilities(self, x: Array) -> Array:
        head = self.classifier
        if isinstance(head, LinearClassifier):
            return use.probabilities(use.scores(head.transform, head.weights, head.bias, x))
        return use.probabilities(head.scores(x).astype(np.float64))

    def save_onnx(self, path: str | Path) -> Path:
        """Writes a model of images as ONNX, images to probabilities with the backbone inside, to
        `path` and returns it.

        Raises UnsupportedError: a model of other rows, or a backbone that cannot be written so.
        MissingDependencyError: no extra `onnx`.
        """
        from pillar_core.runs.onnx_file import onnx_bytes

        return write_model(path, onnx_bytes(self.classifier, self.card["input"], self.weights))

    def features(self, rows: Any) -> Array:
        """(n, d) float32 rows as the classifier takes them, from what `predict` takes. Raises as
        `predict`."""
        form, self.notes = self.card["input"], ()
        x = self._read(rows, form)
        if form["kind"] == "pixels":
            x, note = use.pixels(np.asarray(x), form["shape"])
            self.notes += (note,) * bool(note)
        elif "backbone" in form and np.ndim(x) > 2:
            x = self._features(np.asarray(x), form["backbone"], form["shape"])
        x = checks.arrays("n d", x=x)[0].astype(np.float32, copy=False)
        width = self.classifier.width
        if x.shape[1] != width or not len(x):
            raise DataError(f"rows must have shape (n, {width}); got {x.shape}.")
        if not np.isfinite(x).all():
            raise DataError("rows to predict hold NaN or infinite values.")
        return x

    def _read(self, rows: Any, form: Form) -> Any:
        """What a path, a frame or an array holds, before pixels are scaled."""
        rows = frames.of_texts(rows) if form["kind"] == "table" and frames.are_texts(rows) else rows
        is_frame = frames.is_frame(rows)
        if not is_frame and not isinstance(rows, str | Path):
            return rows
        place = rows if is_frame else place_of(rows)
        if not is_frame and (place.is_dir() or place.suffix.lower() == ".zip"):
            if form["kind"] != "pixels" and "backbone" not in form:
                raise DataError(
                    f"{place} holds images, and the model takes {form['kind']}: it was trained on"
                    " no images."
                )
            x, notes = load_unlabelled(place, form["shape"])
        elif form["kind"] == "table" and (is_frame or raw.is_table(place)):
            x, notes = raw.new_rows(rows, recipes.recipe_of(form["recipe"]))
        elif not is_frame and place.suffix.lower() == ".npy":
            x, notes = array_of(place), ()
        else:
            x, notes = read_rows(rows), ()
        self.notes += tuple(notes)
        return x

    def _features(self, images: Array, made_by: Form, shape: list[int]) -> Array:
        """The features of images, through the same backbone with the same weights."""
        name = made_by["name"]
        lines = (
            f"Make features yourself: pc.load_features(images, {name!r}, weights=FILE).x_train,"
            " which predict takes."
        )
        if name not in BACKBONES or BACKBONES[name].is_own_file:
            raise DataError(
                f"the model's features come from the backbone {name}, which is not here. {lines}"
            )
        try:
            weights_here = identity_of(name, self.weights)
        except SettingError as refusal:
            raise DataError(
                f"{refusal} Name the file: `model.weights = FILE`, or --weights FILE."
            ) from refusal
        if weights_here != made_by:
            raise DataError(
                f"the weights of the backbone {name} are others here than those that the model was"
                f" trained with. {lines}"
            )
        if images.dtype != np.uint8 or list(images.shape[1:]) != shape:
            raise DataError(
                f"images must be uint8 of shape {('n', *shape)}, or files in a folder; got"
                f" {images.dtype} {images.shape}."
            )
        x, _, notes = extract(Dataset("rows", images, None), backbone=name, weights=self.weights)
        self.notes += notes
        return x


def load_model(path: Any) -> Model:
    """The model in the file that `save_model` or the app's download made.

    Raises DataError: not such a file, damaged, or of another format.

    >>> from tempfile import TemporaryDirectory
    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> record = pc.run("pillar", split, epsilon=2.0, seed=None)
    >>> with TemporaryDirectory() as folder:
    ...     model = pc.load_model(pc.save_model(record, f"{folder}/model.zip"))
    >>> model.predict(split.features.x_test[:2]).shape
    (2,)
    """
    from safetensors.numpy import load

    if not isinstance(path, str | Path) and not hasattr(path, "read"):
        raise DataError(f"path must be that of a model's zip, or an open file; got {shown(path)}.")
    with reading(path) as (archive, card):
        if changed := changed_files(archive, card):
            raise ValueError(f"{'; '.join(changed)}. Download it again")
        return _model(load(archive.read(WEIGHTS)), card)


def with_tests(
    source: Any, tests: Sequence[PrivateTest], *, has_coin: bool | str, is_shown: bool
) -> bytes:
    """The zip of a model, its statement naming private tests of its test rows. Arguments as
    `private_tests.stated`.

    Raises DataError: no model's zip.
    """
    model = model_of(load_model(source).classifier)
    with reading(source) as (archive, card):
        files = {name: archive.read(name) for name in archive.namelist() if name != SUMS}
        before = Statement(files[STATEMENT].decode(), card["deployment"])
    lines, fields = stated(tests, model, card["guarantee"], has_coin=has_coin, is_shown=is_shown)
    after = statement.with_tests(before, lines, fields)
    card["guarantee"]["assumptions"] = after.fields["assumptions"]
    card["deployment"] = after.fields
    read_me = files[READ_ME].decode()
    texts = {
        CARD: json_of(card),
        FIELDS: json_of(card["deployment"]),
        STATEMENT: after.text,
        READ_ME: read_me.replace(in_paragraphs(before.text), in_paragraphs(after.text)),
    }
    return zip_of(files | {name: text.encode() for name, text in texts.items()})


def states(source: Any) -> tuple[dict[str, str], tuple[str, ...], list[str]]:
    """(what a model's zip states of itself by name, its assumptions, what is missing, added or
    changed in it); nothing of it is verified.

    Raises DataError: no model's zip.
    """
    with reading(source) as (archive, card):
        filed = {
            name.replace("_", " "): value
            for name, value in dict(card["deployment"]).items()
            if name != "assumptions"
        }
        facts = {
            "predicts": card.get("predicts") or "a label",
            "classes": card["classes"],
            "learner": card["method"],
        } | filed
        facts["private examples"] = card["n_private"]
        words = {
            name: join(value) if isinstance(value, list) else str(value)
            for name, value in facts.items()
        }
        return (
            words,
            tuple(map(str, card["guarantee"]["assumptions"])),
            changed_files(archive, card),
        )


@contextlib.contextmanager
def reading(source: Any) -> Iterator[tuple[zipfile.ZipFile, Form]]:
    """A model's zip and its card; whatever shows that it is none becomes a DataError."""
    from safetensors import SafetensorError

    try:
        with zipfile.ZipFile(source) as archive:
            card = json.loads(archive.read(CARD))
            if not isinstance(card, dict) or card.get("format") != FORMAT:
                raise ValueError(f"this version reads the format {FORMAT!r}")
            yield archive, card
    except FileNotFoundError as cause:
        raise DataError(f"there is no file {source}: check the path.") from cause
    except (*UNREADABLE, SafetensorError) as cause:
        if isinstance(cause, DataError):
            raise
        raise DataError(
            f"{getattr(source, 'name', source)} is no model of the PILLAR explorer: {cause}."
        ) from cause


def changed_files(archive: zipfile.ZipFile, card: Form) -> list[str]:
    """What is missing, added or changed in a model's zip, in words."""
    names = [name for name in archive.namelist() if not name.endswith("/")]
    sums = dict(line.split("  ", 1)[::-1] for line in archive.read(SUMS).decode().splitlines())
    changed = [
        f"{name} is missing"
        for name in (CARD, WEIGHTS, *sums)
        if name not in sums or name not in names
    ]
    changed += [
        f"{name} was added" for name in names if name not in (*sums, SUMS) or names.count(name) > 1
    ]
    present = [name for name in sums if name in names]
    return changed + [
        f"{name} was changed"
        for name in present
        if hashlib.sha256(archive.read(name)).hexdigest() != sums[name]
    ]


def _network(arrays: dict[str, Array], card: Form) -> NetworkClassifier:
    """The network that a card describes; only names, sizes and numbers are taken from the file, and
    no other file is opened."""
    design = card["network"]
    words = {"network": portable(str(design["network"])), "layers": str(design["layers"])}
    built = Design(**{**design, **words, "shape": tuple(map(int, design["shape"]))})
    if built.n_classes != len(card["classes"]):
        raise ValueError("its card does not fit its arrays")
    classifier = NetworkClassifier(built, tuple(arrays), tuple(arrays.values()))
    classifier.predict(
        np.zeros((1, classifier.width), dtype=np.float32)
    )  # refuses arrays of another network
    return classifier


def _model(arrays: dict[str, Array], card: Form) -> Model:
    if "network" in card:
        return Model(_network(arrays, card), card)
    d = "d" if "projection" in arrays else "k"
    axes = {"weights": "k c", "bias": "c", "projection": "d k", "mean": d, "scale": d}
    present = {name: arrays[name] for name in axes if name not in use.PARTS or name in arrays}
    checks.arrays(", ".join(axes[name] for name in present), **present)
    mean, scale, projection = (arrays.get(name) for name in use.PARTS)
    head = LinearClassifier(
        Transform(mean, scale, projection, card["transform"]["normalise"], _columns(arrays, card)),
        arrays["weights"],
        arrays["bias"],
    )
    if not all(isinstance(name, str) for name in card["classes"]):
        raise ValueError("its card names classes that are no words")
    if _width(card["input"]) != head.width or len(card["classes"]) != len(head.bias):
        raise ValueError("what its card says of rows and classes does not fit its weights")
    return Model(head, card)


def _columns(arrays: dict[str, Array], card: Form) -> ColumnMap | None:
    """The map of columns that the card names. Raises ValueError: arrays that are none."""
    columns = ColumnMap.of_arrays(arrays, int(card["input"].get("map", {"columns": 0})["columns"]))
    if (columns is None) != ("map" not in card["input"]):
        raise ValueError("its card and its arrays differ on the map of columns")
    if columns is not None:
        columns(np.zeros((1, columns.d), dtype=np.float32))  # refuses arrays of another map
    return columns


def _width(form: Form) -> int:
    """How many numbers a row has, by the card."""
    if form["kind"] == "table":
        return encoding.width(recipes.recipe_of(form["recipe"]))
    return int(np.prod(form["shape"]) if form["kind"] == "pixels" else form["dims"])
