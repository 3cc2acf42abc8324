"""Images from files: a npz of uint8 arrays, class folders on disk or in a zip, or a directory as
torchvision lays it out; for screening without labels, too."""

import collections
import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import arrays
from pillar_core.data.images import arranging, decoding, folders, layouts
from pillar_core.data.images.folders import Layout, Member
from pillar_core.data.npz import read_npz
from pillar_core.data.partition import SET_APART, stratify, with_test_rows
from pillar_core.data.parts import notes_on, open_source, place_of
from pillar_core.data.persons import persons_of
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import Dataset, Progress, ignore_progress


def read_images(
    source: str | Path | bytes, *, filename: str = "", progress: Progress = ignore_progress
) -> Dataset:
    """The images at a path or in an upload's bytes, whose `filename` then says the format;
    `progress` counts images. Raises DataError: as `reading.load_images`."""
    name = filename or ("" if isinstance(source, bytes) else str(source))
    if name.lower().endswith(".npz"):
        return checked_images(read_npz(open_source(source)), name=Path(name).stem)
    known = None if isinstance(source, bytes) else layouts.recognise(place_of(source))
    if known is not None:
        return build(layouts.read(*known), name=Path(name).stem, progress=progress)
    with folders.listing(source, filename=name) as members:
        if (
            not isinstance(source, bytes)
            and (table := place_of(source).parent / "labels.csv").is_file()
        ):
            members.append(folders.on_disk(table, table.parent))
        return assemble(arranging.arrange(members), name=Path(name).stem, progress=progress)


def build(
    content: Dataset | Layout, *, name: str, seed: int = 0, progress: Progress = ignore_progress
) -> Dataset:
    """The dataset of what a layout reader found: arrays, or image files still to decode."""
    if isinstance(content, Layout):
        return assemble(content, name=name, seed=seed, progress=progress)
    return checked_images(content, name=name, seed=seed)


def assemble(
    layout: Layout, *, name: str, seed: int = 0, progress: Progress = ignore_progress
) -> Dataset:
    """The images of a layout, decoded to one size; without test images of their own, a stratified
    fifth by `seed`.

    Call it while the files are open: see `folders.listing`.

    Raises DataError: too many files do not decode, no train images, one class. StoreError: no room
    for the decoded rows on the disk of the cache.
    """
    if not layout.members:
        raise DataError("there are no images with a label.")
    formats = decoding.pixel_formats(layout.members)
    good = np.array([pixel_format is not None for pixel_format in formats], dtype=bool)
    members = [member for member, is_good in zip(layout.members, good, strict=True) if is_good]
    bad = [member.path for member, is_good in zip(layout.members, good, strict=True) if not is_good]
    train, test, notes = _sides(members, seed, is_of_persons=layout.rows_per_person is not None)
    pixel_format, more, caveats = decoding.common(formats)
    key = folders.content_key([*train, *test], f"{pixel_format} {decoding.VERSION}")
    decoded = decoding.decode([train, test], pixel_format, key=key, progress=progress)
    skipped = sorted([*bad, *decoded.skipped])
    if skipped:
        notes = (*notes, f"{len(skipped)} files do not decode and were skipped: {join(skipped)}.")
    y_train, y_test = (
        _member_fields(part, keep, "label")
        for part, keep in zip((train, test), decoded.keep, strict=True)
    )
    most, of = layout.rows_per_person, _member_fields(train, decoded.keep[0], "person")
    persons = None if most is None else persons_of(of, most, n_rows=len(of))
    x_test = decoded.rows[1] if len(y_test) else None
    all_notes = (*layout.notes, *notes, *more)
    rows = Dataset(
        name,
        decoded.rows[0],
        y_train,
        x_test,
        y_test if len(y_test) else None,
        layout.classes,
        notes=all_notes,
        stored_rows=decoded.stored,
        persons=persons,
        caveats=caveats,
    )
    return checked_images(rows, name=name, divide=False)


def checked_images(rows: Dataset, *, name: str, seed: int = 0, divide: bool = True) -> Dataset:
    """Image arrays as a dataset; without test rows, and with `divide`, a stratified fifth (by
    `seed`) becomes them.

    Raises DataError: shapes or types that are no images, or labels that `features` would refuse.
    """
    train, test = rows.x_train, rows.x_test
    for title, side in (("x_train", train), ("x_test", test)):
        if side is not None:
            _check_shape(side, title)
    if test is not None and test.shape[1:] != train.shape[1:]:
        raise DataError(
            f"x_test images must be as large as those of x_train, {train.shape[1:]}; got"
            f" {test.shape[1:]}. Resize them."
        )
    # One column stands for the pixels, so that images and features share one set of label checks.
    stand_in = [
        None if side is None else np.zeros((len(side), 1), dtype=np.float32)
        for side in (train, test)
    ]
    labels = arrays.features(
        stand_in[0], rows.y_train, stand_in[1], rows.y_test, rows.classes or None
    )
    data = dataclasses.replace(
        rows,
        name=name,
        title=name,
        y_train=labels.y_train,
        y_test=labels.y_test,
        classes=labels.classes,
        notes=notes_on(rows) + labels.notes,
    )
    if divide:
        data = with_test_rows(data, seed=seed, name="images", note=SET_APART)
    x_test = None if data.x_test is None else _tidy(data.x_test)
    return dataclasses.replace(data, x_train=_tidy(data.x_train), x_test=x_test)


