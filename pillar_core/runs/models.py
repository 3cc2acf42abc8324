"""A trained model as a zip: safetensors with its arrays (a head with its public transform, or a network), JSON with guarantee and card."""

import dataclasses
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import checks, mode
from pillar_core.arrays import Array
from pillar_core.data.npz import UNREADABLE
from pillar_core.data.parts import place_of
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, StoreError, UnsupportedError
from pillar_core.methods import METHODS
from pillar_core.methods.parts.deep.classifier import Design, NetworkClassifier
from pillar_core.methods.parts.deep.networks import portable
from pillar_core.runs.statement import IN_SIGHT, statement
from pillar_core.splits import Transform
from pillar_core.types import Guarantee, RunRecord

FORMAT = "pillar-explorer-model-1"
WEIGHTS, CARD = "model.safetensors", "model.json"
STATEMENT = "statement.txt"
READ_ME, USE = "README.md", "use.py"
USE_CODE = """import pillar_core as pc

model = pc.load_model("{name}")  # this zip
labels = model.predict(rows)  # (n, {d}) numbers, prepared as the training rows were
names = [model.classes[label] for label in labels]
"""
PARTS = ("mean", "scale", "projection")
UNPAID = "settings were chosen on test rows and unpaid: ε covers one run and not the choice, so this number is not differentially private"
PAID_WAYS = "random stopping"
NO_RELEASE = f"this run is no release: {UNPAID}. Choose the settings by rules or pay: {PAID_WAYS}."


def model_bytes(record: RunRecord, *, classes: tuple[str, ...]) -> bytes:
    """A zip of `model.safetensors`, `model.json`, the statement to sign, a model card and code that uses it, of a run with secret noise.

    Raises:
        UnsupportedError: a seeded run (its noise can be subtracted), one whose ε is no bound, one whose settings were chosen on test
            rows and not paid for, one that claims to cover a choice made in sight of test accuracy, or a classifier of an unknown kind.
    """
    from safetensors.numpy import save

    mode.refuse("release")
    if record.seed is not None and record.guarantee.has_releases:
        raise UnsupportedError("this run has a known seed, so its noise is no secret; train a release run (seed=None) and export that.")
    if not record.guarantee.epsilon.is_bound:
        raise UnsupportedError(f"accountant {record.guarantee.accountant!r} is an approximation: this ε is no upper bound.")
    if record.guarantee.chosen_in_sight and record.guarantee.covers_choice is not False:
        raise UnsupportedError(f"this guarantee claims to cover a choice that it does not: {IN_SIGHT}. Declare it with `in_sight`.")
    if record.guarantee.covers_choice is False and not record.guarantee.chosen_in_sight:
        raise UnsupportedError(NO_RELEASE)
    arrays, built = _taken_apart(record)
    if "network" in built:
        record = dataclasses.replace(record, settings={**record.settings, "network": built["network"]["network"]})
    weights = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(WEIGHTS, weights)
        archive.writestr(CARD, json.dumps(_card(record, classes) | built, indent=2, ensure_ascii=False))
        archive.writestr(STATEMENT, statement(record).text)
        archive.writestr(READ_ME, _read_me(record, classes))
        archive.writestr(USE, USE_CODE.format(name="model.zip", d=record.facts.d))
    return buffer.getvalue()


def in_sight(record: RunRecord, what: str = IN_SIGHT) -> RunRecord:
    """The record, its guarantee declared to cover the training alone; `what` was in sight when its settings were moved.

    Raises:
        UnsupportedError: a run that no declaration makes a release, because settings were picked as the best on test rows.
    """
    declared = record.guarantee
    if declared.covers_choice is False:
        raise UnsupportedError(NO_RELEASE)
    guarantee = dataclasses.replace(declared, covers_choice=False, chosen_in_sight=True, assumptions=(*declared.assumptions, what))
    return dataclasses.replace(record, guarantee=guarantee)


def save_model(record: RunRecord, path: str | Path, *, classes: tuple[str, ...]) -> Path:
    """Writes `model_bytes` to `path` and returns it.

    Raises:
        UnsupportedError: as `model_bytes`. DataError, StoreError: a path that cannot be, or not be written.
    """
    path, content = place_of(path), model_bytes(record, classes=classes)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StoreError(f"the model could not be written to {path} ({error.strerror}); name a file in a folder of your own.") from error
    return path


class Model:
    """A loaded model: predict(x) gives labels, `classes` their names, `card` what it promises."""

    def __init__(self, classifier: LinearClassifier | NetworkClassifier, card: dict[str, Any]) -> None:
        self.classifier = classifier
        self.card = card
        self.classes: tuple[str, ...] = tuple(card["classes"])

    def predict(self, x: Array) -> Array:
        """(n,) int64 labels of rows x (n, d), in the features that the model was trained on: of a network, pixels in [0, 1].

        Raises:
            DataError, SettingError: no array of numbers, rows of another dimension, or NaN.
        """
        x = checks.arrays("n d", x=x)[0].astype(np.float32, copy=False)
        width = self.classifier.width
        if x.shape[1] != width:
            raise DataError(f"rows must have shape (n, {width}); got {x.shape}.")
        if not np.isfinite(x).all():
            raise DataError("rows to predict hold NaN or infinite values.")
        return self.classifier.predict(x)


