"""Row numbers and names in messages: the first few, and how many more."""

from collections.abc import Iterable
from typing import Any

SHOWN, LONGEST = 10, 80
"""Items of a list, and signs of an item: a file says how long its names are."""


def join(items: Iterable[Any], *, most: int = SHOWN) -> str:
    """The first `most` items, cut, comma separated, and the number of the others."""
    everything = list(items)
    more = f" and {len(everything) - most} more" if len(everything) > most else ""
    return ", ".join(cut(str(item)) for item in everything[:most]) + more


def cut(text: str, most: int = LONGEST) -> str:
    """The first `most` signs of a text, with an ellipsis where there are more."""
    return text if len(text) <= most else f"{text[:most]}…"
