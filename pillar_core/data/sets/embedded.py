"""Real sets that come with the library, and two that come with scikit-learn.

Parts of Fashion-MNIST, PneumoniaMNIST and MNIST are read by the reader of a user's own npz,
docstrings and sentences as a table of texts; rows, sources and licences:
`data/embedded/README.md`. Those of scikit-learn have no test rows: a stratified fifth is set apart,
by the seed. digits: 1,797 real 8 × 8 scans of 17 grey levels, 0 … 16; here they are uint8 images
with level g stored as round(g · 255 / 16), which is one-to-one.
breast_cancer: 569 real patients, 30 measurements of cell nuclei in their own units, which differ by
four orders of magnitude: standardise.
"""

import dataclasses
import functools
import importlib.metadata
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import frames, raw
from pillar_core.data.cards import DATASETS, NoSettings, card_of
from pillar_core.data.encoding import TEXT, Column, Recipe
from pillar_core.data.images.loading import checked_images
from pillar_core.data.npz import read_npz
from pillar_core.data.partition import with_test_rows
from pillar_core.types import Dataset

FOLDER = Path(__file__).resolve().parents[1] / "embedded"
PARTS = {"fashion_mnist_2k": ("fashion_mnist", 2000)}
"""Sets that are the first train rows of another one, with all its test rows: what a smaller data
holder has."""
NAMES = (*PARTS, "fashion_mnist", "pneumonia_mnist", "mnist")
TEXTS = ("scipy_docs", "library_docs", "python_docs", "union_sentences")


def _images(name: str, _: NoSettings, seed: int, download: bool) -> Dataset:
    file, n_train = PARTS.get(name, (name, None))
    rows = read_npz(FOLDER / f"{file}.npz")
    x, y = rows.x_train[:n_train], np.asarray(rows.y_train)[:n_train]
    return checked_images(dataclasses.replace(rows, x_train=x, y_train=y), name=name)


def whole_of(name: str) -> str:
    """The set whose rows these are: of a part the whole one, of one that counts persons the one
    that it names."""
    base = PARTS.get(name, (name,))[0]
    return (
        base.partition(":")[0]
        if base in DATASETS and DATASETS[base].rows_per_person is not None
        else base
    )


for _name in NAMES:
    DATASETS.register(card_of(_name, functools.partial(_images, _name), settings=NoSettings))


@functools.cache
def _of_scikit_learn(file: str, skipped: int) -> Array:
    """(n, d + 1) float64, labels last, of a file that the package holds; importing scikit-learn
    takes seconds."""
    path = importlib.metadata.distribution("scikit-learn").locate_file(
        f"sklearn/datasets/data/{file}"
    )
    return np.loadtxt(str(path), delimiter=",", skiprows=skipped)


def _digits(_: NoSettings, seed: int, download: bool) -> Dataset:
    numbers = _of_scikit_learn("digits.csv.gz", 0)
    images = np.rint(numbers[:, :-1].reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    return with_test_rows(
        Dataset(
            "digits", images, numbers[:, -1].astype(np.int64), classes=tuple(map(str, range(10)))
        ),
        seed=seed,
    )


def _breast_cancer(_: NoSettings, seed: int, download: bool) -> Dataset:
    numbers = _of_scikit_learn("breast_cancer.csv", 1)
    rows, labels = (
        np.ascontiguousarray(numbers[:, :-1], dtype=np.float32),
        numbers[:, -1].astype(np.int64),
    )
    return with_test_rows(
        Dataset("breast_cancer", rows, labels, classes=("malignant", "benign")), seed=seed
    )


DATASETS.register(card_of("digits", _digits, settings=NoSettings))
DATASETS.register(card_of("breast_cancer", _breast_cancer, settings=NoSettings))


@functools.cache
def _encoded(name: str) -> Dataset:
    """The texts of a set and their numbers, which take a second and no seed changes."""
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        texts, labels = (
            file["texts"].tobytes().decode().split("\n"),
            file["classes"][file["labels"]],
        )
    return dataclasses.replace(encode_texts(name, texts, labels), notes=())


def encode_texts(name: str, texts: Sequence[str], labels: Sequence[str] | Array) -> Dataset:
    """Texts as rows of numbers with labels, all of them train rows."""
    recipe = Recipe("label", columns=(Column(frames.TEXT, TEXT, 0),))
    rows = raw.whole_features(frames.of_texts(texts, labels), recipe, name=name)
    fields = ("classes", "texts", "recipe", "names", "notes")
    return Dataset(
        name, rows.x_train, rows.y_train, **{field: getattr(rows, field) for field in fields}
    )


def _texts(name: str, _: NoSettings, seed: int, download: bool) -> Dataset:
    return with_test_rows(_encoded(name), seed=seed)


for _name in TEXTS:
    DATASETS.register(card_of(_name, functools.partial(_texts, _name), settings=NoSettings))
