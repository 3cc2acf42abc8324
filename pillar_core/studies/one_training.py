"""One private training read off: step by step, why PILLAR Kalman works, what else a release could
have been, what each part costs.

Steps are the engine's own at the ledger's gate, seen in the first two public directions. Rows and
sums without noise are diagnostics of private rows; the noisy sums and the heads are what a run
releases. Kalman's reasons are functions of what the run released, of public rows and of public
sizes: they cost nothing beyond its ε. Test accuracies are non-private.

Models that a release could have been are the same learner and settings under independent noise of
known seeds: experiments, of which none may be released. A release is one further draw from the same
law. Of the stages that tell costs all but the last train without noise, each with one part more on
the same split and seed; a part costs what pairs of equal seed lose by it.
"""

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import pandas as pd

from pillar_core import metrics
from pillar_core.arrays import Array
from pillar_core.auditing import HeadRows, ReleaseTape, trajectory
from pillar_core.backbones.cards import BACKBONES, Work
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger, Tape
from pillar_core.methods import METHODS
from pillar_core.methods.closed_form import pillar_kalman as kalman
from pillar_core.methods.public_subspace.pillar import project
from pillar_core.metrics import accuracy
from pillar_core.params import params_of
from pillar_core.runs.run import run_many, solve_spec
from pillar_core.studies.evidence.attacks import descent_run, head_plan_of
from pillar_core.types import Classifier, Form, RunRecord, RunSpec, SemiPrivateSplit, TrainResult

POINTS, MOST_STEPS = 400, 40


@dataclasses.dataclass(frozen=True)
class TrainingSteps:
    """A run's steps, at most MOST_STEPS of them, evenly picked.

    points: some private rows, columns x, y, class. heads: (T, C, 2) weights after each step.
    pushes: a row a step, with the number `step`; where one class's head is pushed, `clean_x`,
    `clean_y` by the rows and `noisy_x`, `noisy_y` with noise; `clean` and `noise`, the lengths of
    both over all directions and classes. opened: the same as one row, clip, sum, noise and step
    (columns step, what, first, second, length). noise: the standard deviation of each of a sum's
    numbers. pushed: the class.
    """

    points: pd.DataFrame
    heads: Array
    pushes: pd.DataFrame
    opened: pd.DataFrame
    noise: float
    pushed: str
    k: int


def training_steps(spec: RunSpec, split: SemiPrivateSplit) -> TrainingSteps:
    """The steps of a run of PILLAR, which is trained again, with the same noise.

    Raises UnsupportedError: another learner, or a run on samples of its rows.
    """
    plan, tape = descent_run(spec, split), ReleaseTape()
    plan.method.train(plan.settings, plan.view, plan.streams(plan.seed), Ledger(tape))
    head_plan, y = head_plan_of(plan), plan.view.y
    z = project(plan.settings, plan.view, plan.streams(plan.seed)).z
    clean, noisy = (torch.stack(values).double() for values in (tape.values, tape.released))
    noise = noisy - clean
    states = trajectory.states(noisy[:, None], head_plan)
    c = int(max(np.unique(y), key=clean[0, :, :2].norm(dim=1).__getitem__))
    row = int(np.flatnonzero(y == c)[0])
    rows = HeadRows.of(z[row : row + 1], y[row : row + 1])
    pushes, opened = [], []
    picked = np.unique(np.linspace(0, len(clean) - 1, MOST_STEPS).round().astype(int))
    for t in picked:
        ends = *(-clean[t, c, :2]).tolist(), *(-noisy[t, c, :2]).tolist()
        pushes.append((t + 1, *ends, float(clean[t].norm()), float(noise[t].norm())))
        clipped = trajectory.clipped_rows(rows, states[t][0], head_plan).view(*clean[t].shape)
        norm = float(trajectory.gradient_norms(rows, states[t], head_plan))
        full = clipped * (norm / max(float(clipped.norm()), 1e-30))
        moved = (states[t + 1] - states[t])[0].double()
        parts = (-full, -clipped, -clean[t], -noise[t], -noisy[t], moved)
        opened += [
            (t + 1, name, *part[c, :2].tolist(), float(part.norm()))
            for name, part in zip(_WHAT, parts, strict=True)
        ]
    points = np.unique(np.linspace(0, len(z) - 1, POINTS).astype(int))
    names = np.asarray(split.features.classes)
    return TrainingSteps(
        pd.DataFrame({"x": z[points, 0], "y": z[points, 1], "class": names[y[points]]}),
        np.stack([states[t + 1][0, :, :2].numpy() for t in picked]),
        pd.DataFrame(
            pushes, columns=["step", "clean_x", "clean_y", "noisy_x", "noisy_y", "clean", "noise"]
        ),
        pd.DataFrame(opened, columns=["step", "what", "first", "second", "length"]),
        head_plan.noise_multiplier * head_plan.l2_clip_norm,
        str(names[c]),
        z.shape[1],
    )


