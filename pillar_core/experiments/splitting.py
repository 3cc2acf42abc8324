"""Data by name, and the public face's `split`: any data set or feature set into rows by role, duplicates refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.data import DATASETS, duplicates, features, load_dataset
from pillar_core.errors import DataError, StoreError
from pillar_core.experiments.loading import load_features
from pillar_core.splits import split_features
from pillar_core.types import Dataset, FeatureSet, SemiPrivateSplit

Array = np.ndarray[Any, Any]

STORED = "stored:"
"""Prefix of the names of uploaded features: the rest is their key in the store."""


def split(
    data: FeatureSet | Dataset,
    *,
    public_fraction: float | None = None,
    public_per_class: int | None = None,
    public: FeatureSet | Dataset | None = None,
    validation_fraction: float = 0.0,
    text_embeddings: Array | None = None,
    allow_overlap: bool = False,
    seed: int = 0,
) -> SemiPrivateSplit:
    """`data` with its train rows told apart into public, validation and private ones.

    At most one of public_fraction (of train, stratified), public_per_class (exactly that many) and public (another set, all
    its train rows); without any, methods that need public data say so. A Dataset of images is taken as raw pixels.

    Raises:
        SettingError, DataError: see `split_features`; also where a public row is, bit by bit, a private one.
    """
    own = load_features(data)
    given = None if public is None else load_features(public)
    made = split_features(
        own,
        public_fraction=public_fraction,
        public_per_class=public_per_class,
        public=given,
        validation_fraction=validation_fraction,
        text_embeddings=text_embeddings,
        seed=seed,
    )
    if not allow_overlap and len(made.public_x):
        _refuse_duplicates(made)
    return made


def named_features(name: str, backbone: str | None = None, settings: Mapping[str, Any] | None = None) -> FeatureSet:
    """Features by a name that a link or a grid can carry: a registered data set through a backbone, or a stored upload.

    Raises:
        UnknownNameError, StoreError, DataError.
    """
    if name.startswith(STORED):
        return stored_features(name)
    dataset = load_dataset(name, **dict(settings or {}))
    return load_features(dataset, backbone)


def is_known(name: str) -> bool:
    """Whether `named_features` can find this name here."""
    return name in DATASETS or (name.startswith(STORED) and store.default().get_arrays(name.removeprefix(STORED)) is not None)


def keep_features(features_set: FeatureSet) -> str:
    """The name under which these features can be found again on this machine, after storing them in the cache."""
    arrays = {
        "x_train": features_set.x_train,
        "y_train": features_set.y_train,
        "x_test": features_set.x_test,
        "y_test": features_set.y_test,
        "classes": np.array(features_set.classes),
        "name": np.array(features_set.name),
    }
    key = features_set.fingerprint
    store.default().put_arrays(key, **{name: array for name, array in arrays.items() if array is not None})
    return STORED + key


def stored_features(name: str) -> FeatureSet:
    """The features kept under `name`.

    Raises:
        StoreError: they are not in this cache (any more).
    """
    arrays = store.default().get_arrays(name.removeprefix(STORED))
    if arrays is None:
        raise StoreError(f"{name} is not in this cache; upload the features again.")
    classes = tuple(str(label) for label in arrays["classes"])
    made = features(arrays["x_train"], arrays.get("y_train"), arrays.get("x_test"), arrays.get("y_test"), classes)
    return FeatureSet(made.x_train, made.y_train, made.x_test, made.y_test, classes, name=str(arrays["name"]))


def forget_features(name: str) -> None:
    """Removes stored features from this machine's cache; their records hold no rows."""
    store.default().delete("arrays", name.removeprefix(STORED))


def _refuse_duplicates(made: SemiPrivateSplit) -> None:
    pairs = duplicates(made.features.x_train[made.private], made.public_x)
    if len(pairs):
        rows = ", ".join(str(made.private[row]) for row in pairs[:5, 0])
        raise DataError(
            f"{len(pairs)} public rows are, bit by bit, private rows (train rows {rows}{' …' if len(pairs) > 5 else ''}). "
            "Remove them from the public set, or pass allow_overlap=True if that is what you want to study."
        )
