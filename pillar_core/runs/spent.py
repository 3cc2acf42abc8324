"""What was spent on private rows, as lists in the cache that only grow: one for each kind of spending and content of rows."""

from collections.abc import Iterator
from typing import Any

from pillar_core import store
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import upkeep


def append(kind: str, rows: str, form: dict[str, Any], *, place: int | None = None) -> None:
    """Writes one spending on these rows down, before anyone sees what it buys. place: how many there are, as whoever asks knows.

    Raises StoreError: a disk that refuses, or another spending at this place.
    """
    place = sum(1 for _ in entries(kind, rows)) if place is None else place
    word = kind.split()[-1]
    if not store.default().put_json("record", _key(kind, rows, place), {word: form}):
        raise StoreError(f"another {word} of these rows came at the same time; nothing was shown. Run it again.")


def entries(kind: str, rows: str) -> Iterator[Any]:
    """What was spent on these rows, oldest first."""
    place = 0
    while (stored := store.default().get_json("record", _key(kind, rows, place))) is not None:
        yield stored[kind.split()[-1]]
        place += 1


def _key(kind: str, rows: str, place: int) -> str:
    return upkeep.SPENT + fingerprint(kind, rows, place)
