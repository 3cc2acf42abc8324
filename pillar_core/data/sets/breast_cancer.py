"""Wisconsin diagnostic breast cancer: 569 real patients, 30 measurements of cell nuclei, as it comes with scikit-learn.

The source has no test rows: a stratified fifth is set apart, by the seed. Measurements keep their units (they differ by
four orders of magnitude), so standardise.
"""

from __future__ import annotations

import numpy as np

from pillar_core.data.cards import DATASETS, Count, DatasetCard, NoSettings
from pillar_core.data.partition import stratified
from pillar_core.types import Dataset

__all__: list[str] = []


def _read(_: NoSettings, seed: int, download: bool) -> Dataset:
    from sklearn.datasets import load_breast_cancer

    source = load_breast_cancer()
    rows, labels = np.ascontiguousarray(source.data, dtype=np.float32), source.target.astype(np.int64)
    train, test = stratified(labels, seed=seed, name="breast_cancer")
    return Dataset(
        "breast_cancer",
        rows[train],
        labels[train],
        rows[test],
        labels[test],
        classes=tuple(str(word) for word in source.target_names),
        notes=("The source has no test rows: a stratified fifth was set apart.",),
    )


DATASETS.register(
    DatasetCard(
        name="breast_cancer",
        title="Breast cancer (Wisconsin, diagnostic)",
        source="W. Wolberg, O. Mangasarian, N. Street, W. Street: UCI, 1993; the copy in scikit-learn",
        licence="CC BY 4.0",
        kind="tabular",
        n_train=Count(456),
        n_test=Count(113),
        n_classes=Count(2),
        d=Count(30),
        read=_read,
    )
)
