"""The two modes of the app: local, for one person at this machine, and demo, where anybody may
come.

PILLAR_PUBLIC=1 turns demo mode on (`pillar-explorer --demo`). What it does not do is refused here,
below the pages, so that a link, a settings file or a page that forgot to hide a control changes
nothing. Command line, library and jobs process are the operator's.
"""

import math
import os
from collections.abc import Callable, Collection, Mapping

from pillar_core.arrays import Json
from pillar_core.errors import SettingError, UnsupportedError

DEMO, TOKEN, BIND = "PILLAR_PUBLIC", "PILLAR_TOKEN", "PILLAR_BIND"
LOOPBACK = ("127.0.0.1", "localhost", "::1")
WAYS = (
    "One person reaches it through a tunnel, `ssh -L 8501:127.0.0.1:8501 MACHINE`, with a process"
    " for each person; for everybody there is the demo, `pillar-explorer --demo`, which takes no"
    " files. A container binds by `--bind ADDRESS` with PILLAR_TOKEN set."
)
OFF: Mapping[str, str] = {
    "path": "reading files of the server",
    "upload": "bringing rows, images or weights",
    "fetch": "having the server fetch data or weights",
    "release": "training a release",
    "job": "work of this kind",
    "name": "naming what is not in the lists",
    "numbers": "generating a set of more than {:,.0f} numbers",
    "cells": "asking for more than {:,.0f} runs at once, or in more than 2,000 characters each",
}
"""What visitors of a demo cannot do, in words."""
ADVICE = "Install PILLAR explorer on a machine of your own for it."
LIMITS: Mapping[str, tuple[float, str]] = {
    "seconds": (60, "seconds of computing of one session; they come back in ten minutes"),
    "all_seconds": (240, "seconds of computing of all together; 0.8 a core come back each second"),
    "jobs": (2, "unfinished jobs of one session"),
    "all_jobs": (12, "unfinished jobs of all together"),
    "job_seconds": (90, "seconds that a job may take"),
    "cells": (1000, "runs of one grid"),
    "numbers": (20e6, "numbers of a generated set"),
}
"""What a demo does at most for its visitors, by name: PILLAR_LIMIT_<NAME> sets another number, 0
none."""
_MOST_REMEMBERED = 2000


class _Server:
    """The app that runs in this process, if one does: says whose session asks."""

    session: Callable[[], str] | None = None


def serve(session: Callable[[], str]) -> None:
    """Has `session` say, at every question from now on, which session of the app asks."""
    _Server.session = staticmethod(session)


def session() -> str:
    """The random token of the session that asks; "" for the operator."""
    return "" if _Server.session is None else _Server.session()


def is_demo() -> bool:
    """Whether anybody may come."""
    return os.environ.get(DEMO, "0") not in ("", "0")


def binds() -> bool:
    """Whether a visitor of a demo asks."""
    return is_demo() and _Server.session is not None


def limit(name: str) -> float:
    """The number of `LIMITS` that holds here, infinite where it is off.

    Raises SettingError: the environment sets something that is no number from 0 on.
    """
    variable, (usual, _) = f"PILLAR_LIMIT_{name.upper()}", LIMITS[name]
    written = os.environ.get(variable, "")
    try:
        number = float(written or usual)
    except ValueError:
        number = math.nan
    if not number >= 0:
        raise SettingError(
            f"{variable} must be a number from 0 (no limit) on; got {written[:40]!r}. Leave it out"
            f" for {usual:,.0f}."
        )
    return number or math.inf


def refuse(what: str) -> None:
    """Refuses one of `OFF` to a visitor. Raises UnsupportedError: a visitor asks."""
    if binds():
        number = limit(what) if what in LIMITS else 0
        raise UnsupportedError(f"{OFF[what].format(number)} is off on this public server. {ADVICE}")


def check_server(address: str | None) -> None:
    """Refuses a server at an address that others reach, unless it is a demo or was bound on
    purpose, with a token.

    Raises SettingError: it is such a server, or one of the limits is no number.
    """
    for name in LIMITS:
        limit(name)
    is_bound = address and address == os.environ.get(BIND) and os.environ.get(TOKEN)
    if not (address in LOOPBACK or is_demo() or is_bound):
        raise SettingError(
            f"the address must be one of {', '.join(LOOPBACK)}; got {address or 'every one'}."
            f" {WAYS}"
        )


class Jobs:
    """Who submitted which job in this process: nothing on disk says it."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, Mapping[str, Json]]] = {}

    def admit(self, job_id: str, spec: Mapping[str, Json], unfinished: Collection[str]) -> None:
        """Counts a job as the session's own; one that is under way is joined by whoever asks for
        the same.

        Raises UnsupportedError: the session, or all together, have as many as they may.
        """
        if not binds() or job_id in unfinished:
            return
        count = sum(self.is_own(job) for job in unfinished)
        if count >= limit("jobs") or len(unfinished) >= limit("all_jobs"):
            holder = (
                f"You have {count} jobs"
                if count >= limit("jobs")
                else f"{len(unfinished)} jobs of all visitors are"
            )
            raise UnsupportedError(
                f"{holder} under way, and this public server takes no more at a time: ask again"
                " when one has ended."
            )
        self._asked[job_id] = session(), spec
        for job in [job for job in self._asked if job not in unfinished][:-_MOST_REMEMBERED]:
            del self._asked[job]

    def is_own(self, job_id: str) -> bool:
        """Whether the asker may list and stop this job: a visitor those of the own session,
        everybody else all."""
        return not binds() or self._asked.get(job_id, ("",))[0] == session()

    def specs(self) -> list[Mapping[str, Json]]:
        """What the session that asks submitted."""
        return [spec for owner, spec in list(self._asked.values()) if owner == session()]


JOBS = Jobs()