def _member_fields(part: list[Member], keep: Array, field: str) -> Array:
    return np.array(
        [getattr(member, field) for member, is_good in zip(part, keep, strict=True) if is_good],
        dtype=str,
    )


def _sides(
    members: list[Member], seed: int, *, is_of_persons: bool
) -> tuple[list[Member], list[Member], tuple[str, ...]]:
    """(train, test, notes): the sides that the layout names, else a stratified fifth as test
    rows."""
    train, test = (
        [member for member in members if member.in_test is side] for side in (False, True)
    )
    if not train:
        raise DataError(
            "the folder has test images but no train images: add a train/ folder with one subfolder"
            " per class."
        )
    counts = collections.Counter(member.label for member in train)
    single = sorted(label for label, count in counts.items() if count == 1)
    notes = (
        [
            f"Classes with one train image each: {join(single)}. If it becomes public, no private"
            " row of that class is left."
        ]
        if single
        else []
    )
    if test:
        absent = sorted(set(counts) - {member.label for member in test})
        notes += (
            [f"No test image of the class {join(absent)}: its accuracy cannot be measured."]
            if absent
            else []
        )
        return train, test, tuple(notes)
    _, codes = np.unique([member.label for member in train], return_inverse=True)
    persons = np.array([member.person for member in train]) if is_of_persons else None
    rest, held_out = stratify(codes, seed=seed, name="images", persons=persons)
    return [train[row] for row in rest], [train[row] for row in held_out], (*notes, SET_APART)


def _check_shape(rows: Array, title: str) -> None:
    if rows.ndim not in (3, 4) or not rows.size or (rows.ndim == 4 and rows.shape[3] not in (1, 3)):
        hint = (
            " Move the channels: x.transpose(0, 2, 3, 1)."
            if rows.ndim == 4 and rows.shape[1] in (1, 3)
            else ""
        )
        raise DataError(
            f"{title} must hold images of shape (n, height, width) or (n, height, width, 3); got"
            f" {rows.shape}.{hint}"
        )
    if rows.dtype != np.uint8:
        raise DataError(
            f"{title} must hold uint8 pixels, 0 … 255; got dtype {rows.dtype}. Scale and round them"
            " first."
        )


def _tidy(rows: Array) -> Array:
    return np.ascontiguousarray(rows[..., 0] if rows.ndim == 4 and rows.shape[3] == 1 else rows)


FEWEST = 2


def load_candidate(source: str | Path) -> Dataset:
    """The images of a npz, folder or zip with labels where it has them, else the same images
    without any.

    One unreadable file among few is skipped, named and counted in the notes.

    Raises DataError: no images, or most of them unreadable.
    """
    try:
        return read_images(source)
    except DataError as refusal:
        name = Path(source).stem
        if str(source).lower().endswith(".npz"):
            npz = read_npz(open_source(source))
            _check_shape(npz.x_train, "x_train")
            rows = Dataset(name, _tidy(npz.x_train), None, title=name, persons=npz.persons)
        elif (loose := _loose_images(source, name)) is not None:
            rows = loose
        else:
            raise refusal
    notes = ("Taken without labels.", *notes_on(rows))
    return dataclasses.replace(rows, notes=notes, caveats=())


def load_unlabelled(source: Path, shape: Sequence[int] | None) -> tuple[Array, tuple[str, ...]]:
    """((n, h, w[, 3]) uint8 images of a folder or zip in the order of their paths, of `shape` where
    given; notes).

    Raises DataError: no images, or one that does not decode: leaving it out would move the labels
    of the others.
    """
    with folders.listing(source, filename=source.name) as members:
        pictures = [member for member in members if member.is_image]
        if not pictures:
            raise DataError(f"{source} holds no images.")
        shared, notes, _ = decoding.common(decoding.pixel_formats(pictures))
        if shape is not None:
            shared = dataclasses.replace(
                shared, height=shape[0], width=shape[1], colour=len(shape) == 3
            )
        decoded = decoding.decode([pictures], shared, key=None)
    if decoded.skipped:
        bad = f"{len(decoded.skipped)} images do not decode: {join(decoded.skipped)}"
        raise DataError(f"{bad}. Take them out, so that labels stay in order.")
    return decoded.rows[0], notes if shape is None else ()


def _loose_images(source: str | Path, name: str) -> Dataset | None:
    """Every readable image of a folder or zip, wherever it lies."""
    with folders.listing(source, filename=str(source)) as members:
        good: list[Member] = []
        broken: list[Member] = []
        for member in (member for member in members if member.is_image):
            found = decoding.format_of(member)
            is_good = found and decoding.pixels(member, found) is not None
            (good if is_good else broken).append(member)
        if len(good) < FEWEST or len(broken) > len(good):
            return None
        shared, notes, caveats = decoding.common(decoding.pixel_formats(good))
        rows = decoding.decode([good], shared, key=None).rows[0]
    if broken:
        names = join([member.path for member in broken])
        notes += (f"{len(broken)} files do not decode and were skipped: {names}.",)
    return Dataset(name, rows, None, title=name, notes=notes, caveats=caveats)
