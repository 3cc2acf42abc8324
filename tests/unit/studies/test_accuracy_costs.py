"""What each part costs: stages add one part each, and differences of equal seed add up to what is lost."""

import dataclasses

import pytest

import pillar_core as pc
from pillar_core.studies.one_training import TITLES, accuracy_costs, has_parts, stages


@pytest.fixture(scope="module")
def split():
    return pc.split(pc.load_dataset("digits"), public_fraction=0.1)


def test_stages_end_at_the_run_itself_and_leave_out_parts_that_it_lacks(split):
    record = pc.run("pillar", split, epsilon=0.5, batch_size=256, steps=10)
    parts = stages(record)
    assert list(parts) == list(TITLES)
    assert parts["projection"] == {"method": "non_private", "k": record.settings["k"]}
    assert parts["sampling"] == parts["clipping"] | {"batch_size": 256}
    assert parts["noise"] == parts["sampling"] | {"noise_multiplier": record.settings["noise_multiplier"]}
    grid = {"dataset": split.features, "public_fraction": 0.1, "seed": 0}
    accuracies = {part: list(pc.sweep({**grid, **axes})["accuracy"]) for part, axes in parts.items()}
    assert accuracies["noise"] == [record.accuracy]
    table = accuracy_costs(accuracies)
    assert table["mean"].sum() == pytest.approx(1 - record.accuracy)
    assert table["low"].isna().all()
    assert list(stages(pc.run("dp_sgd", split, epsilon=1.0))) == ["features", "clipping", "noise"]
    record = pc.run("pillar", split, epsilon=1.0)
    whole = dataclasses.replace(record, settings={**record.settings, "k": record.facts.d})
    assert "projection" not in stages(whole)
    assert [has_parts(name) for name in ("pillar", "adamix", "non_private", "pate", "from_scratch")] == [True, True, False, False, False]


def test_costs_are_means_over_pairs_of_equal_seed():
    table = accuracy_costs({"features": [0.9, 0.8], "noise": [0.7, 0.6]}).set_index("part")
    assert table.loc["noise", "mean"] == pytest.approx(0.2)
    assert table.loc["noise", "low"] == pytest.approx(table.loc["noise", "high"])
    assert table.loc["features", ["mean", "left", "seeds"]].tolist() == pytest.approx([0.15, 0.85, 2])
