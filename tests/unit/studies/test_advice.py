"""Advice: from public facts and public rows alone, right as far as its own range says, and what
paying for a choice costs."""

import dataclasses
import gc
import json
import math
import re
import weakref
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import rng
from pillar_core.errors import DataError, SettingError, UnknownNameError, UnsupportedError
from pillar_core.metrics import FIGURES
from pillar_core.runs.evidence import evidence_page
from pillar_core.studies.advice import choice as choice_module
from pillar_core.studies.advice import free, maps, prediction, simulation
from pillar_core.types import FeatureSet, PrivacyBudget
from users import output_of, raises, refuses, table_of


def split_as_table(digits, share):
    names = tuple(f"grey {place}" for place in range(digits.d))
    return pc.split(dataclasses.replace(digits, names=names), public_fraction=share)


@pytest.fixture(scope="module")
def digits():
    return pc.load_features(pc.load_dataset("digits"))


@pytest.fixture
def rehearse(monkeypatch):
    """Makes plays reach what a function of learner, rows and whether these are unused says."""

    def reach(of):
        def plays(method, rows, budget, seed, *, is_unused=False, wanted=None):
            return dict.fromkeys(FIGURES, of(method, rows, is_unused))

        for module in (simulation, maps):
            monkeypatch.setattr(module, "plays", plays)

    return reach


def with_noise(split, seed):
    """The same sizes, classes and public rows, everything else drawn anew, labels too."""
    own, generator = split.features, rng.stream(seed, "advice test")
    x, y = (
        (generator.standard_normal(own.x_train.shape) * 50).astype(np.float32),
        generator.integers(own.n_classes, size=len(own.x_train)),
    )
    features = dataclasses.replace(own, x_train=x, y_train=y, x_test=x[:30], y_test=y[:30])
    return dataclasses.replace(split, features=features, memo=type(split.memo)())


def sides_of(split, **parts):
    """Sets of some of the public rows each, by name."""
    classes = split.features.classes
    return {
        name: FeatureSet(split.public_x[part], split.public_y[part], None, None, classes)
        for name, part in parts.items()
    }


HALVES = {"a": slice(0, None, 2), "b": slice(1, None, 2)}


def unlabelled(split):
    return dataclasses.replace(split, public_y=None, memo=type(split.memo)())


@pytest.mark.parametrize("kind", ["labelled", "unlabelled", "candidates"])
def test_private_and_test_rows_change_nothing(digits, kind):
    split = pc.split(digits, public_fraction=0.1)
    candidates = sides_of(split, **HALVES) if kind == "candidates" else None
    split = unlabelled(split) if kind == "unlabelled" else split
    assert pc.advise(split, candidates=candidates) == pc.advise(
        with_noise(split, 1), candidates=candidates
    )


def test_advice_runs_as_it_is_within_its_range_and_reaches_a_target_by_the_smaller_budget(digits):
    split = pc.split(digits, public_fraction=0.1, seed=3)
    advice = pc.advise(split, epsilon=1.0)
    low, high = advice.expected_accuracy
    assert 0 <= low < high <= 1
    record = pc.run(advice.method, split, epsilon=1.0, **advice.settings)
    assert low <= record.accuracy <= high
    assert pc.METHODS[advice.method].title in advice.sentence
    assert low < advice.predicted <= high
    assert (
        f"Expect {100 * advice.predicted:.0f} ({100 * low:.0f} to {100 * high:.0f}) %"
        in advice.sentence
    )
    assert advice.price.startswith("free")
    noiseless = pc.advise(unlabelled(split), epsilon=math.inf)
    assert "at ε = ∞." in noiseless.sentence
    assert "inf" not in " ".join(noiseless.reasons)
    split = pc.split(digits, public_fraction=0.1)
    small, large = (pc.advise(unlabelled(split), target_accuracy=share) for share in (0.4, 0.8))
    assert small.epsilon < large.epsilon
    unreachable = pc.advise(unlabelled(split), target_accuracy=1.0)
    assert "no ε" in unreachable.reasons[0]
    advice = pc.advise(pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1))
    assert advice.metric == advice.predictions[0].metric == "balanced_accuracy"
    assert "% balanced accuracy (guessing: 50 %) at" in advice.sentence
    assert "50 % balanced accuracy" in advice.reasons[-1]
    assert pc.advise(pc.split(digits, public_fraction=0.1)).metric == "accuracy"


