"""Computing for visitors of a demo: a bucket of seconds for each session and one for all, and as
many at a time as there are cores.

Streamlit ends a run of a page, with an exception, at whatever is asked of it. So what a run holds
is held by `with` or given back by `finally`, and who waits looks again and again whether that has
come.

What computes goes through `memory`, which takes a turn for what it does not hold; what is kept
elsewhere takes its `turn` itself.
"""

import contextlib
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import streamlit as st

from pillar_core import mode
from pillar_core.errors import UnsupportedError

CORES = max(1, len(os.sched_getaffinity(0)))
ALL = ""
_REMEMBERED = 10_000
_LINE: list[threading.Thread] = []
"""Who computes or waits to, in the order in which they came: the first, as many as there are cores,
have their turn."""
_MOVED, _LOOK = threading.Condition(), 0.2
"""Said when somebody leaves the line; and how many seconds who waits goes without a look at
Streamlit."""


class Buckets:
    """Seconds of computing, by session and of all together; they come back with time. Safe for
    threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._levels: dict[str, tuple[float, float]] = {}

    def seconds_left(self, name: str) -> float:
        """Seconds in this bucket now; below 0 after a run that took longer."""
        (most, refill), (level, when) = self._terms(name), self._levels.get(name, (math.inf, 0.0))
        return most if math.isinf(most) else min(most, level + refill * (time.monotonic() - when))

    def wait(self, name: str) -> float:
        """Seconds until this bucket holds a second again."""
        return max(0.0, (1.0 - self.seconds_left(name)) / self._terms(name)[1])

    def spend(self, session: str, seconds: float) -> None:
        """Takes seconds from the session's bucket and from that of all."""
        with self._lock:
            for name in (session, ALL):
                self._levels[name] = self.seconds_left(name) - seconds, time.monotonic()
            if len(self._levels) > _REMEMBERED:
                self._levels = {
                    name: level
                    for name, level in self._levels.items()
                    if self.seconds_left(name) < self._terms(name)[0]
                }

    @staticmethod
    def _terms(name: str) -> tuple[float, float]:
        most = mode.limit("all_seconds" if name == ALL else "seconds")
        return most, 0.8 * CORES if name == ALL else most / 600


BUCKETS = Buckets()


class UsedUpError(UnsupportedError):
    """A bucket is empty; the message says when there is something in it again."""


def ask(work: str = "run", session: str = "") -> None:
    """Checks that the visitor has seconds left for `work`.

    Raises UsedUpError: nothing is left.
    """
    if not mode.binds():
        return
    session = session or mode.session()
    for name, cause in (
        (
            session,
            f"You have used your {mode.limit('seconds'):.0f} s of computing on this public server",
        ),
        (ALL, "Other visitors have used what this public server computes at present"),
    ):
        if BUCKETS.seconds_left(name) <= 0:
            wait = f"wait {BUCKETS.wait(name):.0f} s for the next {work}"
            raise UsedUpError(
                f"{cause}: {wait}. What ran before, by anybody, is still answered at once."
                f" {mode.ADVICE}"
            )


@contextlib.contextmanager
def turn(*, is_asked: bool = True, session: str = "") -> Iterator[None]:
    """Takes a slot and charges the visitor's bucket for the block; does nothing outside demo mode.

    A cache takes it before its lock, so that a visitor who waits for a slot blocks no cached
    result. Raises UsedUpError: as `ask`, unless not `is_asked`: rows are read for whoever waits a
    turn for them.
    """
    if is_asked:
        ask(session=session)
    run = threading.current_thread()
    if not mode.binds() or run in _LINE:
        yield
        return
    session = session or mode.session()
    with _MOVED:
        _LINE.append(run)
    started = time.thread_time()
    try:
        if not _has_turn(run, 0):
            with st.spinner("Others are computing: your turn comes next …"):
                while not _has_turn(run, _LOOK):
                    # here Streamlit ends a run whose visitor moved on or left, and its place goes
                    # to the next
                    mode.session()
        if is_asked:
            ask(
                session=session
            )  # again: what was left when the wait began, another page may have used
        yield
    finally:
        with _MOVED:
            _LINE.remove(run)
            _MOVED.notify_all()
        BUCKETS.spend(session, time.thread_time() - started)


def _has_turn(run: threading.Thread, seconds: float) -> bool:
    """Whether its turn comes within so many seconds."""
    with _MOVED:
        return _MOVED.wait_for(lambda: run in _LINE[:CORES], seconds)


def ready_route(path: str) -> Any:
    """The server's answer to an operator: 200 while every turn belongs to a run that goes on,
    however long it computes; else 503."""
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(_: Any) -> Any:
        lost = sum(not run.is_alive() for run in list(_LINE))
        words = (
            f"Runs that have ended and still have a turn to compute: {lost}. Start the server anew."
            if lost
            else "ready"
        )
        return Response(
            f"{words}\n", 503 if lost else 200, {"cache-control": "no-store"}, "text/plain"
        )

    return Route(path, answer)


def charge(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """The maker of a download's bytes, charged to the session that sees the button: a thread
    without a session calls it.

    It must make the same bytes each time: Streamlit keeps what differs until a page runs again.
    """
    session = mode.session()

    def make_paid() -> bytes:
        with turn(session=session):
            return make()

    return make_paid if mode.binds() else make


def words() -> None:
    """Says what this server does for one visitor, before a limit is met."""
    if mode.binds():
        seconds, jobs, job_seconds = (
            mode.limit(name) for name in ("seconds", "jobs", "job_seconds")
        )
        st.caption(
            f":material/public: Public server: {max(0.0, BUCKETS.seconds_left(mode.session())):.0f}"
            f" of {seconds:.0f} s of computing left, {jobs:.0f} jobs at a time of {job_seconds:.0f}"
            " s each; no uploads, files or releases."
        )
