"""A small memory of computed arrays, for as long as its owner lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Memo:
    """A small thread-safe memory of computed arrays: at most `slots` entries, the least recently used leaves first."""

    def __init__(self, slots: int = 8) -> None:
        self._slots = slots
        self._entries: OrderedDict[Hashable, Any] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The entry under `key`, made once; a second thread that asks for it waits."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
            else:
                self._entries[key] = make()
                while len(self._entries) > self._slots:
                    self._entries.popitem(last=False)
            entry: T = self._entries[key]
            return entry

    def __contains__(self, key: Hashable) -> bool:
        return key in self._entries
