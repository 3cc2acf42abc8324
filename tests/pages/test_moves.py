"""What a move of a slider does again, and what it does not."""

import gc
import itertools
from typing import Any

import pytest

from pages.frame import navigation, warming
from pages.frame.settings import Settings
from pages.parts.curves import grid
from pillar_core.runs import starter


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