def load_model(path: str | Path) -> Model:
    """The model in the file that `save_model` or the app's download made.

    Raises:
        DataError: not such a file, damaged, or of another format.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with zipfile.ZipFile(path) as archive:
            arrays, card = load(archive.read(WEIGHTS)), json.loads(archive.read(CARD))
        if not isinstance(card, dict) or card.get("format") != FORMAT:
            raise ValueError(f"this version reads the format {FORMAT!r}")
        return _model(arrays, card)
    except (*UNREADABLE, SafetensorError) as cause:
        if isinstance(cause, DataError):
            raise
        raise DataError(f"{path} is no model of the PILLAR explorer: {cause}.") from cause


def _taken_apart(record: RunRecord) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays of a classifier, and what the card says of how they go together."""
    head = record.classifier
    if isinstance(head, NetworkClassifier):
        design = dataclasses.asdict(head.design) | {"network": portable(head.design.network)}
        return dict(zip(head.names, head.arrays, strict=True)), {"network": design}
    if not isinstance(head, LinearClassifier):
        raise UnsupportedError(f"linear heads and trained networks are exported; {record.method} is neither.")
    arrays = {name: getattr(head.transform, name) for name in PARTS if getattr(head.transform, name) is not None}
    size = {"features": int(record.facts.d), "dimensions": int(head.weights.shape[0])}
    return arrays | {"weights": head.weights, "bias": head.bias}, {"transform": {"normalise": head.transform.normalise, **size}}


def _network(arrays: dict[str, Array], card: dict[str, Any]) -> NetworkClassifier:
    """The network that a card describes; only names, sizes and numbers are taken from the file, and no other file is opened."""
    design = card["network"]
    words = {"network": portable(str(design["network"])), "layers": str(design["layers"])}
    built = Design(**{**design, **words, "shape": tuple(map(int, design["shape"]))})
    if built.n_classes != len(card["classes"]):
        raise ValueError("its card does not fit its arrays")
    classifier = NetworkClassifier(built, tuple(arrays), tuple(arrays.values()))
    classifier.predict(np.zeros((1, classifier.width), dtype=np.float32))  # refuses arrays of another network
    return classifier


def _model(arrays: dict[str, Array], card: dict[str, Any]) -> Model:
    if "network" in card:
        return Model(_network(arrays, card), card)
    d = "d" if "projection" in arrays else "k"
    axes = {"weights": "k c", "bias": "c", "projection": "d k", "mean": d, "scale": d}
    present = {name: arrays[name] for name in axes if name not in PARTS or name in arrays}
    checks.arrays(", ".join(axes[name] for name in present), **present)
    classes, made = card["classes"], card["transform"]
    if not isinstance(classes, list) or not all(isinstance(one, str) for one in classes) or len(classes) < len(arrays["bias"]):
        raise ValueError("its card names no class for each column of its weights")
    if not isinstance(made, dict) or not isinstance(made["normalise"], bool):
        raise ValueError("its card does not say how rows are prepared")
    mean, scale, projection = (arrays.get(name) for name in PARTS)
    transform = Transform(mean, scale, projection, made["normalise"])
    return Model(LinearClassifier(transform, arrays["weights"], arrays["bias"]), card)


def _card(record: RunRecord, classes: tuple[str, ...]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "method": record.method,
        "classes": list(classes),
        "settings": dict(record.settings),
        "guarantee": guarantee_card(record.guarantee),
        "n_private": record.facts.n_private,
        "deployment": dict(statement(record).fields),
        "public_data": METHODS[record.method].public_words(record.settings),
        "notes": "Test accuracy is left out: it is a non-private release of the test rows.",
    }


def _read_me(record: RunRecord, classes: tuple[str, ...]) -> str:
    """The model card: what it is, what it tells apart, what it promises, how it was set, how to use it."""
    settings = "\n".join(f"- `{name}`: {value}" for name, value in record.settings.items())
    kind = "A network on images of" if isinstance(record.classifier, NetworkClassifier) else "A linear head on"
    unit = "pixels in [0, 1]" if isinstance(record.classifier, NetworkClassifier) else "features"
    return (
        f"# {METHODS[record.method].title}, {len(classes)} classes\n\n{kind} {record.facts.d:,} {unit} that tells apart:\n\n"
        f"```json\n{json.dumps(classes, ensure_ascii=False)}\n```\n\nRows must be prepared as the training rows were.\n\n"
        f"## Guarantee\n\n{statement(record).text}\n\n"
        f"## Settings\n\n{settings}\n\n## Use\n\n```python\n{USE_CODE.format(name='model.zip', d=record.facts.d)}```\n\n"
        "Or `python -m pillar_core predict model.zip features.npz --output labels.csv`.\n\n"
        "Test accuracy is left out: it is a non-private release of the test rows.\n"
    )


def guarantee_card(guarantee: Guarantee) -> dict[str, Any]:
    """The guarantee in words and numbers; an infinite ε is the string "inf"."""
    upper = guarantee.epsilon.upper
    return {
        "epsilon": upper if np.isfinite(upper) else "inf",
        "delta": guarantee.delta,
        "relation": str(guarantee.relation),
        "accountant": guarantee.accountant,
        "assumptions": list(guarantee.assumptions),
        "events": list(guarantee.events),
        "covers_choice": guarantee.covers_choice,
        "paid_choice": guarantee.paid_choice,
        "chosen_in_sight": guarantee.chosen_in_sight,
        "privacy_unit": str(guarantee.unit),
    }
