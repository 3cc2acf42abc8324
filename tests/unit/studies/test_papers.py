"""Published numbers: the facts file, the grids, and our runs laid beside them."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import served_files

import pillar_core as pc
from pages.frame.navigation import PAGES
from pillar_core.data import downloading
from pillar_core.errors import DataError, SettingError
from pillar_core.runs import sweep
from pillar_core.studies import papers
from users import output_of, raises, run_command

RUNNABLE = [(name, dataset) for name, table in papers.TABLES.items() for dataset in table.datasets]


pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def features(tmp_path):
    """A file of easy features with ten classes."""
    generator = np.random.default_rng(7)
    labels = np.arange(1200) % 10
    rows = (generator.normal(size=(1200, 24)) + 4 * np.eye(10, 24)[labels]).astype(np.float32)
    path = tmp_path / "cifar10_resnet50_sl.npz"
    np.savez(
        path, x_train=rows[:1000], y_train=labels[:1000], x_test=rows[1000:], y_test=labels[1000:]
    )
    return str(path)


def test_the_catalogue_has_every_table_under_names_that_we_have():
    facts = papers.facts()
    assert len(facts) > 300
    is_distance = facts["metric"].isin(papers.DISTANCES)
    assert facts.loc[~is_distance, "published"].between(0, 1).all()
    assert set(facts.loc[is_distance, "table"]) == {
        "1",
        "2",
        "3",
        "4",
        "10",
        "11a",
        "11b",
        "12",
        "13a",
        "13b",
        "14",
        "15",
        "16",
    }
    assert set(facts["method"]) - {""} <= set(pc.METHODS)
    assert ((facts["method"] == "") == (facts["other_method"] != "")).all()
    assert not facts.duplicated(
        [
            "paper",
            "table",
            "dataset",
            "backbone",
            "public",
            "method",
            "other_method",
            "epsilon",
            "metric",
        ]
    ).any()
    items = papers.catalogue()
    assert not items.duplicated(["paper", "item"]).any()
    assert set(items["how"]) == {"run", "page", "no"}
    assert set(items.loc[items["how"] == "run", "where"]) == set(papers.TABLES)
    assert (items.loc[items["how"] == "no", "words"] != "").all()
    assert set(items.loc[items["how"] == "page", "where"]) <= {title for _, title, _ in PAGES}
    printed = {
        (paper, f"Table {table}")
        for paper, table in zip(facts["paper"], facts["table"], strict=True)
    }
    assert printed <= set(zip(items["paper"], items["item"], strict=True))
    for paper, item in printed:
        assert not papers.numbers(paper, item).empty


def test_the_catalogue_leaves_nothing_out_that_the_shared_facts_list(shared):
    listed = json.loads((shared / "papers" / "paper_tables.json").read_text())
    names = {
        "000_PILLAR": "pillar",
        "001_AdaMix": "adamix",
        "002_GSD": "gsd",
        "003_SemiPrivate": "semi_private",
        "004_poster": "poster",
    }
    tables = [
        (row["paper"], f"Table {row['table']}")
        for row in [*listed["records"], *listed["symbolic_tables"]]
    ]
    figures = [(row["paper"], f"Figure {row['figure']}") for row in listed["figures"]]
    wanted = {
        (names[paper], item)
        for paper, item in (*tables, *figures)
        if "text" not in item and "box" not in item
    }
    items = papers.catalogue()
    assert wanted - set(zip(items["paper"], items["item"], strict=True)) == set()


def test_known_numbers_are_found_and_other_public_rows_get_none():
    table = papers.published("pillar-table-2", dataset="CIFAR-10").set_index(["method", "epsilon"])[
        "published"
    ]
    assert table["pillar", 0.1] == pytest.approx(0.812)
    assert table["dp_sgd", 0.1] == pytest.approx(0.768)
    flowers = papers.published("adamix-table-1", dataset="Oxford Flowers").set_index(
        ["method", "epsilon"]
    )["published"]
    assert flowers["non_private", math.inf] == pytest.approx(1 - 0.1234)
    published = papers.published("pillar-table-3", dataset="CIFAR-10")
    runs = pd.DataFrame(
        {
            "method": "pillar",
            "epsilon": [0.1],
            "accuracy": [0.8],
            "public_fraction": 0.1,
            "seed": 0,
            "error_message": None,
        }
    )
    table = papers.beside("pillar-table-3", runs, dataset="CIFAR-10")
    assert len(table) == len(published)
    assert table.loc[table["public"] == "CIFAR-10v1", "measured"].isna().all()
    assert table.loc[table["public"] == "10 %", "measured"].eq(0.8).all()
    raises(SettingError, "CIFAR-10, GTSRB", papers.grid, "pillar-table-4", dataset="MNIST")
    raises(SettingError, "from 1; got 0", papers.grid, "pillar-table-4", dataset="GTSRB", seeds=0)


@pytest.mark.parametrize(("name", "dataset"), RUNNABLE)
def test_every_grid_is_one_that_a_sweep_takes(name, dataset):
    grid = papers.grid(name, dataset=dataset)
    cells = sweep.specs_of(grid)
    assert {cell.method for cell in cells} == set(grid["method"])
    assert {cell.data["dataset"] for cell in cells} == {papers.STAND_IN}
    assert {cell.seed for cell in cells} == {0, 1}
    assert all(
        "public_fraction" in cell.split or "public_per_class" in cell.split for cell in cells
    )


def test_our_runs_stand_beside_published_ones_alone_or_without_a_number(features):
    table = papers.run("pillar-table-4", dataset="CIFAR-10", data=features, seeds=1)
    assert len(table) == 3, "those of the ResNet-50 that was trained with labels"
    assert (table["seeds"] == 1).all()
    assert table["difference"].to_numpy() == pytest.approx(
        (table["measured"] - table["published"]).to_numpy()
    )
    grid = papers.grid("pillar-figure-4", dataset="CIFAR-10", data=features, seeds=1)
    runs = sweep.sweep(grid | {"k": [2, 5], "epsilon": [0.7]})
    table = papers.beside("pillar-figure-4", runs, dataset="CIFAR-10")
    assert table["k"].tolist() == [2, 5]
    assert table["measured"].between(0, 1).all()
    runs = sweep.sweep(grid | {"k": [5, 2048], "epsilon": [0.7]})
    table = papers.beside("pillar-figure-4", runs, dataset="CIFAR-10").set_index("k")
    assert table["seeds"].to_dict() == {5: 1, 2048: 0}
    assert math.isnan(table["measured"][2048])


def test_tuned_runs_are_those_that_are_best_on_validation_rows(features):
    name, asked = "pillar-table-4", {"dataset": "CIFAR-10", "data": features, "seeds": 1}
    (grid,) = papers.grids(name, **asked, tuned=True).values()
    runs = sweep.sweep(grid)
    best = papers.best_on_validation(name, runs)
    highest = runs.groupby("public_fraction")["validation_accuracy"].max()
    assert best.groupby("public_fraction")["validation_accuracy"].min().equals(highest)
    table = papers.run(name, **asked, tuned=True)
    assert sorted(table["measured"]) == pytest.approx(sorted(best["accuracy"]))
    assert (
        "not differentially private"
        in output_of(f"papers run {name} --data CIFAR-10={features} --seeds 1 --tuned").err
    )
    assert not papers.price_words(papers.grid(name, **asked))


@pytest.mark.parametrize("name", ["cifar10.npz", "cifar10_resnet50.npz", "digits_resnet50_sl.npz"])
def test_numbers_of_other_features_are_not_subtracted(features, tmp_path, name):
    """A table of two backbones compared one file with both, and generated rows with a paper's."""
    (tmp_path / name).write_bytes(Path(features).read_bytes())
    for data in (str(tmp_path / name), None):
        (backbone,) = papers.grids("pillar-table-4", dataset="CIFAR-10", data=data, seeds=1)
        assert backbone == ""
    grid = papers.grid("pillar-table-4", dataset="CIFAR-10", seeds=1)
    runs = sweep.table(sweep.run_group(sweep.group_specs(grid)[0]))
    assert "difference" not in papers.beside("pillar-table-4", runs, dataset="CIFAR-10")


