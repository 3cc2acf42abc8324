"""Disjunctions on two random graphs: boolean rows whose label says which of two groups of variables
is active.

Definition 4 of Hu, Pinto, Sanyal & Yang: y ∈ {0, 1} is uniform. With y = 1 an Erdős–Rényi graph on
the k variables of the disjunction, else one on the other d − k, with edge probability p; variables
that are not isolated there are active (1), all others 0; where every one is isolated, one drawn
uniformly is active. So the disjunction of the k variables is never wrong. In closed form, for a
group of v variables and r = 1 − p:

    P(i active | group)     = 1 − r^(v−1) + r^(v(v−1)/2) / v
    P(i, j active | group)  = 1 − 2 r^(v−1) + r^(2v−3)
"""

import dataclasses

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.errors import SettingError
from pillar_core.params import declare
from pillar_core.types import Dataset


@dataclasses.dataclass(frozen=True)
class DisjunctionsSettings:
    """Sizes and the edge probability."""

    n: int = declare(2000, "Train rows.", low=4, high=200_000, unit="rows", log=True)
    n_test: int = declare(1000, "Test rows.", low=2, high=200_000, unit="rows", log=True)
    d: int = declare(40, "Boolean variables.", low=4, high=1024, unit="features", log=True)
    k: int | None = declare(
        None,
        "Variables of the disjunction, at least 2 and at most d − 2.",
        low=2,
        unit="variables",
        none_means="half of d",
    )
    p: float = declare(
        0.1, "Edge probability of the random graphs.", low=0, low_open=True, high=1, high_open=True
    )


def active_probability(variables: int, *, p: float) -> float:
    """P(a given variable is active) in its own group of `variables` ≥ 2, exact."""
    missing = 1.0 - p
    return float(
        1.0 - missing ** (variables - 1) + missing ** (variables * (variables - 1) / 2) / variables
    )


def co_active_probability(variables: int, *, p: float) -> float:
    """P(two given variables are both active) in their group of `variables` ≥ 2: the p_ij of the
    component graph, exact."""
    missing = 1.0 - p
    return float(1.0 - 2.0 * missing ** (variables - 1) + missing ** (2 * variables - 3))


def _read(settings: DisjunctionsSettings, seed: int, download: bool) -> Dataset:
    d = settings.d
    k = d // 2 if settings.k is None else settings.k
    if not k <= d - 2:
        raise SettingError(f"k must be at most d − 2 = {d - 2}; got {k}.")
    members = np.sort(rng.stream(seed, "disjunctions", "members").permutation(d)[:k])
    (x_train, y_train), (x_test, y_test) = (
        _rows(n, d, members, settings.p, rng.stream(seed, "disjunctions", side))
        for side, n in (("train", settings.n), ("test", settings.n_test))
    )
    active, co_active = (
        {label: probability(size, p=settings.p) for label, size in ((1, k), (0, d - k))}
        for probability in (active_probability, co_active_probability)
    )
    known = {
        "members": members,
        "p": settings.p,
        "bayes_accuracy": 1.0,
        "components": 2,
        "active_probability": active,
        "co_active_probability": co_active,
        "p_min": min(co_active.values()),
    }
    return Dataset(
        "disjunctions", x_train, y_train, x_test, y_test, classes=("false", "true"), known=known
    )


def _rows(
    n: int, d: int, members: Array, p: float, generator: np.random.Generator
) -> tuple[Array, Array]:
    labels = generator.integers(0, 2, n)
    labels[:2] = (0, 1)
    x = np.zeros((n, d), dtype=np.float32)
    nonmembers = np.setdiff1d(np.arange(d), members)
    for label, group in ((1, members), (0, nonmembers)):
        rows = np.flatnonzero(labels == label)
        x[np.ix_(rows, group)] = _active(len(rows), len(group), p, generator)
    return x, labels


def _active(n: int, variables: int, p: float, generator: np.random.Generator) -> Array:
    """(n, variables) bool: who is not isolated in a random graph, one graph a row; one at random
    where all are."""
    left, right = np.triu_indices(variables, 1)
    incidence = np.zeros((len(left), variables), dtype=np.float32)
    incidence[np.arange(len(left)), left] = incidence[np.arange(len(left)), right] = 1
    active = np.empty((n, variables), dtype=bool)
    block = max(1, 2**22 // len(left))
    for start in range(0, n, block):
        stop = min(start + block, n)
        edges = generator.random((stop - start, len(left)), dtype=np.float32) < p
        active[start:stop] = edges.astype(np.float32) @ incidence > 0
    empty = np.flatnonzero(~active.any(axis=1))
    active[empty, generator.integers(0, variables, len(empty))] = True
    return active


DATASETS.register(card_of("disjunctions", _read, settings=DisjunctionsSettings))
