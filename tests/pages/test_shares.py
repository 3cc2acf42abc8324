"""Computing for visitors of a demo: buckets that fill again with time, slots, and what a visitor is
told."""

import asyncio
import contextlib
import re
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import plotly.graph_objects as go
import pytest
import streamlit as st
from streamlit.runtime.scriptrunner import StopException
from streamlit.runtime.scriptrunner.script_runner import ScriptRunner

from page_reading import VIEWS, fill, press, words
from pages.frame import exports, memory, shares
from pillar_core import mode
from pillar_core.data import places, uploads
from pillar_core.data.cards import DatasetCard
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import Ledger

PAGES = Path(shares.__file__).resolve().parents[1]
FREE_VIEWS = ("theory-view:theorems",)
SOLVED_VIEW = VIEWS["count"][0]["controls"]
FREE = {
    "core": [
        "_features",
        "_raw",
        "_recorded",
        "_rule_k",
        "_specs_by_key",
        "class_counts",
        "public_map",
        "run",
        "spectrum",
        "split",
        "start_records",
    ],
    "browser": ["_json"],
    "comparison": ["_against_epsilon", "_comparison"],
    "figures": ["_curves_figure"],
    "grid": ["_curves"],
    "jobs": ["_runs", "pc.jobs.spec"],
    "overview": ["_figure"],
    "panels": ["_figure"],
    "projection": ["rows"],
    "receipts": ["_model", "_promise", "account"],
    "results": ["_lines"],
    "story": ["portable.shipped_gap"],
}
"""What pages keep without asking, by module: rows, records and keys that are read, figures, and the
k beside the slider."""


@pytest.fixture
def public(monkeypatch):
    monkeypatch.setenv(mode.DEMO, "1")
    monkeypatch.setattr(shares, "BUCKETS", shares.Buckets())


@pytest.fixture
def visitor(public, monkeypatch):
    """The session that asks wherever a test calls something."""
    monkeypatch.setattr(mode._Server, "session", staticmethod(lambda: "a"))
    return "a"


