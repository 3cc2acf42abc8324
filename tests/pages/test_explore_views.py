"""Curves' switch for how the step size is chosen (in the link, honest about its price), and its
view by class."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

import pillar_core as pc
from page_reading import charts, labelled, links, markup, metric, press, unfold, words
from pages.frame import odds
from pages.frame import settings as codec
from pillar_core.backbones import open_clip_towers
from pillar_core.backbones.text import text_embeddings, zero_shot_accuracy
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies.tuning import Choosing
from users import texts_in


@pytest.mark.parametrize("choosing", Choosing)
def test_each_way_is_a_click_and_says_its_price_and_what_was_in_sight(start, handed, choosing):
    app = start("curves", k="10", controls=f"tuning:{choosing}")
    is_unpaid = choosing is Choosing.PAPERS
    if choosing is not Choosing.RULES:
        assert f"tuning:{choosing}" in app.query_params["controls"]
        said = words(app)
        assert ("not** differentially private" in said) == is_unpaid
        assert "points." in said
        assert float(metric(app, "ε")) <= 1.0
        assert ("choice unpaid" in " ".join(item.label for item in app.metric)) == is_unpaid
        assert ("DP: spends ε" in said, "chosen on test rows, unpaid" in said) == (
            not is_unpaid,
            is_unpaid,
        )
    if is_unpaid:
        assert metric(app, odds.METRIC) == "unknown"
    if choosing is Choosing.STOPPING:  # a best of several runs has no curve here
        assert metric(app, odds.METRIC) == "see ε"
    unfold(app, "release-panel")
    if is_unpaid:
        assert "release" not in [button.key for button in app.button]
        return
    press(app, "release")
    assert IN_SIGHT in words(app)
    promised = json.loads(texts_in(handed["model-file"]())["model.json"])["guarantee"]
    assert (
        promised["covers_choice"],
        promised["chosen_in_sight"],
        IN_SIGHT in promised["assumptions"],
    ) == (False, True, True)
    assert promised["epsilon"] <= 1.0


def test_class_names_alone_are_a_line_where_the_backbone_has_a_text_half(start, tiny, monkeypatch):
    name, weights, _ = tiny
    monkeypatch.setattr(open_clip_towers, "hub_file", lambda *_, **__: weights)
    app = start("curves", data="drawn_digits", backbone="raw_pixels", k="5")
    assert "Do you need private rows" not in words(app)
    features = pc.load_features(pc.load_dataset("drawn_digits"), name, device="cpu")
    level = 100 * zero_shot_accuracy(
        features, text_embeddings(features.classes, name, weights=weights)
    )
    app = start("curves", data="drawn_digits", backbone=name, k="5")
    assert f"reaches {level:.1f} % of the test rows" in words(app)
    assert any("class names alone" in str(item.proto) for item in app.get("bidi_component"))


def test_rules_are_the_default_and_the_unpaid_way_keeps_the_relation(start):
    plain = metric(start("curves", k="10"), "Test accuracy")
    app = start("curves", k="10", controls="tuning:stopping", relation="replace_one")
    assert "follows the rules" in words(app)
    other = start("curves", k="10", controls="tuning:nothing")
    assert metric(other, "Test accuracy") == plain
    app = start("curves", k="10", controls="tuning:papers", relation="replace_one")
    assert "Adjacency: one row replaced." in labelled(app, "metric", "ε").help


@pytest.mark.parametrize(
    ("data", "method", "measure"),
    [
        ("breast_cancer", "pillar", "Sensitivity to malignant"),
        ("digits", "dp_sgd", "Rarest quarter of the classes"),
    ],
)
def test_measures_by_class_stay_inside_0_and_100_for_a_learner_without_k_too(
    start, data, method, measure
):
    app = start(data=data, method=method, view="classes", epsilon="1")
    assert not app.error
    table = app.dataframe[0].value
    assert table["measure"].str.startswith(measure).any()
    assert table["measure"].iloc[-1] == "Guessing the most common class"
    for value, ends in zip(table["%"], table["95 % interval"], strict=True):
        low, high = (float(end) for end in (ends or "0 to 100").split(" to "))
        assert 0 <= low <= float(value) <= high <= 100
    assert "largest class alone" in words(app)


def test_misread_rows_are_as_many_as_the_accuracy_says(start):
    app = start(data="digits", view="classes", epsilon="1")
    assert "test rows are misread" not in words(app)
    unfold(app, "misread")
    wrong, rows = map(int, re.findall(r"(\d+) of (\d+) test rows are misread", words(app))[0])
    assert round(100 * (1 - wrong / rows), 1) == float(app.dataframe[0].value["%"].iloc[0])


def test_rows_that_disagree_are_those_of_the_two_models_and_sixty_models_read_an_edited_one(start):
    app = start("curves", data="breast_cancer", k="4", epsilon="0.1", view="rows", v="2")
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1, seed=0)
    private, plain = (
        pc.run("pillar", split, epsilon=epsilon, k=4).classifier for epsilon in (0.1, math.inf)
    )
    test = split.features.x_test
    changed = np.flatnonzero(private.predict(test) != plain.predict(test))
    assert f"**{len(changed)} of {len(test)} test rows get another answer**" in words(app)
    assert (
        app.selectbox(key="local-widget.one-row").options[0].startswith(f"test row {changed[0]}:")
    )
    assert "chart-possible_answers" not in charts(app)
    press(app, "train-possible")
    assert "chart-possible_answers" in charts(app)


def test_a_pinned_setting_of_the_same_data_is_a(start):
    pinned = codec.pin(codec.Settings(data="digits", method="dp_sgd", epsilon=3.0))
    assert "A: DP-SGD at ε = 3. Now: PILLAR at ε = 0.3." in words(
        start("curves", k="10", view="rows", a=pinned)
    )
    elsewhere = codec.pin(codec.Settings(data="breast_cancer", epsilon=3.0))
    assert "A: PILLAR at ε = ∞ (no noise)." in words(
        start("curves", k="10", view="rows", a=elsewhere)
    )


def test_a_story_says_what_to_see_its_surprise_and_a_next_step(start):
    opening = {
        "data": "fashion_mnist_2k",
        "method": "pillar",
        "epsilon": "0.1",
        "k": "10",
    }
    app = start("curves", controls="story:few-directions", **opening)
    assert "The curve rises to its top" in words(app)
    assert "Ten directions beat all 1,280 features by" in words(app)
    assert any(label.startswith("Next: ") and "ε = 0.1" in label for label in links(app))
    other = start("curves", data="digits", controls="story:few-directions")
    assert "The curve rises to its top" not in words(other)


def test_the_sidebar_promises_nothing_of_a_learner_without_noise_and_all_of_one_without_rows(start):
    for method, promise in (
        ("non_private", "This learner</b> adds no noise"),
        ("only_public", "at most 0 become right"),
    ):
        assert promise in markup(start("curves", method=method).sidebar)