def test_the_range_is_the_documents_and_candidates_that_cannot_fit_are_left_out(digits):
    page = (Path(__file__).parents[3] / "docs" / "public_data.md").read_text(encoding="utf-8")
    document = page.split("\n## Advice before any private row is read\n")[1].split("\n## ")[0]
    of = prediction.FITTED
    assert {*of} == {*FIGURES}
    for kind, table in of["accuracy"].items():
        for part in {*table} - {"learners"}:
            cells = []
            for measured in (of[metric][kind][part] for metric in FIGURES):
                inside, sets = measured["inside"], measured["sets"]
                assert inside <= sets < 19  # so few sets carry no level of 95 %
                cells.append(f"{inside} of {sets} | ± {100 * measured['error']:.1f}")
            title = kind if part == "range" else f"{kind}, {part}"
            assert f"| {title} | {' | '.join(cells)} |" in document
    measured = of["accuracy"]["labelled"]["range"]
    advice = pc.advise(pc.split(digits, public_fraction=0.1))
    assert advice.expected.held == (measured["inside"], measured["sets"])
    assert f"the range held on {measured['inside']} of {measured['sets']} data sets" in " ".join(
        advice.reasons
    )
    low, high = advice.expected_accuracy
    assert high - low <= 2 * measured["error"] + 1e-9
    assert "95 %" not in document
    split = pc.split(digits, public_fraction=0.1)
    narrow = pc.features(np.zeros((30, 3)), np.arange(30) % 2)
    sides = {"narrow": narrow} | sides_of(split, fitting=slice(None))
    bare = pc.split(digits)
    advice = pc.advise(bare, candidates=sides, alike=["fitting"])
    assert advice.public == "fitting"
    assert any(
        "narrow is left out" in reason and "3 features" in reason for reason in advice.reasons
    )
    refuses("narrow", pc.advise, bare, candidates={"narrow": narrow})


def test_no_public_set_is_named_whose_likeness_nobody_paid_for_or_stated(digits):
    split, bare = pc.split(digits, public_fraction=0.1), pc.split(digits)
    near, narrow = sides_of(split, near=slice(None), narrow=split.public_y < 2).values()
    other = FeatureSet(split.public_x, split.public_y % 3, None, None, ("a", "b", "c"))
    sides = {"near": near, "narrow": narrow, "thirds": other}
    for candidates in (sides, {"near": near}, {"narrow": narrow}):
        advice = pc.advise(bare, candidates=candidates)
        assert (advice.public, advice.method) == (None, "dp_raft")
        assert "paid" in advice.sentence
        assert not any(name in advice.sentence for name in sides)
        assert advice.reasons[0] == free.UNKNOWN
    assert pc.advise(bare, candidates=sides, alike=["near"]).public == "near"
    assert pc.advise(bare, candidates={"own": near, "thirds": other}).public == "own"
    assert (pc.advise(bare).public, pc.advise(split).public) == ("none", "own")
    brought = pc.split(dataclasses.replace(digits, x_train=digits.x_train + 1), public=near)
    assert (pc.advise(brought).public, pc.advise(brought, alike=["own"]).public) == (None, "own")
    raises(SettingError, "far", pc.advise, bare, candidates=sides, alike=["far"])
    raises(SettingError, "none", pc.advise, bare, candidates={"none": near})


@pytest.mark.parametrize(
    ("method", "plays", "start"),
    [
        (
            "adamix",
            {"adamix": 0.72, "pillar": 0.75, "only_public": 0.71},
            "Use the public rows at hand as public data, AdaMix: it did best on",
        ),
        (
            "adamix",
            {"adamix": 0.72, "pillar": 0.75, "only_public": 0.73},
            "You may need no private row: rehearsals put public rows alone at 73",
        ),
        (
            "pillar",
            {"adamix": 0.72, "pillar": 0.78, "only_public": 0.73},
            "Use the public rows at hand as public data, PILLAR: rehearsals put",
        ),
        (
            "only_public",
            {"adamix": 0.72, "pillar": 0.75, "only_public": 0.78},
            "You need no private row: the public rows at hand alone should",
        ),
    ],
)
def test_one_rule_names_the_learner_that_is_first_and_the_first_sentence_says_why(
    digits, monkeypatch, method, plays, start
):
    """AdaMix was named at 72 %, below 75 and 73 in the figure, and was to "stay 1.0 points below"
    using no private row."""

    def predicted(name, method, *_, **__):
        middle = plays.get(method, 0.6)
        return free.Prediction(
            name, method, (middle - 0.1, middle + 0.1), middle, "accuracy", (7, 8), "labelled", 10
        )

    monkeypatch.setattr(free, "predict", predicted)
    advice = pc.advise(pc.split(digits, public_fraction=0.1))
    assert advice.sentence.startswith(start)
    assert advice.method == method
    assert advice.predictions[0] is advice.expected
    assert f"Expect {100 * plays[method]:.0f} (" in advice.sentence
    same = [each.middle for each in advice.predictions if each.public == "own"]
    assert max(same) in (same[0], min(max(same), free.level(advice)))
    assert "below" not in " ".join(advice.reasons)