def test_a_bucket_is_spent_and_fills_again_and_all_sessions_share_one(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(shares.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(shares, "CORES", 2)
    buckets = shares.Buckets()
    buckets.spend("a", 65)
    assert [buckets.seconds_left(name) for name in ("a", "b", shares.ALL)] == pytest.approx(
        [-5, 60, 175]
    )
    now[0] += buckets.wait("a")
    assert buckets.seconds_left("a") == pytest.approx(1)
    for number in range(10):
        buckets.spend(f"{number}", 54)
    assert buckets.seconds_left(shares.ALL) < 0 < buckets.wait(shares.ALL)
    now[0] += 1e6
    assert buckets.seconds_left(shares.ALL) == 240
    monkeypatch.setenv("PILLAR_LIMIT_SECONDS", "0")
    buckets.spend("a", 1e9)
    assert buckets.seconds_left("a") > 1e300


def test_as_many_compute_at_a_time_as_there_are_slots_and_each_pays(visitor, monkeypatch):
    """Each asked before it waited: ten tabs computed 30 s each from a share of 60."""
    seconds = threading.local()
    monkeypatch.setattr(shares, "CORES", 1)
    monkeypatch.setattr(shares.time, "thread_time", lambda: getattr(seconds, "now", 0.0))
    inside = [0]
    at_once = set[int]()
    refused = list[str]()

    def tab():
        try:
            with shares.turn(), shares.turn():
                inside[0] += 1
                at_once.add(inside[0])
                seconds.now = 40.0
                inside[0] -= 1
        except shares.UsedUpError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=tab) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (at_once, len(refused)) == ({1}, 8)
    assert "You have used your 60 s" in refused[0]
    for number in range(3):
        shares.BUCKETS.spend(f"{number}", 60)
    with pytest.raises(UnsupportedError, match="Other visitors have used"):
        shares.ask(session="new")


@contextlib.contextmanager
def one_computes() -> Iterator[None]:
    """Meanwhile another thread has the one turn, and keeps it until the block ends."""
    begun = threading.Event()
    ended = threading.Event()

    def compute() -> None:
        with shares.turn():
            begun.set()
            ended.wait()

    thread = threading.Thread(target=compute)
    thread.start()
    begun.wait()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_what_was_made_is_kept_when_streamlit_ends_the_run_at_that_moment(monkeypatch):
    """It was thrown away as its spinner went: who moved on at once had the same model trained again
    and again."""
    made = []

    @contextlib.contextmanager
    def spinner(_):
        yield
        raise StopException

    @memory.cache(max_entries=4, show_spinner="Training …")
    def train(k):
        made.append(k)
        return k

    monkeypatch.setattr(st, "spinner", spinner)
    with pytest.raises(StopException):
        train(3)
    assert (train(3), made) == (3, [3])


def test_turns_come_in_the_order_in_which_they_were_asked_for(visitor, monkeypatch):
    monkeypatch.setattr(shares, "CORES", 1)
    order = []

    def ask(number):
        with shares.turn():
            order.append(number)

    waiters = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    with one_computes():
        for waiter in waiters:
            waiter.start()
            while waiter not in shares._LINE:
                time.sleep(0.001)
    for waiter in waiters:
        waiter.join()
    assert order == [*range(8)]


@pytest.mark.parametrize(
    ("page", "link"),
    [("curves", {}), ("runs", {"runs": "view:plan"}), ("count", {"controls": SOLVED_VIEW})],
)
def test_a_run_of_a_page_that_ends_at_any_call_of_streamlit_gives_back_all_that_it_held(
    public, start, monkeypatch, page, link
):
    """Each visit ends at a place of the code that asked Streamlit something while the visit had a
    turn, and at which none ended before."""
    places = set()
    looks = [0]
    has_turn = shares._has_turn
    handle = ScriptRunner._maybe_handle_execution_control_request

    def look(run, seconds):
        looks[0] += 1
        return looks[0] > 2 and has_turn(run, seconds)

    def end_once(runner):
        handle(runner)
        if runner._execing and threading.current_thread() in shares._LINE:
            frames = (
                frame
                for frame, _ in traceback.walk_stack(None)
                if str(PAGES) in frame.f_code.co_filename
            )
            place = next(
                (Path(frame.f_code.co_filename).name, frame.f_lasti) for frame in frames
            )  # a block's end has its begin's line
            if place not in places:
                places.add(place)
                raise StopException

    monkeypatch.setattr(shares, "_has_turn", look)
    monkeypatch.setattr(ScriptRunner, "_maybe_handle_execution_control_request", end_once)
    count = -1
    while len(places) > count:
        count, looks[0] = len(places), 0
        start(page, **link)
        assert shares._LINE == []
        for memo in memory.MEMOS:
            for entry in memo._entries.values():
                assert entry.lock.acquire(blocking=False)
                entry.lock.release()
    files = [file for file, _ in places]
    assert files.count("shares.py") >= 2, "as a wait for a turn begins and ends"
    assert "session.py" in files, "and meanwhile"


def test_pages_hold_locks_by_blocks_alone_and_wait_for_nothing_without_end():
    """What is taken by hand stays taken when Streamlit ends the run before it is given back."""
    assert not {
        f"{path.name}: {found}"
        for path in PAGES.rglob("*.py")
        for found in re.findall(
            r"\.(?:acquire|release|join|result|wait)\(\)|Semaphore|flock", path.read_text()
        )
    } - {"failures.py: .wait()"}, "an import of torch, which ends"


def test_an_operator_learns_of_a_turn_that_no_living_run_has(visitor, monkeypatch):
    route = shares.ready_route("/ready")
    monkeypatch.setattr(shares, "CORES", 1)

    def ask():
        answer = asyncio.run(route.endpoint(None))
        return answer.status_code, answer.body.decode()

    assert ask() == (200, "ready\n")
    with one_computes():
        assert ask() == (200, "ready\n"), "however long it takes"
    ended = threading.Thread(target=lambda: None)
    ended.start()
    ended.join()
    monkeypatch.setattr(shares, "_LINE", [ended])
    assert ask() == (
        503,
        "Runs that have ended and still have a turn to compute: 1. Start the server anew.\n",
    )


def test_what_is_held_is_given_without_a_turn_and_what_is_new_takes_one_before_any_lock(visitor):
    @memory.cache(max_entries=4)
    def inner(x):
        return x

    @memory.cache(max_entries=4)
    def outer(x):
        return inner(x) + inner(x + 1)

    @memory.cache(max_entries=4, is_free=True)
    def rows(x):
        assert threading.current_thread() in shares._LINE
        return x

    @memory.cache(max_entries=4, is_free=True)
    def run(x):
        rows(x)
        with shares.turn():
            return x

    assert outer(1) == 3
    shares.BUCKETS.spend(visitor, 120)
    assert outer(1) == 3
    assert inner(2) == rows(2) == 2
    for compute in (outer, run):
        with pytest.raises(UnsupportedError, match="You have used your"):
            compute(2)


def test_a_download_is_paid_by_whom_it_was_shown_to_and_is_the_same_bytes_each_time(
    visitor, monkeypatch
):
    seconds = [0.0]
    monkeypatch.setattr(shares.time, "thread_time", lambda: seconds[0])

    def make():
        seconds[0] += 61
        return b"figure"

    download = shares.charge(make)
    monkeypatch.setattr(mode._Server, "session", staticmethod(lambda: "nobody"))
    assert download() == b"figure"
    with pytest.raises(UnsupportedError, match="You have used your 60 s"):
        download()
    figure = go.Figure(go.Bar(x=["a"], y=[1.0]))
    assert exports.page(figure) == exports.page(figure)


def test_downloads_are_paid_errors_of_fragments_are_caught_and_pages_keep_things_by_memory_alone():
    """What is free reads or draws, or asks itself (`core.run`)."""
    sources = {path: path.read_text() for path in PAGES.rglob("*.py")}
    made = {
        path.name
        for path, source in sources.items()
        if re.search(r"download_buttons?\(", source) and "shares.charge(" not in source
    }
    assert made == {
        "form.py",
        "jobs.py",
        "model.py",
        "receipts.py",
    }, "text that is there; models and rows, which visitors do not get"
    for path, source in sources.items():
        for part in source.split("@st.fragment")[1:]:
            assert "@failures.catch_errors()" in part.split("def ")[0], path
    free = [
        (path.stem, name)
        for path, source in sources.items()
        for name in re.findall(r"is_free=True,?\s*\)(?:\ndef |\(\s*)([\w.]+)", source)
    ]
    assert sorted(free) == [(module, name) for module in sorted(FREE) for name in FREE[module]]
    assert not [path for path, source in sources.items() if "st.cache_" in source]


def test_a_visitors_link_looks_at_no_set_in_files(public, start, monkeypatch):
    """A link planned grids on the operator's own sets: the page said how many of their runs are
    there, and asked the disk for each."""
    looked = []
    monkeypatch.setattr(
        DatasetCard,
        "home",
        lambda card, root=None: looked.append(card.name) or places.home(card.name, root),
    )
    app = start("runs", runs="view:plan", controls="plan-data:openml:riccardo")
    assert not looked
    assert "riccardo" not in str([(item.options, item.value) for item in app.multiselect]).lower()


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("answer", {"controls": "answer-public:cifar10"}),
        ("public_data", {"screen": "p:cifar10;c:cifar10,drawn_noise"}),
        ("rows", {"controls": "paper-set:cifar10"}),
    ],
)
def test_visitors_are_offered_no_set_in_files(public, start, monkeypatch, page, link):
    """Answer, Public data and Rows listed what lies in the operator's data folder, and Answer trained
    with it."""
    monkeypatch.setattr(DatasetCard, "is_here", lambda *_: True)
    read = []
    load = DatasetCard.load
    monkeypatch.setattr(
        DatasetCard,
        "load",
        lambda card, *asked, **named: read.append(card.name) or load(card, *asked, **named),
    )
    app = start(page, data="fashion_mnist_2k", backbone="raw_pixels", **link)
    assert not {"cifar10"} & {*read}
    offered = str(
        [
            [item.options, item.value]
            for item in (*app.multiselect, *app.selectbox, *app.get("button_group"))
        ]
    )
    assert page == "rows" or "CIFAR-10" not in offered
    assert "on this machine" not in words(app).replace("not on this machine", "").replace(
        "runs on this machine", ""
    )


