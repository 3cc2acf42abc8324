"""A trained model as a zip that stands alone: weights, a card with the whole way from raw rows, the
statement, and code that uses it."""

import dataclasses
import hashlib
import inspect
import io
import json
import re
import shlex
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from pillar_core import mode, store
from pillar_core.arrays import Array
from pillar_core.backbones import column_map
from pillar_core.backbones.cards import BACKBONES
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.backbones.names import address
from pillar_core.data import DATASETS, cells, encoding, recipes, uploads
from pillar_core.data.encoding import NUMBERS, TEXT, Column, Recipe
from pillar_core.data.parts import IMAGE_ENDINGS, place_of
from pillar_core.data.tables import LABEL_NAMES
from pillar_core.engine import LinearClassifier
from pillar_core.errors import MissingDependencyError, SettingError, UnsupportedError
from pillar_core.grouping import slices
from pillar_core.methods import METHODS
from pillar_core.methods.parts.deep.classifier import NetworkClassifier
from pillar_core.methods.parts.deep.networks import portable
from pillar_core.registry import toml_tables
from pillar_core.runs import receipts, use
from pillar_core.runs.curves import curves_of, page_of
from pillar_core.runs.repeated import command_of
from pillar_core.runs.run import split_of
from pillar_core.runs.statement import IN_SIGHT, NO_RELEASE, Statement, public_words, statement
from pillar_core.runs.tables import promise_json
from pillar_core.runs.versions import made_with
from pillar_core.splits import transform
from pillar_core.store import files
from pillar_core.texts import bert, encoder_of, files_of, n_bytes_of, token_vectors
from pillar_core.types import FeatureSet, Form, Guarantee, RunRecord, SemiPrivateSplit

FORMAT = "pillar-explorer-model-2"
SEEDED = (
    "this run has a known seed, so its noise is no secret; export a release run, without a seed,"
    " instead."
)
WEIGHTS, ARRAYS, CARD, SUMS = "model.safetensors", "model.npz", "model.json", "SHA256SUMS"
STATEMENT, FIELDS = "statement.txt", "statement.json"
READ_ME, USE, ONNX = "README.md", "use.py", "model.onnx"
CURVES, CURVES_PAGE = "curves.json", "curves.html"
_TEXTS: dict[str, str] = toml_tables(Path(__file__).with_name("read_me.toml"))  # type: ignore[assignment]  # texts, and no tables
_LARGE = 2**23
"""Bytes of numbers from which on to press them takes seconds; they hardly shrink."""
SAVE_ONNX = f'`pc.load_model("model.zip").save_onnx("{ONNX}")` writes it (extra `onnx`).'


def model_bytes(
    record: RunRecord,
    *,
    classes: tuple[str, ...] | None = None,
    split: SemiPrivateSplit | None = None,
    onnx: bool = False,
) -> bytes:
    """A zip with the model of a run with secret noise: weights, card, statement, a README, code
    that uses it, and the files' SHA-256.

    split: what the run was trained on, which names the classes and says how raw rows become
    features. Without it the file takes features. onnx: whether a model of images comes as
    model.onnx, too, with its backbone; where that cannot be, the README says why.

    Raises UnsupportedError: a seeded run (its noise can be subtracted), one whose ε is no bound,
    one whose settings were chosen on test rows and not paid for, one that claims to cover a choice
    made in sight of test accuracy, or a classifier of an unknown kind. SettingError: neither a
    split nor classes, or another split than the run's.
    """
    from safetensors.numpy import save

    mode.refuse("release")
    if classes is None and split is None:
        raise SettingError(
            "give the split that the run was trained on (split=), or the classes' names (classes=)."
        )
    if split is not None and split.fingerprint != record.data:
        raise SettingError(
            "this is another split than the one that the run was trained on: give that (split=)."
        )
    names = split.features.classes if classes is None and split is not None else classes or ()
    if record.seed is not None and record.guarantee.has_releases:
        raise UnsupportedError(SEEDED)
    if not record.guarantee.epsilon.is_bound:
        raise UnsupportedError(
            f"accountant {record.guarantee.accountant!r} is an approximation: this ε is no upper"
            " bound."
        )
    if record.guarantee.chosen_in_sight and record.guarantee.covers_choice is not False:
        raise UnsupportedError(
            f"this guarantee claims to cover a choice that it does not: {IN_SIGHT}. Declare it with"
            " `in_sight`."
        )
    if record.guarantee.covers_choice is False and not record.guarantee.chosen_in_sight:
        raise UnsupportedError(NO_RELEASE)
    columns = None if split is None else split.features.columns
    arrays, built = _taken_apart(record, columns)
    if "network" in built:
        record = dataclasses.replace(
            record, settings={**record.settings, "network": built["network"]["network"]}
        )
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    told = statement(record)
    card = _card(record, names, split, told) | built
    written = (
        _onnx(record, card, split)
        if onnx
        else f"There is no `{ONNX}`, as nobody asked for it: {SAVE_ONNX}"
    )
    texts = {
        CARD: json_of(card),
        FIELDS: json_of(card["deployment"]),
        STATEMENT: told.text,
        READ_ME: _read_me(record, card, split, told, written if isinstance(written, str) else ""),
        USE: _use(),
    }
    contents = {WEIGHTS: save(arrays)} | {name: text.encode() for name, text in texts.items()}
    if isinstance(written, bytes):
        contents[ONNX] = written
    if (curves := curves_of(record.classifier, columns, card["input"])) is not None:
        contents[CURVES] = json_of(curves | {"classes": card["classes"]}).encode()
        contents[CURVES_PAGE] = page_of(curves, card["classes"], card["predicts"] or "").encode()
    if "network" not in built:
        npz = io.BytesIO()
        np.savez(npz, **arrays)  # type: ignore[arg-type]  # numpy's stubs take the names for allow_pickle
        contents[ARRAYS] = npz.getvalue()
    return zip_of({**contents, **files_of(encoder_of(card["input"].get("recipe")))})


