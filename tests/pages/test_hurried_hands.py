"""A browser that has not heard the server's last answer yet: nothing is taken for a move but what the visitor moved.

Each message of a browser says what all its controls show. Here these stay as they were before the first of several moves.
"""

import math
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import get_widget_state

from page_reading import Start, linked, metric, widget, words
from pages.frame import core
from pages.frame.settings import KS, Settings


def hurry(app: AppTest, kind: str, key: str, *values: Any) -> Iterator[dict[str, str]]:
    """Moves a control once for each value, before the browser draws the answer to any; the link after each."""
    shown, address, item = app._tree.get_widget_states(), dict(app.query_params), widget(app, kind, key)
    for value in values:
        moved = get_widget_state(item.set_value(value))
        shown = WidgetStates(widgets=[moved if state.id == item.id else state for state in shown.widgets])
        app.query_params = dict(address)
        app._run(shown)
        yield linked(app)


def test_fast_moves_of_epsilon_leave_k_to_the_rule(start: Start) -> None:
    app = start("explore", v="2")
    for link, epsilon in zip(hurry(app, "select_slider", "control.epsilon", 0.5, 0.7, 1.0), (0.5, 0.7, 1.0), strict=True):
        ruled = core.rule_k(Settings(epsilon=epsilon))
        assert (link["k"], float(link["epsilon"])) == ("0", epsilon)
        assert widget(app, "toggle", "control.k-auto").value
        assert (metric(app, "Directions"), metric(app, "ε, upper bound")) == (str(ruled), f"{epsilon:g}")
        k = widget(app, "select_slider", "control.k")
        assert [*map(int, k.options)] == [*(one for one in KS if one < int(k.options[-1])), int(k.options[-1])]
        assert k.value == min(KS, key=lambda offered: abs(math.log(offered / ruled)))
        assert f"Auto: k = {ruled}" in "".join(item.proto.body for item in app.sidebar.get("html"))


def test_the_switch_of_the_rule_turned_fast_is_where_it_was_turned_last(start: Start) -> None:
    app = start("explore", v="2")
    assert [link["k"] for link in hurry(app, "toggle", "control.k-auto", False, True, False)] == ["19", "0", "19"]
    assert "k = 19 is used. The slider stands at 20" in words(app)
    assert metric(app, "Directions") == "19"
    assert [link["k"] for link in hurry(app, "select_slider", "control.k", 30, 40)] == ["30", "40"]
    assert not widget(app, "toggle", "control.k-auto").value
    assert "is used. The slider" not in words(app)


def test_what_a_link_names_between_offered_values_runs_and_is_said(start: Start) -> None:
    app = start("explore", k="7", epsilon="0.37")
    assert (metric(app, "Directions"), linked(app)["epsilon"]) == ("7", "0.37")
    assert "k = 7 is used. The slider stands at 8" in words(app)
    assert "ε = 0.37 is used. The slider stands at 0.3" in words(app)
    assert [link["k"] for link in hurry(app, "select_slider", "control.epsilon", 0.5, 0.7)] == ["7", "7"]
    assert "k = 7 is used" in words(app)
    assert "ε = 0.37" not in words(app)


def test_an_address_that_lags_behind_is_no_link_but_back_is(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start("explore", k="8", epsilon="1")
    before = dict(app.query_params)
    widget(app, "select_slider", "control.k").set_value(10).run()
    app.query_params = dict(before)
    app.run()
    assert (linked(app)["k"], metric(app, "Directions")) == ("10", "10")
    widget(app, "select_slider", "control.k").set_value(15).run()
    late = dict(before) | {"k": "15"}
    assert dict(app.query_params) == late
    app.query_params = dict(before)
    with monkeypatch.context() as patch:
        patch.setattr(ScriptRunContext, "is_history_navigation", property(lambda self: True, lambda self, value: None), raising=False)
        app.run()
    assert (linked(app)["k"], metric(app, "Directions")) == ("8", "8")
