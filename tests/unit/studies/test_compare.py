"""Comparisons: the same budget for all, references at every ε, reasons instead of silence."""

import math

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import errors, plots
from pillar_core.data import uploads
from pillar_core.runs import sweep
from pillar_core.splits import rarest, thin_classes
from pillar_core.studies.compare import learners as compare
from pillar_core.studies.compare import views as compare_views
from pillar_core.studies.compare.views import COMPARE_VIEWS, Setup
from users import output_of, refuses, run_command

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
    table = runs(
        non_private={math.inf: [0.9, 0.9]},
        only_public={math.inf: [0.6, 0.6]},
        pillar={0.1: [0.7, 0.7], 1.0: [0.8, 0.8]},
    )
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
    refuses("at least one", compare.compare_grid, {}, methods=[], epsilons=[1.0], seeds=[0])
    with pytest.raises(errors.UnknownNameError):
        compare.compare_grid({}, methods=["magic"], epsilons=[1.0], seeds=[0])
    lines = compare.summary(runs(pillar={1.0: [0.7]}))
    assert math.isnan(lines.low[0])
    assert lines["mean"][0] == 0.7


def test_every_applicable_learner_runs_at_one_budget():
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.2)
    able = [name for name, reason in compare.applicable(split).items() if not reason]
    table = pc.sweep(
        compare.compare_grid({"dataset": split}, methods=able, epsilons=[1.0], seeds=[0])
    )
    assert table.error_message.isna().all(), table[["method", "error_message"]].dropna().to_string()
    spending = table[table.method.map(lambda name: pc.METHODS[name].is_private)]
    assert (spending.epsilon_upper <= 1.0).all()


def test_the_command_compares(tmp_path):
    output = tmp_path / "runs.csv"
    arguments = "compare --dataset digits --public-fraction 0.1 --methods pillar,dp_sgd,non_private"
    said = output_of(f"{arguments} --epsilon 0.5,2.0003 --seeds 2 --output {output}").out
    assert len(pd.read_csv(output)) == 2 * 2 * 2 + 2
    assert said.count(" 2.001 ") == 2, "an upper end is rounded up"


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
    record = pc.run(
        method, pc.split(pc.load_dataset("digits"), public_fraction=0.1), epsilon=1.0, **settings
    )
    assert pc.METHODS[method].public_words(record.settings) == words
    assert str(record.public_use) == words.split(" ")[0] or "preprocessing" in words


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        (
            {"pillar": [0.90, 0.91, 0.92], "dp_sgd": [0.80, 0.81, 0.82]},
            "PILLAR leads DP-SGD by 10.0 ± 0.0 points.",
        ),
        (
            {
                "pillar": [0.90, 0.80, 0.85],
                "dp_sgd": [0.80, 0.90, 0.84],
                "jl": [0.5, 0.5, 0.5],
                "non_private": [1.0, 1.0, 1.0],
            },
            "2 of 3 tie within intervals; PILLAR is ahead of DP-SGD by 0.3 ± ",
        ),
        ({"pillar": [0.9], "dp_sgd": [0.8]}, "PILLAR is ahead of DP-SGD by 10.0 points in one run"),
        ({"pillar": [0.9004], "dp_sgd": [0.9]}, "PILLAR and DP-SGD are level in one run"),
        ({"pillar": [0.9, 0.9], "only_public": [0.8, 0.8]}, ""),
    ],
)
def test_the_verdict_counts_ties_among_learners_and_not_references(accuracies, said):
    rows = [
        (method, seed, value)
        for method, values in accuracies.items()
        for seed, value in enumerate(values)
    ]
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
    assert compare.judge_advice(table[table["method"] != "pillar"], "adamix") == compare.Verdict(
        None, "", ""
    )
    inside, outside = (
        compare.judge_advice(table, "pillar", expected=ends) for ends in ((0.0, 1.0), (0.0, 0.01))
    )
    assert (inside.agrees, outside.agrees) == (True, False)
    assert "the advice holds" in inside.words
    assert "the advice holds" not in outside.words
    assert "not what was predicted" in outside.words


def setup(data="digits", *, epsilons=(1.0,), seeds=(0, 1), other=None, fraction=0.1):
    split = pc.split(pc.load_dataset(data), public_fraction=fraction)
    return Setup({"dataset": data}, {"public_fraction": fraction}, split, epsilons, seeds, other)


def elsewhere(classes=10):
    """The name of a small kept set as wide as digits: digits seen through more ink, with as many
    classes."""
    rows = pc.load_features(pc.load_dataset("digits"))
    return uploads.keep(pc.features(np.sqrt(rows.x_train[:300]), rows.y_train[:300] % classes))


def for_view(name, **changes):
    return setup(other=elsewhere(), **changes) if name == "shift" else setup(**changes)


@pytest.mark.parametrize("name", list(COMPARE_VIEWS))
def test_every_view_asks_for_runs_that_can_be(name):
    view, own = COMPARE_VIEWS[name], for_view(name)
    cells = compare_views.specs_of(view, own)
    assert cells
    assert len({sweep.run_key(cell) for cell in cells}) == len(cells)
    assert {cell.seed for cell in cells} == {0, 1}
    assert len(compare_views.table_of(cells)) == sum(
        sweep.find(sweep.run_key(cell)) is not None for cell in cells
    )