def zip_of(contents: Mapping[str, bytes]) -> bytes:
    """The zip of a model's files, with their SHA-256."""
    sums = "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in contents.items()
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**contents, SUMS: sums.encode()}.items():
            is_large = len(content) > _LARGE and name.endswith(".safetensors")
            archive.writestr(name, content, zipfile.ZIP_STORED if is_large else None)
    return buffer.getvalue()


def json_of(form: Form) -> str:
    """A form as the zip has it."""
    return json.dumps(form, indent=2, ensure_ascii=False)


def save_model(
    record: RunRecord,
    path: str | Path,
    *,
    classes: tuple[str, ...] | None = None,
    split: SemiPrivateSplit | None = None,
    onnx: bool = False,
) -> Path:
    """Writes `model_bytes` to `path` and returns it; the cache gets the training's receipt, unless
    only `classes` are known and the split is not in memory.

    split: what the run was trained on, by default the split of this process that the run was given,
    as long as that is in memory.

    Raises UnsupportedError, SettingError: as `model_bytes`. DataError, StoreError: a path that
    cannot be, or not be written; or the cache.

    >>> from tempfile import TemporaryDirectory
    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> record = pc.run("only_public", split)
    >>> with TemporaryDirectory() as folder:
    ...     pc.save_model(record, f"{folder}/model.zip").name
    'model.zip'
    """
    trained_on = split or split_of(record.classifier)
    split = trained_on if classes is None else split
    path, content = place_of(path), model_bytes(record, classes=classes, split=split, onnx=onnx)
    files.check_room(path, len(content))
    if trained_on is not None:
        receipts.account_of(trained_on.features).keep_saved(record, trained_on)
    return write_model(path, content)


def check_room(features: FeatureSet, path: str | Path | None = None) -> None:
    """Refuses, before a training on these rows spends anything, a cache or a `path` that its
    receipt and its model cannot be written to.

    A linear head of all directions with its curves counts as the model: most are smaller, and only
    networks and model.onnx are larger. Raises DataError, StoreError: a path that cannot be, or not
    be written; or the cache.
    """
    n_bytes = 2**22 + 4 * features.d * (min(features.d, len(features.x_train)) + features.n_classes)
    n_bytes += n_bytes_of(encoder_of(features.recipe))
    store.default().check_room(n_bytes)
    if path is not None:
        files.check_room(place_of(path), n_bytes)


def write_model(path: str | Path, content: bytes) -> Path:
    """Writes a model's zip, or what was made of one, to `path` and returns it.

    Raises DataError, StoreError: a path that cannot be, or not be written.
    """
    with files.writable(path := place_of(path)):
        path.write_bytes(content)
    return path


