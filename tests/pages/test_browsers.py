"""What browsers do: two at one machine are one person, and one that has not heard the last answer
yet moves nothing by itself.

What one brought is in the other, and a link to rows that are not here shows nobody else's. Each
message of a browser says what all its controls show; in hurried moves these stay as they were
before the first.
"""

import math
from collections.abc import Iterator
from typing import Any

from streamlit.proto.WidgetStates_pb2 import WidgetStates
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import get_widget_state

from page_reading import fill, linked, markup, metric, offered, press, widget, words
from pages.frame import core
from pages.frame.settings import KS, Settings
from plugin_package import install, site


def test_a_link_to_rows_that_are_not_here_says_so_and_shows_no_other_sets_results(start):
    """The page drew Fashion-MNIST's results in the place of the rows that the link named."""
    name = "stored:" + "0" * 32
    for page, link in (
        ("curves", {"data": name}),
        ("learners", {"public": name}),
        ("why", {"data": name}),
    ):
        app = start(page, **link)
        assert f"{name} is not on this machine" in words(app)
        assert not [*app.metric, *app.dataframe, *app.get("plotly_chart")]
        assert len(app.get("bidi_component")) <= 1, (
            "the app's own, which reads the width of the window"
        )
        (kind,) = link
        assert linked(app)[kind] == name, "the link stays what it was, for when the rows are here"
    press(app, "go-on")
    assert linked(app)["data"] == Settings().data
    assert "not on this machine" not in words(app)


__all__ = ["site"]


def test_items_of_an_installed_package_are_offered_where_their_kind_is(start, site):
    install(site)
    app = start("curves", method="tiny_learner")
    assert "A tiny learner" in offered(app)
    assert app.session_state["set.method"] == "tiny_learner"
    offers = {
        "learners": ["A tiny learner"],
        "rows": ["A tiny set", "A tiny backbone"],
        "public_data": ["A tiny score"],
    }
    for page, titles in offers.items():
        app.switch_page(f"pages/{page}.py").run()
        missing = [title for title in titles if title not in offered(app)]
        assert not missing, page


def hurry(app: AppTest, key: str, *values: Any) -> Iterator[dict[str, str]]:
    """Moves a control once for each value, before the browser draws the answer to any; the link
    after each."""
    shown = app._tree.get_widget_states()
    address = dict(app.query_params)
    item = widget(app, key)
    for value in values:
        moved = get_widget_state(item.set_value(value))
        shown = WidgetStates(
            widgets=[moved if state.id == item.id else state for state in shown.widgets]
        )
        app.query_params = dict(address)
        app._run(shown)
        yield linked(app)


def test_fast_moves_of_epsilon_leave_k_to_the_rule(start):
    app = start("curves", v="2")
    for link, epsilon in zip(
        hurry(app, "control.epsilon", 0.5, 0.7, 1.0), (0.5, 0.7, 1.0), strict=True
    ):
        ruled = core.rule_k(Settings(epsilon=epsilon))
        assert (link["k"], float(link["epsilon"])) == ("0", epsilon)
        assert widget(app, "control.k-auto").value
        assert (metric(app, "Directions"), metric(app, "ε, upper bound")) == (
            str(ruled),
            f"{epsilon:g}",
        )
        k = widget(app, "control.k")
        assert [*map(int, k.options)] == [
            *(one for one in KS if one < int(k.options[-1])),
            int(k.options[-1]),
        ]
        assert k.value == min(KS, key=lambda offered: abs(math.log(offered / ruled)))
        assert f"Auto: k = {ruled}" in markup(app.sidebar)


def test_the_switch_of_the_rule_turned_fast_is_where_it_was_turned_last(start):
    app = start("curves", v="2")
    assert [link["k"] for link in hurry(app, "control.k-auto", False, True, False)] == [
        "19",
        "0",
        "19",
    ]
    assert "k = 19 is used. The slider stands at 20" in words(app)
    assert metric(app, "Directions") == "19"
    assert [link["k"] for link in hurry(app, "control.k", 30, 40)] == ["30", "40"]
    assert not widget(app, "control.k-auto").value
    assert "is used. The slider" not in words(app)


def test_what_a_link_names_between_offered_values_runs_and_is_said(start):
    app = start("curves", k="7", epsilon="0.37")
    assert (metric(app, "Directions"), linked(app)["epsilon"]) == ("7", "0.37")
    assert "k = 7 is used. The slider stands at 8" in words(app)
    assert "ε = 0.37 is used. The slider stands at 0.3" in words(app)
    assert [link["k"] for link in hurry(app, "control.epsilon", 0.5, 0.7)] == [
        "7",
        "7",
    ]
    assert "k = 7 is used" in words(app)
    assert "ε = 0.37" not in words(app)


def test_an_address_that_lags_behind_is_no_link_but_back_is(start, monkeypatch):
    app = start("curves", k="8", epsilon="1")
    before = dict(app.query_params)
    fill(app, "control.k", 10)
    app.query_params = dict(before)
    app.run()
    assert (linked(app)["k"], metric(app, "Directions")) == ("10", "10")
    fill(app, "control.k", 15)
    late = dict(before) | {"k": "15"}
    assert dict(app.query_params) == late
    app.query_params = dict(before)
    with monkeypatch.context() as patch:
        patch.setattr(
            ScriptRunContext,
            "is_history_navigation",
            property(lambda self: True, lambda self, value: None),
            raising=False,
        )
        app.run()
    assert (linked(app)["k"], metric(app, "Directions")) == ("8", "8")