@pytest.mark.parametrize(
    ("name", "seeds"), [("few_rows", 2), ("shots", 1), ("boost", 2), ("shift", 1)]
)
def test_a_view_runs_counts_its_seeds_and_draws(name, seeds, monkeypatch):
    monkeypatch.setattr(compare_views, "SHOTS", (2, 20))
    view = COMPARE_VIEWS[name]
    seen = []
    lines, runs = compare_views.run(
        name,
        for_view(name, seeds=range(seeds)),
        progress=lambda done, total, what: seen.append((done, total)),
    )
    assert seen[-1] == (len(runs), len(runs))
    trained = runs["error_message"].isna()
    assert trained.all(), runs["error_message"].dropna().unique()
    known = lines.dropna(subset=["mean"])
    assert (known["seeds"] == seeds).all()
    assert (
        known["low"].isna().all()
        if seeds == 1
        else ((known["low"] <= known["mean"]) & (known["mean"] <= known["high"])).all()
    )
    figure = plots.effect(
        known, title=view.title, percent=view.is_share, x_log=view.x_log, wanted_seeds=3
    )
    assert len(figure.data) == known["series"].nunique()
    assert "fewer than 3 seeds" in figure.layout.meta["caption"]


def test_first_runs_are_every_learners_two_ends_and_references_come_first_only_where_others_are_measured_against_them():
    groups = compare_views.first_groups(COMPARE_VIEWS["few_rows"], setup())
    assert [group[0].method for group in groups[:3]] == ["pillar", "dp_sgd", "non_private"]
    shares = [
        group[0].split.get("validation_fraction") for group in groups if group[0].method == "pillar"
    ]
    assert shares[:2] == [0.95, None]
    assert {spec.seed for group in groups for spec in group} == {0}
    references = [
        group[0].method for group in compare_views.first_groups(COMPARE_VIEWS["boost"], setup())[:2]
    ]
    assert set(references) == {"only_public", "non_private"}


def test_the_ablation_switches_adamix_and_pairs_by_seed():
    lines, runs = compare_views.run("ablation", setup(epsilons=(0.5, 2.0)))
    assert lines["series"].nunique() == 4
    both = runs[runs["adaptive_clip"].astype(bool) & runs["projection"].astype(bool)]
    plain = runs[~runs["adaptive_clip"].astype(bool) & ~runs["projection"].astype(bool)]
    at = [
        one[one["epsilon"] == 2.0].sort_values("seed")["accuracy"].to_numpy()
        for one in (plain, both)
    ]
    wanted = np.mean([((1 - a) - (1 - b)) / (1 - a) for a, b in zip(*at, strict=True)])
    found = lines[(lines["series"] == "AdaMix: both") & (lines["epsilon"] == 2.0)]["decrease"]
    assert found.item() == pytest.approx(wanted)
    assert (lines.loc[lines["series"] == COMPARE_VIEWS["ablation"].base, "decrease"] == 0).all()


def test_more_noise_means_more_steps_at_the_same_budget():
    _, runs = compare_views.run("noise", setup(seeds=(0,)))
    by_noise = runs.groupby("noise_multiplier")["steps"].first()
    assert list(by_noise.index) == [5.0, 10.0, 20.0, 40.0, 80.0]
    assert by_noise.is_monotonic_increasing
    assert (runs["epsilon_upper"] <= 1.0).all()
    # sqrt(T)/sigma is fixed by epsilon: four times the steps at twice the noise, up to whole steps.
    assert by_noise[80.0] == pytest.approx(4 * by_noise[40.0], rel=0.03)


def test_fewer_rows_or_shifted_public_ones_leave_the_other_side_as_it_was():
    lines, _ = compare_views.run("few_rows", setup(seeds=(0,)))
    rows = lines[lines["method"] == "pillar"].sort_values("x")
    assert rows["n_private"].is_monotonic_increasing
    assert rows["n_public"].nunique() == 1
    assert rows["n_private"].iloc[0] == pytest.approx(0.05 * rows["n_private"].iloc[-1], abs=1)
    lines, runs = compare_views.run("shift", for_view("shift", seeds=(0,)))
    assert runs["n_private"].nunique() == 1
    assert set(lines["x"]) == {1.0}
    far = runs["public"].notna()
    assert set(runs.loc[far, "n_public"]) == {300}
    assert set(runs.loc[far, "method"]) == {"pillar", "adamix", "only_public"}
    refuses("another data set", compare_views.run, "shift", setup())
    _, runs = compare_views.run("shift", setup(seeds=(0,), other=elsewhere(classes=4)))
    far = runs[runs["public"].notna()].set_index("method")["error_message"]
    assert far["pillar"] is None or far.isna()["pillar"]
    assert "labelled public rows of the same classes" in far["adamix"]


