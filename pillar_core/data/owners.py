"""Who asks for rows that were brought: a browser of the app, walled off from the others, or the person at this machine.

The app says which browser asks (`asked_by`). Without an app (library, command line, jobs process) the person at this machine does, who
may use everything. The identifier of a browser is a hash of the secret that it holds.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from pillar_core import store
from pillar_core.errors import DataError


@dataclasses.dataclass(frozen=True)
class Asker:
    """A browser of the app. `is_local`: it also has what nobody in particular owns. `opened`: the sets that its pages show now."""

    owner: str
    is_local: bool = False
    opened: frozenset[str] = frozenset()


_FINDERS: list[Callable[[], Asker | None]] = []


def asked_by(find: Callable[[], Asker | None]) -> None:
    """Has `find` say, at every question from now on, which browser asks; None is the person at this machine."""
    _FINDERS[:] = [find]


def asker() -> Asker | None:
    """The browser that asks; None is the person at this machine."""
    return _FINDERS[0]() if _FINDERS else None


def own_id() -> str:
    """The owner of what is brought now: "" for the person at this machine."""
    who = asker()
    return "" if who is None else who.owner


def has(owner: str | None) -> bool:
    """Whether what `owner` brought is the asker's own; None is an owner that is not known."""
    who = asker()
    return who is None or owner == who.owner or (owner == "" and who.is_local)


def refuse_kept(path: str) -> None:
    """Refuses a path that a browser names: any where it is not at this machine, and in the cache folder, where everybody's rows lie; but
    for registered sets and its own weights.

    Raises:
        DataError: it is such a path.
    """
    who, root = asker(), store.default().root.resolve()
    if who is None:
        return
    place: Path | None
    try:
        place = Path(path).expanduser().resolve()
    except (OSError, RuntimeError, ValueError):
        place = None  # whoever reads it says what is wrong
    if place and any(place.is_relative_to(root / folder) for folder in ("datasets", f"weights/{who.owner}")):
        return
    if not who.is_local:
        raise DataError(
            "files of the server are named at the server itself alone (its app opened there, or the command line); send the file."
        )
    if place and place.is_relative_to(root):
        raise DataError("this path lies in the app's cache, which holds what other people brought; name the original file.")