@pytest.mark.parametrize(
    ("plays", "method", "why"),
    [
        ({"pillar_kalman": 0.75, "adamix": 0.7, "only_public": 0.77}, "pillar_kalman", "first"),
        ({"pillar_kalman": 0.7, "pillar": 0.7}, "pillar_kalman", "did best on other tables"),
        ({"dp_raft": 0.73, "only_public": 0.82}, "only_public", "need no private"),
    ],
)
def test_of_a_table_the_learner_that_rehearsals_put_first_is_named(
    digits, rehearse, plays, method, why
):
    """AdaMix was kept within 5 points, though it leans on few labels: on german credit 5 points of
    AUC and accuracy were lost."""
    rehearse(lambda name, *_: plays.get(name, 0.6))
    advice = free.advise_as_it_is(split_as_table(digits, 0.2), PrivacyBudget(1.0))
    assert (advice.method, advice.expected.source) == (method, "labelled, table")
    assert why in advice.sentence
    assert free.level(advice) is None
    assert not advice.expected.narrower


@pytest.mark.parametrize(
    "is_ahead",
    [
        lambda method, rows: method == "pillar_kalman_labelled",
        lambda method, rows: rows.features.d > 20,
    ],
)
def test_what_is_ahead_on_few_labelled_rows_may_be_so_by_luck(rehearse, is_ahead):
    """The luckiest of six learners was named on 27 rows: heart disease lost 7 points by it."""
    rehearse(lambda method, rows, _: 0.85 if is_ahead(method, rows) else 0.8)
    few, more = (pc.advise(rare(0.5, n_public)) for n_public in (24, 120))
    assert (few.method, few.backbone) == ("dp_raft", "ramps")
    assert (more.method, more.backbone) != (few.method, few.backbone)
    assert "no other that spends ε is clearly ahead" in few.sentence


def test_of_a_table_pillar_kalman_comes_first_where_public_rows_are_not_few(rehearse):
    rehearse(lambda *_: 0.8)
    for n_public, method in ((40, "dp_raft"), (60, "pillar_kalman")):
        advice = pc.advise(rare(0.5, n_public=n_public))
        assert (advice.method, advice.backbone) == (method, "ramps")


@pytest.mark.parametrize("metric", FIGURES)
def test_learner_range_and_words_follow_the_number_that_is_wanted(digits, monkeypatch, metric):
    best = dict(zip(FIGURES, prediction.OF_TABLES, strict=True))

    def plays(method, rows, budget, seed, *, is_unused=False, wanted=None):
        return {name: 0.8 + 0.1 * (method == best[name]) for name in FIGURES}

    monkeypatch.setattr(simulation, "plays", plays)
    split = split_as_table(digits, 0.1)
    advice = pc.advise(split, metric=metric)
    assert (advice.metric, advice.method) == (metric, best[metric])
    assert advice.settings == {"metric": metric}
    assert {each.metric for each in advice.predictions} == {metric}
    error = prediction.FITTED[metric]["labelled"]["few_table"]["error"]
    assert advice.expected_accuracy == pytest.approx(
        (max(advice.predicted - error, 0), min(advice.predicted + error, 1))
    )
    of_labels = np.bincount(split.public_y).max() / len(split.public_y)
    guesses = {"accuracy": of_labels, "balanced_accuracy": 0.1, "auc": 0.5}
    assert advice.expected.guess == guesses[metric]
    assert f" %{prediction.IN_WORDS[metric]} (guessing" in advice.sentence
    with pytest.raises(SettingError, match="metric must be one of"):
        pc.advise(split, metric="error")


def test_a_paid_choice_believes_no_labels_of_a_set_unlike_the_private_rows():
    """AdaMix, which rehearsals on drawn digits put first, ended at 45 % of the real ones."""
    split = pc.split(pc.load_dataset("digits"))
    choice = pc.choose(split, {"drawn_digits": pc.load_dataset("drawn_digits")}, epsilon=1.0)
    assert (choice.public, choice.method) == ("drawn_digits", "pillar_kalman")
    assert choice.record.accuracy > 0.8
    assert choice.guarantee.epsilon.upper <= 1.0
    assert "PILLAR Kalman from the same sum alone" in choice.guarantee.paid_choice
    assert choice.split.public_y is None, "nor may they set centre and intercept"


