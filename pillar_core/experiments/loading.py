"""From whatever the user has to a feature set: files are read by `data`, images go through `features`."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from pillar_core import data
from pillar_core.errors import SettingError
from pillar_core.features import extract
from pillar_core.types import Dataset, FeatureSet

__all__ = ["load_features"]


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
        backbone: a key of `BACKBONES`; None takes raw_pixels for images and identity for numbers.
        weights: a local file for backbones that have weights.
        device: auto, cpu, cuda or mps.
        batch_size: images at a time.

    Raises:
        DataError: a file or rows that cannot be used; every reason with row numbers.
        SettingError: a backbone for what is features already, or a device or batch size out of range.
        UnknownNameError: no such backbone.
    """
    found = _read(source)
    if isinstance(found, FeatureSet):
        if backbone not in (None, "identity") or weights is not None:
            raise SettingError(f"backbone must be none or identity for what is features already; got {backbone!r}, weights {weights!r}.")
        return found
    chosen = backbone or ("raw_pixels" if found.is_images else "identity")
    x_train, x_test = extract(found, backbone=chosen, weights=weights, device=device, batch_size=batch_size)
    checked = data.features(x_train, found.y_train, x_test, found.y_test, found.classes or None)
    return dataclasses.replace(
        checked,
        name=found.name,
        backbone=chosen,
        synthetic=found.synthetic,
        notes=found.notes + checked.notes,
        images=found if found.is_images else None,
        known=found.known,
    )


def _read(source: str | Path | Dataset | FeatureSet) -> Dataset | FeatureSet:
    if isinstance(source, Dataset | FeatureSet):
        return source
    path = Path(source).expanduser()
    if path.is_dir() or path.suffix.lower() == ".zip":
        return data.load_images(path)
    if path.suffix.lower() == ".npz":
        return _images_or_features(path)
    return data.read_features(path)


def _images_or_features(path: Path) -> Dataset | FeatureSet:
    parts = data.read_parts(path)
    return data.checked_images(parts, name=path.stem) if parts.holds_images else data.checked_features(parts, name=path.stem)