def _taken_apart(record: RunRecord, columns: ColumnMap | None) -> tuple[dict[str, Array], Form]:
    """The arrays of a classifier and of the map before it, and what the card says of how they go
    together."""
    head = record.classifier
    if isinstance(head, NetworkClassifier) and columns is not None:
        raise UnsupportedError(
            "a network behind a map of columns is not exported; train it on the columns as given."
        )
    if isinstance(head, NetworkClassifier):
        design = dataclasses.asdict(head.design) | {"network": portable(head.design.network)}
        return dict(zip(head.names, head.arrays, strict=True)), {"network": design}
    if not isinstance(head, LinearClassifier):
        raise UnsupportedError(
            f"linear heads and trained networks are exported; {record.method} is neither."
        )
    arrays = {
        name: getattr(head.transform, name)
        for name in use.PARTS
        if getattr(head.transform, name) is not None
    }
    preparation = {
        "normalise": head.transform.normalise,
        "features": int(record.facts.d),
        "dimensions": int(head.weights.shape[0]),
    }
    arrays |= {"weights": head.weights, "bias": head.bias} | (columns.arrays if columns else {})
    return arrays, {"transform": preparation}


def _card(
    record: RunRecord, classes: tuple[str, ...], split: SemiPrivateSplit | None, told: Statement
) -> Form:
    form = input_of(record, None if split is None else split.features)
    shares = {"content": "public", "fraction": "public_fraction", "per_class": "public_per_class"}
    public = (
        {name: split.settings.get(setting) for name, setting in shares.items()} if split else {}
    )
    return {
        "format": FORMAT,
        "method": record.method,
        "predicts": (form["recipe"]["label"] if "recipe" in form else None) or None,
        "classes": list(classes),
        "input": form,
        "settings": dict(record.settings),
        "guarantee": guarantee_card(record.guarantee),
        "n_private": record.facts.n_private,
        "deployment": dict(told.fields),
        "public_data": public_words(record),
        "private_set": None if split is None else _set_name(split.features.name),
        "public_set": (
            None
            if split is None
            else {"name": _set_name(split.public_name), "rows": len(split.public_x)} | public
        ),
        "versions": made_with(),
        "command": None if split is None else command_of(record, split),
        "notes": "Exact test accuracy is left out: it is a non-private release of the test rows.",
    }


def _set_name(name: str) -> str:
    """A registered set's own name, or the title of what was brought."""
    return name if name in DATASETS else uploads.title_of(name)


def input_of(record: RunRecord, features: FeatureSet | None) -> Form:
    """How raw rows become what the model takes: a table's recipe, or images' shape and backbone.
    Public, declared or a caveat."""
    head = record.classifier
    shape = (
        head.design.shape
        if isinstance(head, NetworkClassifier)
        else None
        if features is None
        else features.pixel_shape
    )
    if shape is not None:
        return {"kind": "pixels", "shape": list(shape), "range": [0, 1]}
    plain: Form = {"kind": "features", "dims": int(record.facts.d)}
    if features is None:
        return plain
    if features.given is not None:
        card = BACKBONES[features.backbone]
        made_by = {"name": card.name, "title": card.title, "version": card.version}
        before = {"dims": features.given.d}
        form = _input_of_numbers(features.given, plain | before)
        return form | {"map": made_by | {"columns": features.given.d}}
    if features.made_by and features.images is not None:
        return plain | {
            "backbone": dict(features.made_by),
            "shape": list(features.images.x_train.shape[1:]),
        }
    return _input_of_numbers(features, plain)


def _input_of_numbers(features: FeatureSet, plain: Form) -> Form:
    """How a table's rows become numbers, where its recipe or names say it; else `plain`."""
    named = Recipe("", columns=tuple(Column(name, NUMBERS, 0) for name in features.names or ()))
    recipe = (
        dataclasses.replace(
            recipes.recipe_of(features.recipe), left_out=(), person=None, rows_per_person=1
        )
        if features.recipe
        else named
    )
    if encoding.width(recipe) != features.d:
        return plain
    return {"kind": "table", "recipe": recipes.form_of(recipe)}


def _onnx(record: RunRecord, card: Form, split: SemiPrivateSplit | None) -> bytes | str:
    """The file model.onnx, or a sentence that says why there is none."""
    from pillar_core.runs.onnx_file import onnx_bytes

    backbone = split and split.features.backbone
    weights = address(backbone).weights if backbone else None
    try:
        return onnx_bytes(record.classifier, card["input"], weights)  # type: ignore[arg-type]
    except MissingDependencyError as refusal:
        return f"There is no `{ONNX}`: {refusal} Then {SAVE_ONNX}"
    except UnsupportedError as refusal:
        return f"There is no `{ONNX}`: {refusal}."


