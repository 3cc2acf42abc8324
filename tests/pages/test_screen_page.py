"""The screening page: a diagnostic says that it is one, ε turns it into a release, and every view draws."""

from __future__ import annotations

import pytest
from page_reading import Start, words

from pages.panels.screening_views import VIEWS


def test_a_diagnostic_becomes_a_release_with_epsilon(start: Start) -> None:
    app = start("screen")
    spent = {item.label: item.value for item in app.metric}
    assert spent["Privacy spent"] == "not private"
    assert "non-private diagnostic" in words(app)
    slider = next(item for item in app.select_slider if item.label == "Spend ε on the choice")
    slider.set_value("2").run()
    assert not app.exception
    assert next(item.value for item in app.metric if item.label == "Privacy spent") == "ε ≤ 2"


@pytest.mark.parametrize("view", [name for name in VIEWS if name != "accuracy"])
def test_every_view_draws(start: Start, view: str) -> None:
    app = start("screen")
    app.session_state["local.screen-view"] = view
    app.run()
    assert not app.exception
    assert not app.error
