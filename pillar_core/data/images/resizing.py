"""Images brought to the size and colours of other images."""

import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.types import Dataset

ROWS_AT_A_TIME = 512


def resized(dataset: Dataset, shape: tuple[int, ...]) -> tuple[Dataset, str]:
    """`dataset` with images of `shape`, (h, w) or (h, w, 3), and the note that it got: bilinear (with antialiasing where smaller).

    Grey images become three equal channels, colour becomes grey by the mean of its channels.

    Raises:
        DataError: rows that are no images.
    """
    if not dataset.is_images:
        raise DataError(f"only images can be resized; {dataset.name!r} holds numbers (n, d).")
    colours = "colour" if len(shape) == 3 else "grey"
    note = f"The images of {dataset.name} were brought to {shape[0]} × {shape[1]} pixels, {colours}."
    x_test = None if dataset.x_test is None else _images(dataset.x_test, shape)
    return dataclasses.replace(dataset, x_train=_images(dataset.x_train, shape), x_test=x_test, notes=(*dataset.notes, note)), note


def _images(rows: Array, shape: tuple[int, ...]) -> Array:
    """(n, *shape) uint8."""
    out = np.empty((len(rows), *shape), dtype=np.uint8)
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        part = torch.from_numpy(np.ascontiguousarray(rows[start : start + ROWS_AT_A_TIME])).float()
        part = part.unsqueeze(1) if part.ndim == 3 else part.permute(0, 3, 1, 2)
        part = part.mean(dim=1, keepdim=True) if len(shape) == 2 else part.expand(-1, 3, -1, -1)
        if tuple(part.shape[-2:]) != tuple(shape[:2]):
            part = torch.nn.functional.interpolate(part, size=tuple(shape[:2]), mode="bilinear", antialias=True)
        whole = part.round().clamp(0, 255).byte()
        out[start : start + len(part)] = (whole.squeeze(1) if len(shape) == 2 else whole.permute(0, 2, 3, 1)).numpy()
    return out
