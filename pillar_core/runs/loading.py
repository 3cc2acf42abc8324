"""From whatever the user has to a feature set: files are read by `data`, images go through `features`."""

import dataclasses
from pathlib import Path

from pillar_core import checks, data
from pillar_core.backbones import extract
from pillar_core.backbones.names import address
from pillar_core.data.reading import read
from pillar_core.errors import SettingError
from pillar_core.params import COUNT
from pillar_core.types import Dataset, FeatureSet, Progress, StopRequested

__all__ = ["load_features", "read", "through_backbone"]


def load_features(
    source: str | Path | Dataset | FeatureSet,
    backbone: str | None = None,
    *,
    weights: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
) -> FeatureSet:
    """The feature set of a file, a folder or zip of images, or a dataset, checked.

    Args:
        source: npz (x_train, y_train, x_test, y_test, classes), csv or parquet of features; npz, folder or zip of images;
            or a dataset. A feature set comes back as it is.
        backbone: a key of `BACKBONES`; None takes raw_pixels for images and identity for numbers. What a network makes is kept
            in the cache, and extracted only where it is not there.
        weights: a local file for backbones that have weights.
        device: auto, cpu, cuda or mps.
        batch_size: images at a time.

    Raises:
        DataError: a file or rows that cannot be used, every reason with row numbers; or weights of another network.
        SettingError: a backbone for what is features already, or a device, batch size or weights out of range.
        UnknownNameError: no such backbone.
        StoreError: a disk that refuses; what was extracted is kept.
    """
    checks.within(batch_size=(batch_size, COUNT))
    checks.one_of(("auto", "cpu", "cuda", "mps"), device=device)
    rows = read(source)
    if isinstance(rows, FeatureSet):
        if backbone not in (None, "identity") or weights is not None:
            raise SettingError(f"backbone must be none or identity for what is features already; got {backbone!r}, weights {weights!r}.")
        return rows
    return through_backbone(rows, backbone, weights=weights, device=device, batch_size=batch_size)


def through_backbone(
    dataset: Dataset,
    backbone: str | None = None,
    *,
    weights: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
    progress: Progress | None = None,
    cancelled: StopRequested | None = None,
) -> FeatureSet:
    """`load_features` of a dataset, telling how far it is and stopping when asked.

    Raises:
        as `load_features`; and Cancelled.
    """
    chosen = backbone or ("raw_pixels" if dataset.is_images else "identity")
    x_train, x_test, notes = extract(
        dataset,
        backbone=chosen,
        weights=weights,
        device=device,
        batch_size=batch_size,
        progress=progress,
        cancelled=cancelled,
    )
    checked = data.features(x_train, dataset.y_train, x_test, dataset.y_test, dataset.classes or None)
    return dataclasses.replace(
        checked,
        name=dataset.name,
        backbone=address(chosen).canonical,
        synthetic=dataset.synthetic,
        notes=dataset.notes + checked.notes + notes,
        images=dataset if dataset.is_images else None,
        known=dataset.known,
        persons=dataset.persons,
        caveats=dataset.caveats,
        test_drawn=dataset.test_drawn,
    )
