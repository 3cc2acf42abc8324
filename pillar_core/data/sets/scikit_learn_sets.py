"""Two sets that come with scikit-learn. Neither has test rows: a stratified fifth is set apart, by the seed.

digits: 1,797 real 8 × 8 scans of 17 grey levels, 0 … 16; here they are uint8 images with level g stored as round(g · 255 / 16), which is
one-to-one. breast_cancer: 569 real patients, 30 measurements of cell nuclei in their own units, which differ by four orders of
magnitude: standardise.
"""

import numpy as np

from pillar_core.data.cards import DATASETS, NoSettings, card_of
from pillar_core.data.partition import with_test_rows
from pillar_core.types import Dataset


def _digits(_: NoSettings, seed: int, download: bool) -> Dataset:
    from sklearn.datasets import load_digits

    source = load_digits()
    images, classes = np.rint(source.images * (255 / 16)).astype(np.uint8), tuple(map(str, range(10)))
    return with_test_rows(Dataset("digits", images, source.target.astype(np.int64), classes=classes), seed=seed)


def _breast_cancer(_: NoSettings, seed: int, download: bool) -> Dataset:
    from sklearn.datasets import load_breast_cancer

    source = load_breast_cancer()
    rows, classes = np.ascontiguousarray(source.data, dtype=np.float32), tuple(map(str, source.target_names))
    return with_test_rows(Dataset("breast_cancer", rows, source.target.astype(np.int64), classes=classes), seed=seed)


DATASETS.register(card_of("digits", _digits, settings=NoSettings))
DATASETS.register(card_of("breast_cancer", _breast_cancer, settings=NoSettings))
