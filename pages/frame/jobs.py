"""Work that outlives the page: its state, one Run button, progress, stop, and what went wrong.

A page shows one of: ready (nothing), missing (a Run button with time and cost), running, failed
(cause, what to try). Only while a job lives does a fragment look at it again, every second.
"""

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import streamlit as st

import pillar_core as pc
from pages.frame import core, failures, plain, session, shares
from pillar_core import mode
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.jobs.state import UNFINISHED, JobStatus, seconds_left
from pillar_core.runs import sweep
from pillar_core.types import Form, RunSpec, Values

_BYTES_PER_SECOND = 5 * 2**20
"""An ordinary line."""
FIRST_SECONDS = 5.0
"""Of training when a page opens on a set that ships and nothing ran yet."""
RELEASES = "On real private rows each of these models is a further release, and their ε compose"
Spec = Values


@dataclasses.dataclass(frozen=True)
class Work:
    """What jobs would do: title, the ε that it would cost, how many results the cache has; `button`
    starts it."""

    title: str
    cost: str = ""
    cached: int = 0
    total: int = 1
    unit: str = "model"
    button: str = "Run"


def panel(specs: Sequence[Spec], work: Work, *, key: str = "job") -> None:
    """Draws the state of the jobs that `specs` describe, and what can be done about it; `key`
    begins those of its widgets."""
    statuses = [status for spec in specs if (status := status_of(spec)) is not None]
    drawn = [
        status for status in statuses if status.state in (*UNFINISHED, "done")
    ]  # finished jobs too, lest progress run backwards
    if n_live := sum(status.state in UNFINISHED for status in drawn):
        _running(
            " ".join(status.job_id for status in drawn),
            work.title,
            (n_live, sum(status.done for status in drawn)),
            key,
        )
        return
    missing = work.total - work.cached
    if missing and any(
        status.state == "done" and (status.finished or 0.0) >= session.began()
        for status in statuses
    ):
        st.rerun()  # the page counted its results before the job stored the last of them
    with st.container(border=True, key=f"{key}-panel"):
        for status in statuses:
            if status.state == "failed":
                st.error(
                    f"**{plain.text(work.title)} failed.** {plain.text(status.cause)}",
                    icon=":material/error:",
                )
                advice = (
                    "Run it again; if it fails again, lower the number of seeds or choose a smaller"
                    " data set."
                )
                st.markdown(plain.text(status.advice) or advice)
        if any(status.state == "cancelled" for status in statuses):
            st.caption(":material/stop_circle: Stopped. Finished results are in the cache.")
        line, place = st.columns([5, 1], vertical_alignment="center")
        in_cache = f" {work.cached} of {work.total} are in the cache." if work.cached else ""
        amount = f"{missing:,} {work.unit}{'' if missing == 1 else 's'}."
        line.markdown(f"**{plain.text(work.title)}** · {amount}{in_cache} {work.cost}")
        place.button(
            "Run the rest" if work.cached else work.button,
            key=f"{key}-run",
            help="Runs in the background and survives reload; you can go on meanwhile.",
            icon=":material/play_arrow:",
            type="primary",
            on_click=submit,
            args=([dict(spec) for spec in specs],),
        )


def sweeps(*grids: Form, title: str, cost: str = f"{RELEASES}.", key: str = "job") -> None:
    """Draws `panel` for the runs that grids lack so far."""
    forms = [form for _, form in core.find_runs(grids).values()]
    if missing := forms.count(None):
        specs = [{"kind": "sweep", "grid": grid} for grid in grids]
        panel(specs, Work(title, cost, len(forms) - missing, len(forms)), key=key)


def train_first(groups: Iterable[Sequence[RunSpec]]) -> None:
    """Trains runs of a set that ships for a few seconds, group by group, so that a page opens with
    a figure."""
    end = time.monotonic() + FIRST_SECONDS
    with contextlib.suppress(PillarError), st.spinner("Training the first seeds …"), shares.turn():
        for group in groups:
            if time.monotonic() < end:
                sweep.run_group(group)


