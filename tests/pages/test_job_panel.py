"""The panel of a job: a page that was slow to draw does not offer again what the job stored
meanwhile."""

import dataclasses
import time

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import pillar_core as pc
from page_reading import words
from pillar_core import mode
from pillar_core.errors import JobError
from pillar_core.jobs.state import JobStatus


def page_of_one_result() -> None:
    """The page counts results at its top and draws the panel at its end, as all do."""
    import streamlit as st

    from pages.frame import jobs, session

    session.synchronise()
    session.show_notes()
    if not st.session_state.get("is_stored", False):
        jobs.panel([{"kind": "sweep"}], jobs.Work("Measure"))
    st.expander("A box")


def test_what_was_stored_while_the_page_was_drawn_is_not_offered_again(monkeypatch):
    clock = time.time
    late = 0.0
    monkeypatch.setattr(time, "time", lambda: clock() + late)

    def ended_long_before_the_panel(_):
        nonlocal late
        status = JobStatus("a" * 32, "sweep", "done", time.time(), finished=time.time())
        st.session_state["is_stored"] = True
        late += 60.0
        return status

    monkeypatch.setattr(pc.jobs, "find", ended_long_before_the_panel)
    app = AppTest.from_function(page_of_one_result, default_timeout=600)
    app.run()
    assert not app.button


def page_of_two_jobs() -> None:
    from pages.frame import jobs, session

    session.synchronise()
    jobs.panel(
        [{"kind": "sweep", "grid": {"seed": seed}} for seed in (0, 1)],
        jobs.Work("Measure", total=4, cached=2),
    )


def test_progress_does_not_fall_when_the_first_of_two_jobs_ends(monkeypatch):
    now = time.time()
    ended = JobStatus(
        "a" * 32, "sweep", "done", now - 9, finished=now - 5, done=2, total=2, fraction=1.0
    )
    live = JobStatus("b" * 32, "sweep", "running", now - 9, done=0, total=2, fraction=0.1)
    monkeypatch.setattr(pc.jobs, "find", lambda spec: (ended, live)[spec["grid"]["seed"]])
    monkeypatch.setattr(
        pc.jobs,
        "status",
        lambda job_id=None: (
            (ended, live) if job_id is None else (ended, live)["ab".index(job_id[0])]
        ),
    )
    app = AppTest.from_function(page_of_two_jobs, default_timeout=600)
    app.run()
    assert "Measure: 55%" in str([node.proto for node in app.get("progress")])


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        ("queued", "starting the workers"),
        ("running", "· DP-SGD"),
        ("failed", "the worker died"),
        ("cancelled", "Stopped"),
    ],
)
def test_a_job_shows_where_it_stands_and_runs_again_once_it_ended(monkeypatch, state, shown):
    about = {"cause": "the worker died", "message": "dp_sgd"}
    status = JobStatus(
        "a" * 32, "sweep", state, time.time(), fraction=(state == "running") / 2, **about
    )
    monkeypatch.setattr(pc.jobs, "find", lambda _: status)
    monkeypatch.setattr(pc.jobs, "status", lambda job_id=None: status if job_id else (status,))
    app = AppTest.from_function(page_of_one_result, default_timeout=600).run()
    assert shown in words(app) + str([node.proto for node in app.get("progress")])
    assert ("Run" in [button.label for button in app.button]) == (state in ("failed", "cancelled"))


@pytest.mark.parametrize("is_own", [True, False])
def test_a_job_is_stopped_by_who_began_it_and_a_refusal_becomes_a_message(monkeypatch, *, is_own):
    live = JobStatus("a" * 32, "sweep", "running", time.time(), done=0, total=2)
    earlier = dataclasses.replace(live, job_id="b" * 32, submitted=live.submitted - 1)
    monkeypatch.setattr(pc.jobs, "find", lambda _: live)
    monkeypatch.setattr(
        pc.jobs, "status", lambda job_id=None: (live, earlier) if job_id is None else live
    )
    monkeypatch.setattr(mode.Jobs, "is_own", lambda *_: is_own)

    def refuses(_):
        raise JobError("it is gone.")

    monkeypatch.setattr(pc.jobs, "cancel", refuses)
    app = AppTest.from_function(page_of_one_result, default_timeout=600)
    app.run()
    assert [item.label for item in app.button] == ["Stop"] * is_own
    assert "waiting: 1 job before yours" in str([node.proto for node in app.get("progress")])
    if is_own:
        before = {place: node.type for place, node in app.main.children.items()}
        app.button[0].click().run()
        assert "The job was not stopped: it is gone." in words(app)
        after = {place: node.type for place, node in app.main.children.items()}
        assert before == after, "an open box that moves closes"