_WHAT = (
    "one row's push",
    "the same, clipped",
    "sum over all rows",
    "noise",
    "sum with noise: released",
    "step of the head",
)


LEARNER = "pillar_kalman"


@dataclasses.dataclass(frozen=True)
class Reasons:
    """Tables with one row a direction (column `direction`, from 1).

    prior: mean square of the first noisy sum (`seen`), what noise alone and what the fitted prior
    let expect. believed: the share of the head's precision that noisy sums gave, not the prior,
    after the first sum and after all; effective: how many directions the latter adds up to.
    distilled: the head's size along each direction before and after the public rows; accuracies:
    both heads'.
    """

    prior: pd.DataFrame
    believed: pd.DataFrame
    distilled: pd.DataFrame
    effective: float
    accuracies: tuple[float, float] | None


def reasons(spec: RunSpec, split: SemiPrivateSplit) -> Reasons | None:
    """The reasons of one run of the learner, which is trained again, with the same noise; None
    where it left public directions aside."""
    plan = solve_spec(spec, split)
    settings, view, released = plan.settings, plan.view, ReleaseTape()

    def fit(distillation: float, tape: Tape | None) -> TrainResult:
        with_share = dataclasses.replace(settings, distillation=distillation)
        return plan.method.train(with_share, view, plan.streams(spec.seed), Ledger(tape))

    result = fit(0.0, released)
    if kalman.KNOWN not in result.diagnostics:
        return None
    before, after = (
        cast(LinearClassifier, each.classifier)
        for each in (result, fit(settings.distillation, None))
    )
    features, facts = kalman.features_of(settings, view), view.facts
    u = features.public[:, : features.k]
    first = next(value for value in released.released if value.ndim == 2).double().numpy().T
    first = first - first.mean(axis=1, keepdims=True)
    noise = (
        kalman.noise_multipliers(settings, kalman.check_share(settings, facts))[0]
        * kalman.clip_norms(settings, facts.n_classes)[0]
    )
    curvature = np.maximum(
        facts.n_private * np.einsum("ij,ij->j", u, u) / (len(u) * facts.n_classes), kalman.TINY
    )
    prior = kalman.prior_precision(first, curvature, noise)
    shares = result.diagnostics[kalman.KNOWN][0]
    seen = (first**2).sum(axis=1) / (facts.n_classes - 1)
    x, y = split.features.x_test, split.features.y_test
    accuracies = (
        None
        if x is None or y is None
        else (accuracy(before.scores(x), y), accuracy(after.scores(x), y))
    )
    return Reasons(
        _by_direction(
            seen=seen,
            noise=np.full(len(u.T), noise**2),
            expected=curvature**2 / prior + curvature + noise**2,
        ),
        _by_direction(first=shares[0], all=shares[1]),
        _by_direction(
            before=np.linalg.norm(before.weights, axis=1),
            after=np.linalg.norm(after.weights, axis=1),
        ),
        float(shares[1].sum()),
        accuracies,
    )


def _by_direction(**columns: Array) -> pd.DataFrame:
    length = len(next(iter(columns.values())))
    return pd.DataFrame({"direction": np.arange(1, length + 1), **columns})


EPSILONS, DRAWS = (0.1, 1.0, math.inf), 20
Models = Mapping[float, Sequence[Classifier]]
"""The possible models at each ε."""