def test_command_and_page_ask_for_the_same_runs_of_each_backbone():
    """None of the 90 runs of Table II was found again on the page."""
    grids = papers.grids("pillar-table-2", dataset="CIFAR-10", data=papers.source("CIFAR-10"))
    assert {words: grid["backbone"] for words, grid in grids.items()} == {
        "ResNet-50 SL": "timm:resnet50.tv_in1k"
    }
    with pytest.raises(DataError, match="BYOL are on no hub"):
        papers.grids("pillar-table-2", dataset="PCAM", data=papers.source("PCAM"))


@pytest.mark.parametrize(("dataset", "shots"), [("Oxford Flowers", 2), ("Stanford Dogs", 5)])
def test_figures_of_adamix_have_the_shots_of_its_appendix(dataset, shots):
    assert papers.grid("adamix-figure-7", dataset=dataset)["public_per_class"] == shots


def test_adamix_tables_get_a_verdict():
    grid = papers.grid("adamix-table-1", dataset="MIT-67", seeds=1)
    methods = ["noisy_gd", "adamix", "only_public"]
    runs = pd.DataFrame(
        [
            {"method": name, "epsilon": epsilon, "seed": seed, "accuracy": 0.1 * place}
            for place, name in enumerate(methods)
            for epsilon in (*grid["epsilon"], 0.0)
            for seed in (0, 1)
        ]
    ).assign(public_per_class=grid["public_per_class"])
    table = papers.beside("adamix-table-1", runs, dataset="MIT-67")
    assert {"best", "same"} <= set(table["order"])
    assert "the order is the paper's in" in papers.order_words(table, rows="MIT-67")


