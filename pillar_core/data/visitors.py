"""Public mode: what an app at an address that others reach does not do for its visitors, and how much it does for each.

PILLAR_PUBLIC turns it on. Every browser is bound by it; library, command line and jobs process are the operator's. What is off is
refused here, below the pages, so that a link, a settings file or a page that forgot to hide a control changes nothing.
"""

import functools
import os
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from pillar_core import store
from pillar_core.data import cards, owners
from pillar_core.data.cards import DATASETS
from pillar_core.errors import UnsupportedError

VARIABLE = "PILLAR_PUBLIC"
OFF: Mapping[str, str] = {
    "path": "reading files of the server",
    "upload": "bringing rows, images or weights",
    "fetch": "having the server fetch data or weights",
    "release": "training a release",
    "job": "work of this kind",
    "name": "naming what is not in the lists",
    "size": "generating more than 20 million numbers",
    "cells": "asking for more than 1,000 runs at once, or in more than 2 million characters",
}
"""What visitors cannot do, in words."""
ADVICE = "Install PILLAR explorer on a machine of your own for it."
JOBS_EACH, JOBS, JOB_SECONDS = 2, 12, 90.0
"""Unfinished jobs of one visitor and of all; seconds that a job may take before it is stopped."""
MOST_REMEMBERED, MOST_GENERATED, MOST_CELLS, MOST_WRITTEN = 2000, 2e7, 1000, 2e6
_SIZES: Mapping[str, float] = {"n": 50_000, "n_test": 0, "d": 1_024}
"""Sizes of generated sets, and what they count as where they are not said."""
_PLAIN = re.compile(r"[^/\\:?*$%<>|\0]*")
SHIFTED = re.compile(r"([^~]*)(~\d{1,9}(\.\d{1,9})?)?")
"""A data set's name, and by how much a drawn one is shifted."""
_NAMES = ("dataset", "data", "private", "public", "backbone", "network", "weights")
_PATH = re.compile(r"(?<![\w.:/])(?:~|/[\w.@+-]+)(?:/[\w.@+-]+)+/?")


def is_on() -> bool:
    """Whether this is the server of a public address."""
    return os.environ.get(VARIABLE, "0") not in ("", "0")


def binds() -> bool:
    """Whether the asker is a visitor."""
    return is_on() and owners.asker() is not None


def refuse(what: str) -> None:
    """Refuses one of `OFF` to a visitor.

    Raises:
        UnsupportedError: a visitor asks.
    """
    if binds():
        raise UnsupportedError(f"{OFF[what]} is off on this public server. {ADVICE}")


def is_offered(name: str, value: object) -> bool:
    """Whether the asker may choose `value` for a setting."""
    return bool(offered(name, (value,)))


def offered(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Those of `values` that the asker may choose for a setting: a visitor sets that come with the library, and names without arguments."""
    if name not in _NAMES or not binds():
        return tuple(values)
    if name in ("dataset", "data", "private", "public"):
        return tuple(one for one in values if one is None or all(map(_is_of_the_library, str(one).split("+"))))
    return tuple(one for one in values if one is None or _PLAIN.fullmatch(str(one)))


def _is_of_the_library(part: str) -> bool:
    found = SHIFTED.fullmatch(part)
    return found is not None and found[1] in _offered_sets()


@functools.lru_cache(maxsize=1)
def _offered_sets() -> frozenset[str]:
    return frozenset({"part", "own_half", *(name for name, card in DATASETS.items() if not card.needs_files)})


def here(kind: str = "") -> list[str]:
    """Names of the data sets (of one kind) whose rows are on this machine, of which the asker may choose."""
    return [name for name in offered("data", cards.here()) if kind in ("", DATASETS[name].kind)]


def refuse_names(value: object, name: str = "") -> None:
    """Refuses, in a specification however deep, every name that a visitor may not choose.

    Raises:
        UnsupportedError: there is one.
    """
    if not binds():
        return
    if isinstance(value, Mapping):
        if name == "dataset_settings":
            _refuse_large(value)
        for key, item in value.items():
            refuse_names(item, str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            refuse_names(item, name)
    elif isinstance(value, str) and not (_PLAIN.fullmatch(value) and is_offered(name, value)):
        refuse("name")


def _refuse_large(settings: Mapping[str, Any]) -> None:
    sizes = {**_SIZES, **settings}
    if not all(isinstance(sizes[name], int | float) for name in _SIZES):
        refuse("size")
    if not (abs(sizes["n"]) + abs(sizes["n_test"])) * abs(sizes["d"]) <= MOST_GENERATED:
        refuse("size")


def refuse_path(path: str) -> None:
    """Refuses a path that a browser names: every one to a visitor, those in the cache folder to everybody else.

    Raises:
        UnsupportedError, DataError: it is refused.
    """
    refuse("path")
    owners.refuse_kept(path)


def without_paths(text: str) -> str:
    """A message as the asker may read it: no place on the server's disk for a browser that is not at this machine."""
    who = owners.asker()
    if who is None or who.is_local:
        return text
    return _PATH.sub("…", re.sub(rf"{re.escape(str(store.default().root))}[\w.@+/-]*", "…", text))


class Jobs:
    """Who submitted which job in this process: nothing on disk says it."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, Mapping[str, Any]]] = {}

    def admit(self, job_id: str, spec: Mapping[str, Any], unfinished: Collection[str]) -> None:
        """Counts a job as the visitor's own; one that is under way is joined by whoever asks for the same.

        Raises:
            UnsupportedError: the visitor, or all together, have as many as they may, or names what is not offered.
        """
        if not binds():
            return
        refuse_names(spec)
        own = sum(self.is_own(one) for one in unfinished)
        if job_id not in unfinished and (own >= JOBS_EACH or len(unfinished) >= JOBS):
            whose = f"You have {own} jobs" if own >= JOBS_EACH else f"{len(unfinished)} jobs of all visitors are"
            raise UnsupportedError(f"{whose} under way, and this public server takes no more at a time: ask again when one has ended.")
        if job_id not in unfinished:
            self._asked[job_id] = owners.own_id(), spec
            if len(self._asked) > MOST_REMEMBERED:
                del self._asked[min(list(self._asked), key=lambda one: (one in unfinished or one == job_id, not self.is_own(one)))]

    def is_own(self, job_id: str) -> bool:
        """Whether the asker may list and stop this job: a visitor the own ones, everybody else all."""
        return not binds() or self._asked.get(job_id, ("",))[0] == owners.own_id()

    def own_specs(self) -> list[Mapping[str, Any]]:
        """What the asker submitted."""
        return [spec for owner, spec in list(self._asked.values()) if owner == owners.own_id()]


JOBS_ASKED = Jobs()
