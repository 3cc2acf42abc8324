"""Which class and split an image file has: from its folders, or from a table that names it."""

import dataclasses
import io
import re
from collections.abc import Sequence

from pillar_core.data.frames import frame_of
from pillar_core.data.images.folders import UNREADABLE_SHARE, Layout, Member
from pillar_core.data.parts import IMAGE_ENDINGS
from pillar_core.data.tables import LABEL_NAMES, find_column
from pillar_core.data.wording import join
from pillar_core.errors import DataError

TRAIN, TEST, VALIDATION = "train", "test", "validation"
SPLITS = {
    **dict.fromkeys(("train", "training"), TRAIN),
    **dict.fromkeys(("test", "testing"), TEST),
    **dict.fromkeys(("val", "valid", "validation", "dev", "eval"), VALIDATION),
}
EXTRAS = frozenset(
    {
        "sample",
        "samples",
        "pred",
        "prediction",
        "example",
        "examples",
        "preview",
        "unlabeled",
        "unlabelled",
        "seg_pred",
    }
)
"""Folders beside splits that hold no further rows."""
_OF_LATIN_1 = "".join({*bytes(range(0xC0, 0x100)).decode("cp437")} - {*"ßµ°²·\u00a0"})
_GARBLED = re.compile(f"(?<=[A-Za-z])[{_OF_LATIN_1}]|[{_OF_LATIN_1}](?=[A-Za-z])")
"""Signs that letters of Latin-1 become in a zip that does not say how its names are written."""
HEIC_ENDINGS = (".heic", ".heif")
HEIC = "HEIC is not read: save such photographs as JPEG first (`mogrify -format jpg *.heic`)."


def arrange(members: Sequence[Member]) -> Layout:
    """The image files with class and split from their folders, or from a table that names each file
    and its class.

    A single folder around everything is looked through.

    Raises DataError: no images, images that lie in no class folder and in no table, or folders of
    which some look like splits.
    """
    visible = [
        member
        for member in members
        if not any(part.startswith((".", "__MACOSX")) for part in member.path.parts)
    ]
    images = [member for member in visible if member.is_image]
    tables = [member for member in visible if member.path.suffix.lower() == ".csv"]
    notes = _notes_on_files(
        [member for member in visible if not member.is_image and member not in tables]
    )
    if not images:
        hint = (
            f" {HEIC}"
            if any(member.path.suffix.lower() in HEIC_ENDINGS for member in visible)
            else ""
        )
        others = (
            f" It holds {join([m.path for m in visible], most=3)}: unzip a table or npz and give"
            " that file."
            if visible
            else ""
        )
        raise DataError(
            f"there are no image files ({', '.join(sorted(IMAGE_ENDINGS))}): put each class into a"
            f" folder of its own.{hint or others}"
        )
    paths = _without_wrappers({member: member.path.parts for member in images})
    stray_at_top = [member for member, parts in paths.items() if len(parts) == 1]
    if (
        len(stray_at_top) <= max(min(3, len(images) / 10), UNREADABLE_SHARE * len(images))
        and not tables
    ):
        paths = _without_wrappers(
            {member: parts for member, parts in paths.items() if len(parts) > 1}
        )
        notes += (
            [
                "Images beside the folders were left out:"
                f" {join([member.path for member in stray_at_top])}."
            ]
            if stray_at_top
            else []
        )
    paths, in_test = _without_splits(paths, notes)
    flat = [member for member, parts in paths.items() if len(parts) < 2]
    if tables and (flat or len({parts[0] for parts in paths.values()}) == 1):
        return _named_by_table(tables, list(paths), in_test, notes)
    unlabelled_test = [member for member in flat if in_test[member]]
    if unlabelled_test and len(unlabelled_test) == len(flat):
        notes.append(f"{len(flat)} test images lie in no class folder and were left out.")
        paths = {member: parts for member, parts in paths.items() if len(parts) > 1}
    elif flat:
        raise DataError(
            f"{len(flat)} images lie in no class folder"
            f" ({join([member.path for member in flat], most=3)}): put each class into a folder of"
            " its own, or add labels.csv with the columns file and label."
        )
    below: dict[str, set[str]] = {}
    for parts in paths.values():
        below.setdefault(parts[0], set()).add(parts[1] if len(parts) > 2 else "")
    first, *rest = below.values()
    if len(first) > 1 and "" not in first and rest and all(names == first for names in rest):
        raise DataError(
            f"which folders are the classes is not certain: each of {join(below)} holds"
            f" {join(sorted(first))}. Put each class into one folder (below train and test where"
            " they are these), or add labels.csv with the columns file and label."
        )
    notes += (
        [f"The classes are the folders; left aside: {join([table.path for table in tables])}."]
        if tables
        else []
    )
    if garbled := [name for name in below if _GARBLED.search(name)]:
        notes.append(
            f"Is the name {join(garbled)} misread? Then name the folder in plain letters, or zip it"
            " with names in UTF-8."
        )
    return Layout(
        tuple(
            dataclasses.replace(m, label=parts[0], in_test=in_test[m]) for m, parts in paths.items()
        ),
        tuple(notes),
    )


