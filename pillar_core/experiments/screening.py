"""Screening beside what it is for: candidates by name or file, the accuracy that each really gives, and how well scores agree."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from pillar_core import data, screening
from pillar_core.data import DATASETS, load_dataset
from pillar_core.errors import DataError
from pillar_core.experiments.run import run
from pillar_core.experiments.splitting import split
from pillar_core.params import params_of
from pillar_core.rng import stream
from pillar_core.screening.batches import image_batches
from pillar_core.screening.models import model_of
from pillar_core.types import Dataset, FeatureSet

Array = np.ndarray[Any, Any]

FEATURE_SIDE = 16
EXACT_UP_TO = 8
PERMUTATIONS = 20_000
SHIFT_MARK = "~"


def candidate(name: str, *, seed: int = 0, n: int | None = None) -> Dataset:
    """A set by name or file: a registered data set (`drawn_digits~0.5`: shifted by 0.5), or a npz, folder or zip of images.

    Images that lie in no class folder make an unlabelled set. Several joined by `+` make a mixture of equal shares.
    n: how many images of a drawn set (None: its default).

    Raises:
        DataError, UnknownNameError, SettingError: as the loaders.
    """
    if not Path(name).exists() and "+" in name:
        return screening.mixture([candidate(part, seed=seed, n=n) for part in name.split("+")], name=name, seed=seed)
    title, mark, shift = name.partition(SHIFT_MARK)
    if title in DATASETS:
        settings: dict[str, Any] = {"shift": float(shift)} if mark else {}
        if n is not None and "shift" in params_of(DATASETS[title].settings):
            settings["n"] = n
        return load_dataset(title, seed=seed, **settings)
    if not Path(name).expanduser().exists():
        DATASETS[title]
    return data.load_candidate(name)


def measured(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    method: str = "gep",
    epsilon: float = 2.0,
    delta: float = 1e-5,
    model: str = "",
    seeds: Sequence[int] = (0, 1, 2),
    **settings: Any,
) -> pd.DataFrame:
    """The accuracy that each public set really gives: columns public, seed, accuracy (on the private set's test rows).

    Public labels are left out (GEP draws its own), and public rows decide directions only: rows are not standardised or centred
    by them unless `settings` say so. Features are grey pixels at 16 × 16, or those of the pre-trained `model`.

    Raises:
        DataError: no test rows. Errors of `run`.
    """
    if private.x_test is None or private.y_test is None:
        raise DataError(f"{private.name!r} has no test rows to measure accuracy on.")
    own = data.features(
        _numbers(private.x_train, model), private.y_train, _numbers(private.x_test, model), private.y_test, private.classes or None
    )
    rows = []
    for name, one in public.items():
        theirs = FeatureSet(_numbers(one.x_train, model), None, None, None, (), name=name)
        made = split(own, public=theirs, allow_overlap=True)
        for seed in seeds:
            record = run(method, made, epsilon=epsilon, delta=delta, seed=seed, **({"standardise": False, "centre": False} | settings))
            rows.append({"public": name, "seed": seed, "accuracy": record.accuracy})
    return pd.DataFrame(rows)


def agreement(ranking: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """How well each score orders the sets: columns score, spearman (1: closer is always better), p_value, sets.

    spearman is Spearman's rank correlation of −value with mean accuracy; the one-sided p-value counts permutations of the
    accuracies that agree at least as well (all of them up to eight sets, else 20,000 drawn). A handful of sets proves little:
    with five the smallest possible p-value is 1/120.

    Raises:
        DataError: fewer than three sets with both.
    """
    means = accuracy.groupby("public")["accuracy"].mean()
    rows = []
    for score, part in ranking.groupby("score", sort=False):
        both = part[part["public"].isin(means.index)]
        if len(both) < 3:
            raise DataError(f"a rank correlation needs at least three public sets with a measured accuracy; got {len(both)}.")
        closeness, gained = stats.rankdata(-both["value"]), stats.rankdata(means[both["public"]])
        observed = _correlation(closeness, gained)
        others = [_correlation(closeness, order) for order in _orders(gained)]
        p_value = sum(value >= observed - 1e-12 for value in others) / len(others)
        rows.append({"score": score, "spearman": observed, "p_value": p_value, "sets": len(both)})
    return pd.DataFrame(rows)


def _orders(ranks: Array) -> Any:
    if len(ranks) <= EXACT_UP_TO:
        return [np.array(order) for order in itertools.permutations(ranks)]
    generator = stream(0, "permutations of accuracies")
    return [ranks, *(generator.permutation(ranks) for _ in range(PERMUTATIONS))]


def _correlation(first: Array, second: Array) -> float:
    """Pearson's correlation of ranks; 0 where one side is all ties."""
    a, b = first - first.mean(), second - second.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0 else 0.0


def _numbers(rows: Array, model: str) -> Array:
    """(n, d) float32 features that every set shares."""
    if rows.ndim == 2:
        return rows
    if model.startswith("timm:"):
        return model_of(model).prepare(rows)
    return np.concatenate([part.flatten(1).numpy() for part in image_batches(rows, FEATURE_SIDE, channels=1)])
