"""Pages as a person meets them: first paint, controls that keep each other, refusals in words,
nothing without help."""

import json
import math
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from repository import REPOSITORY
from streamlit.testing.v1 import AppTest

import pillar_core as pc
from page_reading import (
    VIEWS,
    charts,
    fill,
    labelled,
    linked,
    links,
    metric,
    press,
    unexplained,
    unfold,
    words,
)
from pages.frame import exports, jobs, navigation
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core.errors import StoreError
from pillar_core.plots import accuracy
from pillar_core.runs import starter, sweep
from pillar_core.studies import open_questions
from pillar_core.studies.one_training import stages

ANSWERS = {"never_worse": "curves", "made_up": "public_data", "labels": "learners", "world": "runs"}
LONGEST_PAGE = 100
KINDS = ("selectbox", "slider", "select_slider", "number_input", "button", "metric")
TERMS = "[α-ωΑ-Ω]|^k,|Adjacency|AUC|Accountant|Backbone|Clip|Energy|Seed|Share"
"""Words in labels that need a hint."""
MOST_HINTS = 12


@pytest.mark.parametrize("name", VIEWS)
def test_every_view_opens_on_an_empty_cache_with_hints_where_a_word_needs_one(start, name):
    for link in VIEWS[name]:
        app = start(name, **link)
        assert not app.error, link
        assert unexplained(app) == {}, link
        assert name != "why" or "non-private diagnostic" in words(app) or app.info, link
    app = start(name)
    assert len(app.title) == 1
    shown, aside = (
        [item for kind in KINDS for item in getattr(part, kind)] for part in (app.main, app.sidebar)
    )
    assert name in ("start", "runs") or len(shown) + len(aside) >= 7
    assert not [
        item.label
        for item in shown + aside
        if item.type != "button" and re.search(TERMS, item.label) and not item.help
    ]
    assert sum(bool(item.help) for item in shown) <= MOST_HINTS, "a label that says it needs none"


def test_home_without_starter_records_says_how_to_get_them(start, monkeypatch):
    def missing():
        raise StoreError("gone")

    monkeypatch.setattr(starter, "hero_table", missing)
    app = start("start")
    assert "python -m pillar_core starter" in words(app)


def test_the_link_holds_what_is_not_the_default_and_a_k_above_the_rank_is_clamped(start):
    app = start("rows")
    assert list(linked(app)) == [*codec.PARAMS, "v"]
    assert list(app.query_params) == ["v", "data"]
    app = start("curves", k="5000")
    assert "k was 5000" in words(app)
    # 143 public digits, 64 pixels of which some never change: the rank is below 64.
    assert int(metric(app, "Directions")) < 64


@pytest.mark.parametrize(
    "query",
    [
        {"k": "nan", "epsilon": "nan", "delta": "nan"},
        {"public": "breast_cancer"},
        {"accountant": "gdp", "method": "dp_sgd"},
        {"a": "~" * 500, "hide": "k,epsilon,nothing", "lesson": "77"},
    ],
)
def test_hostile_links_get_words_and_the_app_goes_on(start, query):
    app = start("curves", **query)
    (fill(app, "control.epsilon", 2.0) if app.select_slider else app.run())


def pinned_in(app: AppTest) -> dict[str, Settings]:
    return codec.pins(Settings(a=linked(app)["a"]))


def test_pins_are_compared_persist_over_pages_in_colours_of_their_own_and_can_be_taken_again(start):
    app = start("curves", k="5", epsilon="1", v="2", data="digits")
    for k in (5, 20, 40):
        fill(app, "control.k", k)
        if k == 20:
            assert codec.unpin(linked(app)["a"]) == Settings(data="digits", k=5, epsilon=1.0)
            assert "k 5 → 20" in words(app)
            assert "points against A" in labelled(app, "metric", "Test accuracy").delta
        press(app, "pin")
    assert [pinned.k for pinned in pinned_in(app).values()] == [5, 20, 40]
    assert app.button(key="pin").label == "Pin C anew"
    press(app, "take-pin-a")
    assert (linked(app)["k"], pinned_in(app)["B"].k) == ("5", 20)
    press(app, "unpin-b")
    assert app.button(key="pin").label == "Pin as B"
    app.switch_page("pages/learners.py").run()
    assert {"take-pin-a", "take-pin-c"} <= {button.key for button in app.button}
    table = exports.pins(codec.from_query(linked(app))[0])
    assert list(table["pin"]) == ["A", "C"]
    assert table["accuracy"].between(0.5, 1).all()


def test_a_lesson_hides_what_its_link_hides(start):
    app = start("curves", hide="delta,seed,seeds,accountant,relation,backbone", lesson="1")
    assert "**Step 1.**" in words(app)
    assert links(app)["Back to the lesson"]["lesson"] == "1"
    assert not app.number_input
    assert "Backbone" not in [item.label for item in app.selectbox]
    press(app, "lesson-end")
    assert "**Step 1.**" not in words(app)
    assert linked(app)["lesson"] == "0"


