"""Computing for visitors: budgets that come back with time, turns, and what a visitor is told."""

from __future__ import annotations

import contextlib
import re
import threading
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from page_reading import Start, linked, words
from pages.frame import exports, failures, memory, owner, shares
from pages.parts.runs import exports as runs_exports
from pillar_core.data import places, visitors
from pillar_core.data.cards import DatasetCard
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.registry import facts
from pillar_core.runs import splitting

PAGES = Path(shares.__file__).resolve().parents[1]
CONTROLS = facts(PAGES / "frame/local.toml")
WITH_VIEWS = ("accounting", "evidence", "geometry", "theory")
FREE = {
    "core": ["_asked", "_class_counts", "_features", "_public_map", "_raw", "_rule_k", "_run", "_spectrum", "_split", "hero_table"],
    "moving": ["_json"],
    "comparison": ["_against_epsilon", "_compared"],
    "curves": ["_curves"],
    "jobs": ["pc.jobs.spec"],
    "noise": ["_figure"],
    "views": ["_measured"],
    "lesson": ["_drawn"],
    "results": ["_grouped"],
    "shapes": ["_complete", "_rows"],
}
"""What pages keep without asking, by module: rows, records and keys that are read, figures, and the k beside the slider."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(shares.time, "monotonic", lambda: now[0])
    return now


def test_a_budget_is_spent_and_comes_back(clock):
    budgets = shares.Budgets()
    budgets.spend("a", shares.SECONDS + 5)
    assert budgets.left("a") == pytest.approx(-5)
    assert budgets.left("b") == shares.SECONDS
    wait = budgets.wait("a")
    clock[0] += wait
    assert budgets.left("a") == pytest.approx(1)
    clock[0] += 1e6
    assert budgets.left("a") == shares.SECONDS


def test_new_cookies_do_not_give_more_than_there_is_for_all(clock):
    budgets = shares.Budgets()
    for number in range(100):
        budgets.spend(f"{number}", 0.9 * shares.SECONDS)
    assert budgets.left("new") < 0
    assert budgets.wait("new") > 0


def test_one_visitor_takes_no_more_than_one_share_from_all(clock):
    budgets = shares.Budgets()
    for _ in range(100):
        budgets.spend("greedy", shares.SECONDS)
    assert budgets.left("new") > 0


def test_turns_are_taken_and_the_wait_is_foreseen():
    turns, inside, leave = shares.Turns(), threading.Semaphore(0), threading.Event()

    def work() -> None:
        with turns.taken(threading.current_thread().name):
            inside.release()
            leave.wait()

    threads = [threading.Thread(target=work) for _ in range(shares.CORES + 3)]
    for thread in threads:
        thread.start()
    for _ in range(shares.CORES):
        inside.acquire()
    while turns.foreseen()[0] < 3:
        threads[-1].join(0.01)
    assert turns.foreseen()[1] > 0
    assert not inside.acquire(blocking=False)
    leave.set()
    for thread in threads:
        thread.join()
    assert turns.foreseen()[0] == 0


def test_callbacks_before_a_run_and_fragments_are_paid_for_once(monkeypatch: pytest.MonkeyPatch):
    budgets, seconds = shares.Budgets(), [0.0]
    monkeypatch.setattr(shares, "BUDGETS", budgets)
    monkeypatch.setattr(shares.time, "thread_time", lambda: seconds[0])
    monkeypatch.setattr(shares.time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "a")

    def compute(amount: float) -> None:
        seconds[0] += amount

    def visit() -> None:
        compute(1.0)  # a callback, which Streamlit runs before the script
        with shares.metered():
            compute(2.0)
            shares.metered()(compute)(4.0)  # a fragment within the page
        compute(8.0)  # the callback of a widget in a fragment
        shares.metered()(compute)(16.0)  # which alone runs again

    thread = threading.Thread(target=visit)
    thread.start()
    thread.join()
    assert budgets.own("a") == pytest.approx(shares.SECONDS - 31.0)


def test_a_download_is_paid_by_whom_it_was_shown_to_and_takes_the_same_place_each_time(monkeypatch: pytest.MonkeyPatch):
    budgets, seconds = shares.Budgets(), [0.0]
    monkeypatch.setattr(shares, "BUDGETS", budgets)
    monkeypatch.setattr(shares.time, "thread_time", lambda: seconds[0])
    monkeypatch.setattr(shares.time, "monotonic", lambda: 1000.0)
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "a")

    def make() -> bytes:
        seconds[0] += shares.SECONDS + 1
        return b"figure"

    download = shares.paid(make)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "nobody")
    assert download() == b"figure"
    assert (budgets.own("a"), budgets.own("nobody")) == (-1.0, shares.SECONDS)
    with pytest.raises(UnsupportedError, match="You have used your 60 s"):
        download()


def test_downloads_of_visitors_are_the_same_bytes_each_time():
    figure, runs = go.Figure(go.Bar(x=["a"], y=[1.0])), pd.DataFrame({"key": [], "group": []})
    assert exports.page(figure) == exports.page(figure)
    assert runs_exports.report(runs, runs, [figure, figure]) == runs_exports.report(runs, runs, [figure, figure])


def test_every_download_that_is_made_when_asked_for_is_paid():
    sources = {path: path.read_text() for path in PAGES.rglob("*.py")}
    made = {path.name for path, source in sources.items() if "download_button(" in source and "shares.paid(" not in source}
    assert made == {"plan.py", "release.py", "train.py"}, "text that is there; models, which visitors do not get"


def test_every_fragment_is_metered_and_its_errors_are_caught():
    marked = [(path, part.lstrip()) for path in PAGES.rglob("*.py") for part in path.read_text().split("@st.fragment")[1:]]
    assert marked
    for path, part in marked:
        decorators = part.split("def ")[0]
        assert "@shares.metered()" in decorators, path
        assert "@failures.caught()" in decorators, path


@pytest.fixture
def public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(visitors.VARIABLE, "1")
    monkeypatch.setattr(shares, "BUDGETS", shares.Budgets())


def test_limits_are_said_before_they_are_met(public, start: Start):
    app = start("explore", data="digits")
    assert not app.exception
    assert "Public server: " in words(app)
    assert f"{visitors.JOBS_EACH} jobs at a time" in words(app)


def test_a_visitors_link_looks_at_no_set_in_files(public, start: Start, monkeypatch: pytest.MonkeyPatch):
    """A link planned grids on the operator's own sets: the page said how many of their runs are there, and asked the disk for each."""
    looked = []
    monkeypatch.setattr(DatasetCard, "home", lambda card, root=None: looked.append(card.name) or places.home(card.name, root))
    app = start("runs", runs="view:plan", controls="plan-data:openml:riccardo")
    assert not app.exception
    assert "Private data" in [one.label for one in app.multiselect]
    assert not looked
    assert "riccardo" not in str([(one.options, one.value) for one in app.multiselect]).lower()


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("answer", {"controls": "answer-public:cifar10"}),
        ("screen", {"screen": "p:cifar10;c:cifar10,drawn_noise"}),
        ("data", {"controls": "paper-set:cifar10"}),
    ],
)
def test_visitors_are_offered_no_set_in_files(public, start: Start, monkeypatch: pytest.MonkeyPatch, page: str, link: dict[str, str]):
    """Answer, Screen and Data listed what lies in the operator's data folder, and Answer trained with it."""
    monkeypatch.setattr(DatasetCard, "is_here", lambda *_: True)
    read, load = [], DatasetCard.load
    monkeypatch.setattr(DatasetCard, "load", lambda card, *asked, **named: read.append(card.name) or load(card, *asked, **named))
    app = start(page, data="fashion_mnist_2k", backbone="raw_pixels", **link)
    if page == "answer":
        app.button(key="answer-go").click().run()
    assert not {"cifar10"} & {*read}
    offered = str([[one.options, one.value] for one in (*app.multiselect, *app.selectbox, *app.get("button_group"))])
    assert page == "data" or "CIFAR-10" not in offered
    assert "on this machine" not in words(app).replace("not on this machine", "").replace("runs on this machine", "")


