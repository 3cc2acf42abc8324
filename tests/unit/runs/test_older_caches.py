"""A cache that another version of the library filled: read as what it is or left alone, never an
answer and never mixed into one."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

import pillar_core as pc
from pillar_core import accounting, store
from pillar_core.backbones import BACKBONES
from pillar_core.data import DATASETS
from pillar_core.jobs import api as jobs
from pillar_core.jobs.kind import JOB_KINDS
from pillar_core.jobs.state import Folder
from pillar_core.methods import METHODS
from pillar_core.methods.parts import descent
from pillar_core.registry import Registry
from pillar_core.runs import records, sweep
from pillar_core.store import entry

GRID = {
    "dataset": "digits",
    "backbone": "raw_pixels",
    "method": "noisy_gd",
    "epsilon": 1.37,
    "seed": [0, 1],
    "accountant": "rdp",
}
Patch = pytest.MonkeyPatch
pytestmark = pytest.mark.usefixtures("own_cache")


def _older(registry: Registry[Any], name: str, by: int = 1) -> Callable[[Patch], None]:
    """Has the item of this name say that it is an older version."""

    def patch(monkeypatch: Patch) -> None:
        item = registry[name]
        monkeypatch.setitem(
            registry._items, name, dataclasses.replace(item, version=item.version - by)
        )

    return patch


@pytest.mark.parametrize(
    "age",
    [
        lambda monkeypatch: monkeypatch.setattr(sweep, "ENGINE_VERSION", sweep.ENGINE_VERSION - 1),
        _older(METHODS, "noisy_gd"),
        _older(DATASETS, "digits"),
        _older(BACKBONES, "raw_pixels"),
        _older(accounting.ACCOUNTANTS, "rdp"),
    ],
    ids=["engine", "learner", "data", "backbone", "accountant"],
)
def test_records_of_another_version_answer_nothing_and_enter_no_mean(age, monkeypatch):
    with monkeypatch.context() as older:
        age(older)
        for cell in sweep.specs_of(GRID):
            (record,) = sweep.run_group([cell])
            key = sweep.run_key(cell)
            store.default().delete("record", key)
            store.default().put_json(
                "record", key, record | {"accuracy": 0.001, "metrics": {"accuracy": 0.001}}
            )
        records._row.cache_clear()
        assert len(records.all_runs()) == 2
    records._row.cache_clear()
    assert sweep.cached_records(sweep.specs_of(GRID)) == [None, None]
    answers = pc.sweep(GRID | {"seed": [1, 2]})
    assert (answers["accuracy"] > 0.1).all()
    (line,) = records.lines(records.all_runs()).to_dict("records")
    assert line["seeds"] == 2
    assert line["mean"] == pytest.approx(answers["accuracy"].mean())


@pytest.mark.parametrize("part", ["fit", "step", "copy"])
def test_an_engine_of_before_made_no_record_of_a_learner_from_elsewhere(part, monkeypatch):
    own = METHODS["noisy_gd"]
    parts = {
        "fit": {"fit": lambda *arguments: own.train(*arguments), "fit_many": None},
        "step": {
            "fit_many": descent.fit_many_with(
                descent.all_features, (), optimiser=lambda *_: lambda number, state, _: state
            )
        },
        "copy": {},  # which says our own version
    }
    mine = dataclasses.replace(own, name="mine", **parts[part])
    monkeypatch.setitem(METHODS._items, "mine", mine)
    (cell, _) = sweep.specs_of(GRID | {"method": "mine"})
    before = sweep.run_key(cell)
    monkeypatch.setattr(sweep, "ENGINE_VERSION_ELSEWHERE", 2)
    assert (sweep.run_key(cell) != before) == (part != "copy")


def test_public_rows_of_another_version_make_another_key(monkeypatch):
    (cell, _) = sweep.specs_of(GRID | {"public": "mnist"})
    before = sweep.run_key(cell)
    _older(DATASETS, "mnist", by=-1)(monkeypatch)
    assert sweep.run_key(cell) != before


def test_entries_in_another_form_are_missing(monkeypatch):
    with monkeypatch.context() as older:
        older.setattr(entry, "_MAGIC", "pillar-store-0")
        store.default().put_json("record", "a" * 32, {"accuracy": 0.001})
        assert store.default().get_json("record", "a" * 32) is not None
    assert store.default().get_json("record", "a" * 32) is None
    assert "counts as missing" in store.default().notes()[-1]
    assert store.default().put_json("record", "a" * 32, {"accuracy": 0.9})
    assert store.default().get_json("record", "a" * 32) == {"accuracy": 0.9}


@pytest.mark.parametrize("form", ["fewer fields", "more fields"])
def test_jobs_of_another_version_are_read_or_failed(form, monkeypatch):
    monkeypatch.setattr("pillar_core.jobs.api._start", lambda *_: None)
    spec = {"kind": "sweep", "grid": GRID | {"seed": [7]}}
    with monkeypatch.context() as older:
        _older(JOB_KINDS, "sweep")(older)
        before = jobs.submit(spec)
    file = Folder(store.default().root).jobs / before / "state.json"
    state = json.loads(file.read_text()) | {"state": "done", "of_tomorrow": 1}
    if form == "fewer fields":
        state = {name: state[name] for name in ("job_id", "kind", "state", "submitted")}
    file.write_text(json.dumps(state))
    assert jobs.status(before).state == ("done" if form == "fewer fields" else "failed")
    assert jobs.find(spec) is None
    after = jobs.submit(spec)
    assert after != before
    assert jobs.status(after).state == "queued"