def _use() -> str:
    """`use.py` with the few lines of the library that it imports in their place."""
    source = Path(use.__file__).read_text(encoding="utf-8")
    maps, body, means, sentences = (
        (start + Path(str(module.__file__)).read_text(encoding="utf-8").partition(start)[2])
        for module, start in (
            (column_map, "ROWS_AT_ONCE"),
            (transform, "CHUNK_ROWS"),
            (token_vectors, "LONGEST"),
            (bert, "MOST_TOKENS"),
        )
    )
    imports = "import dataclasses\nimport math\nfrom collections.abc import Iterator\n\n"
    names = "Array, DataError = np.ndarray, ValueError\n\n\n"
    maps = f"{imports}{names}{inspect.getsource(slices)}\n\n{maps}"
    gaps = "".join(
        f"{name} = frozenset({sorted(getattr(cells, name))!r})\n"
        for name in ("GAPS", "GAPS_OF_WORDS")
    )
    for name in ("NUMBER", "POINT", "COMMA", *cells.bare_number.__code__.co_names):
        if isinstance(pattern := getattr(cells, name, None), re.Pattern):
            gaps += f"{name} = re.compile({pattern.pattern!r})\n"
    for function in (cells.bare_number, cells.readings, cells.with_commas):
        gaps += f"\n\n{inspect.getsource(function)}\n\n"
    for imported, place in {
        "backbones.column_map import ColumnMap": maps,
        "data.cells import COMMA, GAPS, GAPS_OF_WORDS, NUMBER, POINT, readings, with_commas": gaps,
        "data.parts import IMAGE_ENDINGS": f"IMAGE_ENDINGS = {IMAGE_ENDINGS!r}\n",
        "data.tables import LABEL_NAMES": f"LABEL_NAMES = {LABEL_NAMES!r}\n",
        "errors import DataError": "",
        "splits.transform import Transform": body,
        "texts.bert import Bert": "import unicodedata\n\n" + sentences,
        "texts.token_vectors import TokenVectors": "import heapq\n\n" + means,
    }.items():
        source = source.replace(f"from pillar_core.{imported}\n", place)
    return source


def _read_me(
    record: RunRecord, card: Form, split: SemiPrivateSplit | None, told: Statement, no_onnx: str
) -> str:
    """The model card: what it tells apart, what it promises, how it was set, how to use it.
    no_onnx: why there is no model.onnx."""
    form, classes, learner = card["input"], card["classes"], METHODS[record.method]
    backbone = f" of {form['backbone']['name']}" if "backbone" in form else ""
    if "map" in form:
        backbone = (
            f" that the map of columns {form['map']['name']} makes of {form['map']['columns']:,}"
        )
    return _front_matter(record, card, split) + _TEXTS["whole"].format(
        title=learner.title,
        n_classes=len(classes),
        kind="A network on images of" if "network" in card else "A linear head on",
        width=record.facts.d,
        unit="pixels in [0, 1]" if form["kind"] == "pixels" else f"features{backbone}",
        predicted=f"predicts `{card['predicts']}`, one of" if card["predicts"] else "tells apart",
        classes=json.dumps(classes, ensure_ascii=False),
        idea=learner.idea,
        statement=in_paragraphs(told.text),
        settings="\n".join(f"- `{name}`: {value}" for name, value in record.settings.items()),
        rows=_rows_in_words(form),
        alone=_alone(card, no_onnx),
        again="" if split is None else _again(record, split),
    )


def in_paragraphs(statement: str) -> str:
    """A statement as the README has it."""
    return statement.replace("\n", "\n\n")


def _again(record: RunRecord, split: SemiPrivateSplit) -> str:
    """How to train it once more."""
    command = command_of(record, split)
    files = [f"`{word}`" for word in shlex.split(command) if word.endswith(".npz")]
    saved = (
        f" It reads {' and '.join(files)}, which the page Rows saves, or your own file in its"
        " place."
        if files
        else ""
    )
    return _TEXTS["again"].format(saved=saved, command=command)


def _front_matter(record: RunRecord, card: Form, split: SemiPrivateSplit | None) -> str:
    """What hubs of models file; no metric, because test accuracy is private. The licence is for the
    owner to name."""
    guarantee, form = card["guarantee"], card["input"]
    names = () if split is None else (split.features.name, split.public_name or "")
    rows = "image" if form["kind"] == "pixels" or "backbone" in form else _of_table(form)
    fields = {
        "license": "unknown",
        "library_name": "pillar-explorer",
        "pipeline_tag": f"{rows}-classification",
        "tags": ["differential-privacy", record.method],
        "datasets": [name.removeprefix("hub:") for name in names if name.startswith("hub:")],
        "metrics": [],
        "privacy": {
            name.removeprefix("privacy_"): guarantee[name]
            for name in ("epsilon", "delta", "privacy_unit", "relation")
        },
    }
    return (
        "---\n"
        + "".join(
            f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items()
        )
        + "---\n\n"
    )


