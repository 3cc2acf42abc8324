"""Image files to uint8 arrays of one size, with memory bounded whatever their number.

Rows too large for memory go to the disk as they are decoded, and are then memory-mapped (see
`scratch`). Where a key is given, they are kept in the store under it (whole, checksummed, or not at
all) and found there the next time.
"""

import concurrent.futures
import contextlib
import dataclasses
import itertools
import lzma
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.data import room, scratch
from pillar_core.data.images.folders import UNREADABLE_SHARE, Member
from pillar_core.data.parts import COLOUR_SEEN, RANGE_SEEN, SIZE_SEEN
from pillar_core.data.wording import join
from pillar_core.deferred import torch
from pillar_core.errors import DataError, StoreError
from pillar_core.grouping import slices
from pillar_core.types import Dataset, Progress, ignore_progress

VERSION = 3
SHORTER_SIDE = 256
UNREADABLE_FILES = 3
"""Of few images this number may be broken, of many `UNREADABLE_SHARE`; such files are skipped and
named."""
ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)
"""The Exif tag that says how a camera was held, and its values that exchange height and width."""
THREADS, AT_ONCE = min(4, os.cpu_count() or 1), 256
_OF_ARCHIVES = (zipfile.BadZipFile, zlib.error, lzma.LZMAError)
UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    IndexError,
    struct.error,
    NotImplementedError,
    *_OF_ARCHIVES,
)
GREY, DEEP_GREY = ("1", "L", "LA"), ("I;16", "I;16B", "I;16L", "I", "F")
ENDS = (1, 255, 4095, 65535)
"""Where the range of deep grey may end: shares, and pixels of 8, 12 and 16 bits."""


