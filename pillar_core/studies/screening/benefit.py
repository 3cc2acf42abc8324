"""Screening beside what it is for: candidates by name or file, the accuracy that each really gives,
and how well scores agree.

Why public directions help a private learner: AdaMix's private gradients on public against random
directions (AdaMix, Figure 6). AdaMix is trained as registered; before each step the private rows'
summed gradient at the weights of that moment is compared with its projection on the subspace that
AdaMix takes from the public rows, and on a random one of the same dimension. This reads private
gradients without noise: a diagnostic. How many public rows PILLAR needs is told by accuracies that
come with the library (`research/public_rows.py`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import data
from pillar_core.arrays import Array
from pillar_core.data import DATASETS, embedded, load_dataset, visitors
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import stats, torch
from pillar_core.engine.mixed import public_gradients
from pillar_core.errors import DataError, SettingError
from pillar_core.methods import METHODS
from pillar_core.params import params_of
from pillar_core.rng import stream
from pillar_core.runs.run import run, solve
from pillar_core.runs.splitting import split
from pillar_core.screening.batches import flat_pixels, require_images, resize_images
from pillar_core.screening.models import model_of
from pillar_core.studies.advice.simulation import UNBALANCED
from pillar_core.studies.evidence.one_run import retrace_adamix
from pillar_core.types import (
    Dataset,
    FeatureSet,
    Form,
    Progress,
    PublicUse,
    SemiPrivateSplit,
    ignore_progress,
)

FEATURE_SIDE = 16
PERMUTATIONS = 40_320
"""8!: up to eight sets all orders are counted."""
SHIFT_MARK = "~"


def candidate(name: str, *, seed: int = 0, n: int | None = None) -> Dataset:
    """A set by name or file: a registered data set (`drawn_digits~0.5`: shifted by 0.5), or a npz,
    folder or zip of images.

    Images that lie in no class folder make an unlabelled set. n: how many images of a drawn set
    (None: its default).
    Raises DataError, UnknownNameError, SettingError: as the loaders.
    """
    title, mark, shift = name.partition(SHIFT_MARK)
    if title in DATASETS:
        if not visitors.SHIFTED.fullmatch(name):
            raise SettingError(
                f"what follows {SHIFT_MARK} must be a number, as in drawn_digits{SHIFT_MARK}0.5;"
                f" got {shift[:40]!r}."
            )
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
    """The accuracy that each public set really gives: columns public, seed, accuracy (on the
    private set's test rows, or what `measure_of` says; in attrs under measure).

    GEP takes the public rows without labels (it draws its own); labelled learners get each set's
    labels by their number, folded into the private classes; second-phase pre-training its images in
    the private ones' shape and its labels as they are. Rows are not standardised or centred by
    public ones unless `settings` say so: only what the learner itself draws from them differs.
    Features are grey pixels at 16 × 16, or those of the pre-trained `model`. Raises DataError: no
    test rows, or no labels for a labelled learner. Errors of `run`.
    """
    if private.x_test is None or private.y_test is None:
        raise DataError(f"{private.name!r} has no test rows to measure accuracy on.")
    learner, rows, measure = METHODS[method], [], measure_of(private)
    features = private_features(private, model)
    known = params_of(learner.settings)
    plain: Form = {name: False for name in ("standardise", "centre") if name in known} | settings
    for number, (name, data_set) in enumerate(public.items()):
        parts = _split_for(learner.public_use, private, features, data_set, model)
        for place, seed in enumerate(seeds):
            progress(number * len(seeds) + place, len(public) * len(seeds), name)
            record = run(method, parts, epsilon=epsilon, delta=delta, seed=seed, **plain)
            rows.append({"public": name, "seed": seed, "accuracy": record.metrics[measure]})
    table = pd.DataFrame(rows)
    table.attrs["measure"] = measure
    return table


def measure_of(private: Dataset) -> str:
    """What candidates are compared by: AUC, as in gsd, where test rows of one class are more than
    60 %, else accuracy."""
    counts = np.bincount(np.asarray(private.y_test))
    return "auc" if counts.max() > UNBALANCED * counts.sum() else "accuracy"


def _split_for(
    use: PublicUse, private: Dataset, features: FeatureSet, public: Dataset, model: str
) -> SemiPrivateSplit:
    """The private rows with one public set, as a learner with this use of public data takes
    them."""
    if use is PublicUse.OTHER_LABELS:
        return split(private, public=like(public, private), allow_overlap=True)
    if use is PublicUse.LABELLED:
        return split(
            features, public=labelled_features(public, features, model), allow_overlap=True
        )
    return split(
        features,
        public=FeatureSet(_numbers(public.x_train, model), name=public.name),
        allow_overlap=True,
    )


def like(public: Dataset, private: Dataset) -> Dataset:
    """A public set's images in the shape of the private ones, under class names of its own, so that
    a head starts anew for each set.

    Raises DataError: no labels, numbers in place of images, or private images that are not square.
    """
    if private.x_train.ndim > 2 and private.x_train.shape[1] != private.x_train.shape[2]:
        raise DataError(
            f"{private.name!r} holds images that are not square; second-phase pre-training is"
            " compared on square ones."
        )
    labels = _labels_of(public)
    for images in (public, private):
        require_images(images, "second_phase")
    shape = private.x_train.shape[1:]
    pixels = resize_images(public.x_train, shape[0], channels=1 if len(shape) == 2 else 3)
    rows = pixels[..., 0] if len(shape) == 2 else pixels
    classes = tuple(f"{public.name}: {code}" for code in range(int(labels.max()) + 1))
    return Dataset(public.name, np.ascontiguousarray(rows), labels, classes=classes)


def without_public(
    private: Dataset,
    *,
    epsilon: float = 2.0,
    delta: float = 1e-5,
    model: str = "",
    seeds: Sequence[int] = (0, 1, 2),
) -> float:
    """The mean accuracy (or what `measure_of` says) of DP-SGD on the same features, which takes no
    public row: the line that a public set should beat."""
    parts, measure = split(private_features(private, model)), measure_of(private)
    plain: Form = {"epsilon": epsilon, "delta": delta, "standardise": False, "centre": False}
    records = [run("dp_sgd", parts, seed=seed, **plain) for seed in seeds]
    values = (record.metrics.get(measure) for record in records)
    return float(np.mean([value for value in values if value is not None]))


def private_features(private: Dataset, model: str = "") -> FeatureSet:
    """The private set's rows as numbers that every set shares."""
    test = None if private.x_test is None else _numbers(private.x_test, model)
    rows = data.features(
        _numbers(private.x_train, model),
        private.y_train,
        test,
        private.y_test,
        private.classes or None,
    )
    return dataclasses.replace(rows, persons=private.persons)


def labelled_features(public: Dataset, private: FeatureSet, model: str = "") -> FeatureSet:
    """A public set's rows as numbers, its labels by their number folded into the private classes.
    Raises DataError: no labels."""
    codes = _labels_of(public) % private.n_classes
    return FeatureSet(
        _numbers(public.x_train, model), codes, classes=private.classes, name=public.name
    )


def _labels_of(public: Dataset) -> Array:
    if public.y_train is None:
        raise DataError(
            f"{public.name!r} has no labels, which this learner needs: leave it out, or choose GEP."
        )
    return public.y_train


def agreement(ranking: pd.DataFrame, accuracy: pd.DataFrame) -> pd.DataFrame:
    """How well each score orders the sets: columns score, spearman (1: closer is always better),
    p_value, sets.

    spearman is Spearman's rank correlation of −value with mean accuracy; the one-sided p-value
    counts permutations of the accuracies that agree at least as well (all of them up to eight sets,
    else 40,320 drawn). A handful of sets proves little: with five the smallest possible p-value is
    1/120. Raises DataError: fewer than three sets with both.
    """
    means = accuracy.groupby("public")["accuracy"].mean()
    rows = []
    for score, part in ranking.groupby("score", sort=False):
        both = part[part["public"].isin(means.index)]
        if len(both) < 3:
            raise DataError(
                "a rank correlation needs at least three public sets with a measured accuracy; got"
                f" {len(both)}."
            )
        closeness, gained = stats.rankdata(-both["value"]), stats.rankdata(means[both["public"]])
        test = stats.permutation_test(
            (gained,),
            functools.partial(_correlation, closeness),
            permutation_type="pairings",
            n_resamples=PERMUTATIONS,
            alternative="greater",
            rng=0,
        )
        rows.append((score, float(test.statistic), float(test.pvalue), len(both)))
    return pd.DataFrame(rows, columns=["score", "spearman", "p_value", "sets"])


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


RANDOM = "random directions"


def reconstruction_errors(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    k: int = 16,
    epsilon: float = 3.0,
    delta: float = 1e-5,
    model: str = "",
    seed: int = 0,
) -> pd.DataFrame:
    """Relative reconstruction errors ‖G − GUUᵀ‖/‖G‖ in [0, 1] at each step: columns public, step,
    error.

    G is the private rows' summed gradient; `public` "random directions" is a random subspace of
    dimension k. Each set's labels are taken by their number, folded into the private classes;
    features as in `measure_accuracies`. Raises DataError: a set without labels, or whose rows span
    fewer than k directions. Errors of `run`.
    """
    rows: list[Form] = []
    features = private_features(private, model)
    plain: Form = {"standardise": False, "centre": False}
    for number, (name, data_set) in enumerate(public.items()):
        parts = split(
            features, public=labelled_features(data_set, features, model), allow_overlap=True
        )
        plan = solve("adamix", parts, epsilon=epsilon, delta=delta, seed=seed, k=k, **plain)
        if plan.view.basis(**plain).rank < k:
            raise DataError(f"the rows of {name!r} span fewer than k = {k} directions: lower k.")
        _, prepared, steps = retrace_adamix(plan)
        z, y = torch.from_numpy(prepared.z), torch.from_numpy(plan.view.y)
        draws = stream(seed, RANDOM).standard_normal((z.shape[1], k))
        random = torch.from_numpy(np.linalg.qr(draws)[0])
        for step, (state, basis, _) in enumerate(steps):
            gradient = public_gradients(z, z.square().sum(1), y, state)[1][0].double()
            rows.append({"public": name, "step": step, "error": _error(gradient, basis)})
            if number == 0:
                rows.append({"public": RANDOM, "step": step, "error": _error(gradient, random)})
    return pd.DataFrame(rows)


def _error(gradient: torch.Tensor, basis: torch.Tensor | None) -> float:
    """‖G − GUUᵀ‖_F/‖G‖_F. gradient: (C, d); basis: (d, k) orthonormal, None for all directions."""
    total = float(gradient.square().sum())
    if basis is None or not total > 0:
        return 0.0
    inside = float((gradient @ basis.double()).square().sum())
    return math.sqrt(max(0.0, 1.0 - inside / total))


KEPT = Path(__file__).with_name("public_rows.csv")
"""private, n_private, public, n_public, epsilon and one accuracy a seed."""


def curves(private: str) -> pd.DataFrame:
    """private, n_private, public, n_public, epsilon, seed, accuracy: of this private set or of what
    it is a part of, else of the first."""
    table = pd.read_csv(KEPT)
    measured = [
        name
        for name in table["private"].unique()
        if embedded.whole_of(name) == embedded.whole_of(private)
    ]
    private_set = measured[0] if measured else table["private"].iloc[0]
    cell = ["private", "n_private", "public", "n_public", "epsilon"]
    long: pd.DataFrame = table[table["private"] == private_set].melt(
        id_vars=cell, var_name="seed", value_name="accuracy"
    )
    return long