def status_of(spec: Spec) -> JobStatus | None:
    """The status of the job of this specification, None where it was never submitted or cannot
    be."""
    with contextlib.suppress(PillarError):
        return pc.jobs.find(spec)
    return None


def now_at(status: JobStatus) -> str:
    """What a job is at, behind a dot, as people call it: a learner, sets, or words; "" for
    nothing."""
    learner = pc.METHODS.find(status.message)
    sets = " + ".join(map(uploads.title_of, status.message.split("+")))
    said = sets if learner is None else learner.title
    return f" · {said}" * bool(said)


def n_unfinished() -> int:
    """How many jobs are queued or running, in this and every other tab."""
    return sum(status.state in UNFINISHED for status in _all())


def line(size: str, n_bytes: int | None) -> str:
    """How long a download takes on an ordinary line, in words, with its size and the speed."""
    took = "" if not n_bytes else f"{duration(n_bytes / _BYTES_PER_SECOND)} for "
    return f"{took}{size} at about {_BYTES_PER_SECOND // 2**20} MB a second"


def duration(seconds: float) -> str:
    """“under 5 s”, “about 40 s”, “about 3 min”."""
    if not seconds >= 5:
        return "shows once it runs" if math.isnan(seconds) else "under 5 s"
    return (
        f"about {max(10, round(seconds, -1)):.0f} s"
        if seconds < 90
        else f"about {seconds / 60:.0f} min"
    )


@st.fragment(run_every=1.0)
@failures.catch_errors()
def _running(job_ids: str, title: str, when_drawn: tuple[int, int], key: str) -> None:
    """Draws progress every second, and the page anew once a part is finished. when_drawn:
    unfinished jobs and finished parts."""
    statuses = [pc.jobs.status(job_id) for job_id in job_ids.split()]
    live = [status for status in statuses if status.state in UNFINISHED]
    if (len(live), sum(status.done for status in statuses)) != when_drawn:
        st.rerun()
    with st.container(border=True, key=f"{key}-panel"):
        share = sum(share_of(status) for status in statuses) / len(statuses)
        waiting = _waiting(live)
        left = "" if (seconds := seconds_left(statuses)) is None else f" · {duration(seconds)} left"
        bar, button = st.columns([5, 1], vertical_alignment="center")
        now = now_at(live[0]) if live and not waiting else ""
        bar.progress(share, text=plain.text(f"{title}: {share:.0%}{waiting}{left}{now}"))
        if ids := " ".join(status.job_id for status in live if mode.JOBS.is_own(status.job_id)):
            offer_stop(button, ids, key=f"{key}-stop")


def _waiting(live: Sequence[JobStatus]) -> str:
    """What jobs without any progress wait for, in words."""
    if any(status.fraction > 0 for status in live):
        return ""
    began = min(status.submitted for status in live)
    before = sum(status.state in UNFINISHED and status.submitted < began for status in _all())
    if before:
        return f" · waiting: {before} job{'' if before == 1 else 's'} before yours"
    return " · starting the workers" if all(status.state == "queued" for status in live) else ""


def submit(specs: Sequence[Spec]) -> None:
    """A callback: starts jobs, or goes on with what is missing of them."""
    with failures.note_refusal("The job could not be started"):
        shares.ask("job")
        for spec in specs:
            pc.jobs.submit(spec)


def offer_stop(place: Any, job_ids: str, *, key: str) -> None:
    """Draws a button that stops jobs, blanks between their ids."""
    place.button(
        "Stop",
        key=key,
        help="Stops within three seconds and keeps what is finished.",
        icon=":material/stop:",
        on_click=_stop,
        args=(job_ids,),
    )


def _stop(job_ids: str) -> None:
    for job_id in job_ids.split():
        with failures.note_refusal("The job was not stopped"):
            pc.jobs.cancel(job_id)


def share_of(status: JobStatus) -> float:
    """How much of a job is done, in [0, 1]."""
    return 1.0 if status.state == "done" else min(max(float(status.fraction), 0.0), 1.0)


def _all() -> tuple[JobStatus, ...]:
    with contextlib.suppress(PillarError):
        return tuple(pc.jobs.status())
    return ()
