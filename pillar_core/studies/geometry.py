"""The public face's `xi` and `margins`, and the same separators by name, from the cache, for pages
and jobs.

All of it is a non-private diagnostic: separators and margins are functions of labelled private rows
without noise.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pillar_core import accounting, geometry, store
from pillar_core.data import DATASETS, uploads
from pillar_core.deferred import pandas as pd
from pillar_core.fingerprint import fingerprint
from pillar_core.geometry import Basis, Rows, Separators
from pillar_core.runs import splitting, sweep
from pillar_core.types import FeatureSet, Form, SemiPrivateSplit, Values

VERSION = 2
TASK_PAIRS = 8
"""Separators that one task of a job trains."""

Payload = Values


def xi(
    data: FeatureSet | SemiPrivateSplit,
    k: int | Sequence[int],
    *,
    classes: str | Sequence[str | int] | None = None,
) -> "pd.DataFrame":
    """ξ_k of the separator of each pair of classes: columns k, class_a, class_b, xi in [0, 1]. A
    non-private diagnostic.

    The directions are the principal components of the split's public rows, else of the train rows,
    centred and not standardised; the separators are support vector machines on the private rows,
    else on the train rows. classes: all pairs for None, those among some classes (names or
    numbers), or "one_versus_rest" (class_b is then "rest"). Raises SettingError: a k above the rank
    of those rows, unknown classes. DataError: no labels, a class without rows.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> pc.xi(split, [5, 20], classes=[0, 1]).round(2)["xi"].tolist()
    [0.15, 0.04]
    """
    rows, basis = _rows_and_basis(data)
    ks = geometry.checked_ks(k, most=basis.rank, why=basis.limit)
    separators = geometry.separators(rows, geometry.pairs_of(rows.classes, classes))
    return geometry.xi_table(separators, basis, ks, classes=rows.classes)


def margins(
    data: FeatureSet | SemiPrivateSplit, k: int | Sequence[int], *, quantile: float = 0.01
) -> "pd.DataFrame":
    """Margins in the first k directions: columns k, class, quantile, cosine_margin,
    distance_margin. A non-private diagnostic.

    For each class a separator against the rest is trained in those k directions; the margin is the
    largest value that a share 1 − quantile of all rows reach, negative where they lie on the wrong
    side. Directions as for `xi`; distances in the features' own units. `geometry.smallest` takes
    the minimum over classes. Raises SettingError: a k above the rank, quantile outside [0, 1).
    DataError: no labels, one class.

    >>> digits = pc.load_features(pc.load_dataset("digits"))
    >>> table = pc.margins(digits, [5, 20])
    >>> len(table), set(table["k"])
    (20, {20, 5})
    """
    geometry.QUANTILE.check(quantile)
    rows, basis = _rows_and_basis(data)
    ks = geometry.checked_ks(k, most=basis.rank, why=basis.limit)
    return geometry.refitted_margins(geometry.coordinates(rows, basis), ks, quantile=quantile)


def noise_ratio(
    *, n_private: float, d: float, classes: float, epsilon: float, delta: float = 1e-5
) -> float:
    """(√d/μ)/(n/C): the norm of the noise in all d directions over the rows of a class, from public
    facts alone.

    One Gaussian release of the sum of n rows of norm at most 1 that spends μ has noise of standard
    deviation 1/μ in each direction.
    """
    return float(classes * d**0.5 / (n_private * accounting.mu_of(epsilon, delta)))


def projection_gains() -> "pd.DataFrame":
    """What projecting gained on real rows: columns set, epsilon, pillar, dp_sgd (accuracy in [0,
    1]), gain, low, high (points), ratio.

    Means of five seeds with the gain's paired 95 % interval, a tenth of the train rows public, δ =
    1e-5, both learners by their own rules. ratio: `noise_ratio`. `attrs` has `spearman`, how well
    it orders the gains.
    """
    table = pd.read_csv(Path(__file__).with_name("projection_gains.csv"))
    facts = table[["n_private", "d", "classes", "epsilon"]].to_dict("records")
    table["ratio"] = [
        noise_ratio(**{str(name): float(value) for name, value in row.items()}) for row in facts
    ]
    table["gain"] = 100 * (table["pillar"] - table["dp_sgd"])
    table.attrs["spearman"] = float(table["ratio"].rank().corr(table["gain"].rank()))
    return table


def payload(
    dataset: str,
    *,
    backbone: str | None = None,
    seed: int = 0,
    standardise: bool = False,
    regularisation: float = 1.0,
    classes: str | Sequence[int] | None = None,
    rows_per_class: int | None = None,
    **public: float | str,
) -> Form:
    """What names a set of separators: data, split and how they are trained; all of it JSON.

    classes: as for `xi`. public: `public_fraction` or `public`, as `split` takes them.
    """
    return {
        "data": {"dataset": dataset, "backbone": backbone, "dataset_settings": {}},
        "split": {**public, "split_seed": seed},
        "standardise": standardise,
        "regularisation": regularisation,
        "classes": classes if classes is None or isinstance(classes, str) else list(classes),
        "rows_per_class": rows_per_class,
    }


def rows_of_payload(spec: Payload) -> Rows:
    """The rows that a payload names, at most `rows_per_class` of each class."""
    rows = geometry.rows_of(sweep.split_of(spec["data"], spec["split"]))
    most = spec.get("rows_per_class")
    return rows if most is None else geometry.thinned(rows, int(most))


def separator_tasks(spec: Payload, rows: Rows) -> list[Form]:
    """The payload once per group of pairs: every pair of classes that have rows, or each against
    the rest."""
    present = {geometry.REST, *np.unique(rows.y).tolist()}
    pairs = [
        pair
        for pair in geometry.pairs_of(rows.classes, spec.get("classes"))
        if present.issuperset(pair)
    ]
    return [
        {**spec, "pairs": [list(pair) for pair in pairs[start : start + TASK_PAIRS]]}
        for start in range(0, len(pairs), TASK_PAIRS)
    ]


def task_key(task: Payload) -> str:
    """The cache key of one task's result, led by whose rows it was made from where those can be
    forgotten."""
    dataset = str(task["data"]["dataset"])
    version = DATASETS[dataset].version if dataset in DATASETS else 0
    states = splitting.states(dataset, task["split"].get("public"))
    key = fingerprint("geometry", VERSION, dict(task), version, *states)
    return f"separators-{uploads.key_of(dataset)}-{key}" if uploads.is_name(dataset) else key


def cached_separators(spec: Payload, rows: Rows) -> Separators | None:
    """The separators of a payload, if every group is in the cache."""
    parts = []
    for task in separator_tasks(spec, rows):
        arrays = store.default().get_arrays(task_key(task))
        if arrays is None:
            return None
        parts.append((tuple((int(a), int(b)) for a, b in task["pairs"]), arrays))
    pairs = tuple(pair for names, _ in parts for pair in names)
    weights, offsets, converged = (
        np.concatenate([arrays[name] for _, arrays in parts])
        for name in ("weights", "offsets", "converged")
    )
    return Separators(pairs, weights, offsets, converged)


def _rows_and_basis(data: FeatureSet | SemiPrivateSplit) -> tuple[Rows, Basis]:
    rows = geometry.rows_of(data)
    return rows, geometry.basis_of(rows, kind="public_pca" if rows.has_public else "private_pca")