def test_who_has_spent_the_seconds_still_gets_what_ran_before(public, start, monkeypatch):
    app = start("curves", data="digits", k="6")
    assert "Public server: " in words(app)
    assert "2 jobs at a time" in words(app)
    monkeypatch.setattr(shares.Buckets, "seconds_left", lambda *_: -1.0)
    app = start("curves", data="digits", k="6")
    assert "You have used your" not in words(app)
    app = start("curves", data="digits", k="7")
    assert "You have used your" in words(app)


LINKS = [
    *((page, link) for page in ("count", "audit", "why", "playgrounds") for link in VIEWS[page]),
    *(("curves", {"view": view}) for view in ("noise", "rows", "why")),
    *(
        ("public_data", {"screen": choice})
        for choice in (
            "",
            "m:linear_head;n:100;k:4;e:no;s:gsd;p:digits;c:drawn_letters,drawn_noise",
        )
    ),
    ("answer", {}),
    ("lessons", {"lesson": "3"}),
]


def test_no_view_computes_for_who_has_nothing_left(public, start, monkeypatch):
    """Only Curves asked for what is left to all: other views trained, audited and solved as long
    as a visitor's own share lasted."""
    rows = {"data": "digits", "method": "pillar_kalman", "k": "0"}
    start("curves", **rows)
    released = []
    monkeypatch.setattr(Ledger, "release", lambda *asked, **_: released.append(asked))
    monkeypatch.setattr(shares.Buckets, "seconds_left", lambda *_: -1.0)
    for page, link in LINKS:
        app = start(page, **rows, **link)
        if page == "lessons":
            fill(app, "lesson-radio-3", 1)
        for key in {"job-run", "lesson-reveal"} & {button.key for button in app.button}:
            press(app, key)
        assert not released, (page, link)
        assert ("You have used your" in words(app)) == (link.get("controls") not in FREE_VIEWS), (
            page,
            link,
        )