def test_classes_get_rarer_and_the_rare_ones_are_asked_for(monkeypatch):
    monkeypatch.setattr(compare_views, "IMBALANCES", (1.0, 30.0))
    lines, runs = compare_views.run("imbalance", setup(seeds=(0, 1)))
    assert runs["error_message"].isna().all()
    known = lines.set_index(["method", "x"])
    assert known.loc[("dp_sgd", 30.0), "n_private"] < 0.5 * known.loc[("dp_sgd", 1.0), "n_private"]
    assert (lines["n_public"].nunique(), set(lines["seeds"])) == (1, {2})
    made = [
        thin_classes(
            pc.split(pc.load_dataset("digits"), public_fraction=0.1, seed=seed), 30.0, seed=seed
        )
        for seed in (0, 1)
    ]
    for split in made:
        counts = np.bincount(split.features.y_train[split.private], minlength=10)
        rare = rarest(10)
        assert set(rare) == set(np.argsort(counts)[:2])
        assert counts.max() / counts.min() == pytest.approx(
            30, rel=0.2
        )  # classes of digits differ by a few rows
    record = pc.run("non_private", made[0])
    own = runs[
        (runs["method"] == "non_private") & (runs["seed"] == 0) & (runs["imbalance"] == 30.0)
    ]
    assert own["rarest_accuracy"].item() == pytest.approx(
        np.mean([record.metrics["per_class"][c] for c in rarest(10)])
    )
    # The rarest classes lose at 30:1; all are alike at 1:1.
    assert known.loc[("dp_sgd", 30.0), "mean"] < known.loc[("dp_sgd", 1.0), "mean"]


def test_boosts_follow_the_definition():
    table = pd.DataFrame(
        {"method": ["non_private", "only_public", "adamix"] * 2, "seed": [0, 0, 0, 1, 1, 1], "x": 5}
    )
    table["accuracy"] = [0.9, 0.6, 0.8, 0.9, 0.8, 0.9]
    found = compare_views.boosts(table)
    assert found[1] == found[4] == 1.0
    assert found[2] == pytest.approx((0.9 - 0.6) / (0.9 - 0.8))
    assert math.isnan(found[0])
    assert math.isnan(found[5])


def test_a_partly_finished_view_says_how_many_seeds_each_place_has():
    view, own = COMPARE_VIEWS["public_share"], setup(seeds=(0, 1, 2))
    grid = compare_views.grids_of(view, own)[0]
    pc.sweep({**grid, "method": ["pillar"], "seed": [0]})
    pc.sweep({**grid, "method": ["dp_raft_pillar"], "seed": [0, 1]})
    lines = compare_views.lines(
        view, compare_views.table_of(compare_views.specs_of(view, own)), own
    )
    assert set(lines.loc[lines["method"] == "pillar", "seeds"]) == {1}
    assert set(lines.loc[lines["method"] == "dp_raft_pillar", "seeds"]) == {2}
    assert lines.loc[lines["method"] == "pillar", "low"].isna().all()


def test_printed_numbers_stand_beside_ours_only_where_names_match(tmp_path):
    features = pc.load_features(pc.load_dataset("digits"))
    arrays = {name: getattr(features, name) for name in ("x_train", "y_train", "x_test", "y_test")}
    found = {}
    for name in ("cifar10_resnet50_sl", "cifar10_inception"):
        path = tmp_path / f"{name}.npz"
        np.savez(path, **arrays)
        split = pc.split(pc.load_features(path), public_fraction=0.1)
        own = Setup({"dataset": split.features}, {"public_fraction": 0.1}, split, (0.1,), (0,))
        found[name], _ = compare_views.run("public_share", own)
    assert "published" not in found["cifar10_inception"]
    printed = found["cifar10_resnet50_sl"].set_index(["method", "x"])["published"]
    assert printed["pillar", 0.01] == pytest.approx(0.7993)
    assert math.isnan(printed["pillar", 0.2])
    assert math.isnan(printed["gep", 0.01])


def test_views_without_learners_that_fit_are_refused():
    split = pc.split(pc.load_dataset("digits"))
    with pytest.raises(errors.DataError, match="public rows"):
        compare_views.run("public_share", Setup({"dataset": "digits"}, {}, split, (1.0,), (0,)))


def test_the_command_draws_a_view_and_passes_settings_to_every_learner_that_has_them(tmp_path):
    output = tmp_path / "runs.csv"
    base = "compare --dataset digits --public-fraction 0.1 --epsilon 1 --seeds 1"
    assert "DP-SGD" in output_of(f"{base} --view few_rows --output {output}").out
    assert pd.read_csv(output)["validation_fraction"].nunique() == 5
    assert "another data set" in output_of(f"{base} --view shift", status=2).err
    assert run_command(f"{base} --view noise --methods pillar") == 2
    assert run_command(f"{base} --epsilon some") == 2
    arguments = (
        "compare --dataset digits --public-fraction 0.1 --methods pillar,only_public --set k=5"
    )
    assert run_command(f"{arguments} --epsilon 1 --seeds 1 --output {output}") == 0
    assert pd.read_csv(output).set_index("method")["k"]["pillar"] == 5
