"""The grid builder: axes in, and before anything starts the count, the time, the disk and what is
cached already. Then jobs as a list: what runs, how far it is, what failed and why; cancel and
retry. Any tab sees and stops them."""

import contextlib
import time

import pandas as pd
import streamlit as st
import yaml

import pillar_core as pc
from pages.frame import core, failures, jobs, local, memory, plain, shares, words
from pages.frame.settings import EPSILONS, KS, NONE, PART, Settings, choices
from pillar_core.data import uploads
from pillar_core.engine import device
from pillar_core.errors import PillarError
from pillar_core.jobs.state import UNFINISHED, JobStatus
from pillar_core.runs import records, sweep
from pillar_core.types import Form

_SEEDS = [1, 2, 3, 5, 10, 20]


def builder(settings: Settings, runs: pd.DataFrame) -> None:
    """The builder with its numbers and the state of its job."""
    grid = _builder(settings)
    with shares.turn():
        estimate = records.estimate(grid, runs)
    missing = int(estimate["cells"] - estimate["cached"])
    trained = ", ".join(sorted(set(runs["device"].dropna()))) if "device" in runs else "none"
    words.metrics(
        (
            "Runs",
            f"{estimate['cells']:,.0f}",
            "Combinations of everything chosen; a learner without k is not multiplied by k.",
        ),
        (
            "In the cache",
            f"{estimate['cached']:,.0f}",
            "Runs that were trained before and are not trained again.",
        ),
        (
            "Time",
            jobs.duration(estimate["seconds"] / 2) if missing else "none",
            "From the same learners' runs on the same data, with two workers. Runs train on"
            f" {device.asked()} here; those behind this time did on {trained}.",
        ),
        (
            "Disk",
            f"{estimate['bytes'] / 1000:,.0f} kB",
            "Records of the missing runs; features are not counted.",
        ),
    )
    if missing:
        work = jobs.Work(
            f"Sweep of {estimate['cells']:,.0f} runs",
            f"{jobs.RELEASES}.",
            int(estimate["cached"]),
            int(estimate["cells"]),
        )
        jobs.panel([{"kind": "sweep", "grid": grid}], work)
    else:
        st.success(
            "Every run of this grid is there already: your own under **Results**, those that ship"
            " on Start and Curves.",
            icon=":material/check_circle:",
        )
    st.download_button(
        label="Grid as YAML",
        key="plan-yaml",
        help="The same sweep from a terminal: `python -m pillar_core sweep grid.yaml`.",
        icon=":material/download:",
        file_name="grid.yaml",
        mime="text/yaml",
        on_click="ignore",
        data=yaml.safe_dump(grid, sort_keys=False, allow_unicode=True),
    )


def _builder(settings: Settings) -> Form:
    """The axes, two rows of controls."""
    with st.container(border=True, key="plan"):
        left, right = st.columns(2)
        with left:
            brought = [upload.name for upload in uploads.list_uploads() if upload.is_labelled]
            names = list(dict.fromkeys([settings.data, *choices("data"), *brought]))
            data = local.choices(
                "plan-data",
                names,
                [settings.data],
                title=records.data_words,
                label="Private data",
                are_many=True,
            )
            methods = local.choices(
                "plan-methods",
                {name: method.title for name, method in pc.METHODS.items()},
                label="Learners",
                default=["pillar", "dp_sgd"],
                are_many=True,
            )
            if settings.public in (PART, NONE):
                fraction = local.slider(
                    "plan-share",
                    label="Share of train rows that is public",
                    default=0.1,
                    options=[0.01, 0.05, 0.1, 0.2, 0.5],
                )
                public: Form = {"public_fraction": fraction}
            else:
                title = plain.text(uploads.title_of(settings.public))
                st.caption(f"Public rows: {title}, as in the sidebar.")
                public = core.public_axis(settings)
        with right:
            ks = local.choices(
                "plan-k",
                [str(k) for k in KS],
                label="k, directions kept",
                default=["10", "40"],
                are_many=True,
            )
            budgets = local.choices(
                "plan-epsilon",
                [f"{value:g}" for value in EPSILONS],
                label="ε, privacy budget; inf is no noise",
                default=["0.1", "0.7", "2"],
                are_many=True,
            )
            seeds = local.slider(
                "plan-seeds",
                _SEEDS,
                min(_SEEDS, key=lambda count: abs(count - settings.seeds)),
                label="Seeds, runs of each setting",
            )
    axes = core.data_axes(settings) | public
    grid = {name: value for name, value in axes.items() if value is not None} | {
        "dataset": data,
        "method": methods,
        "epsilon": [word if word == "inf" else float(word) for word in budgets],
        "seed": list(range(settings.seed, settings.seed + seeds)),
    }
    return grid | ({"k": [int(k) for k in ks]} if any(core.has_k(name) for name in methods) else {})