def test_a_gallery_card_changes_the_data(start):
    app = start("rows", epsilon="0.3")
    before = [chart.proto.spec for chart in app.get("plotly_chart")]
    press(app, "use-breast_cancer")
    assert len({*before, *(chart.proto.spec for chart in app.get("plotly_chart"))}) == 6, (
        "three figures of each set"
    )
    assert linked(app)["data"] == "breast_cancer"
    assert linked(app)["epsilon"] == "0.3"
    assert metric(app, "Classes") == "2"


def test_moving_k_trains_another_model_and_neither_loads_decomposes_calibrates_nor_draws_curves(
    start, monkeypatch
):
    app = start("curves", epsilon="0.5", k="7", seed="3", delta="1e-6")
    before = metric(app, "Test accuracy")
    calls = counted(monkeypatch)
    pages = navigation._targets.cache_info().misses
    for k in (10, 15):  # one of them no point of the curves, which a run would add to
        fill(app, "control.k", k)
        assert metric(app, "Directions") == str(k)
        assert metric(app, "Test accuracy") != before
        assert (
            linked(app).items()
            >= {
                "k": str(k),
                "epsilon": "0.5",
                "seed": "3",
                "delta": "1e-06",
                "data": "digits",
            }.items()
        )
    assert ({*calls.values()}, navigation._targets.cache_info().misses) == ({0}, pages)
    fill(app, "control.epsilon", 0.2)
    assert [calls[name] for name in ("load", "basis", "calibrate")] == [0, 0, 1]
    fill(app, "control.public_fraction", 0.2)
    assert (calls["basis"], calls["draw"] > 0) == (1, True)


