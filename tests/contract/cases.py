"""A small case for every learner: a hundred rows, three classes, a few noisy steps."""

import dataclasses
from typing import Any

import numpy as np
import torch

from contract.checks import Case
from pillar_core import params, rng, split
from pillar_core.ledger import Ledger
from pillar_core.methods import Method
from pillar_core.runs.run import solve
from pillar_core.splits import split_features, view_of
from pillar_core.types import Dataset, FeatureSet, SemiPrivateSplit

SMALL = {
    "steps": 3,
    "k": 4,
    "noise_multiplier": 1.0,
    "learning_rate": 0.5,
    "batch_size": None,
    "choice_epsilon": 20.0,
    "noise_scale": 60.0,
}
SMALL |= {"l2_clip_norm": 0.3}
"""Below every row's gradient norm at the start, so that clips bind."""
VOTING = {"queries": 40, "teachers": 40, "neighbours": 7, "pca_noise_multiplier": 1.0}
"""All 40 public rows are asked, so that a neighbour that copies one of them is seen."""
SIZES = (
    "steps",
    "batch_size",
    "k",
    "anchors",
    "teachers",
    "queries",
    "neighbours",
    "answers",
    "public_steps",
    "l2_clip_norm",
)
"""Settings that presets fix at sizes that the small case has not."""
ROWS = ("standardise", "centre", "normalise")
UNFIT = {"text"}
"""A start from class names needs their embeddings, which the small case has not."""
PROBABILITY = 0.3
PRINTED = {
    "variant": "as_printed",
    "noise_multiplier": 20.0,
    "steps": None,
    "runs_delta": 1e-5,
    "failure_probability": 0.5,
    "k": 2,
}
"""Noisy SGD as printed takes n² steps in Python for each class: on few rows."""
BOOLEAN = ("disjunction",)
"""Learners that refuse anything but boolean features of two classes."""
SHORT = {"steps": 2, "copies": 2}
IMAGES = {
    "second_phase": SHORT | {"public_epochs": 1},
    "private_fine_tuning": SHORT,
    "from_scratch": SHORT,
}
"""Learners that train a network on pixels, and what keeps their fits short."""


def small_split(
    *, n: int = 160, d: int = 8, n_classes: int = 3, seed: int = 0, unit: float = 1.0
) -> SemiPrivateSplit:
    """Three noisy clusters in numbers of size `unit`; a quarter of the rows public and labelled."""
    generator = rng.stream(seed, "contract case")
    means = 2.0 * generator.standard_normal((n_classes, d))
    y = np.arange(n) % n_classes
    x = (unit * (means[y] + generator.standard_normal((n, d)))).astype(np.float32)
    classes = tuple(f"class {label}" for label in range(n_classes))
    return split_features(
        FeatureSet(x, y, x[:50] + np.float32(0.1 * unit), y[:50], classes), public_fraction=0.25
    )


def boolean_split(*, n: int = 160) -> SemiPrivateSplit:
    """Eight variables in four pairs, one pair active in a row; the first and third pair say true. A
    quarter of the rows public."""
    generator = rng.stream(0, "boolean case")
    pair = generator.integers(0, 4, n)
    x = np.repeat(np.eye(4)[pair], 2, axis=1).astype(np.float32)
    y = (pair % 2 == 0).astype(np.int64)
    return split_features(FeatureSet(x, y, x[:50], y[:50], ("false", "true")), public_fraction=0.25)


