"""Why PILLAR Kalman works, read off one run: its prior, how far each direction is believed, and what distillation does.

All three are functions of what the run released, of public rows and of public sizes: they cost nothing beyond its ε. Test
accuracies are non-private.
"""

import dataclasses
from typing import cast

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.auditing import ReleaseTape
from pillar_core.engine import LinearClassifier
from pillar_core.ledger import Ledger, Tape
from pillar_core.methods.closed_form import pillar_kalman as kalman
from pillar_core.metrics.classification import accuracy
from pillar_core.runs.run import solve_spec
from pillar_core.types import RunSpec, SemiPrivateSplit, TrainResult

LEARNER = "pillar_kalman"


@dataclasses.dataclass(frozen=True)
class Reasons:
    """Tables with one row a direction (column `direction`, from 1).

    prior: mean square of the first noisy sum (`seen`), what noise alone and what the fitted prior let expect.
    believed: the share of the head's precision that noisy sums gave, not the prior, after the first sum and after all; effective: how many
    directions the latter adds up to.
    distilled: the head's size along each direction before and after the public rows; accuracies: both heads'.
    """

    prior: pd.DataFrame
    believed: pd.DataFrame
    distilled: pd.DataFrame
    effective: float
    accuracies: tuple[float, float] | None


def reasons(spec: RunSpec, split: SemiPrivateSplit) -> Reasons | None:
    """The reasons of one run of the learner, which is trained again, with the same noise; None where it left public directions aside."""
    plan = solve_spec(spec, split)
    settings, view, released = plan.settings, plan.view, ReleaseTape()

    def fit(distillation: float, tape: Tape | None) -> TrainResult:
        with_share = dataclasses.replace(settings, distillation=distillation)
        return plan.method.train(with_share, view, plan.streams(spec.seed), Ledger(tape))

    result = fit(0.0, released)
    if kalman.KNOWN not in result.diagnostics:
        return None
    before, after = (cast(LinearClassifier, each.classifier) for each in (result, fit(settings.distillation, None)))
    features, facts = kalman.features_of(settings, view), view.facts
    u, first = features.public[:, : features.k], next(value for value in released.released if value.ndim == 2).double().numpy().T
    first = first - first.mean(axis=1, keepdims=True)
    noise = kalman.noise_multipliers(settings, kalman.check_share(settings, facts))[0] * kalman.clip_norms(settings, facts.n_classes)[0]
    curvature = np.maximum(facts.n_private * np.einsum("ij,ij->j", u, u) / (len(u) * facts.n_classes), kalman.TINY)
    prior = kalman.prior_precision(first, curvature, noise)
    shares = result.diagnostics[kalman.KNOWN][0]
    seen = (first**2).sum(axis=1) / (facts.n_classes - 1)
    x, y = split.features.x_test, split.features.y_test
    accuracies = None if x is None or y is None else (accuracy(before.scores(x), y), accuracy(after.scores(x), y))
    return Reasons(
        _by_direction(seen=seen, noise=np.full(len(u.T), noise**2), expected=curvature**2 / prior + curvature + noise**2),
        _by_direction(first=shares[0], all=shares[1]),
        _by_direction(before=np.linalg.norm(before.weights, axis=1), after=np.linalg.norm(after.weights, axis=1)),
        float(shares[1].sum()),
        accuracies,
    )


def _by_direction(**columns: Array) -> pd.DataFrame:
    length = len(next(iter(columns.values())))
    return pd.DataFrame({"direction": np.arange(1, length + 1), **columns})
