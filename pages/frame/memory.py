"""What pages keep in memory of rows: resources of Streamlit's, of which forgetting takes out what was made of one set."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import streamlit as st

from pillar_core.data import owners, uploads

P = ParamSpec("P")
T = TypeVar("T")
_KEPT: list[tuple[Callable[..., None], dict[tuple[Any, ...], frozenset[str]]]] = []


def of_rows(*, max_entries: int, show_spinner: str | bool, of_files: bool = False) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """As `st.cache_resource`, for what is made of the sets that the arguments name; or of files that the asker brings (`of_files`)."""

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        cached = st.cache_resource(max_entries=max_entries, show_spinner=show_spinner)(make)
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
            found = cached(*given, **named)
            if whose and asked not in made:  # forgotten while it was made
                cached.clear(*asked)
            return found

        return read

    return decorate


def forget(*whose: str) -> None:
    """Takes out what was made of the sets with these keys, and of the files that these owners brought."""
    for clear, made in _KEPT:
        for asked, of in list(made.items()):
            if not of.isdisjoint(whose):
                made.pop(asked, None)
                clear(*asked)
