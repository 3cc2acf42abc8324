"""Computing for visitors of a public address: a share for each, a turn at a time, and honest words for who has to wait.

What computes goes through `memory`, which takes a turn for what is in no cache; what is kept elsewhere takes its `turn` itself.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import streamlit as st

from pillar_core.data import owners, visitors
from pillar_core.errors import UnsupportedError

SECONDS, REFILL = 60.0, 0.1
"""Seconds of computing that a visitor may spend at once, and how many come back in each second."""
CORES = max(1, len(os.sched_getaffinity(0)))
EVERYBODY = ""
OVERDRAWN = 20.0
"""Seconds below nothing at which pages are not drawn until the share is back."""
_SHUT, _THREAD = "shares.shut", threading.local()
T = TypeVar("T")


class Budgets:
    """Seconds of computing, by visitor and of all together; they come back with time. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, float]] = {}

    def left(self, visitor: str) -> float:
        """Seconds that this visitor may spend now; below 0 after one run that took longer."""
        with self._lock:
            return min(self._left(visitor), self._left(EVERYBODY))

    def own(self, visitor: str) -> float:
        """Seconds of this visitor's share, whatever others left."""
        with self._lock:
            return self._left(visitor)

    def spend(self, visitor: str, seconds: float) -> None:
        """Takes seconds from the visitor's, and from those of all as much of it as the visitor had."""
        with self._lock:
            common = min(seconds, max(0.0, self._left(visitor)))
            for name, share in ((visitor, seconds), (EVERYBODY, common)):
                self._kept[name] = self._left(name) - share, time.monotonic()
            if len(self._kept) > 10_000:
                self._kept = {name: kept for name, kept in self._kept.items() if self._left(name) < self._terms(name)[0]}

    def wait(self, visitor: str) -> float:
        """Seconds until something can be computed again."""
        with self._lock:
            return max(0.0, *((1.0 - self._left(name)) / self._terms(name)[1] for name in (visitor, EVERYBODY)))

    def _left(self, name: str) -> float:
        most, refill = self._terms(name)
        left, when = self._kept.get(name, (most, 0.0))
        return min(most, left + refill * (time.monotonic() - when))

    @staticmethod
    def _terms(name: str) -> tuple[float, float]:
        return (SECONDS, REFILL) if name else (4 * SECONDS, 0.8 * CORES)


class Turns:
    """As many at a time as there are cores, one for a visitor."""

    def __init__(self) -> None:
        self._changed, self._busy = threading.Condition(), set[str]()
        self._waiting, self._usual = 0, 0.5

    def foreseen(self) -> tuple[int, float]:
        """How many wait, and for how many seconds somebody who comes now will."""
        with self._changed:
            return self._waiting, self._usual * (self._waiting + 1) / CORES

    @contextlib.contextmanager
    def taken(self, visitor: str) -> Iterator[None]:
        """Waits for a place, and holds it."""
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: len(self._busy) < CORES and visitor not in self._busy)
            finally:
                self._waiting -= 1
            self._busy.add(visitor)
        started = time.monotonic()
        try:
            yield
        finally:
            with self._changed:
                self._busy.discard(visitor)
                self._usual += 0.1 * (time.monotonic() - started - self._usual)
                self._changed.notify_all()


BUDGETS, TURNS = Budgets(), Turns()


class UsedUpError(UnsupportedError):
    """A visitor's share, or that of all, is used up; the message says when there is something again."""


class _NewError(Exception):
    """What is looked for is in no cache; `is_asked`, whether a share is asked for before it is made."""

    def __init__(self, *, is_asked: bool) -> None:
        super().__init__()
        self.is_asked = is_asked


def ask(what: str = "run") -> None:
    """Before a visitor begins `what`.

    Raises:
        UsedUpError: nothing is left.
    """
    if visitors.binds():
        _ask(owners.own_id(), f"{what}. What ran before, by anybody, is still answered at once")