def test_what_is_off_or_not_offered_to_visitors_is_not_there(public, start):
    for page in ("rows", "public_data", "curves", "runs"):
        app = start(page)
        keys = {
            str(item.key)
            for kind in ("text_input", "button", "checkbox")
            for item in getattr(app, kind)
        }
        assert not {
            key
            for key in keys
            if key.startswith(("upload", "root-", "extract-", "release", "get-run"))
        }, page
        assert not app.get("file_uploader"), page
        assert "/tmp" not in words(app), page
    for link in (
        {"data": "cifar10_1"},
        {"public": "cifar10_1"},
        {"backbone": "timm:resnet18"},
        {"data": "stored:" + "0" * 32},
    ):
        app = start("curves", **link)
        assert "not offered on this public server" in words(
            app
        ) or "is not on this machine" in words(app), link


def test_what_is_forgotten_while_it_is_made_is_made_anew():
    name = uploads.PREFIX + "0" * 32
    begun = threading.Event()
    told = threading.Event()
    calls = []

    @memory.cache(max_entries=4, show_spinner=False)
    def read(name):
        calls.append(name)
        begun.set()
        assert told.wait(60)
        return object()

    reader = threading.Thread(target=read, args=(name,))
    reader.start()
    assert begun.wait(60)
    memory.forget(uploads.key_of(name))
    told.set()
    reader.join()
    assert read(name) is read(name)
    assert len(calls) == 2
    memory.forget(uploads.key_of(name))
    read(name)
    assert len(calls) == 3
