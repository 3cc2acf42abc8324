"""Comparisons: the same budget for all, references at every ε, reasons instead of silence."""

import math

import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import errors
from pillar_core.__main__ import main
from pillar_core.studies.compare import learners as compare
from pillar_core.types import PublicFacts

pytestmark = pytest.mark.usefixtures("own_cache")


def runs(**accuracies):
    rows = [
        {"method": name, "epsilon": epsilon, "seed": seed, "accuracy": value, "error_message": None}
        for name, cells in accuracies.items()
        for epsilon, values in cells.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_references_stand_at_every_budget_and_boosts_follow_the_definition():
    table = runs(non_private={math.inf: [0.9, 0.9]}, only_public={math.inf: [0.6, 0.6]}, pillar={0.1: [0.7, 0.7], 1.0: [0.8, 0.8]})
    lines = compare.summary(table)
    assert sorted(lines.groupby("epsilon").size()) == [3, 3]
    boost = lines.set_index(["method", "epsilon"])["performance_boost"]
    assert boost["pillar", 0.1] == pytest.approx((0.4 - 0.1) / (0.3 - 0.1))
    assert boost["pillar", 1.0] == pytest.approx((0.4 - 0.1) / (0.2 - 0.1))
    assert boost["only_public", 0.1] == pytest.approx(1.0)
    assert math.isnan(boost["non_private", 0.1])
    assert list(lines[lines.epsilon == 0.1].method) == ["non_private", "pillar", "only_public"]


def test_what_cannot_run_is_left_out_with_its_reason_and_something_must_remain():
    digits = pc.load_dataset("digits")
    alone = compare.applicable(pc.split(digits))
    assert alone["pillar"] == "needs public rows"
    assert alone["dp_sgd"] == ""
    full = compare.applicable(pc.split(digits, public_fraction=0.1))
    assert full["pillar"] == ""
    features = pc.load_features(digits)
    strangers = pc.features(features.x_train + 1, ["odd", "even"] * (len(features.x_train) // 2))
    assert "labelled" in compare.applicable(pc.split(features, public=strangers))["only_public"]
    with pytest.raises(errors.DataError, match="at least one"):
        compare.compare_grid({}, methods=[], epsilons=[1.0], seeds=[0])
    with pytest.raises(errors.UnknownNameError):
        compare.compare_grid({}, methods=["magic"], epsilons=[1.0], seeds=[0])
    lines = compare.summary(runs(pillar={1.0: [0.7]}))
    assert math.isnan(lines.low[0])
    assert lines["mean"][0] == 0.7


def test_every_applicable_learner_runs_at_one_budget():
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.2)
    able = [name for name, reason in compare.applicable(split).items() if not reason]
    table = pc.sweep(compare.compare_grid({"dataset": split}, methods=able, epsilons=[1.0], seeds=[0]))
    assert table.error_message.isna().all(), table[["method", "error_message"]].dropna().to_string()
    spending = table[table.method.map(lambda name: pc.METHODS[name].is_private)]
    assert (spending.epsilon_upper <= 1.0).all()


def test_the_command_compares(capsys, tmp_path):
    output = tmp_path / "runs.csv"
    arguments = ["compare", "--dataset", "digits", "--public-fraction", "0.1", "--methods", "pillar,dp_sgd,non_private"]
    assert main([*arguments, "--epsilon", "0.5,2", "--seeds", "2", "--output", str(output)]) == 0
    assert "pillar" in capsys.readouterr().out
    assert len(pd.read_csv(output)) == 2 * 2 * 2 + 2


def row(method, **asked):
    cell = {"dataset": "digits", "public_fraction": 0.1, "method": method, **asked}
    return pc.sweep(cell).iloc[0]


def test_badges_and_spendings_are_those_of_the_runs():
    assert row("only_public").epsilon == 0.0
    assert row("non_private").epsilon == math.inf
    spent = row("noisy_gd", noise_multiplier=5.0, steps=10)
    assert spent.epsilon == spent.epsilon_upper < math.inf
    assert row("noisy_gd", epsilon=0.7).epsilon == 0.7
    assert row("noisy_gd", noise_multiplier=5.0, epsilon=1.0).error_message
    names = {"initialisation": "text", "standardise": False}
    assert pc.METHODS["adamix"].public_words(names) == "labelled and class names"
    table = runs(dp_raft={1.0: [0.7, 0.8]}).assign(public_use="unlabelled")
    assert compare.summary(table).public_data[0] == "unlabelled"


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("dp_sgd", {}, "unlabelled (preprocessing only)"),
        ("dp_sgd", {"standardise": False, "centre": False}, "none"),
        ("dp_raft", {"k": 5}, "unlabelled"),
        ("dp_raft", {"standardise": False}, "unlabelled (preprocessing only)"),
        ("pillar", {"k": 5}, "unlabelled"),
        ("adamix", {"k": 5}, "labelled"),
    ],
)
def test_the_badge_of_public_data_follows_the_settings(method, settings, words):
    assert row(method, epsilon=1.0, **settings).public_use == words
    record = pc.run(method, pc.split(pc.load_dataset("digits"), public_fraction=0.1), epsilon=1.0, **settings)
    assert pc.METHODS[method].public_words(record.settings) == words
    assert str(record.public_use) == words.split(" ")[0] or "preprocessing" in words


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        ({"pillar": [0.90, 0.91, 0.92], "dp_sgd": [0.80, 0.81, 0.82]}, "PILLAR leads DP-SGD by 10.0 ± 0.0 points."),
        (
            {"pillar": [0.90, 0.80, 0.85], "dp_sgd": [0.80, 0.90, 0.84], "jl": [0.5, 0.5, 0.5], "non_private": [1.0, 1.0, 1.0]},
            "2 of 3 tie within intervals; PILLAR is ahead of DP-SGD by 0.3 ± ",
        ),
        ({"pillar": [0.9], "dp_sgd": [0.8]}, "PILLAR is ahead of DP-SGD by 10.0 points in one run"),
        ({"pillar": [0.9, 0.9], "only_public": [0.8, 0.8]}, ""),
    ],
)
def test_the_verdict_counts_ties_among_learners_and_not_references(accuracies: dict[str, list[float]], said: str) -> None:
    rows = [(method, seed, value) for method, values in accuracies.items() for seed, value in enumerate(values)]
    verdict = compare.verdict(pd.DataFrame(rows, columns=["method", "seed", "accuracy"]))
    assert verdict.startswith(said)
    assert bool(verdict) == bool(said)


