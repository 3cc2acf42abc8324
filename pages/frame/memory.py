"""What pages keep in memory: resources of Streamlit's, shared and never changed; of those made of rows, forgetting takes out one set's.

Visitors are asked here for their share before something is made (`shares`), unless it `is_free`: what only reads or draws, so that what ran
before is shown to whoever has nothing left. Rows are read in a turn all the same: they may be large, and made anew.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from pages.frame import shares
from pillar_core.data import owners, uploads

P = ParamSpec("P")
T = TypeVar("T")
_KEPT: list[tuple[Callable[..., None], dict[tuple[Any, ...], frozenset[str]]]] = []


def kept(*, max_entries: int, show_spinner: str | bool = False, is_free: bool = False) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As `st.cache_resource`."""

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        cached = _cached(make, max_entries, show_spinner, contextlib.nullcontext if is_free else shares.turn)
        return functools.wraps(make)(lambda *given, **named: shares.found(lambda: cached(*given, **named)))

    return decorate


def of_rows(
    *, max_entries: int, show_spinner: str | bool = False, is_free: bool = False, of_files: bool = False
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As `kept`, for what is made of the sets that the arguments name; or of files that the asker brings (`of_files`)."""

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        cached = _cached(make, max_entries, show_spinner, functools.partial(shares.turn, is_asked=not is_free))
        unhashed = [name.startswith("_") for name in inspect.signature(make).parameters]
        made: dict[tuple[Any, ...], frozenset[str]] = {}
        _KEPT.append((cached.clear, made))

        @functools.wraps(make)
        def read(*given: P.args, **named: P.kwargs) -> T:
            whose = frozenset([owners.own_id()] if of_files else map(uploads.key_of, uploads.names_in(given)))
            asked = tuple(None if is_left else one for one, is_left in zip(given, unhashed, strict=False))
            if whose:
                made.pop(asked, None)
                made[asked] = whose
                for older in list(made)[:-max_entries]:  # Streamlit keeps those that were asked for last, too
                    made.pop(older, None)
            found: T = shares.found(lambda: cached(*given, **named))
            if whose and asked not in made:  # forgotten while it was made
                cached.clear(*asked)
            return found

        return read

    return decorate


def _cached(
    make: Callable[P, T], max_entries: int, show_spinner: str | bool, around: Callable[[], contextlib.AbstractContextManager[None]]
) -> Any:
    @functools.wraps(make)
    def made(*given: P.args, **named: P.kwargs) -> T:
        with around():
            return make(*given, **named)

    return st.cache_resource(max_entries=max_entries, show_spinner=show_spinner)(made)


def forget(*whose: str) -> None:
    """Takes out what was made of the sets with these keys, and of the files that these owners brought."""
    for clear, made in _KEPT:
        for asked, of in list(made.items()):
            if not of.isdisjoint(whose):
                made.pop(asked, None)
                clear(*asked)