def image_split(*, n: int = 160, side: int = 8) -> SemiPrivateSplit:
    """Grey images with a bright third, whose place is the class; half of the rows public."""
    generator = rng.stream(0, "image case")
    y = np.arange(n) % 3
    pixels = generator.integers(0, 120, (n, side, side))
    pixels[np.arange(n)[:, None], :, (y[:, None] * side // 3 + np.arange(side // 4))] += 120
    images = Dataset(
        "small images",
        pixels.astype(np.uint8),
        y,
        pixels[:50].astype(np.uint8),
        y[:50],
        ("left", "middle", "right"),
    )
    return split(images, public_fraction=0.5, allow_overlap=True)


def split_for(method: Method, *, n: int = 160, unit: float = 1.0) -> SemiPrivateSplit:
    """Rows of the kind that the learner works on."""
    return (
        boolean_split()
        if method.name in BOOLEAN
        else image_split(n=34)
        if method.name in IMAGES
        else small_split(n=n, unit=unit)
    )


def settings_for(
    method: Method, rows: SemiPrivateSplit, *, sampled: bool = False, **changes: object
) -> dict[str, Any]:
    """What keeps its fits short, as far as it has such settings."""
    batch = {"batch_size": round(PROBABILITY * rows.facts.n_private)} if sampled else {}
    values = {**SMALL, **VOTING, **IMAGES.get(method.name, {}), **batch, **changes}
    return {
        name: value for name, value in values.items() if name in params.params_of(method.settings)
    }


def case_for(
    method: Method,
    *,
    sampled: bool = False,
    unit: float = 1.0,
    is_release: bool = False,
    **changes: object,
) -> Case:
    """The learner on the small split, on Poisson batches where asked; `changes` override settings
    that it has."""
    if changes.get("variant") == "as_printed":
        changes = PRINTED | changes
    rows = split_for(method, n=32 if "runs_delta" in changes else 160, unit=unit)
    view = view_of(rows, method.public_use)
    settings = params.check_settings(
        method.settings(**settings_for(method, rows, sampled=sampled, **changes))
    )
    if method.public_statistics is not None:
        view = dataclasses.replace(
            view,
            facts=dataclasses.replace(
                view.facts, extra=dict(method.public_statistics(settings, view))
            ),
        )
    settings = method.resolve_hyperparameters(
        method.resolve_schedule(settings, view.facts, None).settings, view.facts
    ).settings
    return Case(method, settings, view, is_release)


def few_rows_case() -> tuple[Case, np.ndarray]:
    """A network on batches of about four noise images, and the row more that moved a sum too far
    when their shape was the batch's."""
    pixels = rng.stream(1, "noise images").integers(0, 256, (80, 8, 8)).astype(np.uint8)
    rows = split(
        Dataset("noise", pixels, np.arange(80) % 2, None, None, ("a", "b")), public_fraction=0.1
    )
    solved = solve("from_scratch", rows, epsilon=0.1, steps=15, batch_size=4)
    return Case(solved.method, solved.settings, solved.view), rng.stream(1, "row more").random(
        64, dtype=np.float32
    )


def variants(method: Method) -> dict[str, dict[str, object]]:
    """Every preset, every choice and switch that none of them turns from its default, and rows as
    they are: each keeps the contract."""
    own = params.params_of(method.settings)
    found: dict[str, dict[str, object]] = {
        "rows as they are": {name: False for name in ROWS if name in own}
    }
    for name, values in method.presets.items():
        found[f"preset {name}"] = {key: value for key, value in values.items() if key not in SIZES}
    for name, param in own.items():
        others = (
            ()
            if name in ROWS
            else param.choices
            if param.choices
            else (False, True)
            if param.kind is bool
            else ()
        )
        turned = {
            param.default,
            *(values.get(name, param.default) for values in method.presets.values()),
        }
        found.update({f"{name} {other}": {name: other} for other in others if other not in turned})
    return {
        name: values
        for name, values in found.items()
        if values and not (UNFIT & set(map(str, values.values())))
    }


def classifier_of(name: str, split: SemiPrivateSplit, *, seed: int = 0, **asked: Any) -> Any:
    """The learner's classifier under the plain streams of a seed, so that two learners that should
    agree draw the same noise."""
    one = solve(name, split, **asked)
    return one.method.train(one.settings, one.view, rng.Streams(seed), Ledger()).classifier


def can_sample(method: Method) -> bool:
    """Whether the learner trains on Poisson batches."""
    return "batch_size" in params.params_of(method.settings)


def per_row_gradients(z: torch.Tensor, labels: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """(n, C, d) gradients of the cross-entropy by automatic differentiation, in float64."""

    def loss(w: torch.Tensor, row: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(w @ row, label)

    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return each(weights.double(), z.double(), labels)