def test_a_measurement_contradicts_the_advice_or_confirms_it():
    table = pd.DataFrame(
        [("adamix", seed, 0.6 + seed / 100) for seed in range(3)]
        + [("pillar", seed, 0.8 + seed / 100 + seed / 1000) for seed in range(3)]
        + [("non_private", seed, 0.99) for seed in range(3)],
        columns=["method", "seed", "accuracy"],
    )
    verdict = compare.judge_advice(table, "adamix")
    said, better = verdict.words, verdict.better
    assert better == "pillar"
    assert said.startswith("Advice was AdaMix; measured here PILLAR leads it by 20.1 points (")
    assert said.endswith("take PILLAR.")
    assert "the advice holds" in compare.judge_advice(table, "pillar").words
    verdict = compare.judge_advice(table[table["seed"] == 0], "adamix")
    said, better = verdict.words, verdict.better
    assert said.endswith("seeds so far: 1, too few to be certain.")
    assert better == ""
    assert compare.judge_advice(table, "dp_sgd") == compare.Verdict(None, "", "")
    assert compare.judge_advice(table[table["method"] != "pillar"], "adamix") == compare.Verdict(None, "", "")
    inside, outside = (compare.judge_advice(table, "pillar", expected=ends) for ends in ((0.0, 1.0), (0.0, 0.01)))
    assert (inside.agrees, outside.agrees) == (True, False)
    assert "the advice holds" in inside.words
    assert "the advice holds" not in outside.words
    assert "not what was predicted" in outside.words


@pytest.mark.parametrize(
    ("facts", "public", "epsilon", "method"),
    [
        (PublicFacts(10_000, 500, 256, 10), None, 1.0, "pillar"),
        (PublicFacts(10_000, 500, 256, 10), "labelled", 1.0, "adamix"),
        (PublicFacts(10_000, 0, 256, 10), None, 1.0, "noisy_gd"),
        (PublicFacts(10_000, 500, 256, 10), None, math.inf, "non_private"),
    ],
)
def test_recommendations_follow_from_public_facts(facts, public, epsilon, method):
    found = pc.recommend(facts, public, epsilon=epsilon)
    assert found.method == method
    assert found.reasons
    with pytest.raises(errors.SettingError):
        pc.recommend(facts, "secret")
