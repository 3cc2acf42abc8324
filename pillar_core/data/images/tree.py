"""The files of a data set below one folder or in one zip, found by name wherever they lie: sources
are unpacked in many ways."""

import contextlib
import csv
import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from pillar_core.data.images import folders
from pillar_core.data.images.folders import Layout, Member
from pillar_core.errors import DataError


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of a source's list: an image, its label, whether it is a test image, and whose it is
    where that is told."""

    path: str
    label: str
    in_test: bool = False
    person: str = ""


@dataclasses.dataclass(frozen=True)
class Tree:
    """All files of one data set."""

    members: Sequence[Member]

    def find(self, name: str) -> Member | None:
        """The file of this name (`a/b.txt`: in a folder a) that lies least deep; None where there
        is none."""
        parts = PurePosixPath(name).parts
        matches = [member for member in self.members if member.path.parts[-len(parts) :] == parts]
        return min(
            matches, key=lambda member: (len(member.path.parts), str(member.path)), default=None
        )

    def lines(self, name: str) -> list[str]:
        """The lines of a text file that are not empty. Raises DataError: no such file, or no
        text."""
        member = self.find(name)
        if member is None:
            raise DataError(
                f"the data set's file {name} is missing: unpack every part of it into one folder."
            )
        try:
            lines = [
                line.strip()
                for line in member.read().decode("utf-8-sig").splitlines()
                if line.strip()
            ]
        except UnicodeDecodeError as error:
            raise DataError(
                f"{member.path} is no text ({error}): it is damaged or another file."
            ) from error
        if not lines:
            raise DataError(f"{member.path} is empty: it was not fetched whole.")
        return lines

    def table(self, name: str, columns: Sequence[str]) -> list[dict[str, str]]:
        """The rows of a table with commas, or with tabs. Raises DataError: no such file, or a
        column is missing."""
        lines = self.lines(name)
        rows = list(
            csv.DictReader(
                io.StringIO("\n".join(lines)), delimiter="\t" if "\t" in lines[0] else ","
            )
        )
        absent = [column for column in columns if rows and column not in rows[0]]
        if not rows or absent:
            raise DataError(
                f"{name} must hold rows with the columns {', '.join(columns)};"
                f" {', '.join(absent) or 'all rows'} are missing."
            )
        return rows

    def layout(
        self,
        entries: Iterable[Entry],
        *,
        below: str | None = "",
        classes: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
    ) -> Layout:
        """The images that a list names, found by path from the folder `below` on; None: by their
        bare names, in whatever folders they lie.

        Raises DataError: more than 1 % of them are not there.
        """
        if below is None:
            by_path, root = (
                {PurePosixPath(member.path.name): member for member in self.members},
                PurePosixPath(),
            )
        else:
            by_path, root = {member.path: member for member in self.members}, self._root(below)
        members, absent = [], []
        for entry in dict.fromkeys(entries):
            member = by_path.get(root / entry.path)
            if member is None:
                absent.append(entry.path)
            else:
                members.append(
                    dataclasses.replace(
                        member, label=entry.label, in_test=entry.in_test, person=entry.person
                    )
                )
        return folders.complete(members, absent, classes=classes, notes=notes)

    def _root(self, below: str) -> PurePosixPath:
        """The folder, as deep as it lies, whose path ends with `below`."""
        parts = PurePosixPath(below).parts
        if not parts:
            return PurePosixPath()
        for member in self.members:
            for depth in range(len(member.path.parts) - len(parts)):
                if member.path.parts[depth : depth + len(parts)] == parts:
                    return PurePosixPath(*member.path.parts[: depth + len(parts)])
        return PurePosixPath(below)


@contextlib.contextmanager
def open_tree(place: Path) -> Iterator[Tree]:
    """The files at `place`, readable while the context is open: a folder, a zip, or a folder that
    holds nothing but one zip.

    Raises DataError: neither, or a zip that is damaged or unsafe.
    """
    inside = list(place.iterdir()) if place.is_dir() else []
    source = inside[0] if len(inside) == 1 and inside[0].suffix.lower() == ".zip" else place
    with folders.listing(source, filename=source.name) as members:
        yield Tree(members)
