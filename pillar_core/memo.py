"""A bounded, thread-safe memory of computed values."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """At most `slots` computed values by key; the least recently used leaves first."""

    def __init__(self, slots: int = 16) -> None:
        self._slots = slots
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["Memo"], tuple[int]]:
        """Travels empty: what it holds can be made again."""
        return Memo, (self._slots,)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The entry under `key`, made once; a second thread that asks for it waits, one that asks
        for another does not.

        Nothing is kept of a `make` that raises. It may ask for other keys.
        """
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            self._entries.move_to_end(key)
            while len(self._entries) > self._slots:
                self._entries.popitem(last=False)
        with entry.lock:
            if not entry.is_made:
                entry.value, entry.is_made = make(), True
            value: T = entry.value
            return value

    def clear(self) -> None:
        """Empties the memory."""
        with self._lock:
            self._entries.clear()

    def drop(self, is_meant: Callable[[Any], bool]) -> None:
        """Drops the entries with the keys that `is_meant` selects, unfinished ones too."""
        with self._lock:
            for key in list(filter(is_meant, self._entries)):
                del self._entries[key]

    def peek(self, key: Hashable, default: Any = None) -> Any:
        """The entry under `key` where it is made, else `default`; never waits for who makes it."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not entry.is_made:
                return default
            self._entries.move_to_end(key)
            return entry.value


class _Entry:
    """A value that is being made, or was."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.is_made = False
        self.value: Any = None