def test_no_name_opens_the_operators_files_for_a_visitor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "binds", lambda: True)
    for asked in (("cifar10", {}), ("hub:acme/rows", {}), ("drawn_digits", {"n": 10**9}), ("pneumonia", {"root": "/data"})):
        with pytest.raises(UnsupportedError, match="off on this public server"):
            splitting.named_data(*asked)


def test_who_has_spent_the_share_still_gets_what_ran_before(public, start: Start, monkeypatch: pytest.MonkeyPatch):
    start("explore", data="digits", k="3")
    monkeypatch.setattr(shares.Budgets, "_left", lambda *_: -1.0)
    app = start("explore", data="digits", k="3")
    assert "You have used your" not in words(app)
    app = start("explore", data="digits", k="5")
    assert "You have used your" in words(app)


@pytest.mark.parametrize(
    ("page", "links"),
    [
        *((page, [{"controls": f"{page}-view:{view}"} for view in CONTROLS[f"{page}-view"]["options"]]) for page in WITH_VIEWS),
        *(("explore", [{"view": view}]) for view in ("noise", "why")),
        ("screen", [{}, {"screen": "m:linear_head;n:100;k:4;e:no;s:gsd;p:digits;c:drawn_letters,drawn_noise"}]),
        ("answer", [{}]),
        ("learn", [{"lesson": "3"}]),
    ],
)
def test_no_view_computes_for_who_has_nothing_left(public, start: Start, monkeypatch: pytest.MonkeyPatch, page: str, links) -> None:
    """Only Explore asked for what is left to all: other views trained, audited and solved as long as a visitor's own share lasted."""
    rows = {"data": "digits", "method": "pillar_kalman", "k": "0"}
    start("explore", **rows)
    released: list[object] = []
    monkeypatch.setattr(Ledger, "release", lambda *asked, **_: released.append(asked))
    monkeypatch.setattr(shares.Budgets, "_left", lambda *_: -1.0)
    for link in links:
        app = start(page, **rows, **link)
        if page == "learn":
            app.radio(key="lesson-radio-3").set_value(1).run()
        for key in {"answer-go", "fill", "job-run", "lesson-reveal"} & {button.key for button in app.button}:
            app.button(key=key).click().run()
        assert not released, link
        assert not app.exception, link
        assert ("You have used your" in words(app)) == (link != {"controls": "evidence-view:blind"}), link


