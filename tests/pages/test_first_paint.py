"""The first paint of Start and Curves comes from the starter: before torch is imported, before a
row is loaded."""

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pages.frame import core, odds
from pages.frame.settings import Settings
from pillar_core.runs import sweep

REPOSITORY = Path(__file__).resolve().parents[2]
HEAVY = {"torch", "opacus", "timm", "dask", "distributed", "sklearn"}
FIRST_PAINT = """
import json, sys
from streamlit.testing.v1 import AppTest
from pages.frame import core, warming
warming.begin = lambda: None  # what it imports is not what the paint needs
app = AppTest.from_file("app.py", default_timeout=600).run()
home = [item.proto.id for item in app.get("bidi_component") if "pulled" in item.proto.id]
before = sorted(sys.modules)
app.switch_page("pages/curves.py").run()
explore = [item.proto.id for item in app.get("bidi_component") if "chart" in item.proto.id]
metrics = [[item.label, item.value] for item in app.metric]
errors = [item.value for item in [*app.exception, *app.error]]
print(json.dumps([home, explore, before, sorted(sys.modules), metrics, errors, len(core._LOADED)]))
"""


def test_home_and_explore_are_drawn_without_torch_and_without_rows(tmp_path):
    home, explore, before, after, metrics, errors, loaded = _printed(FIRST_PAINT, tmp_path)
    assert errors == []
    assert [one.endswith("-hero-pulled") for one in home] == [True]
    assert [one.endswith("-chart-accuracy_against_k") for one in explore] == [True]
    assert not HEAVY & {name.partition(".")[0] for name in [*before, *after]}
    assert loaded == 0
    accuracy, epsilon = metrics[:2]
    assert accuracy[0].startswith("Test accuracy")
    assert epsilon[0].startswith("ε")
    record = core.find(Settings())
    assert record is not None
    assert record.accuracy is not None
    assert accuracy[1] == f"{100 * record.accuracy:.1f} %"


def test_what_ships_says_what_the_rows_say_and_holds_the_run_that_explore_opens_with(start):
    settings = Settings()
    start("start")
    shipped = core.find(settings)
    assert shipped is not None
    facts = core.facts(settings)
    largest = core.largest_k(settings)
    rows = core.n_test(settings)
    whole = sweep.read_or_run(core.spec(settings), core.split(settings))
    assert dataclasses.replace(whole.facts, extra={}) == facts
    assert core.largest_k(settings) == largest
    assert rows == len(core.features(settings).y_test)
    assert odds.table(whole).equals(odds.table(shipped))
    record = core.find(Settings())
    assert record is not None, (
        "starter.COMPARISON must hold the run of the default settings: `python -m pillar_core"
        " starter` trains it"
    )
    assert record.guarantee.epsilon.upper <= Settings().epsilon


def test_k_ends_at_the_rank_of_few_features_before_a_row_is_loaded_too(monkeypatch):
    """Digits have 64 pixels, some of which never change: the curves' last k was another one once
    rows were loaded."""
    settings = Settings(data="digits", k=10)
    monkeypatch.setattr(core, "_LOADED", set())
    assert core.find(settings) is not None
    assert core.largest_k(settings) == len(core.spectrum(settings)) < 64


def _printed(code: str, cache: Path) -> Any:
    environment = os.environ | {"PILLAR_CACHE": str(cache / "cache"), "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=environment,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
