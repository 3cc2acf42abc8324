"""The Answer page: one sentence, three prices, and a zip that keeps what it promises."""

import dataclasses
import html
import io
import json
import re
import types
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.runtime.scriptrunner import get_script_run_ctx

import pillar_core as pc
from page_reading import fill, linked, links, press, unfold, widget, words
from pages.frame import core, failures, history, memory
from pages.frame import settings as codec
from pages.frame.settings import PART, Settings
from pages.parts.answer import question, reply
from pillar_core.arrays import Array
from pillar_core.data import uploads
from pillar_core.data.partition import without_drawn_test
from pillar_core.data.raw import made_up
from pillar_core.errors import DataError
from pillar_core.runs.private_tests import SHOWN, UNITS_APART
from pillar_core.runs.receipts import Account, account_of, training_on
from pillar_core.runs.statement import IN_SIGHT, RANKED_IN_SIGHT
from pillar_core.studies.advice import free, prediction
from pillar_core.types import Persons
from users import texts_in


def test_the_page_says_what_to_do_and_reads_no_test_row_unasked(start):
    app = start("answer", data="breast_cancer", epsilon="1")
    assert not app.error
    said = words(app)
    assert "Expect" in said
    assert "at ε = 1." in said
    assert "% balanced accuracy (guessing: 50 %) at" in said
    assert "Nothing was read so far." in said
    assert "test accuracy" not in " ".join(
        str(table.value.columns.tolist()) for table in app.dataframe
    )


def test_looking_at_test_rows_compares_them_with_the_prediction_and_says_what_two_classes_need(
    start,
):
    app = start("answer", data="breast_cancer", epsilon="1")
    fill(app, "local-widget.answer-look", True)
    assert app.button(key="answer-measure-run")
    learners = list(prediction.FITTED["accuracy"]["labelled"]["learners"])
    pc.sweep(
        {
            "dataset": "breast_cancer",
            "public_fraction": 0.1,
            "method": learners,
            "epsilon": 1.0,
            "seed": [0, 1, 2],
        }
    )
    app.run()
    verdicts = [item.value for item in (*app.success, *app.warning)]
    assert any(
        "with the prediction" in verdict or "contradicts the prediction" in verdict
        for verdict in verdicts
    )
    assert "the advice holds" in words(app) or "easured here" in words(app)
    assert "Guessing the most common class scores" in words(app)
    assert "already looked" in words(app)
    table = app.dataframe[0].value
    titles = ["Balanced accuracy", "AUC", "Sensitivity to malignant (specificity for benign)"]
    assert {"Accuracy", *titles} <= set(table.columns)
    for cell in table[titles].to_numpy().ravel():
        low, high = (float(end) for end in cell.partition("(")[2].strip(")").split("–"))
        assert 0 <= low <= high <= 100


def test_the_diagnostic_tries_the_best_learner_with_each_other_candidate():
    said = [
        ("own", "adamix", 0.7),
        ("none", "dp_raft", 0.6),
        ("mnist", "pillar", 0.5),
        ("none", "dp_sgd", 0.4),
        ("mnist", "dp_sgd", 0.3),
    ]
    predictions = tuple(
        free.Prediction(public, method, (0.0, 1.0), middle, "accuracy")
        for public, method, middle in said
    )
    advice = free.Advice(predictions[1], None, 1.0, "", (), predictions=predictions)
    choices = reply._choices(Settings(method="dp_raft", public="none"), advice, ["mnist", PART])
    tried = [(choice.method, choice.public) for choice in choices.values()]
    assert tried == [("dp_raft", "none"), ("dp_sgd", "none"), ("pillar", "mnist"), ("adamix", PART)]