def test_what_pages_keep_is_computed_in_turns() -> None:
    """Pages keep things by `memory` alone, which asks; what is free reads or draws, or asks itself (`core._run`)."""
    named = {path: re.findall(r"is_free=True\)(?:\ndef |\()([\w.]+)", path.read_text()) for path in PAGES.rglob("*.py")}
    assert {path.stem: sorted(names) for path, names in named.items() if names} == FREE
    used = {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.py") if "st.cache_" in path.read_text()}
    assert used == {"frame/memory.py"}


def test_what_is_kept_is_given_without_a_turn_and_what_is_new_takes_one_outside_of_every_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn that was taken within a cache's lock would be waited for by whoever keeps those with a turn from that cache."""
    monkeypatch.setattr(shares, "BUDGETS", shares.Budgets())
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "a")
    within: list[int] = []
    taken: list[list[int]] = []
    monkeypatch.setattr(shares.TURNS, "taken", lambda who: taken.append([*within]) or contextlib.nullcontext())

    @memory.kept(max_entries=4)
    def inner(x: int) -> int:
        return x

    @memory.kept(max_entries=4)
    def outer(x: int) -> int:
        return inner(x) + inner(x + 1)

    @memory.kept(max_entries=4, is_free=True)
    def drawn(x: int) -> int:
        within.append(x)
        try:
            return outer(x)
        finally:
            within.pop()

    assert drawn(1) == outer(1) == 3
    shares.BUDGETS.spend("a", 2 * shares.SECONDS)
    assert drawn(1) == outer(1) == 3
    with pytest.raises(UnsupportedError, match="You have used your"):
        drawn(2)
    assert inner(2) == 2
    assert taken == [[]]


def test_a_run_that_is_stopped_is_paid_for(public, monkeypatch: pytest.MonkeyPatch):
    """Streamlit stops such a run at its next question to the session: who pays was asked too late, and nobody did."""
    spent = []
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", iter(["a"]).__next__)
    monkeypatch.setattr(shares.BUDGETS, "spend", lambda who, seconds: spent.append(who))
    with pytest.raises(KeyboardInterrupt), shares.metered():
        raise KeyboardInterrupt
    assert spent == ["a"]


def test_who_is_kept_waiting_by_others_is_told_so(public, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "new")
    for number in range(9):
        shares.BUDGETS.spend(f"{number}", shares.SECONDS)
    with pytest.raises(UnsupportedError, match="Other visitors have used"), shares.turn():
        pass


def test_pages_are_not_drawn_for_who_overdrew_the_share_until_it_is_back(public, start: Start, monkeypatch: pytest.MonkeyPatch):
    left = [-shares.OVERDRAWN - 1]
    monkeypatch.setattr(shares.Budgets, "own", lambda *_: left[-1])
    app = start("accounting")
    assert "until pages are drawn again" in words(app)
    assert not app.title
    assert not app.sidebar.selectbox  # it loads rows, which cost the server what nobody pays
    left.append(-1.0)
    app.run()
    assert not app.title
    left.append(1.0)
    app.run()
    assert app.title


