"""Row numbers and names in messages: the first few, and how many more."""

from collections.abc import Iterable
from typing import Any

SHOWN = 10


def listed(items: Iterable[Any], *, shown: int = SHOWN) -> str:
    """The first `shown` items, comma separated, and the number of the others."""
    everything = [str(item) for item in items]
    more = f" and {len(everything) - shown} more" if len(everything) > shown else ""
    return ", ".join(everything[:shown]) + more