def test_the_command_and_the_paid_choice_take_the_number_that_is_wanted():
    asked = "--dataset digits --public-fraction 0.1 --epsilon 1 --metric auc"
    for command in (f"advise {asked}", f"choose {asked} --candidates drawn_digits --json"):
        assert "auc" in (said := output_of(command).out.lower())
        assert "balanced" not in said


def test_every_public_set_that_is_named_is_weighed(tmp_path):
    """With --candidates, --public and a public share were dropped without a word."""
    (tmp_path / "ward.csv").write_text(table_of(300))
    for n in (90, 100):
        (tmp_path / f"{n}.csv").write_text(table_of(n))
    ward, a, b = (str(tmp_path / f"{name}.csv") for name in ("ward", 90, 100))
    asked = f"--dataset {ward} --candidates {b} --epsilon 1"
    for command in ("advise", "choose"):
        said = json.loads(output_of(f"{command} {asked} --public {a} --json").out)
        assert not any("left out" in reason for reason in said["reasons"])
    split = pc.split(pc.load_features(ward, public=a))
    by_name = {name: pc.load_features(name) for name in (a, b)}
    assert pc.advise(split, candidates=[a, b]) == pc.advise(split, candidates=by_name)
    of_both = output_of(f"advise {asked} --public {a}").out
    assert all(name in of_both for name in (a, b))
    of_part = output_of(f"advise {asked} --public-fraction 0.3").out
    assert all(name in of_part for name in ("\npillar_kalman            own", b))


def test_public_rows_that_hurt_in_rehearsals_are_left_unused(digits, rehearse):
    """Splice lost 4 points by a tenth of its own rows, and was told to use them."""
    reached = {"dp_raft": 0.91}
    rehearse(lambda method, _, is_unused: 0.97 if is_unused else reached.get(method, 0.8))
    split = split_as_table(digits, 0.4)
    advice = pc.advise(split)
    assert (advice.public, advice.method, advice.backbone) == ("none", "dp_raft", "identity")
    used = _first(advice, "own")
    assert advice.sentence.startswith(
        "Leave these public rows unused, take DP-RAFT: rehearsals put it at"
        f" {100 * advice.predicted:.0f} % without them, and DP-RAFT at {100 * used.middle:.0f} %"
        " with them. "
    )
    assert advice.expected.source == prediction.UNUSED
    assert prediction.BASIS[prediction.UNUSED] in " ".join(advice.reasons)
    few = split_as_table(digits, 0.3)
    assert pc.advise(few).public == "own", "of few rows a class rehearsals say too little"
    reached["dp_raft"] = 0.97
    assert pc.advise(split).public == "own"


def test_rows_left_unused_go_through_no_map_and_no_reason_names_one(rehearse):
    rehearse(lambda _, rows, is_unused: 0.97 if is_unused else 0.8 + 0.1 * maps.is_mapped(rows))
    table = pd.DataFrame(np.arange(2_400).reshape(800, 3) / 2_400, columns=list("abc"))
    ranges = dict.fromkeys(table, (0.0, 1.0))
    table["label"] = table["a"] > 0.5
    advice = pc.advise(pc.split(pc.load_features(table, ranges=ranges), public_fraction=0.4))
    assert (advice.expected.source, advice.backbone) == (prediction.UNUSED, maps.GIVEN)
    assert not any(line.startswith("columns: ") for line in advice.reasons)


def rare(share, n_public=160):
    """A table of 800 rows of which so many are positive, and so many public."""
    drawn = np.random.default_rng(0)
    labels = np.where(np.arange(800) % 100 < 100 * share, "yes", "no")
    rows = drawn.standard_normal((800, 5)).astype(np.float32)
    rows[:, 0] += 2.0 * (labels == "yes")
    names = tuple("abcde")
    return pc.split(
        dataclasses.replace(pc.load_features((rows, labels)), names=names),
        public_fraction=n_public / 800,
    )


@pytest.mark.parametrize("is_unused", [False, True])
def test_an_expected_accuracy_says_what_the_most_common_class_has(rehearse, is_unused):
    """ "Expect 93 %" stood where always answering "no" had 93 %, and nothing said so; of public rows
    that are left unused no reason did, either."""

    split = rare(0.07)
    share = np.bincount(split.public_y).max() / len(split.public_y)
    if is_unused:
        rehearse(lambda *played: 0.97 if played[-1] else 0.9)
    advice = pc.advise(split, metric="accuracy")
    assert (advice.expected.source == prediction.UNUSED) == is_unused
    said = f"(guessing the most common class of the public rows: {100 * share:.0f} %)"
    assert said in advice.sentence
    assert advice.expected.guess == share
    assert any("hold each class as often" in reason for reason in advice.reasons[:2])
    assert not advice.expected.is_useful, "its range reaches below always saying no"
    record = advice.expected.state(pc.run("pillar", split, epsilon=1.0, metric="accuracy"))
    assert said in pc.statement(record).text
    assert said not in pc.advise(split, metric="auc").sentence
    bare = pc.advise(unlabelled(split), metric="accuracy")
    assert any("for classes of equal size" in reason for reason in bare.reasons[:2])