def test_the_operator_alone_sees_the_state_of_the_server(public, start: Start, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(failures.MET, "ValueError at pages/there.py:1", 3)
    app = start("runs")
    assert not app.exception
    assert "Load of the last minute" in str(app.table[0].value)
    assert "Errors that nobody foresaw since its start" in words(app)
    assert str(app.dataframe[-1].value.loc["ValueError at pages/there.py:1", "times"]) == "3"
    monkeypatch.setattr(owner, "is_at_server", lambda: False)
    assert "Errors that nobody foresaw since its start" not in words(start("runs"))
    monkeypatch.setattr(owner, "is_at_server", lambda: True)
    monkeypatch.delenv(visitors.VARIABLE)
    assert "Errors that nobody foresaw since its start" not in words(start("runs"))


@pytest.mark.parametrize("page", ["data", "screen", "explore", "runs"])
def test_controls_that_do_nothing_for_visitors_are_not_there(public, start: Start, page: str):
    app = start(page)
    assert not app.exception
    keys = {str(item.key) for kind in ("text_input", "button", "checkbox") for item in getattr(app, kind)}
    assert not {key for key in keys if key.startswith(("upload", "root-", "extract-", "release", "get-run"))}
    assert {item.key for item in app.get("file_uploader")} <= {"upload-settings"}
    assert "/tmp" not in words(app)


@pytest.mark.parametrize(
    "link", [{"data": "cifar10_1"}, {"public": "cifar10_1"}, {"backbone": "timm:resnet18"}, {"data": "stored:" + "0" * 32}]
)
def test_a_link_names_nothing_that_is_not_offered(public, start: Start, link: dict[str, str]):
    app = start("explore", **link)
    assert not app.exception
    assert all(linked(app)[name] != value for name, value in link.items())
    assert "not offered on this public server" in words(app) or "not yours" in words(app)


def test_many_tabs_of_one_visitor_hold_one_turn_and_ask_again_before_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asked before it waited: ten tabs computed 30 s each from a share of 60, and held every turn of the server."""
    budgets = shares.Budgets()
    monkeypatch.setattr(shares, "BUDGETS", budgets)
    monkeypatch.setattr(shares, "TURNS", shares.Turns())
    monkeypatch.setattr(shares.time, "thread_time", lambda: 0.0)
    monkeypatch.setattr(shares.st, "spinner", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "a")
    inside, refused, ended = list[int](), list[str](), threading.Event()

    def tab() -> None:
        try:
            with shares.turn():
                inside.append(len(shares.TURNS._busy))
                ended.wait()
                budgets.spend("a", 40.0)
        except shares.UsedUpError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=tab) for _ in range(10)]
    for thread in threads:
        thread.start()
    while shares.TURNS.foreseen()[0] < 9:
        threads[0].join(0.01)
    ended.set()
    for thread in threads:
        thread.join()
    assert inside == [1, 1]
    assert len(refused) == 8


def test_rows_are_read_in_a_turn_that_asks_for_nothing_and_what_is_computed_within_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen links of one visitor made as many sets of rows at once, without a turn: 57 s and 4.6 GB."""
    monkeypatch.setattr(shares, "BUDGETS", shares.Budgets())
    monkeypatch.setattr(visitors, "binds", lambda: True)
    monkeypatch.setattr(shares.owners, "own_id", lambda: "a")
    taken: list[str] = []
    monkeypatch.setattr(shares.TURNS, "taken", lambda who: taken.append(who) or contextlib.nullcontext())

    @memory.of_rows(max_entries=4, is_free=True)
    def rows(x: int) -> int:
        return x

    @memory.of_rows(max_entries=4, is_free=True)
    def parts(x: int) -> int:
        return rows(x) + 1

    @memory.kept(max_entries=4, is_free=True)
    def run(x: int) -> int:
        parts(x)
        with shares.turn():
            return x

    shares.BUDGETS.spend("a", 2 * shares.SECONDS)
    assert parts(1) == 2
    assert taken == ["a"]
    with pytest.raises(shares.UsedUpError):
        run(5)
    monkeypatch.setattr(shares, "BUDGETS", shares.Budgets())
    assert run(5) == 5
    assert run(5) == parts(5) - 1
    assert taken == ["a"] * 3