@dataclasses.dataclass(frozen=True)
class PixelFormat:
    """Height, width and whether it has colours: what a file's header says of an image, or what all
    rows of a set share.

    `low` … `high`: the values of deep grey, of more than 8 bits or of real numbers, that become 0 …
    255.
    """

    height: int
    width: int
    colour: bool
    low: float = 0.0
    high: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a row."""
        return (self.height, self.width, *((3,) if self.colour else ()))

    def __str__(self) -> str:
        """Part of the key of decoded rows: it stays, whatever the class is called."""
        deep = f", low={self.low}, high={self.high}" if self.high else ""
        return f"Look(height={self.height}, width={self.width}, colour={self.colour}{deep})"


@dataclasses.dataclass(frozen=True)
class Decoded:
    """For each part (m, h, w[, 3]) uint8 rows of the readable images and (n,) bool which; the
    others; store keys."""

    rows: tuple[Array, ...]
    keep: tuple[Array, ...]
    skipped: tuple[PurePosixPath, ...]
    stored: tuple[str, ...]


def pixel_formats(pictures: Sequence[Member]) -> list[PixelFormat | None]:
    """What the headers say; None for a file that is no image, or damaged.

    Raises DataError: too many of the files are; the rest is not opened. Or one image takes more
    memory than there is.
    """
    formats: list[PixelFormat | None] = []
    bad: list[PurePosixPath] = []
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        for start in range(0, len(pictures), AT_ONCE):
            batch = pictures[start : start + AT_ONCE]
            formats += pool.map(format_of, batch)
            bad += [
                picture.path
                for picture, pixel_format in zip(batch, formats[start:], strict=True)
                if pixel_format is None
            ]
            _refuse_many(bad, len(formats), len(pictures))
    largest = max(
        (pixel_format.height * pixel_format.width for pixel_format in formats if pixel_format),
        default=0,
    )
    room.check_memory(
        f"Images of {largest / 1e6:,.0f} million pixels, {THREADS} at a time, take",
        8 * THREADS * largest,
    )
    return formats


def common(
    formats: Sequence[PixelFormat | None],
) -> tuple[PixelFormat, tuple[str, ...], tuple[str, ...]]:
    """The format that all readable rows will share, notes on it, and what of it the rows themselves
    decided.

    Images of one size keep it where the rows fit into memory. Otherwise it is the median size, the
    shorter side at most 256 pixels. Colour wherever one image has it.
    """
    readable = [pixel_format for pixel_format in formats if pixel_format is not None]
    sizes = np.array([(pixel_format.height, pixel_format.width) for pixel_format in readable])
    colour = any(pixel_format.colour for pixel_format in readable)
    same = bool((sizes == sizes[0]).all())
    height, width = (int(side) for side in (sizes[0] if same else np.median(sizes, axis=0)))
    low, high = _range(readable)
    shared = PixelFormat(height, width, colour, low, high)
    grey: tuple[str, ...] = (f"Grey from {low:g} to {high:g} became 0 to 255.",) if high else ()
    caveats: tuple[str, ...] = (
        () if all(pixel_format.colour == colour for pixel_format in readable) else (COLOUR_SEEN,)
    )
    caveats += (RANGE_SEEN,) if high else ()
    if same and not scratch.is_large((len(readable), *shared.shape)):
        return shared, grey, caveats
    scale = min(1.0, SHORTER_SIDE / min(height, width))
    target = dataclasses.replace(
        shared, height=max(1, round(scale * height)), width=max(1, round(scale * width))
    )
    if same and target == shared:
        return shared, grey, caveats
    why = f"Images of {height} × {width} pixels" if same else "Images of different sizes"
    notes = (f"{why} were resized to {target.height} × {target.width} pixels.", *grey)
    return target, notes, caveats if same else (SIZE_SEEN, *caveats)


def _range(readable: Sequence[PixelFormat]) -> tuple[float, float]:
    """Which values of deep grey become 0 … 255 in every row; two zeros where no image has any."""
    if not any(pixel_format.high for pixel_format in readable):
        return 0.0, 0.0
    low, high = (
        min(pixel_format.low for pixel_format in readable),
        max(pixel_format.high for pixel_format in readable),
    )
    return low, high if low else next((float(end) for end in ENDS if high <= end), high)


def decode(
    parts: Sequence[Sequence[Member]],
    pixel_format: PixelFormat,
    *,
    key: str | None,
    progress: Progress = ignore_progress,
) -> Decoded:
    """The rows of each part, all in one format; files whose pixels do not decode are left out,
    named and counted.

    Args:
        key: names the content in the store, for rows too many for memory; None keeps them until the
        process ends.

    Raises DataError: too many of the files do not decode. StoreError: no room on the disk of the
    cache.
    """
    n = sum(map(len, parts))
    count = itertools.count(1)
    is_large = scratch.is_large((n, *pixel_format.shape))
    name = key if is_large else None
    pairs = None if name is None else _load_decoded(name, len(parts))
    is_new = pairs is None
    pairs = pairs or [
        _decode_part(part, pixel_format, is_large, lambda: progress(next(count), n))
        for part in parts
    ]
    skipped = tuple(
        picture.path
        for part, (_, keep) in zip(parts, pairs, strict=True)
        for picture, good in zip(part, keep, strict=True)
        if not good
    )
    if is_new:
        _refuse_many(skipped, n, n)
        pairs, name = _store_rows(name, pairs)
    rows, keep = zip(*pairs, strict=True)
    return Decoded(rows, keep, skipped, () if name is None else (name,))


def _refuse_many(bad: Sequence[PurePosixPath], seen: int, n: int) -> None:
    """Refuses where more of all `n` pictures than may be skipped are bad already after `seen` of
    them."""
    most = max(UNREADABLE_FILES, int(UNREADABLE_SHARE * n))
    if len(bad) > most or len(bad) == n > 0:
        rest = f" (the other {n - seen:,} were not opened)" if seen < n else ""
        raise DataError(
            f"{len(bad)} of {seen} images do not decode, more than {most}{rest}: {join(bad)}."
            " Remove or replace them."
        )


def format_of(picture: Member) -> PixelFormat | None:
    """What the header says, and of deep grey its values; None for a file that is no image, or
    damaged."""
    try:
        with picture.open() as image:
            size = (
                (image.width, image.height) if _is_sideways(image) else (image.height, image.width)
            )
            if image.mode in DEEP_GREY:
                values = np.nan_to_num(np.asarray(image, dtype=np.float64))
                return PixelFormat(
                    *size, False, min(float(values.min()), 0.0), max(float(values.max()), 1.0)
                )
            return PixelFormat(*size, image.mode not in GREY)
    except UNREADABLE:
        return None


def pixels(picture: Member, pixel_format: PixelFormat) -> Array | None:
    """(h, w[, 3]) uint8 pixels in this format, turned as the camera was held, on white; None where
    the file does not decode."""
    from PIL import Image, ImageOps

    try:
        with picture.open() as image:
            size = (pixel_format.width, pixel_format.height)
            image.draft(None, size[::-1] if _is_sideways(image) else size)
            image = ImageOps.exif_transpose(image)
            if image.has_transparency_data:
                image = Image.alpha_composite(
                    Image.new("RGBA", image.size, "white"), image.convert("RGBA")
                )
            if image.mode in DEEP_GREY:
                values = np.nan_to_num(np.asarray(image, dtype=np.float64)) - pixel_format.low
                image = Image.fromarray(
                    np.clip(
                        np.rint(values * 255 / (pixel_format.high - pixel_format.low)), 0, 255
                    ).astype(np.uint8)
                )
            pixels = image.convert("RGB" if pixel_format.colour else "L")
            return np.asarray(pixels if pixels.size == size else pixels.resize(size))
    except UNREADABLE:
        return None


def _is_sideways(image: Any) -> bool:
    return image.getexif().get(ORIENTATION) in SIDEWAYS


def _decode_part(
    part: Sequence[Member], pixel_format: PixelFormat, is_large: bool, tell: Callable[[], None]
) -> tuple[Array, Array]:
    keep = np.zeros(len(part), dtype=bool)
    if is_large:
        pieces = (np.ascontiguousarray(row).data for row in _good(part, pixel_format, keep, tell))
        return scratch.on_disk(pieces, np.uint8, (-1, *pixel_format.shape)), keep
    return (
        np.fromiter(
            _good(part, pixel_format, keep, tell), np.dtype((np.uint8, pixel_format.shape))
        ),
        keep,
    )


def _good(
    part: Sequence[Member], pixel_format: PixelFormat, keep: Array, tell: Callable[[], None]
) -> Iterator[Array]:
    """The rows that decode, in order; sets `keep` where one does. A few threads, a few hundred
    images in memory."""
    numbers = iter(range(len(part)))
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        while batch := list(itertools.islice(numbers, AT_ONCE)):
            for number, row in zip(
                batch,
                pool.map(lambda number: pixels(part[number], pixel_format), batch),
                strict=True,
            ):
                tell()
                if row is not None:
                    keep[number] = True
                    yield row


def _load_decoded(name: str, parts: int) -> list[tuple[Array, Array]] | None:
    arrays = store.default().get_arrays(name, mmap=True)
    return (
        None
        if arrays is None
        else [(arrays[f"rows_{part}"], np.array(arrays[f"keep_{part}"])) for part in range(parts)]
    )


def _store_rows(
    name: str | None, pairs: list[tuple[Array, Array]]
) -> tuple[list[tuple[Array, Array]], str | None]:
    """The rows mapped from the store under `name`; as they are without a name, or where the store
    has no room."""
    if name is None:
        return pairs, None
    arrays = {
        f"{title}_{part}": array
        for part, pair in enumerate(pairs)
        for title, array in zip(("rows", "keep"), pair, strict=True)
    }
    with contextlib.suppress(StoreError):
        store.default().put_arrays(name, **arrays)
    stored = _load_decoded(name, len(pairs))
    return (pairs, None) if stored is None else (stored, name)


ROWS_AT_A_TIME = 512


def resize(dataset: Dataset, shape: tuple[int, ...]) -> tuple[Dataset, str]:
    """(`dataset` with images of `shape`, (h, w) or (h, w, 3), the note that it got).

    Bilinear, with antialiasing where smaller. Grey images become three equal channels, colour
    becomes grey by the mean of its channels.

    Raises DataError: rows that are no images.
    """
    if not dataset.is_images:
        raise DataError(f"only images can be resized; {dataset.name!r} holds numbers (n, d).")
    colours = "colour" if len(shape) == 3 else "grey"
    note = (
        f"The images of {dataset.name} were brought to {shape[0]} × {shape[1]} pixels, {colours}."
    )
    x_test = None if dataset.x_test is None else _images(dataset.x_test, shape)
    return (
        dataclasses.replace(
            dataset,
            x_train=_images(dataset.x_train, shape),
            x_test=x_test,
            notes=(*dataset.notes, note),
        ),
        note,
    )


def _images(rows: Array, shape: tuple[int, ...]) -> Array:
    """(n, *shape) uint8."""
    out = np.empty((len(rows), *shape), dtype=np.uint8)
    for place in slices(len(rows), ROWS_AT_A_TIME):
        part = interpolate(rows[place], shape[:2], 1 if len(shape) == 2 else 3)
        pixels = part.round().clamp(0, 255).byte()
        out[place] = (pixels.squeeze(1) if len(shape) == 2 else pixels.permute(0, 2, 3, 1)).numpy()
    return out


def interpolate(
    rows: Array, size: tuple[int, ...], channels: int, *, antialias: bool = True
) -> "torch.Tensor":
    """(n, channels, *size) float32 in 0 … 255 from uint8 images (n, h, w[, 3]), as `resize`
    says."""
    pixels = torch.from_numpy(np.ascontiguousarray(rows)).float()
    pixels = pixels.unsqueeze(1) if pixels.ndim == 3 else pixels.permute(0, 3, 1, 2)
    pixels = pixels.mean(dim=1, keepdim=True) if channels == 1 else pixels
    if pixels.shape[-2:] != size:
        pixels = torch.nn.functional.interpolate(
            pixels, size=size, mode="bilinear", antialias=antialias
        )
    return pixels.expand(-1, channels, -1, -1)
