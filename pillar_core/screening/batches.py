"""Batches for screening: m rows of a set and random labels, the same positions for every set, as a
network takes them."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.data.images.decoding import interpolate
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.params import Param
from pillar_core.rng import stream
from pillar_core.types import Dataset, FeatureSet

SIZE = Param("size", int, 32, "Side of the images.", low=1, high=1024, unit="pixels")
LABEL_CLASSES = 10
"""Random labels are drawn over ten classes of the model, whatever the data's own classes (gsd,
section 4.2)."""
MIXTURE = "mixture"
"""Known of sets that `mixture` made. ε protects no row of them: how many rows are drawn of each set
hangs on the sizes of all."""


@dataclasses.dataclass(frozen=True)
class Start:
    """What names a model's random weights."""

    seed: int = 0
    repeat: int = 0


def chosen_rows(n_rows: int, m: int, *, seed: int, repeat: int = 0) -> Array:
    """(min(m, n_rows),) row numbers: the head of a random order that depends on (seed, repeat,
    n_rows) alone.

    A smaller m takes a prefix, and equal sets get equal rows."""
    return stream(seed, "screening rows", repeat).permutation(n_rows)[:m]


def random_labels(m: int, *, seed: int, repeat: int = 0) -> "torch.Tensor":
    """(m,) int64 labels in 0 … 9: label i depends on (seed, repeat, i), so every set gets the same
    ones."""
    return torch.from_numpy(
        stream(seed, "screening labels", repeat).integers(LABEL_CLASSES, size=m)
    )


def image_batches(
    rows: Array, size: int, *, channels: int = 3, batch: int = 64
) -> "Iterator[torch.Tensor]":
    """(b, channels, size, size) float32 in [−1, 1] from uint8 images (n, h, w[, 3]): bilinear (with
    antialiasing when smaller).

    Grey images become three equal channels; with one channel, colour becomes grey by the mean.
    """
    is_smaller = rows.shape[2] > size
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        yield interpolate(part, (size, size), channels, antialias=is_smaller) / 127.5 - 1.0


def flat_pixels(rows: Array, size: int, *, channels: int = 3) -> Array:
    """(n, channels · size²) float32 of `image_batches`; numbers as they are."""
    if rows.ndim == 2:
        return rows
    return np.concatenate(
        [part.flatten(1).numpy() for part in image_batches(rows, size, channels=channels)]
    )


def resize_images(rows: Array, size: int, *, channels: int = 3) -> Array:
    """(n, size, size, channels) uint8 of `image_batches`."""
    pixels = torch.cat(list(image_batches(rows, size, channels=channels))) * 127.5 + 127.5
    return pixels.permute(0, 2, 3, 1).round().clamp(0, 255).byte().numpy()


def require_images(data: Dataset, model: str) -> None:
    """Refuses sets of numbers where a network takes images. Raises DataError: naming the model that
    takes numbers."""
    if not data.is_images:
        raise DataError(
            f"the model {model!r} takes images; {data.name!r} holds numbers. Use"
            " model='linear_head'."
        )


def preparation_notes(sets: Sequence[Dataset], size: int | None) -> tuple[str, ...]:
    """What was done to make images comparable: sizes and grey or colour, in words."""
    notes = []
    shapes = {data.x_train.shape[1:3] for data in sets if data.is_images}
    if size is not None and shapes != {(size, size)}:
        sizes = ", ".join(f"{height} × {width}" for height, width in sorted(shapes))
        notes.append(
            f"Images of {sizes} pixels were resized to {size} × {size}, the model's input."
        )
    if len({data.x_train.ndim for data in sets if data.is_images}) > 1:
        notes.append("Grey images were compared with colour ones as three equal channels.")
    return tuple(notes)


def mixture(sets: Sequence[Dataset], *, name: str, size: int = 32, seed: int = 0) -> Dataset:
    """The rows of several image sets, equally many of each, shuffled, as colour images of equal
    size; without labels.

    Raises DataError: a set that holds no images, or several rows of a person.
    """
    checks.within(size=(size, SIZE))
    if not sets:
        raise DataError("a mixture needs at least one set.")
    refuse_persons(sets)
    for data in sets:
        require_images(data, "mixture")
    share = min(len(data.x_train) for data in sets)
    parts = []
    for number, data in enumerate(sets):
        rows = data.x_train[stream(seed, "mixture", number).permutation(len(data.x_train))[:share]]
        parts.append(resize_images(rows, size))
    rows = np.concatenate(parts)[stream(seed, "mixture order").permutation(share * len(sets))]
    return Dataset(
        name,
        rows,
        None,
        title=name,
        synthetic=all(data.synthetic for data in sets),
        known={MIXTURE: True},
    )


def refuse_persons(sets: Sequence[Dataset | FeatureSet]) -> None:
    """Refuses parts of a mixture that declare persons, of whom one may have rows in several. Raises
    DataError: naming the set."""
    for data in sets:
        if data.persons is not None:
            raise DataError(
                f"{data.name!r} names its persons, and a mixture does not know whose rows are"
                " whose: name it alone."
            )