def found(read: Callable[[], T]) -> T:
    """What `read` gives: at once where caches hold it, else computed in a turn.

    The turn is taken before `read` locks a cache: who waits for a turn keeps nobody from what is computed already.

    Raises:
        UsedUpError: as `ask`, where something is to be computed.
    """
    if not visitors.binds() or hasattr(_THREAD, "has_turn"):
        return read()
    _THREAD.has_turn = False
    try:
        return read()
    except _NewError as new:
        is_asked = new.is_asked
    finally:
        del _THREAD.has_turn
    with turn(is_asked=is_asked):
        return read()


@contextlib.contextmanager
def turn(*, is_asked: bool = True) -> Iterator[None]:
    """Around what a visitor has computed anew; for everybody else nothing. Within another turn, what that did not ask for is asked for.

    Raises:
        UsedUpError: as `ask`, unless not `is_asked`: rows are read for whoever waits a turn for them.
    """
    has_turn = getattr(_THREAD, "has_turn", None)
    if has_turn is False and visitors.binds():
        raise _NewError(is_asked=is_asked)
    if has_turn or not visitors.binds():
        if has_turn and is_asked and not _THREAD.is_asked:
            ask()
            _THREAD.is_asked = True
        yield
        return
    if is_asked:
        ask()
    who, (waiting, seconds) = owners.own_id(), TURNS.foreseen()
    with contextlib.ExitStack() as held:
        with st.spinner(f"{waiting} before you: about {seconds:.0f} s …") if waiting else contextlib.nullcontext():
            held.enter_context(TURNS.taken(who))
        if is_asked:
            ask()  # again: what the visitor had when the wait began, other pages of the same may have used
        _THREAD.has_turn, _THREAD.is_asked = True, is_asked
        try:
            yield
        finally:
            del _THREAD.has_turn
            _pay(who)


def _ask(who: str, what: str) -> None:
    if BUDGETS.left(who) <= 0:
        raise UsedUpError(f"{_used(who)} for the next {what}. {visitors.ADVICE}")


def _used(who: str) -> str:
    cause = "Other visitors have used what this public server computes at present"
    if BUDGETS.own(who) <= 0:
        cause = f"You have used your {SECONDS:.0f} s of computing on this public server"
    return f"{cause}: wait {BUDGETS.wait(who):.0f} s"


def is_open() -> bool:
    """Whether pages are drawn for who asks; one who overdrew the share far sees words until it is back."""
    if not visitors.binds():
        return True
    who = owners.own_id()
    is_shut = BUDGETS.own(who) < (0.0 if st.session_state.get(_SHUT) else -OVERDRAWN)
    st.session_state[_SHUT] = is_shut
    return not is_shut


def shut() -> None:
    """What is drawn in the place of a page that is not."""
    st.warning(f"{_used(owners.own_id())} until pages are drawn again. {visitors.ADVICE}", icon=":material/hourglass_empty:")


@contextlib.contextmanager
def metered() -> Iterator[None]:
    """Around a run of the app or of a fragment: what its thread computed since it last paid, callbacks before the run among it, is the
    visitor's to pay."""
    who = owners.own_id() if visitors.binds() else None  # known before: a run that is stopped can ask nothing more
    try:
        yield
    finally:
        _pay(who)


def _pay(who: str | None) -> None:
    """Takes what this thread computed since it last paid from a visitor, or from nobody."""
    now = time.thread_time()
    unpaid, _THREAD.paid = now - getattr(_THREAD, "paid", 0.0), now
    if who is not None:
        BUDGETS.spend(who, unpaid)


def paid(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """What makes a download, which a thread of nobody's calls when it is asked for: whoever it is shown to pays.

    It must make the same bytes each time: Streamlit keeps what differs until a page runs again.
    """
    if not visitors.binds():
        return make
    who = owners.own_id()

    def made() -> bytes:
        _ask(who, "file")
        started = time.thread_time()
        try:
            return make()
        finally:
            BUDGETS.spend(who, time.thread_time() - started)

    return made


def words() -> None:
    """Says what this server does for one visitor, before a limit is met."""
    if visitors.binds():
        st.caption(
            f":material/public: Public server: {max(0.0, BUDGETS.left(owners.own_id())):.0f} of {SECONDS:.0f} s of computing left, "
            f"{visitors.JOBS_EACH} jobs at a time of {visitors.JOB_SECONDS:.0f} s each; no uploads, files or releases."
        )
