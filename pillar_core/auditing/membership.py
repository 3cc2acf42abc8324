"""Membership inference: how well scores tell rows that were trained on from rows that were not.

A score is higher for likelier members. All of this reads private rows without noise: a non-private
diagnostic. An attack that fails proves nothing; one that succeeds beyond the claimed trade-off
curve disproves the claim.
"""

import dataclasses

import numpy as np
from scipy.special import betaincinv, log_softmax

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError

LEVEL = 0.95
FEWEST_ALARMS, STEP = 20, 1.25
"""Of `roc_band`: false alarms at its first threshold, and their growth from one threshold to the
next."""


@dataclasses.dataclass(frozen=True)
class Rate:
    """A share with its two-sided Clopper–Pearson interval at 95 %, all in [0, 1]."""

    value: float
    low: float
    high: float


def log_losses(scores: Array, y: Array) -> Array:
    """(n,) float64 cross-entropy of each row. scores: (n, C), softmaxed here; y: (n,) int64."""
    return np.asarray(
        -log_softmax(np.asarray(scores, dtype=np.float64), axis=1)[np.arange(len(y)), y]
    )


def auc(members: Array, others: Array) -> float:
    """P(a member scores above a non-member) + half of the ties, in [0, 1]; 0.5 tells nothing (Mann
    & Whitney 1947)."""
    inside, outside = _sort_scores(members, others)
    below, upto = (
        np.searchsorted(outside, inside, side="left"),
        np.searchsorted(outside, inside, side="right"),
    )
    return float((below + upto).sum() / (2 * len(inside) * len(outside)))


def loss_threshold_auc(train_losses: Array, test_losses: Array) -> float:
    """AdaMix's attack: AUC of the loss with train rows as class 0 and test rows as class 1
    (Golatkar et al., section 5)."""
    train_losses, test_losses = checks.arrays(
        "members, others", train_losses=train_losses, test_losses=test_losses
    )
    return auc(-np.asarray(train_losses), -np.asarray(test_losses))


def roc(members: Array, others: Array) -> tuple[Array, Array]:
    """(false-positive rates, true-positive rates), float64 rising from (0, 0) to (1, 1), one point
    per distinct score."""
    inside, outside = _sort_scores(members, others)
    thresholds = np.unique(np.concatenate([inside, outside]))[::-1]
    hits = len(inside) - np.searchsorted(inside, thresholds, side="left")
    alarms = len(outside) - np.searchsorted(outside, thresholds, side="left")
    return np.concatenate([[0.0], alarms / len(outside)]), np.concatenate(
        [[0.0], hits / len(inside)]
    )


def roc_band(members: Array, others: Array, *, repeats: int = 1) -> tuple[Array, Array, Array]:
    """(false-positive rates, low, high): a staircase that holds the true ROC everywhere with
    probability at least 95 %.

    Thresholds are scores of the others at 20, 25, 31, … false alarms. The true rate above such a
    score has a beta law, and given the score the members above it are binomial: exact intervals on
    both axes, shared out by Bonferroni. Between thresholds the ROC rises. repeats: how often each
    row was scored; intervals count it once.
    """
    inside, outside = _sort_scores(members, others)
    steps = np.floor(np.log(len(outside) / FEWEST_ALARMS) / np.log(STEP))
    alarms = np.floor(FEWEST_ALARMS * STEP ** np.arange(steps + 1)).astype(int)
    hits, share = (
        len(inside) - np.searchsorted(inside, outside[len(outside) - alarms]),
        (1 - LEVEL) / (4 * max(len(alarms), 1)),
    )
    left, right, low, high = (
        end(count / repeats, len(rows) / repeats, share)
        for count, rows in ((alarms, outside), (hits, inside))
        for end in (lower_end, upper_end)
    )
    rates = np.unique(np.concatenate([left, right, [1.0]]))
    least, most = np.concatenate([[0.0], low]), np.concatenate([high, [1.0]])
    return (
        rates,
        least[np.searchsorted(right, rates, side="right")],
        most[np.searchsorted(left, rates)],
    )


def tpr_at_fpr(
    members: Array, others: Array, *, false_positive_rate: float, repeats: int = 1
) -> Rate:
    """The share of members above the lowest threshold that flags at most that share of the others;
    its interval.

    The threshold is read from the same others, so the interval is that of the members' share alone.
    repeats: as for `roc_band`. Raises SettingError: a rate outside [0, 1).
    """
    if not 0 <= false_positive_rate < 1:
        raise SettingError(f"false_positive_rate must be in [0, 1); got {false_positive_rate!r}.")
    inside, outside = _sort_scores(members, others)
    allowed = int(np.floor(false_positive_rate * len(outside) + 1e-9))
    n_flagged = int((inside > outside[-1 - allowed]).sum())
    return clopper_pearson(n_flagged / repeats, len(inside) / repeats)


def clopper_pearson(successes: float, trials: float, *, level: float = LEVEL) -> Rate:
    """The exact binomial interval (Clopper & Pearson 1934): each end misses with probability at
    most (1 − level)/2.

    Raises SettingError: counts that are none, or a level outside (0, 1).
    """
    if not 0 <= successes <= trials or not trials > 0 or not 0 < level < 1:
        raise SettingError(
            f"need 0 <= successes <= trials, trials > 0, level in (0, 1); got {successes},"
            f" {trials}, {level}."
        )
    share = (1 - level) / 2
    return Rate(
        successes / trials,
        float(lower_end(successes, trials, share)),
        float(upper_end(successes, trials, share)),
    )


def lower_end(successes: Array | float, trials: Array | float, significance: float) -> Array:
    """The shares that the true ones lie below with probability at most `significance`, in the shape
    of the counts."""
    return np.where(
        np.greater(successes, 0),
        betaincinv(np.maximum(successes, 1e-9), np.subtract(trials, successes) + 1, significance),
        0.0,
    )


def upper_end(successes: Array | float, trials: Array | float, significance: float) -> Array:
    """The shares that the true ones lie above with probability at most `significance`, in the shape
    of the counts."""
    return 1 - lower_end(np.subtract(trials, successes), trials, significance)


def _sort_scores(members: Array, others: Array) -> tuple[Array, Array]:
    sides = checks.arrays("members, others", members=members, others=others)
    inside, outside = (np.sort(np.asarray(side, dtype=np.float64)) for side in sides)
    for scores in (inside, outside):
        if not scores.size or not np.isfinite(scores).all():
            raise DataError(
                "an attack needs at least one finite score on each side; drop rows whose score is"
                " NaN or infinite."
            )
    return inside, outside
