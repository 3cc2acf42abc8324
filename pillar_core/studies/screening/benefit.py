"""Screening beside what it is for: candidates by name or file, the accuracy that each really gives, and how well scores agree."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pillar_core import data, screening
from pillar_core.arrays import Array
from pillar_core.data import DATASETS, load_dataset, visitors
from pillar_core.deferred import stats
from pillar_core.errors import DataError, SettingError
from pillar_core.methods import METHODS
from pillar_core.params import params_of
from pillar_core.rng import stream
from pillar_core.runs.run import run
from pillar_core.runs.splitting import split
from pillar_core.screening.batches import flat_pixels, require_images, resize_images
from pillar_core.screening.models import model_of
from pillar_core.types import Dataset, FeatureSet, Form, Progress, PublicUse, SemiPrivateSplit, Values, ignore_progress

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
        if not visitors.SHIFTED.fullmatch(name):
            raise SettingError(f"what follows {SHIFT_MARK} must be a number, as in drawn_digits{SHIFT_MARK}0.5; got {shift[:40]!r}.")
        settings: Form = {"shift": float(shift)} if mark else {}
        if n is not None and "shift" in params_of(DATASETS[title].settings):
            settings["n"] = n
        return load_dataset(title, seed=seed, **settings)
    if not Path(name).expanduser().exists():
        DATASETS[title]
    return data.load_candidate(name)


def measure_accuracies(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    method: str = "gep",
    epsilon: float = 2.0,
    delta: float = 1e-5,
    model: str = "",
    seeds: Sequence[int] = (0, 1, 2),
    progress: Progress = ignore_progress,
    **settings: Any,
) -> pd.DataFrame:
    """The accuracy that each public set really gives: columns public, seed, accuracy (on the private set's test rows).

    GEP takes the public rows without labels (it draws its own); labelled learners get each set's labels by their number, folded
    into the private classes; second-phase pre-training its images in the private ones' shape and its labels as they are. Rows are
    not standardised or centred by public ones unless `settings` say so: only what the learner
    itself draws from them differs. Features are grey pixels at 16 × 16, or those of the pre-trained `model`.

    Raises:
        DataError: no test rows, or no labels for a labelled learner. Errors of `run`.
    """
    if private.x_test is None or private.y_test is None:
        raise DataError(f"{private.name!r} has no test rows to measure accuracy on.")
    learner, rows = METHODS[method], []
    features = private_features(private, model)
    known = params_of(learner.settings)
    plain: Form = {name: False for name in ("standardise", "centre") if name in known} | settings
    for number, (name, data_set) in enumerate(public.items()):
        parts = _split_for(learner.public_use, private, features, data_set, model)
        for place, seed in enumerate(seeds):
            progress(number * len(seeds) + place, len(public) * len(seeds), name)
            record = run(method, parts, epsilon=epsilon, delta=delta, seed=seed, **plain)
            rows.append({"public": name, "seed": seed, "accuracy": record.accuracy})
    return pd.DataFrame(rows)


def _split_for(use: PublicUse, private: Dataset, features: FeatureSet, public: Dataset, model: str) -> SemiPrivateSplit:
    """The private rows with one public set, as a learner with this use of public data takes them."""
    if use is PublicUse.OTHER_LABELS:
        return split(private, public=like(public, private), allow_overlap=True)
    if use is PublicUse.LABELLED:
        return split(features, public=labelled_features(public, features, model), allow_overlap=True)
    return split(features, public=FeatureSet(_numbers(public.x_train, model), None, None, None, (), name=public.name), allow_overlap=True)


def like(public: Dataset, private: Dataset) -> Dataset:
    """A public set's images in the shape of the private ones, under class names of its own, so that a head starts anew for each set.

    Raises:
        DataError: no labels, numbers in place of images, or private images that are not square.
    """
    if private.x_train.ndim > 2 and private.x_train.shape[1] != private.x_train.shape[2]:
        raise DataError(f"{private.name!r} holds images that are not square; second-phase pre-training is compared on square ones.")
    if public.y_train is None:
        raise DataError(f"{public.name!r} has no labels, which this learner needs: leave it out, or choose GEP.")
    require_images(public, "second_phase")
    require_images(private, "second_phase")
    shape = private.x_train.shape[1:]
    pixels = resize_images(public.x_train, shape[0], channels=1 if len(shape) == 2 else 3)
    rows = pixels[..., 0] if len(shape) == 2 else pixels
    classes = tuple(f"{public.name}: {code}" for code in range(int(public.y_train.max()) + 1))
    return Dataset(public.name, np.ascontiguousarray(rows), public.y_train, classes=classes)


def without_public(
    private: Dataset, *, epsilon: float = 2.0, delta: float = 1e-5, model: str = "", seeds: Sequence[int] = (0, 1, 2)
) -> float:
    """The mean accuracy of DP-SGD on the same features, which takes no public row: the line that a public set should beat."""
    parts = split(private_features(private, model))
    plain: Values = {"standardise": False, "centre": False}
    accuracies = [run("dp_sgd", parts, epsilon=epsilon, delta=delta, seed=seed, **plain).accuracy for seed in seeds]
    return float(np.mean([accuracy for accuracy in accuracies if accuracy is not None]))


def private_features(private: Dataset, model: str = "") -> FeatureSet:
    """The private set's rows as numbers that every set shares."""
    test = None if private.x_test is None else _numbers(private.x_test, model)
    rows = data.features(_numbers(private.x_train, model), private.y_train, test, private.y_test, private.classes or None)
    return dataclasses.replace(rows, persons=private.persons)


def labelled_features(public: Dataset, private: FeatureSet, model: str = "") -> FeatureSet:
    """A public set's rows as numbers, its labels by their number folded into the private classes.

    Raises:
        DataError: no labels.
    """
    if public.y_train is None:
        raise DataError(f"{public.name!r} has no labels, which this learner needs: leave it out, or choose GEP.")
    return FeatureSet(_numbers(public.x_train, model), public.y_train % private.n_classes, None, None, private.classes, name=public.name)


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
        permuted = [_correlation(closeness, order) for order in _orders(gained)]
        p_value = sum(value >= observed - 1e-12 for value in permuted) / len(permuted)
        rows.append({"score": score, "spearman": observed, "p_value": p_value, "sets": len(both)})
    return pd.DataFrame(rows)


def _orders(ranks: Array) -> list[Array]:
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
    if rows.ndim > 2 and model.startswith("timm:"):
        return model_of(model).prepare(rows)
    return flat_pixels(rows, FEATURE_SIDE, channels=1)
