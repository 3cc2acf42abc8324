"""Each of the six things to try shows what its sentence promises, from the records that ship."""

from pathlib import Path

import pandas as pd
import pytest

from pages.frame.settings import Settings
from pages.parts.curves import grid
from pillar_core.plots import intervals
from pillar_core.plots.intervals import best, runs_without_k
from pillar_core.registry import toml_tables
from pillar_core.runs import starter

pytestmark = pytest.mark.usefixtures("start")
PRESETS = {
    preset["name"]: preset for preset in toml_tables(Path("pages/start.toml").resolve())["presets"]
}


def means(name: str) -> tuple[pd.DataFrame, float]:
    """PILLAR's curve at the preset's ε, and the accuracy without projection there."""
    settings = Settings(**PRESETS[name]["changes"])
    table = grid.read(settings).table
    floor = table[(table["method"] == intervals.FLOOR) & (table["epsilon"] == settings.epsilon)]
    return intervals.by_budget(table, "pillar")[settings.epsilon].set_index("k"), float(
        floor["accuracy"].mean()
    )


def test_presets_show_what_their_names_say():
    curve, floor = means("many")
    assert abs(curve["mean"].max() - floor) < 0.005
    curve, _ = means("few")
    assert curve["mean"].idxmax() not in (3, 40)
    assert curve.loc[3, "high"] < curve["mean"].max()
    assert curve.loc[40, "mean"] < curve["mean"].max() - 0.03
    budgets = intervals.by_budget(
        grid.read(Settings(**PRESETS["ridge"]["changes"])).table, "pillar"
    )
    tops = [best(curve)["k"] for _, curve in sorted(budgets.items())]
    assert tops == sorted(tops)
    assert tops[0] < tops[-1]
    table = grid.read(Settings(**PRESETS["xrays"]["changes"])).table
    assert runs_without_k(table, intervals.CEILING)["seed"].nunique() == 3


@pytest.mark.parametrize("dataset", starter.OPENING_K)
def test_every_set_of_images_that_ships_opens_with_curves(dataset):
    measured = grid.read(Settings(data=dataset))
    assert measured.seeds == (3, 3)
    assert set(measured.table["method"]) == {"pillar", "dp_sgd", "non_private", "only_public"}


@pytest.mark.parametrize("dataset", ["breast_cancer", "python_docs", "disjunctions"])
def test_a_set_that_ships_without_records_opens_with_curves_that_it_trains(start, dataset):
    app = start("curves", data=dataset)
    measured = grid.read(Settings(data=dataset))
    assert measured.seeds is not None, (
        "the first group of runs is trained however slow the machine is"
    )
    assert any("chart" in item.proto.id for item in app.get("bidi_component"))
