"""The pages' cache in memory, shared by all sessions; entries made from a data set can be dropped
with it.

What is not there is made in a turn (`shares`), for which a visitor of a demo is asked, unless it
`is_free`: what only reads or draws, so that what ran before is shown to whoever has nothing left.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Hashable
from typing import ParamSpec, TypeVar, cast

import streamlit as st

from pages.frame import shares
from pillar_core.data import uploads
from pillar_core.memo import Memo

P = ParamSpec("P")
T = TypeVar("T")
FILES = "files"
"""Stands for all files that are looked at, where keys of sets stand for those."""
MEMOS: list[Memo] = []
_MISSING = object()


def cache(
    *,
    max_entries: int = 64,
    show_spinner: str = "",
    by: Callable[..., Hashable] | None = None,
    of_files: bool = False,
    is_free: bool = False,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keeps what a function makes of its arguments, `by` a key of them or by all but those whose
    names begin with an underscore.

    It goes with the brought sets that those arguments name, or with the files on view (`of_files`).
    """

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        are_left = [name.startswith("_") for name in inspect.signature(make).parameters]
        memo = Memo(max_entries)
        MEMOS.append(memo)

        @functools.wraps(make)
        def read(*arguments: P.args, **named: P.kwargs) -> T:
            inputs = (
                tuple(
                    None if is_left else item
                    for item, is_left in zip(arguments, are_left, strict=False)
                ),
                tuple(sorted(named.items())),
            )
            sets = frozenset([FILES] if of_files else map(uploads.key_of, uploads.names_in(inputs)))
            key = sets, inputs if by is None else by(*arguments, **named)
            if (held := memo.peek(key, _MISSING)) is not _MISSING:
                return cast(T, held)
            with (
                shares.turn(is_asked=not is_free),
                st.spinner(show_spinner) if show_spinner else contextlib.nullcontext(),
            ):
                return memo.get(
                    key, lambda: make(*arguments, **named)
                )  # nothing of Streamlit between what was made and the memory

        return read

    return decorate


def forget(*keys: str) -> None:
    """Takes out what was made, or is being made, of the sets with these keys, or of `FILES`."""
    for memo in MEMOS:
        memo.drop(lambda key: not key[0].isdisjoint(keys))