def test_public_rows_that_are_enough_need_no_epsilon(digits):
    """0.05 was named as the smallest ε, where public rows alone were rehearsed above the target."""
    split = pc.split(digits, public_fraction=0.2)
    advice = pc.advise(split, target_accuracy=0.6)
    assert advice.method == "only_public"
    assert advice.sentence.startswith("Public rows alone are enough for 60%: no ε needed. ")
    assert "at ε =" not in advice.sentence
    assert advice.reasons[0] == "public rows alone are enough for 60%: no ε needed"
    assert advice.predictions[0] is advice.expected
    assert len({*advice.reasons}) == len(advice.reasons)
    assert not any("ended about 1 point ahead" in reason for reason in advice.reasons)
    assert pc.METHODS[pc.advise(split, target_accuracy=1.0).method].is_private


def test_labels_that_rehearse_come_before_what_sizes_alone_predict(digits, monkeypatch):
    """Of 72,000 flights sizes alone promised 98 % of AUC without public rows, which had 55."""

    def predicted(name, method, rows, *rest, **wanted):
        of = real(name, method, rows, *rest, **wanted)
        middle = 0.95 if name == "none" else 0.65
        return dataclasses.replace(of, middle=middle, accuracy=(middle - 0.1, middle + 0.05))

    real = prediction.predict
    monkeypatch.setattr(free, "predict", predicted)
    split = pc.split(digits, public_fraction=0.1)
    assert pc.advise(split).public == "own"
    assert pc.advise(unlabelled(split)).public == "none"


def test_rehearsals_at_two_budgets_share_their_noise_and_a_curve_over_them_only_rises(digits):
    """Each ε drew its own noise, so that a curve over ε went up and down by 5 points."""
    split = simulation.blind(pc.split(digits, public_fraction=0.1))
    near = [
        simulation.plays("pillar_kalman", split, PrivacyBudget(epsilon), 0)["accuracy"]
        for epsilon in (1.0, 1.0001)
    ]
    assert near[0] == near[1]
    middles = (0.6, 0.7, 0.66, 0.9)
    rising, wobble = prediction.levelled(
        [
            prediction.Prediction("own", "pillar", (each - 0.2, each + 0.2), each, "auc")
            for each in middles
        ]
    )
    assert np.array(rising) == pytest.approx(
        np.array([(0.6, 0.4, 0.8), (0.68, 0.48, 0.88), (0.68, 0.48, 0.88), (0.9, 0.7, 1.0)])
    )
    assert wobble == pytest.approx(0.02)
    cut = [((0.8, 1.0), 1.0), ((0.7, 1.0), 0.9)]
    rows, _ = prediction.levelled(
        [prediction.Prediction("own", "pillar", ends, middle, "auc") for ends, middle in cut]
    )
    assert np.array(rows) == pytest.approx(np.array([(0.95, 0.75, 1.0), (0.95, 0.75, 1.0)]))


def test_plays_have_an_area_among_the_classes_that_held_out_rows_have(digits):
    """A play without a row of some class counted as an area of 0."""
    split = pc.split(digits, public_per_class=4)
    reached = simulation.plays("pillar_kalman", simulation.blind(split), PrivacyBudget(3.0), 0)
    assert reached["auc"] > 0.8 > reached["accuracy"]


def test_what_is_stated_of_one_set_moves_no_number(digits):
    split, bare = pc.split(digits, public_fraction=0.1), pc.split(digits)
    sides = sides_of(split, **HALVES)
    sides["bare"] = dataclasses.replace(sides["a"], y_train=None, classes=())
    advices = [
        pc.advise(bare, candidates=sides, alike=alike)
        for alike in ([], ["a"], ["b"], ["bare"], ["a", "b"])
    ]
    assert [each.public for each in advices] == [
        None,
        "a",
        "b",
        "bare",
        max("ab", key=lambda name: _first(advices[0], name).middle),
    ]
    assert len({frozenset(each.predictions) for each in advices}) == 1
    for advice in advices:
        assert advice.predictions[0] is advice.expected
        for name in (*sides, "none"):
            assert _first(advice, name) == _first(advices[0], name), (
                "the learner to name with a set is the same, too"
            )