_ICONS = {
    "queued": "schedule",
    "running": "sync",
    "done": "check_circle",
    "failed": "error",
    "cancelled": "stop_circle",
}
_SHOWN = 8
_spec = memory.cache(max_entries=500, is_free=True)(pc.jobs.spec)


def panel() -> None:
    """The newest jobs; while one lives the list looks again every second."""
    statuses = pc.jobs.status()
    if not statuses:
        st.info(
            "No job was started yet. Build a grid under **Plan**.", icon=":material/playlist_add:"
        )
    elif live := jobs.n_unfinished():
        _watch(live)
    else:
        _list(statuses)


@st.fragment(run_every=1.0)
@failures.catch_errors()
def _watch(live_when_drawn: int) -> None:
    if jobs.n_unfinished() != live_when_drawn:
        st.rerun()
    _list(pc.jobs.status())


def _list(statuses: tuple[JobStatus, ...]) -> None:
    for status in statuses[:_SHOWN]:
        with st.container(border=True, key=f"job-{status.job_id}"):
            line, button = st.columns([5, 1], vertical_alignment="center")
            with line:
                _state(status)
            if status.state in UNFINISHED:
                jobs.offer_stop(button, status.job_id, key=f"stop-{status.job_id}")
            elif status.state in ("failed", "cancelled"):
                with contextlib.suppress(
                    PillarError
                ):  # a job whose specification is damaged has no second try
                    button.button(
                        label="Retry",
                        key=f"retry-{status.job_id}",
                        help="Goes on with what is missing.",
                        icon=":material/replay:",
                        on_click=jobs.submit,
                        args=([_spec(status.job_id)],),
                    )
    if len(statuses) > _SHOWN:
        st.caption(f"and {len(statuses) - _SHOWN} older ones.")


def _state(status: JobStatus) -> None:
    when = time.strftime("%d %b %H:%M", time.localtime(status.submitted))
    st.markdown(
        f":material/{_ICONS[status.state]}: **{plain.text(_title(status))}** · {status.state} ·"
        f" {when}"
    )
    if status.state in UNFINISHED:
        left = (
            "" if status.seconds_left is None else f" · {jobs.duration(status.seconds_left)} left"
        )
        st.progress(
            jobs.share_of(status),
            text=plain.text(
                f"{jobs.share_of(status):.0%} · {_done(status)}{left}{jobs.now_at(status)}"
            ),
        )
    elif status.state != "done" and status.total:
        st.caption(f"{_done(status)} are done and kept.")
    if status.cause:
        st.error(plain.text(f"{status.cause}\n{status.advice}"), icon=":material/error:")


def _done(status: JobStatus) -> str:
    """How much of a job is done: of a grid its runs, of which a task holds several."""
    with contextlib.suppress(PillarError):
        total = _runs(status.job_id)
        return f"{round(jobs.share_of(status) * total):,} of {total:,} runs"
    return f"{status.done} of {status.total} parts"


@memory.cache(max_entries=500, is_free=True)
def _runs(job_id: str) -> int:
    return sweep.count_runs(_spec(job_id).get("grid", {}))


def _title(status: JobStatus) -> str:
    spec: Form = {}
    with contextlib.suppress(PillarError):
        spec = _spec(status.job_id)
    if not isinstance(spec.get("grid"), dict):
        kind = pc.jobs.JOB_KINDS.find(status.kind)
        return status.kind if kind is None else kind.title
    axes = (spec["grid"].get(axis, []) for axis in ("method", "dataset"))
    learners, data = (axis if isinstance(axis, list) else [axis] for axis in axes)
    titles = ", ".join(pc.METHODS[name].title for name in learners if name in pc.METHODS)
    return f"Sweep: {titles} on {', '.join(map(records.data_words, data))}"[:120]
