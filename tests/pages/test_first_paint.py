"""The first paint of Start and Curves comes from the starter: before torch is imported, before a
row is loaded; and what is done once for all paints."""

import gc
import itertools
from typing import Any

import pytest
from repository import printed

from pages.frame import core, navigation, odds, warming
from pages.frame.settings import Settings
from pages.parts.curves import grid
from pillar_core.runs import starter, sweep

HEAVY = {"torch", "opacus", "timm", "dask", "distributed", "sklearn"}
FIRST_PAINT = """
import json, sys
from streamlit.testing.v1 import AppTest
from pages.frame import core, warming
warming.begin = lambda: None  # what it imports is not what the paint needs
app = AppTest.from_file("app.py", default_timeout=600).run()
home = [item.proto.id for item in app.get("bidi_component") if "pulled" in item.proto.id]
before = sorted(sys.modules)
app.switch_page("pages/curves.py").run()
explore = [item.proto.id for item in app.get("bidi_component") if "chart" in item.proto.id]
metrics = [[item.label, item.value] for item in app.metric]
errors = [item.value for item in [*app.exception, *app.error]]
print(json.dumps([home, explore, before, sorted(sys.modules), metrics, errors, len(core._LOADED)]))
"""


def test_home_and_explore_are_drawn_without_torch_and_without_rows(tmp_path):
    home, explore, before, after, metrics, errors, loaded = printed(
        FIRST_PAINT, PILLAR_CACHE=str(tmp_path)
    )
    assert errors == []
    assert [one.endswith("-hero-pulled") for one in home] == [True]
    assert [one.endswith("-chart-accuracy_against_k") for one in explore] == [True]
    assert not HEAVY & {name.partition(".")[0] for name in [*before, *after]}
    assert loaded == 0
    accuracy, epsilon = metrics[:2]
    assert accuracy[0].startswith("Test accuracy")
    assert epsilon[0].startswith("ε")
    record = core.find(Settings())
    assert record is not None
    assert record.accuracy is not None
    assert accuracy[1] == f"{100 * record.accuracy:.1f} %"


def test_what_ships_says_what_the_rows_say_and_holds_the_run_that_explore_opens_with(start):
    settings = Settings()
    start("start")
    shipped = core.find(settings)
    assert shipped is not None
    facts = core.facts(settings)
    largest = core.largest_k(settings)
    rows = core.n_test(settings)
    whole = sweep.read_or_run(core.spec(settings), core.split(settings))
    assert whole.facts == facts
    assert core.largest_k(settings) == largest
    assert rows == len(core.features(settings).y_test)
    assert odds.table(whole).equals(odds.table(shipped))
    record = core.find(Settings())
    assert record is not None, (
        "starter.COMPARISON must hold the run of the default settings: `python -m pillar_core"
        " starter` trains it"
    )
    assert record.guarantee.epsilon.upper <= Settings().epsilon


def test_k_ends_at_the_rank_of_few_features_before_a_row_is_loaded_too(monkeypatch):
    """Digits have 64 pixels, some of which never change: the curves' last k was another one once
    rows were loaded."""
    settings = Settings(data="digits", k=10)
    monkeypatch.setattr(core, "_LOADED", set())
    assert core.find(settings) is not None
    assert core.largest_k(settings) == len(core.spectrum(settings)) < 64


def test_two_data_sets_with_nothing_measured_keep_their_own_curves(start):
    start("start")
    digits, letters = (grid.read(Settings(data=name)) for name in ("drawn_digits", "drawn_letters"))
    assert {*digits.forms, *letters.forms} == {None}
    assert digits.grids[0]["dataset"] == "drawn_digits"
    assert letters.grids[0]["dataset"] == "drawn_letters"
    assert digits.key != letters.key


@pytest.fixture
def unfrozen():
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("unfrozen")
def test_what_the_server_imports_is_no_garbage_to_look_through():
    gc.unfreeze()
    warming._import("colorsys")
    assert gc.get_freeze_count() > 10_000
    assert len(gc.get_objects()) < gc.get_freeze_count()


def test_starts_table_is_read_before_the_first_visitor_asks(start, monkeypatch):
    read = list[Any]()
    table = starter.hero_table
    monkeypatch.setattr(starter, "hero_table", lambda: read.append(1) or table())
    warming._first_results()
    assert len(read) == 1
    start("start")
    assert len(read) == 1


def test_pages_of_two_runs_are_apart(start, monkeypatch):
    # Streamlit notes in a page object that it may run, once.
    made = []
    pages = navigation.pages
    monkeypatch.setattr(navigation, "pages", lambda: made.append(pages()) or made[-1])
    start("start").run()
    assert not any(one is other for one, other in itertools.product(made[0], made[-1]))