def _first(advice, public):
    return next(each for each in advice.predictions if each.public == public)


def test_a_range_that_says_nothing_is_called_so_and_says_what_would(digits):
    """ "56 (0 to 100) %" for two classes."""
    split = pc.split(digits, public_fraction=0.1)
    for advice in (
        pc.advise(pc.split(digits)),
        pc.advise(pc.split(pc.load_dataset("breast_cancer")), epsilon=0.1),
    ):
        assert "No useful prediction, because" in advice.sentence
        assert "8 labelled public rows of each class" in advice.reasons[0]
        said = pc.statement(
            advice.expected.state(pc.run(advice.method, pc.split(digits), epsilon=1.0))
        )
        assert "Expected before training: no useful prediction, because" in said.text
        assert not said.fields["expected_accuracy"]["is_useful"]
    of_table = pc.advise(split_as_table(digits, None)).reasons[0]
    assert "20 labelled public rows of each class" in of_table
    for source, ends, is_useful in (
        ("labelled", (0.49, 0.75), False),
        ("labelled", (0.51, 0.77), True),
        ("foreign", (0.2, 0.9), False),
    ):
        guess = free.Prediction(
            "own",
            "adamix",
            ends,
            sum(ends) / 2,
            "accuracy",
            (7, 8),
            source,
            2 if source == "labelled" else 10,
        )
        assert guess.is_useful == is_useful
        assert bool(guess.narrower) != is_useful
    advice = pc.advise(split)
    assert advice.expected.is_useful
    said = pc.statement(advice.expected.state(pc.run(advice.method, split, epsilon=1.0)))
    assert (
        f"Expected before training: {advice.expected.range_words} accuracy; predicted from"
        " rehearsals" in said.text
    )
    assert "no measurement" in said.text
    assert said.fields["expected_accuracy"]["low"] == advice.expected_accuracy[0]
    assert "Expected" not in pc.statement(pc.run(advice.method, split, epsilon=1.0)).text


def test_labelled_public_sets_are_compared_by_heads_tried_on_each_other(digits):
    split, bare = pc.split(digits, public_fraction=0.4), pc.split(digits)
    order = rng.stream(0, "shuffled columns").permutation(digits.d)
    sides = sides_of(split, even=HALVES["a"], odd=HALVES["b"], foreign=slice(0, None, 3))
    foreign = np.ascontiguousarray(sides["foreign"].x_train[:, order])
    sides["foreign"] = dataclasses.replace(sides["foreign"], x_train=foreign)
    reason = next(
        reason for reason in pc.advise(bare, candidates=sides).reasons if "on the others" in reason
    )
    shares = {
        name: float(share) for name, share in re.findall(r"(even|odd|foreign) (\d+) %", reason)
    }
    assert min(shares["even"], shares["odd"]) > shares["foreign"] + 20
    unlabelled_sides = {
        name: dataclasses.replace(side, y_train=None, classes=())
        for name, side in sides.items()
        if name != "even"
    }
    reasons = pc.advise(bare, candidates=unlabelled_sides | {"even": sides["even"]}).reasons
    assert not any("on the others" in reason for reason in reasons)


@pytest.fixture(scope="module")
def sets(digits):
    """(private rows, public sets): rows of the same kind, and with their columns out of order."""
    own = pc.split(digits, public_fraction=0.1)
    private = dataclasses.replace(
        digits, x_train=digits.x_train[own.private], y_train=digits.y_train[own.private]
    )
    order = rng.stream(0, "shuffled columns").permutation(digits.d)
    return private, {
        name: FeatureSet(x, None, None, None, ())
        for name, x in (("far", own.public_x[:, order]), ("near", own.public_x))
    }


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_private_rows_choose_the_near_set_within_the_whole_budget(sets, relation):
    choice = pc.choose(*sets, epsilon=3.0, relation=relation)
    assert (choice.public, choice.method) == ("near", "pillar_kalman")
    assert 2.9 < choice.guarantee.epsilon.upper <= 3.0
    assert (choice.guarantee.relation, len(choice.guarantee.events)) == (relation, 2)
    low, high = choice.expected_accuracy
    assert low <= choice.record.accuracy <= high
    assert "chosen on private rows" in " ".join(choice.guarantee.assumptions)
    said = pc.statement(choice.record)
    assert (
        "public set 'near' was chosen on private rows, the learner"
        f" {pc.METHODS[choice.method].title} from public rows" in said.text
    )
    charged = set(re.findall(r"charged as (.*?), all .* together as (.*?)\. All", said.text)[0])
    assert charged == set(choice.guarantee.events)
    assert f"Expected before training: {choice.expected.range_words}" in said.text
    exact = pc.accounting.mu_of(choice.guarantee.epsilon.upper, choice.guarantee.delta)
    assert said.fields["gaussian_mu"] == pytest.approx(exact, rel=1e-6)


