"""Who watches a long reading: whoever starts it says so once, and what takes long tells."""

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from pillar_core.types import Progress

TEXTS, BYTES = "texts", "bytes"
_WATCH: ContextVar[Callable[[str], Progress] | None] = ContextVar("watch", default=None)


@contextlib.contextmanager
def report_progress(make: Callable[[str], Progress]) -> Iterator[None]:
    """Meanwhile each long column of texts, and rows that go to the disk, tell a progress of their
    own how far they are; it is made for what they count, and what it raises ends them."""
    token = _WATCH.set(make)
    try:
        yield
    finally:
        _WATCH.reset(token)


def progress_of(unit: str) -> Progress | None:
    """What `report_progress` makes for further work that counts in `unit`; None where nobody
    watches."""
    make = _WATCH.get()
    return None if make is None else make(unit)
