"""Named items, in the order of their registration: methods, datasets, backbones, accountants,
scores.

A family stands for more items than can be listed, such as every model of a library: `timm:resnet50`
is built from its name when somebody asks for it. Iteration and length cover what is registered by
name; `in` and `[]` know families too.

Reading a registry first imports `home`, the package that registers the library's own items, and
waits for a thread that imports it. What that import raises, reading raises.

Other installed packages add items through entry points of the groups in `PLUGIN_GROUPS`, each the
name of an object: `[project.entry-points."pillar_explorer.methods"]`, `mine =
"my_package:LEARNER"`. They are loaded once in each process, when somebody first asks a registry,
and follow the library's own.
"""

import difflib
import functools
import importlib.metadata
import threading
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from pillar_core.arrays import Json
from pillar_core.deferred import import_whole
from pillar_core.errors import PillarError, PluginError, UnknownNameError, shown
from pillar_core.memo import Memo


class Named(Protocol):
    """What a registry holds: a permanent name (in links and cache keys) and a title for people."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...


T = TypeVar("T", bound=Named)
PLUGIN_GROUPS = {
    "method": "pillar_explorer.methods",
    "dataset": "pillar_explorer.datasets",
    "backbone": "pillar_explorer.backbones",
    "score": "pillar_explorer.scores",
}
"""The group of entry points that add to each registry, by what the registry holds."""
_LOADING = threading.RLock()


class Registry(Mapping[str, T]):
    """A mapping from name to item that refuses duplicate names and titles and suggests near misses.

    home: the package that registers the library's own items; empty where whoever made the registry
    fills it. kind: the class of the items that other packages add, for a registry that has a group
    in PLUGIN_GROUPS. Reading such a registry raises PluginError while an entry point of its group
    cannot be used.

    >>> pc.METHODS["pillar"].title, "adamix" in pc.METHODS
    ('PILLAR', True)
    """

    _is_loading: ClassVar[bool] = False

    def __init__(self, noun: str, kind: type[T] | None = None, *, home: str = "") -> None:
        self.noun, self._kind, self._home = noun, kind, home
        self._is_loaded, self._is_whole = kind is None, not home
        self._plugged: set[importlib.metadata.EntryPoint] = set()
        self.packages: dict[str, str] = {}
        """The packages that items of other packages came with, by the items' names."""
        self._items: dict[str, T] = {}
        self._families: dict[str, Callable[[str], T]] = {}
        self._linkable: dict[str, Callable[[str], bool]] = {}
        self._built = Memo(256)

    def register(self, item: T) -> T:
        """`item`, now found under its name. Raises ValueError where the name or the title is
        taken."""
        for known in self._items.values():
            if item.name == known.name or item.title == known.title:
                raise ValueError(
                    f"{self.noun} {item.name!r} ({item.title!r}) collides with {known.name!r}"
                    f" ({known.title!r})."
                )
        self._items[item.name] = item
        return item

    def register_family(
        self,
        prefix: str,
        build: Callable[[str], T],
        *,
        linkable: Callable[[str], bool] = lambda name: True,
    ) -> None:
        """Makes `<prefix>:<anything>` the item that `build` makes of this name.

        build: called with a name that starts with `<prefix>:` and is not registered itself; the
        item must carry that name. It
            raises UnknownNameError (or another error of ours) for a name that cannot be, and should
            not read rows or weights.
        linkable: whether a whole name may come from anybody (`is_linkable`), said without opening a
        file or a connection. Raises ValueError where the prefix is taken, empty or holds a colon.
        """
        if not prefix or ":" in prefix or prefix in self._families:
            raise ValueError(
                f"{self.noun} family {prefix!r} is taken or no prefix; choose another word, without"
                " a colon."
            )
        self._families[prefix], self._linkable[prefix] = build, linkable

    def is_linkable(self, name: str) -> bool:
        """Whether `name` may come from a link or a file of settings.

        Any other name stands for a file, a program or an address: only the person at this machine
        says it. Builds nothing.
        """
        prefix, colon, rest = name.partition(":")
        try:
            return (
                name in self._load()
                or not (colon and rest and prefix in self._families)
                or self._linkable[prefix](name)
            )
        except PillarError:
            return False

    @property
    def families(self) -> tuple[str, ...]:
        """The prefixes of the families, in the order of their registration."""
        self._load()
        return tuple(self._families)

    def __getitem__(self, name: str) -> T:
        if (item := self._find(name)) is None:
            raise unknown_name(
                self.noun,
                name,
                self._items,
                listed=[*self._items, *(f"{prefix}:…" for prefix in self._families)],
            )
        return item

    def find(self, name: object) -> T | None:
        """The item of this name; None where there is none, or none of its family can be."""
        self._load()
        try:
            return self._find(name)
        except PillarError:
            return None

    def __contains__(self, name: object) -> bool:
        return self.find(name) is not None

    def _find(self, name: object) -> T | None:
        if not isinstance(name, str):
            return None
        if name in self._load():
            return self._items[name]
        prefix, colon, rest = name.partition(":")
        return (
            self._built.get(name, lambda: self._families[prefix](name))
            if colon and rest and prefix in self._families
            else None
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def _load(self) -> dict[str, T]:
        """The items by name, those of other packages among them. While a plug-in is imported, it
        sees what is there so far."""
        if not self._is_whole:
            home = import_whole(self._home)
            self._is_whole = not getattr(
                home.__spec__, "_initializing", False
            )  # this thread may be the one that imports it
        if not self._is_loaded:
            with _LOADING:
                if not Registry._is_loading and not self._is_loaded:
                    Registry._is_loading = True
                    try:
                        self._plug_in(PLUGIN_GROUPS[self.noun])
                        self._is_loaded = True
                    finally:
                        Registry._is_loading = False
        return self._items

    def _plug_in(self, group: str) -> None:
        for entry in importlib.metadata.entry_points(group=group):
            if entry in self._plugged:
                continue
            package = entry.dist.name if entry.dist is not None else "without a name"
            try:
                item = entry.load()
                if self._kind is None or not isinstance(item, self._kind):
                    raise TypeError(
                        f"it is of the class {type(item).__name__}, and a {self.noun} is wanted"
                    )
                self.packages[self.register(item).name] = package
            except (
                Exception,
                SystemExit,
            ) as cause:  # whatever a foreign module raises goes on, with the package's name
                where = (
                    f"The entry point {entry.name!r} = {entry.value!r} (group {group}) of the"
                    f" package {package!r}"
                )
                raise PluginError(
                    f"{where} cannot be used: {type(cause).__name__}: {cause} Mend or uninstall"
                    " that package."
                ) from cause
            self._plugged.add(entry)


def unknown_name(
    noun: str, name: object, known: Collection[str], *, listed: Collection[str] = ()
) -> UnknownNameError:
    """The error for a name that is none of `known`: it says the nearest of them, else the first
    hundred of what is `listed` or known."""
    near = difflib.get_close_matches(str(name)[:80], known, n=3, cutoff=0.5)
    hint = (
        f"Did you mean {', '.join(near)}?"
        if near
        else f"Known: {', '.join([*(listed or known)][:100])}."
    )
    return UnknownNameError(f"There is no {noun} named {shown(name)}. {hint}")


@functools.cache
def toml_tables(file: Path) -> dict[str, dict[str, Json]]:
    """The tables of a TOML file, by name; the file is read once."""
    return tomllib.loads(file.read_text(encoding="utf-8"))


def facts_of(name: str, file: Path) -> dict[str, Any]:
    """What a TOML file says under `name`, else under `family:*`; {member} stands for the part of
    the name after the colon."""
    tables, (family, _, member) = toml_tables(file), name.partition(":")
    facts = tables.get(f"{family}:*", {}) | tables.get(name, {})
    texts = {
        field: value.replace("{member}", member)
        for field, value in facts.items()
        if isinstance(value, str)
    }
    return (
        facts
        | texts
        | {field: tuple(value) for field, value in facts.items() if isinstance(value, list)}
    )