def test_a_choice_of_no_public_rows_is_the_sidebars_too(start):
    answer = free.Advice(
        free.Prediction(free.NONE, "dp_raft", (0.5, 0.9), 0.7, "accuracy"), free.NONE, 1.0, "", ()
    )
    assert (
        question.following(Settings(public=PART), answer, [PART]).public == free.NONE == codec.NONE
    )
    through = Settings(public=PART, backbone="bins")  # no public rows fit it
    assert question.following(through, answer, [PART]).backbone == codec.AUTO
    app = start("curves", data="breast_cancer", public=free.NONE, method="dp_raft", epsilon="1")
    assert not app.error
    assert "choose a public set in the sidebar" in words(app)
    assert core.split(Settings(data="breast_cancer", public=free.NONE)).facts.n_public == 0


def test_rows_of_a_private_test_show_no_exact_figure_on_any_page(start):
    """Rows, Why, Runs and Audit still did."""
    app = start("answer", data="breast_cancer", epsilon="1")
    fill(app, "local-widget.answer-test-breast_cancer", True)
    for page in ("curves", "learners", "why", "rows", "audit", "runs"):
        app.switch_page(f"pages/{page}.py").run()
        assert not app.error
        assert "A private test of these rows was asked for" in words(app)
        assert not app.metric
        assert not app.get("plotly_chart")
    assert not Account("breast_cancer").sight


@pytest.mark.parametrize("page", ["learners", "curves", "audit", "why", "rows"])
def test_a_look_is_known_after_a_reload(start, page):
    """The mark went with the visit, and attacks and geometry left none: the model said that nothing
    had been seen."""
    assert not Account("breast_cancer").sight
    start(page, data="breast_cancer", epsilon="1")
    assert Account("breast_cancer").sight
    if page == "why":
        assert "already looked" in words(start("answer", data="breast_cancer", epsilon="1"))


def test_a_look_counts_for_its_own_set_alone(start):
    """A grid on another set than the sidebar's, read on Runs, was none: that set's model then said
    that nothing was in sight."""
    start("start")
    assert not any(Account(name).sight for name in ("breast_cancer", "drawn_digits"))
    pc.sweep(
        {
            "dataset": "breast_cancer",
            "method": "pillar",
            "public_fraction": 0.1,
            "k": 5,
            "epsilon": 1.0,
        }
    )
    assert [bool(Account(name).sight) for name in ("breast_cancer", "drawn_digits")] == [
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("seen", "asked"),
    [("chexpert:3", "chexpert"), ("chexpert", "chexpert:2"), ("fashion_mnist", "fashion_mnist_2k")],
)
def test_a_look_is_one_at_the_same_rows_under_another_name(start, seen, asked):
    start("start")
    history.look(Settings(data=seen))
    assert Account(asked).sight


def test_screening_is_a_look(start):
    """With an ε and a known seed, too: that ε is not in the ε of a model which is trained on what
    it chose."""
    start(
        "public_data", data="drawn_digits", screen="p:drawn_digits;c:drawn_noise;e:no;n:100;s:gsd"
    )
    assert Account("drawn_digits").sight == IN_SIGHT
    assert not Account("breast_cancer").sight
    start("public_data", data="scipy_docs", screen="p:scipy_docs;c:python_docs;e:0.3")
    assert Account("scipy_docs").sight == RANKED_IN_SIGHT


def test_a_ranking_that_you_pay_for_is_no_look_and_counts_in_the_model(start, handed):
    """Public data, then Answer: the file said that test accuracy was in sight, and the ranking's ε was
    in no number."""
    rows = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)
    sets = [
        pc.features(part + shift, (part[:, 0] > 0).astype(int))
        for part, shift in zip(np.split(rows, (200, 400)), (0, 0, 3), strict=True)
    ]
    name, near, far = (
        uploads.keep(part, title=title)
        for part, title in zip(sets, ("mine", "near", "far"), strict=True)
    )
    app = start("public_data", data=name, screen=f"p:{name};c:{near},{far};e:0.3")
    assert "Best choice" not in words(app)
    assert "Ask GSD" not in words(app), "models of gradients read images alone"
    assert not Account(name).rankings
    press(app, "screen-spend")
    assert "Spent for real: ε ≤ 0.3" in words(app, "success")
    app.run()
    (ranking,) = Account(name).rankings
    assert not ranking.has_part
    app = start("answer", data=name, public=near, epsilon="1")
    assert "You paid ε ≤ 0.3 on Public data" in words(app).replace("*", "")
    press(app, "answer-train")
    assert "Rankings that you paid for on Public data come on top: ε = 0.3" in words(app, "info")
    files = texts_in(handed["model-file"]())
    said, card = files["statement.txt"], json.loads(files["model.json"])["guarantee"]
    assert "in sight" not in said
    assert "private ranking of public sets" in said
    assert (card["covers_choice"], card["chosen_in_sight"]) == (True, False)
    # μ² adds up: 0.3 and 1 together are ε = 1.06 at δ = 1e-5, and cost no less than the training
    # alone
    assert 1.05 < card["epsilon"] < 1.07
    name = handed["model-file is called"]
    assert float(name.removeprefix("model-epsilon-").removesuffix(".zip")) >= card["epsilon"]


