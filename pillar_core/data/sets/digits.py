"""Handwritten digits: 1,797 real 8 × 8 scans that come with scikit-learn.

The scans hold 17 grey levels, 0 … 16; here they are uint8 images with level g stored as round(g · 255 / 16), which is
one-to-one. The source has no test rows: a stratified fifth is set apart, by the seed.
"""

from __future__ import annotations

import numpy as np

from pillar_core.data.cards import DATASETS, Count, DatasetCard, NoSettings
from pillar_core.data.partition import stratified
from pillar_core.types import Dataset

__all__: list[str] = []


def _read(_: NoSettings, seed: int, download: bool) -> Dataset:
    from sklearn.datasets import load_digits

    source = load_digits()
    images = np.rint(source.images * (255 / 16)).astype(np.uint8)
    labels = source.target.astype(np.int64)
    train, test = stratified(labels, seed=seed, name="digits")
    return Dataset(
        "digits",
        images[train],
        labels[train],
        images[test],
        labels[test],
        classes=tuple(str(code) for code in range(10)),
        notes=("The source has no test rows: a stratified fifth was set apart.",),
    )


DATASETS.register(
    DatasetCard(
        name="digits",
        title="Digits (8 × 8 scans)",
        source="E. Alpaydin, C. Kaynak: Optical recognition of handwritten digits, UCI, 1998; the copy in scikit-learn",
        licence="CC BY 4.0",
        kind="images",
        n_train=Count(1_438),
        n_test=Count(359),
        n_classes=Count(10),
        d=Count(64, "8 × 8 pixels"),
        read=_read,
    )
)