def test_no_public_set_is_taken_where_all_features_keep_far_more_and_the_noise_is_small(
    sets, digits
):
    private, public = sets
    far = {"far": public["far"]}
    assert [pc.choose(private, far, epsilon=epsilon).public for epsilon in (0.3, 5.0)] == [
        "far",
        "none",
    ]
    own = pc.split(digits, public_fraction=0.1)
    assert pc.choose(own, far, epsilon=1.0, methods=["pillar", "noisy_gd"]).public == "own"


def test_what_the_choice_promises_hangs_on_no_choice(sets, monkeypatch):
    """Whichever set is chosen, and whatever its learner releases, the same events and ε are
    stated."""
    private, public = sets
    found = []
    for name in (*public, "none"):
        with monkeypatch.context() as patch:
            patch.setattr(
                choice_module, "_choose_set", lambda *_, name=name: (name, True, ("forced",))
            )
            found.append(pc.choose(private, public, epsilon=1.0))
    assert [one.public for one in found] == [*public, "none"]
    assert len({one.method for one in found}) == 2
    assert len({(one.guarantee.epsilon, one.guarantee.events) for one in found}) == 1


def test_what_cannot_be_chosen_among_is_refused_before_any_private_row_is_read(
    sets, digits, monkeypatch
):
    private, public = sets
    monkeypatch.setattr(choice_module, "_choose_set", None)
    bare, both = dataclasses.replace(private, y_train=None), ["raw_pixels", "scattering"]
    mine = public | {"mine": dataclasses.replace(bare, classes=())}
    for rows, sides, asked, error, said in (
        (
            private,
            public,
            {"methods": ["prototypes", "dp_raft"]},
            UnsupportedError,
            "no full-batch",
        ),
        (private, public, {"epsilon": float("inf")}, UnsupportedError, "lower ε"),
        (private, public, {"backbones": both}, UnsupportedError, "several backbones need images"),
        (
            digits.images or private,
            public | {"numbers": private},
            {"backbones": both},
            UnsupportedError,
            "several backbones need images",
        ),
        (private, public, {"backbones": ["raw_pixels", "no_such"]}, UnknownNameError, "no_such"),
        (private, public, {"backbones": ["raw_pixels", "resnet50:byol"]}, SettingError, "weights"),
        (private, {}, {}, DataError, "public"),
        (private, {"none": public["near"]}, {}, SettingError, "public"),
        (
            pc.split(private, public=public["far"]),
            public,
            {},
            SettingError,
            "brought from elsewhere",
        ),
        (bare, public, {}, DataError, "no labels"),
        # not left out: that would tell of private rows
        (private, mine, {}, DataError, "are, bit by bit, private rows"),
        (private, public, {"methods": ["pillar"]}, SettingError, "none of the methods"),
    ):
        raises(error, said, pc.choose, rows, sides, **{"epsilon": 1.0, **asked})


@pytest.fixture(scope="module")
def images():
    """(a split of private images, candidates of other classes, some without labels)"""
    digits, clothes = (_cut(pc.load_dataset(name), 300) for name in ("mnist", "fashion_mnist"))
    return pc.split(digits), {
        "clothes": clothes,
        "bare": dataclasses.replace(clothes, y_train=None, y_test=None, classes=()),
    }


def _cut(data, n):
    """The first images, every second pixel each way."""
    train, test = (x[:, ::2, ::2].copy() for x in (data.x_train[:n], data.x_test[:60]))
    return dataclasses.replace(
        data, x_train=train, y_train=data.y_train[:n], x_test=test, y_test=data.y_test[:60]
    )


def _rehearse(
    private: Any, candidates: Any, backbones: list[str], epsilon: float
) -> tuple[str, str]:
    budget = choice_module.PrivacyBudget(epsilon)
    reached = {
        name: choice_module._played(
            choice_module._sides(private, candidates, name)[0], budget, None, 0, None
        )
        for name in backbones
    }
    return choice_module._best_backbone(reached)


def test_rows_through_one_backbone_are_gone_before_those_through_the_next(images, monkeypatch):
    split, candidates = images
    make, prepared, alive = choice_module._sides, list[Any](), list[int]()

    def sides(*asked: Any) -> Any:
        gc.collect()
        alive.append(sum(rows() is not None for rows in prepared))
        made = make(*asked)
        prepared.append(weakref.ref(made[0]["clothes"]))
        return made

    monkeypatch.setattr(choice_module, "_sides", sides)
    pc.choose(split, candidates, epsilon=1.0, backbones=["raw_pixels", "scattering"])
    assert alive == [0, 0, 0]


