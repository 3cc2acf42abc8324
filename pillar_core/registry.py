"""Named items, in the order of their registration: methods, datasets, backbones, accountants, scores."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Protocol, TypeVar

from pillar_core.errors import UnknownNameError


class Named(Protocol):
    """What a registry holds: a permanent name (in links and cache keys) and a title for people."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Mapping[str, T]):
    """A mapping from name to item that refuses duplicate names and titles and suggests near misses."""

    def __init__(self, what: str) -> None:
        self.what = what
        self._items: dict[str, T] = {}

    def register(self, item: T) -> T:
        """`item`, now found under its name.

        Raises:
            ValueError: the name or the title is taken.
        """
        for other in self._items.values():
            if item.name == other.name or item.title == other.title:
                raise ValueError(f"{self.what} {item.name!r} ({item.title!r}) collides with {other.name!r} ({other.title!r}).")
        self._items[item.name] = item
        return item

    def __getitem__(self, name: str) -> T:
        try:
            return self._items[name]
        except (KeyError, TypeError):
            near = difflib.get_close_matches(str(name), self._items, n=3, cutoff=0.5)
            hint = f" Did you mean {', '.join(near)}?" if near else f" Known: {', '.join(self._items)}."
            raise UnknownNameError(f"There is no {self.what} named {name!r}.{hint}") from None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._items

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)
