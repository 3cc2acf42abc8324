"""What the first lesson measures: six small questions, answered by training on real handwritten digits while the learner waits."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pillar_core import accounting, rng
from pillar_core.accounting.risk import turned_guesses
from pillar_core.arrays import Array
from pillar_core.data import features
from pillar_core.runs.run import run, run_many, solve
from pillar_core.runs.splitting import load_named_features, split
from pillar_core.types import FeatureSet, SemiPrivateSplit, Values

DATA = "digits"
DELTA = 1e-5
PUBLIC_SHARE = 0.1
GUESSES = 400
PIXELS = 64


def guesses(epsilons: Sequence[float]) -> pd.DataFrame:
    """How many of 400 even bets a model turns right at most: epsilon, advantage in [0, 1] and guesses by (ε, δ) alone; `gaussian`: the
    advantage against a training with Gaussian noise on all rows in every step."""
    alone, gaussian = zip(*(turned_guesses(epsilon, DELTA) for epsilon in epsilons), strict=True)
    table = pd.DataFrame({"epsilon": list(epsilons), "advantage": alone, "gaussian": gaussian})
    return (table * [1, 2, 2]).assign(guesses=[GUESSES * share for share in alone])


def without_projection(epsilons: Sequence[float], *, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy of private training on all 64 pixels: epsilon, seed, accuracy in [0, 1]."""
    return _batch("dp_sgd", "epsilon", {epsilon: {"epsilon": epsilon} for epsilon in epsilons}, seeds)


def directions(ks: Sequence[int], *, epsilon: float, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on k public directions, for k = 64 on all pixels without projection: k, seed, accuracy in [0, 1]."""
    projected = _batch("pillar", "k", {k: {"epsilon": epsilon, "k": k} for k in ks if k < PIXELS}, seeds)
    return projected if PIXELS not in ks else pd.concat([projected, _batch("dp_sgd", "k", {PIXELS: {"epsilon": epsilon}}, seeds)])


def public_rows(sources: Sequence[str], *, epsilon: float, k: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy when the directions come from other public rows, the private ones being the same: source, seed, accuracy."""
    return train_each("source", sources, seeds, lambda source, seed: _accuracy("pillar", _with_public(source, seed), epsilon, seed, k=k))


def rows(counts: Sequence[int], *, epsilon: float, k: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on the first so many private rows: n_private, seed, accuracy in [0, 1]."""
    return train_each("n_private", counts, seeds, lambda n, seed: _accuracy("pillar", _with_public("same", seed, n), epsilon, seed, k=k))


def releases(counts: Sequence[int], *, epsilon: float) -> pd.DataFrame:
    """What so many models at ε each add up to: releases, total (upper bound by composition), sum (the plain sum of ε)."""
    mu = accounting.mu_of(epsilon, DELTA)
    totals = [accounting.epsilon_of_mu(mu * count**0.5, DELTA) for count in counts]
    return pd.DataFrame({"releases": list(counts), "total": totals, "sum": [count * epsilon for count in counts]})


def train_each(name: str, values: Sequence[Any], seeds: Sequence[int], train: Callable[[Any, int], float]) -> pd.DataFrame:
    """A row a value and seed: the value under its name, seed, accuracy."""
    return pd.DataFrame([{name: value, "seed": seed, "accuracy": train(value, seed)} for value in values for seed in seeds])


def _batch(method: str, name: str, runs: Mapping[Any, Values], seeds: Sequence[int]) -> pd.DataFrame:
    """Runs of one learner, those of a seed on one split and trained together."""
    tables = []
    for seed in seeds:
        solved = [solve(method, _parts(seed), delta=DELTA, seed=seed, **arguments) for arguments in runs.values()]
        shares = [record.accuracy for record in run_many(solved, _parts(seed))]
        tables.append(pd.DataFrame({name: list(runs), "seed": seed, "accuracy": shares}))
    return pd.concat(tables, ignore_index=True)


def _accuracy(method: str, parts: SemiPrivateSplit, epsilon: float, seed: int, **settings: Any) -> float:
    return float(run(method, parts, epsilon=epsilon, delta=DELTA, seed=seed, **settings).accuracy or 0.0)


@functools.lru_cache(maxsize=8)
def _parts(seed: int) -> SemiPrivateSplit:
    return split(load_named_features(DATA), public_fraction=PUBLIC_SHARE, seed=seed)


def private_rows(parts: SemiPrivateSplit, count: int | None = None) -> FeatureSet:
    """The private rows alone (the first `count`), with the test rows."""
    rows, chosen = parts.features, parts.private[:count]
    return features(rows.x_train[chosen], _labels(rows)[chosen], rows.x_test, rows.y_test, classes=rows.classes)


def _with_public(source: str, seed: int, count: int | None = None) -> SemiPrivateSplit:
    """The private rows (the first `count`) beside public rows that `source` makes of the set's own."""
    parts = _parts(seed)
    return split(private_rows(parts, count), public=features(SOURCES[source](parts.public_x, seed), None), seed=seed)


def _labels(data: FeatureSet) -> Array:
    if data.y_train is None:
        raise TypeError("the lesson's data carry labels.")
    return data.y_train


def _scramble(x: Array, seed: int) -> Array:
    """The same images, pixels in another order: every value is right and nothing is where it was."""
    return x[:, rng.stream(seed, "lesson", "pixels").permutation(x.shape[1])]


def _noise(x: Array, seed: int) -> Array:
    """Pixels of pure noise with the same mean and spread as the images'."""
    drawn = rng.stream(seed, "lesson", "noise").normal(x.mean(), x.std(), size=x.shape)
    return np.asarray(drawn, dtype=np.float32)


SOURCES: dict[str, Callable[[Array, int], Array]] = {"same": lambda x, seed: x, "scrambled": _scramble, "noise": _noise}
"""Public rows to learn directions from, by name."""
