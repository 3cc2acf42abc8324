"""What the first lesson measures: six small questions, answered by training on real handwritten digits while the learner waits."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pillar_core import accounting, rng
from pillar_core.arrays import Array
from pillar_core.data import features
from pillar_core.runs.run import run, run_many, solve
from pillar_core.runs.splitting import named_features, split
from pillar_core.types import FeatureSet, SemiPrivateSplit

DATA = "digits"
DELTA = 1e-5
PUBLIC_SHARE = 0.1
GUESSES = 400


def guesses(epsilons: Sequence[float]) -> pd.DataFrame:
    """How many of 400 even bets a model turns right at most: epsilon, advantage in [0, 1], guesses."""
    shares = [float(accounting.delta_of(0.0, accounting.mu_of(epsilon, DELTA))) for epsilon in epsilons]
    return pd.DataFrame({"epsilon": list(epsilons), "advantage": shares, "guesses": [GUESSES * share / 2 for share in shares]})


def without_projection(epsilons: Sequence[float], *, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy of private training on all 64 pixels: epsilon, seed, accuracy in [0, 1]."""
    asked = {epsilon: {"epsilon": epsilon} for epsilon in epsilons}
    return pd.concat([_batch("dp_sgd", "epsilon", asked, seed) for seed in seeds], ignore_index=True)


def directions(ks: Sequence[int], *, epsilon: float, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on k public directions: k, seed, accuracy in [0, 1]."""
    asked = {k: {"epsilon": epsilon, "k": k} for k in ks}
    return pd.concat([_batch("pillar", "k", asked, seed) for seed in seeds], ignore_index=True)


def public_rows(sources: Sequence[str], *, epsilon: float, k: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy when the directions come from other public rows, the private ones being the same: source, seed, accuracy."""
    return _trained("source", sources, seeds, lambda source, seed: _accuracy("pillar", _with_public(source, seed), epsilon, seed, k=k))


def rows(counts: Sequence[int], *, epsilon: float, k: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on the first so many private rows: n_private, seed, accuracy in [0, 1]."""
    return _trained("n_private", counts, seeds, lambda n, seed: _accuracy("pillar", _first(n, seed), epsilon, seed, k=k))


def releases(counts: Sequence[int], *, epsilon: float) -> pd.DataFrame:
    """What so many models at ε each add up to: releases, total (upper bound by composition), sum (the plain sum of ε)."""
    mu = accounting.mu_of(epsilon, DELTA)
    totals = [accounting.epsilon_of_mu(mu * count**0.5, DELTA) for count in counts]
    return pd.DataFrame({"releases": list(counts), "total": totals, "sum": [count * epsilon for count in counts]})


def _trained(name: str, values: Sequence[Any], seeds: Sequence[int], train: Callable[[Any, int], float]) -> pd.DataFrame:
    return pd.DataFrame([{name: value, "seed": seed, "accuracy": train(value, seed)} for value in values for seed in seeds])


def _batch(method: str, name: str, asked: Mapping[Any, Mapping[str, Any]], seed: int) -> pd.DataFrame:
    """Runs of one learner on one split, trained together."""
    parts = _parts(seed)
    solved = [solve(method, parts, delta=DELTA, seed=seed, **arguments) for arguments in asked.values()]
    shares = [record.accuracy for record in run_many(solved, parts)]
    return pd.DataFrame({name: list(asked), "seed": seed, "accuracy": shares})


def _accuracy(method: str, parts: SemiPrivateSplit, epsilon: float, seed: int, **settings: Any) -> float:
    return float(run(method, parts, epsilon=epsilon, delta=DELTA, seed=seed, **settings).accuracy or 0.0)


@functools.lru_cache(maxsize=8)
def _parts(seed: int) -> SemiPrivateSplit:
    return split(named_features(DATA), public_fraction=PUBLIC_SHARE, seed=seed)


def private_rows(parts: SemiPrivateSplit, count: int | None = None) -> FeatureSet:
    """The private rows alone (the first `count`), with the test rows."""
    rows, chosen = parts.features, parts.private[:count]
    return features(rows.x_train[chosen], _labels(rows)[chosen], rows.x_test, rows.y_test, classes=rows.classes)


def _first(count: int, seed: int) -> SemiPrivateSplit:
    parts = _parts(seed)
    return split(private_rows(parts, count), public=_public(parts.public_x), seed=seed)


def _with_public(source: str, seed: int) -> SemiPrivateSplit:
    parts = _parts(seed)
    return split(private_rows(parts), public=_public(SOURCES[source](parts.public_x, seed)), seed=seed)


def _public(x: Array) -> FeatureSet:
    return features(x, None)


def _labels(data: FeatureSet) -> Array:
    if data.y_train is None:
        raise TypeError("the lesson's data carry labels.")
    return data.y_train


def _scrambled(x: Array, seed: int) -> Array:
    """The same images, pixels in another order: every value is right and nothing is where it was."""
    return x[:, rng.stream(seed, "lesson", "pixels").permutation(x.shape[1])]


def _noise(x: Array, seed: int) -> Array:
    """Pixels of pure noise with the same mean and spread as the images'."""
    drawn = rng.stream(seed, "lesson", "noise").normal(x.mean(), x.std(), size=x.shape)
    return np.asarray(drawn, dtype=np.float32)


SOURCES: dict[str, Callable[[Array, int], Array]] = {"same": lambda x, seed: x, "scrambled": _scrambled, "noise": _noise}
"""Public rows to learn directions from, by name."""