def _notes_on_files(files: Sequence[Member]) -> list[str]:
    heic = sum(member.path.suffix.lower() in HEIC_ENDINGS for member in files)
    notes = (
        [
            f"{len(files)} files are no images and were left out:"
            f" {join([file.path for file in files], most=3)}."
        ]
        if files
        else []
    )
    return [*notes, f"{heic} of them are HEIC photographs. {HEIC}"] if heic else notes


def _without_wrappers(paths: dict[Member, tuple[str, ...]]) -> dict[Member, tuple[str, ...]]:
    """The paths without the folders that hold everything, down to one that is named like a
    split."""
    while len({parts[0] for parts in paths.values()}) == 1 and all(
        len(parts) > 2 for parts in paths.values()
    ):
        if _split_of(next(iter(paths.values()))[0]):
            break
        paths = {member: parts[1:] for member, parts in paths.items()}
    return paths


def _split_of(folder: str) -> str:
    """The split that a folder's name says: train, test or validation, "" for none."""
    words = re.split(r"[\W_]+", folder.lower())
    splits = {SPLITS[word] for word in words if word in SPLITS}
    return splits.pop() if len(splits) == 1 else ""


def _without_splits(
    paths: dict[Member, tuple[str, ...]], notes: list[str]
) -> tuple[dict[Member, tuple[str, ...]], dict[Member, bool]]:
    """(paths below the folders of splits, whether an image is for testing); the paths as they are
    where no folders are splits."""
    tops = {parts[0]: _split_of(parts[0]) for parts in paths.values() if len(parts) > 1}
    splits, plain = set(tops.values()) - {""}, [top for top, split in tops.items() if not split]
    if not splits or (
        plain and (len(splits) == 1 or TRAIN not in splits)
    ):  # one class may be called train
        return paths, dict.fromkeys(paths, False)
    if unknown := [top for top in plain if top.lower() not in EXTRAS]:
        named = [top for top, split in tops.items() if split]
        raise DataError(
            f"the folders {join(named)} look like splits, and {join(unknown)} does not: name the"
            " folders train and test with one folder a class in each, or take the others away."
        )
    for top, split in tops.items():
        if split not in (TRAIN, TEST):
            count = sum(parts[0] == top for parts in paths.values())
            why = ": test rows are others" if split else ""
            notes.append(f"{count} images of the folder {top!r} were left out{why}.")
    used = {member: parts for member, parts in paths.items() if tops.get(parts[0]) in (TRAIN, TEST)}
    in_test = {member: tops[parts[0]] == TEST for member, parts in used.items()}
    below = {
        member: parts[2:] if len(parts) > 2 and _split_of(parts[1]) == tops[parts[0]] else parts[1:]
        for member, parts in used.items()
    }
    return below, in_test


def _named_by_table(
    tables: Sequence[Member],
    images: Sequence[Member],
    in_test: dict[Member, bool],
    notes: list[str],
) -> Layout:
    """The images whose classes a table says, one row a file."""
    by_name = {
        name: image
        for image in images
        for name in (str(image.path), image.path.name, image.path.stem)
    }
    for table in tables:
        frame = frame_of(io.BytesIO(table.read()), ".csv").astype(str)
        shares = {
            column: frame[column].str.strip().isin(by_name).mean() for column in frame.columns
        }
        column = max(shares, key=lambda name: shares[name])
        rows = frame[frame[column].str.strip().isin(by_name)]
        if len(rows) < len(images) / 2 and shares[column] < 0.5:
            continue
        columns = [name for name in frame.columns if name != column]
        label = find_column(frame, LABEL_NAMES) or (columns[0] if len(columns) == 1 else None)
        if label is None or label == column:
            raise DataError(
                f"{table.path} names images in column {column!r}: call the column of their classes"
                f" label, of {join(columns)}."
            )
        classes = {
            by_name[name.strip()]: word.strip()
            for name, word in zip(rows[column], rows[label], strict=True)
        }
        notes.append(f"Classes come from column {label!r} of {table.path}.")
        if absent := len(images) - len(classes):
            notes.append(f"{absent} images that {table.path} does not name were left out.")
        if missing := sorted(set(frame[column].str.strip()) - set(by_name)):
            notes.append(
                f"{len(missing)} images that {table.path} names are missing: {join(missing)}."
            )
        return Layout(
            tuple(
                dataclasses.replace(m, label=word, in_test=in_test[m])
                for m, word in classes.items()
            ),
            tuple(notes),
        )
    names = join([table.path for table in tables])
    raise DataError(
        f"the images lie in no class folders, and {names} does not name them: one row a file, with"
        " the columns file and label."
    )