def possible_models(
    spec: RunSpec, split: SemiPrivateSplit, epsilons: Sequence[float] = EPSILONS, draws: int = DRAWS
) -> Models:
    """`draws` models at each ε, by seeds from the specification's on."""
    if spec.seed is None:
        raise DataError("possible models are experiments: name a seed.")
    models = {}
    for epsilon in epsilons:
        plan = solve_spec(dataclasses.replace(spec, epsilon=epsilon), split)
        records = run_many(
            [dataclasses.replace(plan, seed=spec.seed + draw) for draw in range(draws)], split
        )
        models[epsilon] = [record.classifier for record in records if record.classifier is not None]
    return models


def read_drawing(picture: str, shape: Sequence[int], *, backbone: str) -> Array:
    """(d,) float32 features of an image of this shape, whose bytes are given in base64; nothing of
    it is kept.

    Raises DataError: another number of bytes; what the backbone raises without its weights.
    """
    try:
        images = (
            np.frombuffer(base64.b64decode(picture, validate=True), np.uint8)
            .reshape(1, *shape)
            .copy()
        )
    except ValueError as error:
        raise DataError(
            f"a drawing needs one grey value for each pixel of an image of shape {tuple(shape)}."
        ) from error
    card = BACKBONES[backbone]
    return np.asarray(card.open(backbone, Work(card.weights_file(), "cpu")).encode(images)[0])


def answers(models: Models, row: Array, classes: Sequence[str]) -> pd.DataFrame:
    """What each model says of a row (d,): columns epsilon, draw (from 0), class."""
    answered = [
        (epsilon, draw, classes[int(model.predict(row[None])[0])])
        for epsilon, drawn in models.items()
        for draw, model in enumerate(drawn)
    ]
    return pd.DataFrame(answered, columns=["epsilon", "draw", "class"])


TITLES = {
    "features": "Features and head",
    "projection": "Projection to k",
    "clipping": "Clipping and steps",
    "sampling": "Sampling",
    "noise": "Noise",
}
_PROJECTING = ("pillar", "pillar_kalman", "dp_raft_pillar")
"""Learners whose k directions are the public rows' first ones, as those of the stage without noise
are."""
_PINNED = (
    "k",
    "steps",
    "learning_rate",
    "l2_clip_norm",
    "momentum",
    "bias",
    "standardise",
    "centre",
    "normalise",
    "sampling",
)


def has_parts(method: str) -> bool:
    """Whether a learner of heads clips and adds noise that can be left out."""
    names = set(params_of(METHODS[method].settings))
    return (
        METHODS[method].is_private
        and {"noise_multiplier", "l2_clip_norm"} <= names
        and "network" not in names
    )


def stages(record: RunRecord) -> dict[str, Form]:
    """The axes of a sweep for each stage, by the part that it adds; parts that the run lacks are
    left out.

    The settings are those that the record's rules chose.
    """
    chosen = {name: value for name, value in record.settings.items() if value is not None}
    pinned = {"method": record.method, **{name: chosen[name] for name in _PINNED if name in chosen}}
    batches = {"batch_size": chosen["batch_size"]} if "batch_size" in chosen else {}
    parts: dict[str, Form] = {"features": {"method": "non_private"}}
    if record.method in _PROJECTING and chosen.get("k", record.facts.d) < record.facts.d:
        parts["projection"] = {"method": "non_private", "k": chosen["k"]}
    parts["clipping"] = pinned | {"noise_multiplier": 0.0}
    if batches:
        parts["sampling"] = pinned | batches | {"noise_multiplier": 0.0}
    parts["noise"] = pinned | batches | {"noise_multiplier": chosen["noise_multiplier"]}
    return parts


def accuracy_costs(accuracies: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """A row a part: columns part, mean, low, high (what it costs, in [−1, 1], with 95 % intervals
    over seeds), left (mean accuracy), seeds.

    accuracies: of each stage, in order, by seed; the first is compared with 1.
    """
    rows, before = [], [1.0] * len(next(iter(accuracies.values())))
    for part, after in accuracies.items():
        mean, low, high = metrics.interval(
            [previous - accuracy for previous, accuracy in zip(before, after, strict=True)]
        )
        ends = (low, high) if math.isfinite(low) else (math.nan, math.nan)
        rows.append((part, mean, *ends, sum(after) / len(after), len(after)))
        before = list(after)
    return pd.DataFrame(rows, columns=["part", "mean", "low", "high", "left", "seeds"])