def test_a_candidate_that_holds_private_rows_is_named(start):
    rows = np.random.default_rng(0).standard_normal((200, 40))
    labels = np.arange(200) % 2
    whole, part = (
        pc.data.features(rows[:n], labels[:n], rows[n // 2 : n], labels[n // 2 : n])
        for n in (200, 100)
    )
    private = uploads.keep(whole, title="all of 2024")
    half = uploads.keep(part, title="a first half")
    assert not start("answer", data=private).error, (
        "a set with test rows, as private ones have, is weighed once somebody names it"
    )
    app = start("answer", data=private, public=half)
    (said,) = [item.value for item in app.error]
    assert "a first half: " in said
    assert "are, bit by bit, private rows" in said


def test_a_wanted_accuracy_says_the_budget_that_it_takes(start):
    app = start(
        "answer", data="breast_cancer", epsilon="8", target="90", controls="answer-given:accuracy"
    )
    said = words(app)
    assert "90 % balanced accuracy should take public rows alone: no ε needed. You need no" in said
    assert "Public rows alone are enough for 90%: no ε needed" in said
    assert "should take ε" not in said
    app.number_input[0].set_value(100).run()
    assert "100 % balanced accuracy is out of reach." in words(app)
    assert app.number_input[0].label == "Value wanted, %"
    fill(app, "control.metric", "auc")
    assert "100 % AUC is out of reach." in words(app)
    assert app.number_input[0].label == "AUC wanted, %"
    assert "% AUC (guessing: 50 %) at" in words(app)


def test_the_curve_over_budgets_is_of_epsilon_alone_and_the_slider_marks_a_point_on_it(
    start, monkeypatch
):
    """A point for the slider's ε joined the others, so that the curve changed as the slider moved."""
    monkeypatch.setattr(free, "BUDGETS", (0.3, 3.0))
    lines, stars = [], []
    for epsilon in ("0.3", "2"):
        app = start("answer", data="breast_cancer", epsilon=epsilon)
        (figure,) = [
            figure
            for figure in (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
            if figure["layout"]["title"]["text"] == "By budget"
        ]
        _, line, star = figure["data"]
        lines.append((line["x"], line["y"]))
        stars.append(star)
    assert lines[0] == lines[1]
    assert [star["x"] for star in stars] == [[0.3], [2.0]]


def test_a_wanted_value_is_reached_on_the_curve_that_is_drawn(start, monkeypatch):
    """It was levelled over twelve budgets, and the curve over five: the one could say that a value
    is reached where the other did not."""
    monkeypatch.setattr(free, "BUDGETS", (0.1, 1.0, 8.0))
    bare = {"data": "digits", "public": "none", "controls": "answer-given:accuracy;answer-public:"}
    app = start("answer", target="70", **bare)
    assert re.search("70 % .* (may|should) take ε", words(app))
    (star,) = [
        figure["data"][2]
        for figure in (json.loads(chart.proto.spec) for chart in app.get("plotly_chart"))
        if figure["layout"]["title"]["text"] == "By budget"
    ]
    assert 0.1 <= star["x"][0] < 8
    assert star["y"][0] >= 70


def mine_and_two_sets(rows: Array, labels: Array, n: int) -> list[str]:
    """The first n rows in the cache, and as public sets the others, as they are and moved."""
    test = (rows[:40] + 1, labels[:40])
    sets = {"mine": pc.features(rows[:n], labels[:n], *test)} | {
        f"set {shift}": pc.features(rows[n:] + shift, labels[n:]) for shift in (0, 3)
    }
    return [uploads.keep(features, title=title) for title, features in sets.items()]


def test_a_set_from_elsewhere_is_named_once_it_is_stated_to_be_alike_and_the_sidebar_names_it_too(
    start,
):
    rows = np.random.default_rng(0).standard_normal((400, 6)).astype(np.float32)
    labels = (rows[:, 0] > 0).astype(int)
    private, near, far = mine_and_two_sets(rows, labels, 200)
    app = start("answer", data=private, epsilon="1")
    assert "Let your rows choose the public set" in words(app)
    assert "### Use" not in words(app)
    paid = app.get("tab_container")[0].proto
    assert paid.tab_container.default_tab_index == 1
    assert "No useful prediction, because" in words(app)
    assert linked(app)["public"] in (near, far)
    fill(app, "local-widget.answer-alike", [near])
    assert not app.error
    assert "se *set 0* as public data" in words(app)
    assert linked(app)["public"] == near
    free_way = app.get("tab_container")[0].proto
    assert free_way.tab_container.default_tab_index == 0
    assert free_way.id != paid.id, "a browser would leave the paid way open"
    uploads.keep(pc.data.features(rows[200:] + 1, labels[200:]), title="public part of mine")
    assert "se *public part of mine* as public data" in words(
        start("answer", data=private, epsilon="1")
    )


def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The table, caption and line of each figure of expected accuracy, by its title, as drawn
    last."""
    figures = dict[str, Any]()
    draw = reply.plots.expected

    def spy(table, *, title, **named):
        figures[title] = (table, named)
        return draw(table, title=title, **named)

    monkeypatch.setattr(reply.plots, "expected", spy)
    return figures


def headline(app) -> str:
    (said,) = [item.value for item in app.markdown if item.value.startswith("### ")]
    return said


def test_the_figures_first_row_is_what_the_headline_says_and_what_you_state_moves_no_number(
    start, monkeypatch
):
    """A set that was stated to be alike fell from 82 to 80, and "no public rows" rose from 75 to
    77, under one caption."""
    figures = drawn(monkeypatch)
    rows = np.random.default_rng(0).standard_normal((600, 6)).astype(np.float32)
    labels = (rows[:, 0] + 0.8 * rows[:, 1] * rows[:, 2] > 0).astype(int)
    private = uploads.keep(
        pc.features(rows[:200], labels[:200], rows[:40] + 1, labels[:40]), title="mine"
    )
    parts = {
        f"set {shift}": slice(200 + 150 * place, 350 + 150 * place)
        for place, shift in enumerate((0, 1))
    }
    sets = {
        name: uploads.keep(pc.features(rows[part] + int(name[-1]), labels[part]), title=name)
        for name, part in parts.items()
    }
    app = start("answer", data=private, epsilon="1")
    numbers = []
    for stated in ([], ["set 0"], list(sets)):
        fill(app, "local-widget.answer-alike", [sets[name] for name in stated])
        assert not app.error
        by_learner = figures["By learner"][0]
        by_set = figures["By public set"][0]
        first = by_learner.iloc[0]
        line = figures["By learner"][1]["level"]
        said = headline(app)
        assert f"{100 * first['mean']:.0f} (" in said
        assert first["name"] in said
        assert (by_set.iloc[0]["name"] in said) == bool(stated)
        beside = "with this public set" if stated else "without public rows"
        assert beside in figures["By learner"][1]["caption"]
        assert by_set.iloc[0]["mean"] == first["mean"]
        assert line is None or first["mean"] > line or by_learner["mean"].max() <= line
        numbers.append(by_set.set_index("name").sort_index())
    assert all(each.equals(numbers[0]) for each in numbers[1:])


def test_where_public_rows_alone_reach_more_no_epsilon_is_spent(start, monkeypatch):
    predict = free.predict

    def overstated(name, method, *rest, **wanted):
        guess = predict(name, method, *rest, **wanted)
        return dataclasses.replace(
            guess, middle=0.99 if method == "only_public" else 0.9 * guess.middle
        )

    monkeypatch.setattr(free, "predict", overstated)
    app = start("answer", data="breast_cancer", epsilon="2.5")
    assert headline(app).startswith("### You need no private row:")
    assert "no private row is read by" in words(app)
    press(app, "answer-train")
    (said,) = [item.value for item in app.info if "spent" in item.value]
    assert "Only public spent ε = 0," in said


def test_a_paid_choice_is_said_in_one_sentence_and_the_sidebar_follows(start):
    rows = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)
    private, near, far = mine_and_two_sets(rows, (rows[:, 0] > 0.9).astype(int), 300)
    app = start("answer", data=private, epsilon="3", public=far)
    assert "% balanced accuracy" in words(app)
    assert "Your rows chose" not in words(app)
    press(app, "answer-paid")
    (said,) = [item.value for item in app.markdown if item.value.startswith("### ")]
    assert re.match(
        r"### Your rows chose (\*set [03]\* as public data|no public rows) and .*: (expect|no"
        r" useful) .* % balanced accuracy.*; ε ≤ 3",
        said,
    )
    again = start("answer", data=private, epsilon="1")
    assert "Your rows chose" in words(again)
    for each in (app, again):
        assert linked(each)["public"] == (
            near if "*set 0*" in said else far if "*set" in said else "none"
        )


def test_a_private_test_locks_the_rows_and_its_figure_is_in_the_statement(start, handed):
    app = start("answer", data="breast_cancer", epsilon="1")
    fill(app, "local-widget.answer-test-breast_cancer", True)
    assert "no page shows an exact figure of them" in words(app, "info")
    assert "local-widget.answer-look" not in [toggle.key for toggle in app.toggle]
    assert app.button(key="answer-test-run").disabled, "there is no model to test"
    press(app, "answer-train")
    press(app, "answer-test-run")
    assert "Balanced accuracy, ε = 1" in [metric.label for metric in app.metric], (
        "the figure is the one that the answer expects"
    )
    said = texts_in(handed["answer-tested"]())["statement.txt"]
    assert "Tested privately: Balanced accuracy" in said
    assert "Training and tests together: ε ≤ 2 " in said
    assert "test rows are not protected" not in said
    assert SHOWN not in said
    assert "Tested privately: Balanced accuracy" in handed["model-evidence"]().decode(), (
        "the evidence is of the file with its test"
    )
    assert "A private test of these rows was asked for" not in words(start("rows", data="iris"))
    for memo in memory.MEMOS:  # as a restart does
        memo.clear()
    again = start("answer", data="breast_cancer", epsilon="1")
    assert "no page shows an exact figure of them" in " ".join(item.value for item in again.info)
    fill(again, "local-widget.answer-test-breast_cancer", True)
    assert "Choose a threshold" in [expander.label for expander in again.expander]
    press(again, "answer-test-run")
    assert [metric.label for metric in again.metric] == ["Balanced accuracy, ε = 1"] * 2
    assert "Training and tests together: ε ≤ 3 " in words(again)
    for key in ("answer-tested", "model-evidence"):
        text = (
            html.unescape(handed[key]().decode("utf-8", "replace"))
            if key == "model-evidence"
            else texts_in(handed[key]())["statement.txt"]
        )
        assert text.count("Tested privately: Balanced accuracy") == 2
    again.session_state["set.relation"] = "replace_one"
    assert UNITS_APART in words(again.run(), "caption")


def test_no_part_of_brought_rows_is_weighed_unless_somebody_names_it(start):
    name = uploads.keep(pc.load_dataset("breast_cancer"), title="Visits")
    app = start("answer", data=name, public="none", epsilon="1")
    assert widget(app, "local-widget.answer-public").value == []
    assert linked(app)["public"] == "none"
    assert "There is no public set to choose" in words(app, "caption")
    assert not app.exception
    for chosen, public in ((["part"], "part"), ([], "none")):
        fill(app, "local-widget.answer-public", chosen)
        assert linked(app)["public"] == public
        assert widget(app, "local-widget.answer-public").value == chosen


def test_a_private_test_of_persons_counts_all_rows_of_one(start, handed):
    cancer = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1).features
    persons = Persons(np.arange(len(cancer.x_train)) // 2, 2)
    name = uploads.keep(dataclasses.replace(cancer, persons=persons), title="Visits")
    app = start("answer", data=name, epsilon="1")
    fill(app, f"local-widget.answer-test-{name}", True)
    assert "No person may have more than 2 of the test rows" in words(app)
    fill(app, "local-widget.answer-test-coin", True)
    assert "training and this test: ε = 1 together, the larger of the two" in words(app)
    press(app, "answer-train")
    press(app, "answer-test-run")
    said = texts_in(handed["answer-tested"]())["statement.txt"]
    assert (
        "for one person, with all of their private examples, of which at most 2 are used of the"
        " test rows" in said
    )
    assert (
        "training and ε = 2 of this test and earlier ones: ε = 2 together, the larger of the two,"
        " as you state" in words(app)
    )
    app.switch_page("pages/public_data.py").run()
    (paid,) = (item for item in app.toggle if item.label == "Spend it for real")
    paid.set_value(False).run()
    assert "no page shows an exact figure of them" in words(app, "info")
    assert not app.get("plotly_chart"), "noise of a known seed protects nobody"
    assert "Training and tests together: ε ≤ 1 at δ = 10⁻⁵, the larger of the two" in said


def test_a_training_is_charged_with_a_receipt_and_a_further_one_asks_first(start, handed):
    """Each click trained anew, so whoever downloaded twice spent twice, and no page said so."""
    app = start("answer", data="breast_cancer", epsilon="1")
    assert "model-file" not in handed
    press(app, "answer-train")
    expected = f"Expected before training: {re.search(r'Expect (.*?) at ε', words(app))[1]}"
    assert expected in texts_in(handed["model-file"]())["statement.txt"]
    (said,) = [item.value for item in app.info if "spent" in item.value]
    assert "spent ε = 1, δ = 10⁻⁵ on 410 rows of" in said
    assert (
        "Sum for these rows so far: ε = 1, δ = 10⁻⁵ in 1 training, for one row added or removed."
        in said
    )
    first = handed["model-file"]()
    assert handed["model-file"]() == first
    evidence = html.unescape(handed["model-evidence"]().decode())
    assert (
        "Sum for these rows so far: ε = 1, δ = 10⁻⁵ in 1 training, for one row added or removed."
        in evidence
    )
    assert "410 private examples" in evidence
    for place in ("answer-train", "answer-paid"):
        assert app.button(key=place).disabled, "asks first"
    fill(app, "local-widget.train-again-answer-train-1", True)
    assert not app.button(key="answer-train").disabled
    assert handed["model-file"]() == first
    press(app, "answer-train")
    assert app.button(key="answer-train").disabled
    again = start("answer", data="breast_cancer", epsilon="1")
    assert "ε = 2, δ = 2 × 10⁻⁵ in 2 trainings" in " ".join(item.value for item in again.info)
    assert (second := handed["model-file"]()) != first, "secret noise is drawn anew"
    settings = Settings(data="breast_cancer")
    by_command = training_on(core.split(settings), "DP-SGD", (0.5, 1e-5, "add_or_remove_one"))
    account_of(core.features(settings)).keep(by_command)
    handed.clear()
    said = words(start("answer", data="breast_cancer", epsilon="1"))
    assert (handed["model-file"](), handed["model-file-0"]()) == (
        second,
        first,
    ), "a release by a command took both off the page"
    assert (
        "3. DP-SGD spent ε = 0.5, δ = 10⁻⁵ on 410 rows of Breast cancer. Its file is not in this"
        " cache" in said.replace("breast_cancer", "Breast cancer")
    )
    assert all(
        "in 3 trainings" in html.unescape(handed[key]().decode())
        for key in ("model-evidence", "model-evidence-0")
    )


def test_a_choice_that_is_refused_before_its_release_has_spent_nothing(start, monkeypatch):
    def refused(*_, **__):
        raise DataError("3 public rows are private rows.")

    rows = np.random.default_rng(0).standard_normal((500, 6)).astype(np.float32)
    private, near, _ = mine_and_two_sets(rows, (rows[:, 0] > 0.9).astype(int), 300)
    app = start("answer", data=private, epsilon="3", public=near)
    monkeypatch.setattr(pc, "choose", refused)
    press(app, "answer-paid")
    assert "No model was made: 3 public rows are private rows" in words(app, "warning")
    assert "spent nothing" in words(app, "info")
    assert "Training with secret noise" not in words(app, "info")


def test_a_training_whose_model_the_disk_would_not_take_is_not_begun(start, monkeypatch):
    app = start("answer", data="breast_cancer", epsilon="1")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda place: types.SimpleNamespace(free=1000))
        press(app, "answer-train")
    assert re.search(
        "No model was made: .* Free space on that disk",
        words(app, "warning"),
    )
    assert not [item for item in app.info if "spent" in item.value]
    press(app, "answer-train")
    assert "in 1 training," in words(app, "info")


def test_a_training_that_another_visit_was_ahead_of_is_not_begun(start):
    """What the page asked about was the sum before; nothing is spent on top of what nobody saw."""
    app = start("answer", data="breast_cancer", epsilon="1")
    start("answer", data="breast_cancer", epsilon="1").button(key="answer-train").click().run()
    press(app, "answer-train")
    assert "A press came before this one: its model is listed below" in words(app, "warning")
    assert "Training with secret noise" not in words(app, "info")
    assert "in 1 training," in words(app, "info")


def test_a_threshold_is_chosen_by_sensitivity_on_public_rows_until_test_rows_are_looked_at(start):
    app = start("answer", data="breast_cancer", epsilon="8")
    assert "Choose a threshold" not in [expander.label for expander in app.expander]
    press(app, "answer-train")
    assert re.search(r"It rests on \d+ public rows of malignant and \d+ of benign\.", words(app))
    assert "Their labels trained the model, so that private rows may do worse." in words(app)
    found = []
    for wanted in (0.7, 0.99):
        fill(app, "local-widget.answer-sensitivity", wanted)
        (code,) = [item.value for item in app.code if "--threshold" in item.value]
        found.append(float(re.search(r"--threshold (0\.\d{4}) --positive malignant", code)[1]))
        shares = re.search(
            r"finds ([\d.]+) % \((\d+) to (\d+)\) of malignant and is right on [\d.]+ % \(\d+ to \d+\)"
            " of benign",
            words(app),
        )
        assert float(shares[1]) >= 100 * wanted - 0.1
        assert float(shares[2]) < 100 * wanted, "of few rows it may be less elsewhere"
    assert found[0] > found[1]
    fill(app, "local-widget.answer-look", True)
    assert re.search(r"It rests on \d+ test rows of malignant", words(app))
    assert "trained the model, so" not in words(app)


def press_another(monkeypatch: pytest.MonkeyPatch, module: Any, name: str = "keep") -> None:
    """Has another press arrive after a call, such as that which writes down what is spent:
    Streamlit ends the run at the next one of it."""
    call = getattr(module, name)

    def call_and_press(*asked: Any, **named: Any) -> Any:
        answer = call(*asked, **named)
        get_script_run_ctx().script_requests.request_stop()
        return answer

    monkeypatch.setattr(module, name, call_and_press)


PRESSED = [
    ("answer", "answer-train", "keep"),
    ("answer", "answer-paid", "keep"),
    ("answer", "answer-paid", ""),
    ("curves", "release", ""),
]


@pytest.mark.parametrize(("page", "key", "at"), PRESSED)
def test_another_press_during_a_training_loses_neither_model_nor_press(
    start, handed, monkeypatch, page, key, at
):
    """The receipt stayed, and the model for which ε was spent was gone; just before the receipt
    nothing happened at all."""
    app = start(page, data="breast_cancer", epsilon="1")
    unfold(app, "release-panel")
    press_another(monkeypatch, *((Account, at) if at else (failures, "note_refusal")))
    press(app, key)
    assert "model-file" not in handed, "the run was ended"
    app.run()
    assert zipfile.is_zipfile(io.BytesIO(handed["model-file"]()))
    assert ("Your rows chose" in words(app)) == (key == "answer-paid")
    if key == "answer-train":
        press_another(monkeypatch, Account)
        fill(app, "local-widget.answer-test-breast_cancer", True)
        press(app, "answer-test-run")
        assert "Balanced accuracy, ε = 1" in [metric.label for metric in app.run().metric]


def test_a_table_that_bends_goes_through_bins_and_the_page_draws_what_the_model_does(start, handed):
    generator = np.random.default_rng(0)
    age, dose = generator.uniform(20, 80, 900).round(1), generator.gamma(2, 3, 900).round(2)
    table = pd.DataFrame({"age": age, "dose": dose, "label": np.abs(age - 50) < 15})
    table["label"] = np.where(table["label"], "sick", "well")
    rows = pc.load_features(table, public=table[:100])
    name = uploads.keep(rows)
    app = start("answer", data=name, public_fraction="0.3", epsilon="3", backbone="bins")
    assert "through the backbone bins first" in words(app)
    press(app, "answer-train")
    files = texts_in(handed["model-file"]())
    assert json.loads(files["model.json"])["input"]["map"]["name"] == "bins"
    (first, _) = json.loads(files["curves.json"])["columns"]
    assert first["name"] == "age"
    assert "What the model does with a column" in [expander.label for expander in app.expander]
    assert b"of noise only, not of sampling" in handed["answer-curves"]


def test_a_map_by_hand_stops_no_page_after_a_choice_and_curves_shows_the_columns_as_given(start):
    """Made-up rows of another reading, without ranges here, came first once no set was chosen: the
    model that ε had paid for could not be taken away."""
    table = pd.DataFrame(np.random.default_rng(0).random((700, 2)), columns=["age", "dose"])
    table["sick"] = table["age"] > 0.5
    ranged = made_up(
        pc.load_features(table[200:], label="sick", ranges={"age": (0, 1), "dose": (0, 1)})
    )
    public = without_drawn_test(pc.load_features(table[:200], label="sick"))
    name = uploads.keep(pc.load_features(table[200:], label="sick"), title="mine")
    sets = [uploads.keep(public), uploads.keep(ranged, title="made up for mine")]
    for named in (*sets, codec.NONE):  # whichever the private rows will choose
        app = start("answer", data=name, epsilon="1", backbone="ramps", public=named)
        assert not app.error
    press(app, "answer-paid")
    assert not app.error
    assert "Your rows chose" in words(app)
    assert linked(app)["backbone"] == "ramps"
    assert "backbone" not in links(app)["See it on Curves"]


def test_trainings_on_other_sets_with_these_rows_are_summed_where_none_is_their_own(start):
    """A button was grey until one agreed to spend again, and no line said why."""
    rows = pc.load_features(pc.load_dataset("breast_cancer"))
    app = start("answer", data="breast_cancer", epsilon="1")
    assert not app.button(key="answer-train").disabled
    half = dataclasses.replace(rows, x_train=rows.x_train[::2], y_train=rows.y_train[::2])
    training = training_on(pc.split(half), "PILLAR", (2.0, 1e-5, "add_or_remove_one"))
    account_of(half).keep(training)
    app = start("answer", data="breast_cancer", epsilon="1")
    assert "Sum for these rows so far: ε = 2, δ = 10⁻⁵ in 1 training" in words(app, "info")
    assert app.button(key="answer-train").disabled
    fill(app, "local-widget.train-again-answer-train-0", True)
    assert not app.button(key="answer-train").disabled