def test_an_order_is_told_apart_by_paired_seeds():
    """Student's 97.5 % quantile at two degrees of freedom is 4.303: GEP's difference is 0.02 ±
    0.0124."""
    published = pd.DataFrame(
        {"backbone": "net", "epsilon": 0.1, "method": ["pillar", "gep", "jl", "dp_sgd", "pate"]}
    )
    published = published.assign(
        published=[0.9, 0.8, 0.7, 0.6, 0.5], measured=[0.5, 0.48, 0.6, 0.5, math.nan]
    )
    seeds = {
        "pillar": [0.4, 0.5, 0.6],
        "gep": [0.385, 0.475, 0.58],
        "jl": [0.5, 0.6, 0.7],
        "dp_sgd": [0.5, 0.5, 0.5],
    }
    lines = [
        (name, 0.1, seed, value, 0.1)
        for name, values in seeds.items()
        for seed, value in enumerate(values)
    ]
    runs = pd.DataFrame(lines, columns=["method", "epsilon", "seed", "accuracy", "public_fraction"])
    table = papers._with_order(published, runs)
    assert list(table["order"]) == ["best", "same", "opposite", "not told apart", ""]
    said = papers.order_words(table, rows="MNIST")
    assert (
        said
        == "On MNIST, the order is the paper's in 1 of 3 comparisons with its best learner, not"
        " told apart in 1, opposite in 1 (JL (random projection) at ε = 0.1)."
    )
    assert papers.compare_order(pd.Series([0.3])) == "not told apart"
    assert papers.order_words(table.assign(order=""), rows="MNIST") == ""


def test_getting_a_table_says_what_it_costs_and_then_runs_its_parts(tmp_path, monkeypatch, capsys):
    """From the table's name as the paper prints it: a dry run, then an OpenML table from the
    loopback, laid beside the paper's numbers."""
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    served_files.without_proxies(monkeypatch)
    told = output_of("papers run pillar:table-ii --get --dry-run").err
    assert re.search(
        r"CIFAR-10, ResNet-50 SL: torchvision:cifar10 to fetch, .* MB; .*60000 images through"
        r" timm:resnet50.tv_in1k; 90 runs, 0",
        told,
    )
    assert "Dermnet: left out. weights of ResNet-50 BYOL are on no hub" in told
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{'yes' if a > 0 else 'no'}" for a, b in rng.normal(size=(400, 2))]
    head = (
        "@relation r\n@attribute V1 numeric\n@attribute V2 numeric\n@attribute class {yes,"
        " no}\n@data\n"
    )
    arff = (head + "\n".join(lines) + "\n").encode()
    with served_files.serving(served_files.openml(41161, "riccardo", arff)) as server:
        monkeypatch.setenv(downloading.MIRROR_VARIABLE, server.address)
        assert run_command("papers run pillar:table-viii-left --get --seeds 1") == 0
    told = capsys.readouterr()
    assert "openml:riccardo to fetch" in told.err
    assert "measured" in told.out
    assert "On Riccardo, the order is the paper's in" in told.out


@pytest.mark.parametrize(
    ("features_name", "backbone", "datasets"),
    [
        ("cifar10_resnet50", None, {"CIFAR-10"}),
        ("cifar-10", "resnet-50", {"CIFAR-10"}),
        ("CIFAR-100", "resnet50", {"CIFAR-100"}),
        ("cifar10", "inception", set()),
        ("digits", "resnet50", set()),
        ("", None, set()),
    ],
)
def test_published_values_are_found_by_data_set_and_backbone(features_name, backbone, datasets):
    assert set(papers.matching(features_name, backbone)["dataset"]) == datasets


def test_the_commands(features, tmp_path):
    assert "pillar-table-2" in output_of("papers list").out
    assert "81.21" in output_of("papers show pillar-table-4").out
    assert run_command("papers show pillar-figure-4") == 0
    told = output_of("papers show 'gsd, Table 1'").out
    assert "68.93" in told
    assert "published distances" in told
    assert "27.47" in output_of("papers show 'poster, Table -'").out
    output = tmp_path / "out.csv"
    arguments = f"papers run pillar-table-4 --data CIFAR-10={features} --seeds 1 --output {output}"
    assert run_command(arguments) == 0
    assert set(pd.read_csv(output)["rows"]) == {"CIFAR-10"}
    assert "DATASET=NAME" in output_of("papers run pillar-table-4 --data CIFAR-10", status=2).err
