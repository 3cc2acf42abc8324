"""The page Public data: a diagnostic says that it is one, ε turns it into a release, its link
restores it, every view draws."""

import pytest

from page_reading import (
    choose,
    fill,
    labelled,
    look,
    metric,
    press,
    say,
    send,
    table,
    unexplained,
    unfold,
    words,
)
from pages.parts.public_data.question import EPSILON, SCORE, Choice
from pages.parts.public_data.ranking import VIEWS
from pages.parts.public_data.sets import USUAL
from pillar_core.backbones import efficientnet_lite0
from pillar_core.data import uploads
from pillar_core.studies.screening import answers
from pillar_core.studies.screening.answers import OWN_PART

QUICK = "m:linear_head;n:100;k:4;e:no;s:gsd;p:digits;c:drawn_digits,drawn_letters,drawn_noise"


def candidates(app) -> list[str]:
    return labelled(app, "button_group", "Candidates").value


def private(app) -> str:
    return labelled(app, "selectbox", "Private set").value


def test_the_first_answer_takes_no_image_through_the_network(monkeypatch):
    monkeypatch.setattr(efficientnet_lite0, "network", lambda path: pytest.fail("the network ran"))
    ask = Choice("fashion_mnist", USUAL, SCORE, "linear_head", 16, 200, float(EPSILON), 0).ask(
        "ranking"
    )
    assert answers.rows_to_extract(ask) == 0
    table = answers.answer(ask)
    assert set(table["public"]) == set(USUAL)
    assert (table["epsilon_upper"] <= float(EPSILON)).all()


def test_rows_that_a_candidate_shares_with_the_private_set_are_counted():
    assert answers.overlap("mnist", "mnist") == 2500
    assert answers.overlap("mnist", "fashion_mnist") == 0


def test_every_view_draws_and_a_link_restores_the_choice_whose_command_is_exported(start):
    app = start("public_data", screen=QUICK)
    app.session_state["below-screening"] = app.session_state["screen-closer"] = True
    app.run()
    assert "are private rows" not in words(app)
    command = next(item.value for item in app.code if "pillar_core" in item.value)
    assert (
        command
        == "python -m pillar_core screen --private digits --public drawn_digits drawn_letters"
        " drawn_noise --score gsd --model linear_head --k 4 --examples 100 --seed 0"
    )
    assert (
        app.query_params["controls"]
        == "screen-epsilon:no;screen-k:4;screen-model:linear_head;screen-private:digits;"
        "screen-public:drawn_digits,drawn_letters,drawn_noise;screen-rows:100;screen-score:gsd"
    )
    app.session_state["below-screening"] = False
    for view in VIEWS:
        fill(app, "local-widget.screen-view", view)
        assert not app.error
        assert len(app.get("plotly_chart")) == 2
        assert f"screen-view:{view}" in app.query_params["controls"]


def test_a_hostile_link_falls_back_to_what_is_allowed(start):
    hostile = f"m:timm;n:1e9;k:-3;e:x;s:y;v:z;p:stored:{'0' * 32};c:nothing,images:00;x:a+b;;::"
    app = start("public_data", screen=hostile, data="fashion_mnist_2k")
    assert metric(app, "Privacy spent") in ("not private", "ε ≤ 0.3")


def test_a_first_visit_sees_a_clear_winner_and_keeps_rows_of_a_pool(start):
    app = start("public_data", data="fashion_mnist_2k")
    assert metric(app, "Privacy spent") == "ε ≤ 0.3"
    assert OWN_PART not in candidates(app), (
        "rows that are declared private are not set aside as public unasked"
    )
    assert "Best choice: Digits" in words(app)
    for said in (
        "for one row added or removed",
        "licence: CC BY 4.0",
        "times the noise",
        "a random pick",
    ):
        assert said in words(app)
    assert unexplained(app) == {}
    assert "Noise** alone seems to keep 4 % of the class signal" in words(app), (
        "in the figure's unit"
    )
    # Private rows as a candidate would be read without noise, and a count of shared rows is a
    # membership test.
    assert "Its own other half" not in labelled(app, "button_group", "Candidates").options
    for unsaid in ("are private rows", "may do as well", "Nothing stands out"):
        assert unsaid not in words(app)
    unfold(app, "screen-trim")
    assert "for one row added or removed" in words(app)
    button = labelled(app, "button", "kept rows as public data")
    taken = table(app, "Kept")
    assert set(taken["Set"]).isdisjoint({"A part of the private set", "Its own other half"})
    assert 0.09 < (taken["Kept"] / 100 * taken["Rows"]).sum() / taken["Rows"].sum() < 0.11
    button.click().run()
    (kept,) = uploads.list_uploads(uploads.IMAGES)
    assert f"{kept.n_train:,} kept rows" in button.label
    assert kept.shape == (28, 28)
    assert app.session_state["set.public"] == kept.name
    assert table(app, "Kept").equals(taken)  # it did not join the pool unasked
    slider = labelled(app, "select_slider", "Spend ε on the choice")
    slider.set_value("no").run()
    assert metric(app, "Privacy spent") == "not private"
    assert "Its own other half" in labelled(app, "button_group", "Candidates").options
    app.switch_page("pages/count.py").run()
    fill(app, "control.data", "fashion_mnist")
    app.switch_page("pages/public_data.py").run()
    assert private(app) == "fashion_mnist"
    lesson = start("public_data", data="fashion_mnist_2k", lesson="24")
    assert private(lesson) == "fashion_mnist_2k", "a lesson has data of its own"


def test_the_page_says_how_many_public_rows_are_enough(start):
    app = start(
        "public_data", data="fashion_mnist_2k", screen="p:fashion_mnist_2k;c:mnist,drawn_noise"
    )
    drawn = len(app.get("plotly_chart"))
    unfold(app, "screen-enough")
    assert "About ten rows a class" in words(app)
    assert "Measured on Fashion-MNIST sample, not on Fashion-MNIST, small" in words(app)
    assert len(app.get("plotly_chart")) == drawn + 1
    assert "PILLAR on 5,000 private rows of Fashion-MNIST" in app.get("plotly_chart")[-1].proto.spec


def test_rows_made_up_for_a_table_are_a_candidate_and_what_was_declared_is_assumed(start):
    rows = [
        f"{18 + row % 70 + row / 1000:.3f},{'fm'[row % 2]},{'ill' if row % 70 > 35 else 'well'}"
        for row in range(400)
    ]
    app = start("rows", method="pillar_kalman", view="why")
    send(app, "upload", {"ward.csv": "\n".join(["age,sex,state", *rows])})
    say(app, "state", Role="label")
    choose(app, "upload-public", 1)
    for column, said in (("age", "0, 100"), ("sex", "f, m")):
        say(app, column, May_hold=said)
    press(app, "use-upload")
    look(app.switch_page("pages/curves.py").run())
    assert "declared without looking at private rows" in words(app)
    app.switch_page("pages/public_data.py").run()
    press(app, "screen-spend")
    assert not app.error
    assert "made up for ward.csv" in words(app)
    assert (
        len([item for item in app.markdown if "badge[" in item.value and "made up]" in item.value])
        == 1
    )  # no badge on the own part