def counted(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Counts of the four slow things from here on."""
    from pillar_core import accounting
    from pillar_core.data import uploads
    from pillar_core.splits import view

    calls = {"load": 0, "basis": 0, "calibrate": 0, "draw": 0}

    def counting(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*values: Any, **named: Any) -> Any:
            calls[name] += 1
            return function(*values, **named)

        return wrapped

    monkeypatch.setattr(uploads, "load_dataset", counting("load", uploads.load_dataset))
    monkeypatch.setattr(view, "public_basis", counting("basis", view.public_basis))
    monkeypatch.setattr(accounting, "calibrate", counting("calibrate", accounting.calibrate))
    monkeypatch.setattr(accuracy, "accuracy_curves", counting("draw", accuracy.accuracy_curves))
    return calls


def test_pages_are_short():
    offenders = []
    for path in sorted((REPOSITORY / "pages").rglob("*.py")):
        text = path.read_text()
        if path.parent.name == "pages" and path.stem != "__init__":
            is_page = len(text.splitlines()) <= LONGEST_PAGE and "navigation.begin()" in text
            offenders += [] if is_page else [f"{path}: too long, or without navigation.begin()"]
    assert not offenders, "\n".join(offenders)


def test_the_session_holds_primitives_only(start):
    app = start("curves", a=codec.pin(Settings(data="digits", k=3)))
    state = app.session_state._state.filtered_state
    assert len(state) > 20
    ours = {
        name: value
        for name, value in state.items()
        if not name.startswith(("chart-", "table-", "download-", "window", "copy-link"))
    }
    assert [
        name for name, value in ours.items() if not isinstance(value, str | int | float | bool)
    ] == []


def test_explore_shows_why_the_kalman_learner_works(start):
    app = start("curves", data="digits", method="pillar_kalman", view="why")
    assert charts(app).keys() >= {
        f"chart-kalman_{name}" for name in ("prior", "believed", "distilled")
    }
    app = start("curves", data="digits", method="pillar", view="why")
    assert not app.get("plotly_chart")
    app = start("curves", data="digits", method="pillar", view="k")
    (link,) = (query for label, query in links(app).items() if "No k to choose" in label)
    assert (link["method"], link["view"]) == ("pillar_kalman", "why")


def test_the_run_button_hands_over_its_grids(start, monkeypatch):
    from pillar_core import jobs

    handed = []
    monkeypatch.setattr(jobs, "submit", lambda spec: handed.append(spec) or "1" * 32)
    app = start("curves", seeds="2")
    press(app, "job-run")
    assert [spec["kind"] for spec in handed] == ["sweep"] * 4
    counts = [len(sweep.specs_of(spec["grid"])) for spec in handed]
    ks = len(handed[0]["grid"]["k"])
    budgets = len(starter.HERO_EPSILONS)
    assert counts == [ks * budgets * 2, budgets * 2, (ks + 1) * 2, 2]


@pytest.mark.parametrize(("delta", "warned"), [("1e-5", False), ("1e-3", True)])
def test_a_large_delta_is_shown_in_red(start, delta, warned):
    # 1,295 private digits: δ = 1e-3 is above 1/n = 7.7e-4.
    app = start("curves", delta=delta)
    assert ("such a guarantee allows publishing a whole row" in words(app)) == warned
    assert not any(
        "epsilon" in str(item.value).lower() and "small" in str(item.value).lower()
        for item in app.warning
    )


def test_published_deployments_lie_in_order_along_the_slider_with_their_sources():
    from pages.frame import odds, sidebar

    row = sidebar.marks(
        [0.1, 1.0, 2.0, 5.0, 8.0, 20.0, math.inf], odds.PUBLISHED, "published uses:"
    )
    places = [float(place) for place in re.findall(r"left:([0-9.]+)%", row)]
    assert places == sorted(places)
    assert places[0] == pytest.approx(100 * 2 / 6, abs=0.1)  # ε = 2 is the third of seven values
    assert len(places) == 5  # 34.9 lies beyond the last finite value
    assert row.count("registry.opendp.org") == 5
    assert sidebar.marks([0.1], odds.PUBLISHED, "") == ""


def test_a_rule_whose_k_is_off_the_slider_leaves_the_page_whole(start):
    """Of 24 public rows there are fewer directions than AdaMix asks for."""
    assert not start("curves", data="digits", method="adamix", public_fraction="0.02").error


@pytest.mark.parametrize(("data", "measure"), [("digits", "accuracy"), ("breast_cancer", "AUC")])
def test_costs_of_parts_are_trained_when_asked_for_and_drawn_with_a_badge(start, data, measure):
    app = start("curves", data=data, epsilon="0.5", view="costs")
    assert app.button(key="costs-run")
    record = pc.run("pillar", pc.split(pc.load_dataset(data), public_fraction=0.1), epsilon=0.5)
    for axes in stages(record).values():
        pc.sweep({"dataset": data, "public_fraction": 0.1, "seed": list(range(5)), **axes})
    app.run()
    assert "costs-run" not in [button.key for button in app.button]
    assert "Clipping and steps" in words(app)
    assert f"test {measure}, %" in str(charts(app))
    assert "experiment" in words(app)


def test_costs_open_with_a_figure_where_the_starter_knows_some_stages_or_time_allows_some(
    start, monkeypatch
):
    monkeypatch.setattr(jobs, "FIRST_SECONDS", math.inf)
    app = start("curves", view="costs")
    assert [item.proto.id.endswith("chart-part_costs") for item in app.get("plotly_chart")] == [
        True
    ]
    moments = iter([0.0, 2.0, 4.0])
    monkeypatch.setattr(
        jobs, "time", SimpleNamespace(monotonic=lambda: next(moments, math.inf))
    )  # two runs, the cheapest
    app = start("curves", data="digits", seed="70", view="costs")
    spec = app.get("plotly_chart")[0].proto.spec
    assert (
        "Features and head,<br>Projection to k,<br>Clipping and steps: "
        in json.loads(spec)["data"][0]["y"][0]
    )
    assert app.button(key="costs-run").label == "Run the rest"


def test_the_sidebar_stands_on_rows_once_it_acts_and_the_curve_over_budgets_opens_with_three_runs(
    start, monkeypatch
):
    opened = {"rows": "", "public_data": "", "curves": "", "runs": "view:results"}
    acts = {page: bool(start(page, runs=runs).sidebar.selectbox) for page, runs in opened.items()}
    assert acts == {"rows": False, "public_data": False, "curves": True, "runs": False}
    assert start("runs", runs="view:plan").sidebar.selectbox
    monkeypatch.setattr(jobs, "FIRST_SECONDS", -math.inf)
    app = start("curves", data="digits", epsilon="0.5", view="epsilon")
    assert app.button(key="budgets-run")
    monkeypatch.setattr(jobs, "FIRST_SECONDS", math.inf)
    fill(app, "control.k", 8)
    assert app.button(key="budgets-run"), "a move of k trains its own model, no curve"
    fill(app, "control.k-auto", True)
    assert "Below ε = 0.1 nothing is drawn" in words(app)
    assert "fitted to 3 runs" in words(app)


@pytest.mark.parametrize("question", ANSWERS)
def test_a_figure_where_a_user_would_ask_draws_the_table_of_the_document(start, question):
    app = start(ANSWERS[question], data="digits", view="why", runs="view:papers")
    unfold(app, f"answer-{question}")
    assert not app.error
    figure = json.loads(charts(app)[f"chart-{question}"])
    means = open_questions.table(question)
    assert len(means)
    assert all(
        f"{line.row}, {line.series}: " + f"{line.mean:+.1f}".replace("-", "−")
        in figure["layout"]["meta"]["alt"]
        for line in means.itertuples()
    )