def kinds_of(form: Form) -> set[str]:
    """The kinds of a table's columns; none where rows are no table."""
    return {column["kind"] for column in form.get("recipe", {"columns": ()})["columns"]}


def _of_table(form: Form) -> str:
    return "text" if kinds_of(form) == {TEXT} else "tabular"


def _rows_in_words(form: Form) -> str:
    if _of_table(form) == "text":
        return (
            "a list of texts, a file with one a line, or a table with the column"
            f" {form['recipe']['columns'][0]['name']!r}"
        )
    if form["kind"] == "table":
        return (
            "a table or DataFrame with the columns"
            f" {json.dumps([column['name'] for column in form['recipe']['columns']])}"
        )
    if form["kind"] == "pixels" or "backbone" in form:
        return (
            "a folder or zip of images, or uint8"
            f" arrays{' (backbone ' + form['backbone']['name'] + ')' if 'backbone' in form else ''}"
        )
    return f"(n, {form['dims']}) features, prepared as the training rows were"


def _alone(card: Form, no_onnx: str) -> str:
    """How the files of the zip are used without the library."""
    form, shape = card["input"], card["input"].get("shape")
    if TEXT in kinds_of(form):
        encoder = encoder_of(form["recipe"]) or {}
        more = ("numbers", "tokens") if n_bytes_of(encoder) else ("texts", "lines")
        words = "".join(_TEXTS[name] for name in ("desk", "use", *more))
        column = recipes.recipe_of(form["recipe"]).text
        lines = use.FEATURES.format(rows="new.csv")
        return words.format(column=column, lines=lines, encoder=encoder.get("name"))
    if shape is None:
        return _TEXTS["use"] + _TEXTS["numbers"]
    facts: Form = {
        "shape": ", ".join(map(str, shape)),
        "size": f"{shape[0]} × {shape[1]}",
        "inside": "",
        "files": _TEXTS["files"],
        "n_classes": len(card["classes"]),
        "no_onnx": no_onnx,
        "lines": use.FEATURES.format(rows="a folder of images"),
        "colour": "RGB" if len(shape) == 3 else "grey (L)",
    }
    if form["kind"] == "pixels" and "network" not in card:
        names = ("use", "pixels", *(() if no_onnx else ("onnx",)))
    elif no_onnx:
        names = ("later", *(() if "network" in card else ("features", "lines")))
    else:
        names = ("use", "network", "onnx")
    if "backbone" in form and not no_onnx:
        backbone = BACKBONES[form["backbone"]["name"]]
        facts["inside"] = f" The backbone is inside: {backbone.title}, licence {backbone.licence}."
    return (
        _prepared(form, facts)
        + "".join(_TEXTS[name].format(**facts) for name in names)
        + (f"\n\n{no_onnx}" if names == ("use", "pixels") else "")
    )


def _prepared(form: Form, facts: Form) -> str:
    """How images become features: what is done to each, and the backbone; "" for pixels."""
    if "backbone" not in form:
        return ""
    made_by = form["backbone"]
    card = BACKBONES[name] if (name := made_by["name"]) in BACKBONES else None
    named = (
        {"title": card.title, "licence": card.licence}
        if card
        else {"title": "from a file of yours", "licence": "yours to know"}
    )
    weights = (
        f"SHA-256 of its weights {made_by['sha256']}" if made_by["sha256"] else "without weights"
    )
    return _TEXTS["photos"].format(
        **facts, **named, name=name, version=made_by["version"], weights=weights, width=form["dims"]
    )


def guarantee_card(guarantee: Guarantee) -> Form:
    """The guarantee in words and numbers; an infinite ε is the string "inf"."""
    upper = guarantee.epsilon.upper
    return {
        "epsilon": upper if np.isfinite(upper) else "inf",
        **promise_json(guarantee),
        "covers_choice": guarantee.covers_choice,
        "paid_choice": guarantee.paid_choice,
        "chosen_in_sight": guarantee.chosen_in_sight,
        "privacy_unit": str(guarantee.unit),
    }