def test_labelled_public_rows_choose_the_backbone_and_no_private_row_does(images, monkeypatch):
    split, candidates = images
    names, own = ["raw_pixels", "scattering"], split.features.images
    generator = rng.stream(0, "private rows of a rehearsal")
    noise = generator.integers(256, size=own.x_train.shape).astype(np.uint8)
    labels = generator.permutation(own.y_train)
    changed = dataclasses.replace(
        own, x_train=noise, y_train=labels, x_test=noise[:60], y_test=labels[:60]
    )
    first, second = (_rehearse(rows, candidates, names, 1.0) for rows in (own, changed))
    assert first == second
    assert "played on labelled public rows (clothes)" in first[1]
    widths = {name: pc.load_features(own, name).d for name in names}
    for best in names:  # whichever plays better is taken, and the same is charged
        monkeypatch.setattr(
            choice_module,
            "plays",
            lambda _, rows, *rest, best=best, **__: dict.fromkeys(
                FIGURES, float(rows.features.d == widths[best])
            ),
        )
        choice = pc.choose(split, candidates, epsilon=1.0, backbones=names)
        assert (choice.backbone, choice.split.features.backbone) == (best, best)
        assert f"the backbone {best} and the learner" in pc.statement(choice.record).text
        alone = pc.choose(own, candidates, epsilon=1.0, backbones=[best])
        assert (choice.guarantee.epsilon, choice.guarantee.events) == (
            alone.guarantee.epsilon,
            alone.guarantee.events,
        )
        assert not any("played" in reason for reason in alone.reasons)


def test_the_first_backbone_is_taken_without_labels_and_a_rehearsal_keeps_its_rows(images):
    _, candidates = images
    split = pc.split(images[0].features, public_fraction=0.3, seed=1)
    backbone, reason = _rehearse(split, candidates, ["scattering", "raw_pixels"], 3.0)
    assert "rows (own)" in reason
    other = choice_module._through(split, backbone)
    there = pc.split(pc.load_features(split.features.images, backbone), public_fraction=0.3, seed=1)
    assert other.fingerprint == there.fingerprint
    choice = pc.choose(
        images[0], {"bare": images[1]["bare"]}, epsilon=1.0, backbones=["scattering", "raw_pixels"]
    )
    assert choice.backbone == "scattering"
    assert any("no candidate has labels enough" in reason for reason in choice.reasons)


def test_the_command_chooses_a_backbone_and_its_zip_names_it(tmp_path):
    for name, rows in (
        ("rows", _cut(pc.load_dataset("mnist"), 200)),
        ("other", _cut(pc.load_dataset("fashion_mnist"), 200)),
    ):
        np.savez(
            tmp_path / f"{name}.npz",
            x_train=rows.x_train,
            y_train=rows.y_train,
            x_test=rows.x_test,
            y_test=rows.y_test,
        )
    model = tmp_path / "model.zip"
    asked = f"choose --dataset {tmp_path / 'rows.npz'} --candidates {tmp_path / 'other.npz'} --epsilon 1 --json"
    backbone = json.loads(
        output_of(
            f"{asked} --backbones raw_pixels scattering --release --export {model}"
        ).out.partition("\nmodel written")[0]
    )["backbone"]
    assert backbone in ("raw_pixels", "scattering")
    assert backbone in json.dumps(pc.load_model(model).card)


def test_the_command_chooses_and_hands_out_a_release(tmp_path):
    model = tmp_path / "model.zip"
    asked = "choose --dataset digits --public-fraction 0.1 --candidates drawn_digits --epsilon 1"
    assert (
        "covers the choice and this training"
        in output_of(f"{asked} --release --export {model}").out
    )
    assert (
        pc.load_model(model)
        .card["deployment"]["expected_accuracy"]["source"]
        .startswith("predicted from rehearsals")
    )
    with zipfile.ZipFile(model) as archive:
        assert all(
            "Expected before training" in archive.read(name).decode()
            for name in ("statement.txt", "README.md")
        )
    assert (
        "Expected before training"
        in evidence_page(model).partition("How good the model is")[2].partition("<h2>")[0]
    )
    card = pc.load_model(model).card["guarantee"]
    assert card["epsilon"] <= 1.0
    assert "was chosen on private rows" in card["paid_choice"]
    assert json.loads(output_of(f"{asked} --json").out)["public"] == "own"
