"""Imported records: refused where malformed, marked where shown, never an answer and never averaged with runs of this machine."""

from __future__ import annotations

import copy
import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.jobs.kinds import sweep as jobs_sweep
from pillar_core.runs import imported, records, sweep
from pillar_core.studies import feature_sets

GRID: dict[str, Any] = {"dataset": "digits", "method": "pillar", "epsilon": 1.37, "k": [5, 10], "public_fraction": 0.1, "seed": [0, 1]}


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four runs of another machine in one file, each of accuracy 1; the cache of this machine is empty."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "made"))
    pc.sweep(GRID)
    there, forged = store.default(), store.Store(tmp_path / "forged")
    for item in there.ls("record"):
        record = there.get_json("record", item.key)
        record["accuracy"] = record["metrics"]["accuracy"] = 1.0
        forged.put_json("record", item.key, record)
    forged.export(tmp_path / "runs.zip")
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "here"))
    return tmp_path / "runs.zip"


def test_they_are_shown_and_marked_and_answer_nothing(bundle: Path) -> None:
    assert imported.take(bundle).added == 4
    runs = records.all_runs()
    assert runs["origin"].tolist() == [imported.MARK] * 4
    assert records.lines(runs)["origin"].tolist() == [imported.MARK] * 2
    assert sweep.cached(sweep.cells(GRID)) == [None] * 4
    assert jobs_sweep.cached({"grid": GRID}) is None
    assert records.estimate(GRID, runs) | {"cached": 0, "seconds": 4 * records.SECONDS_A_RUN} == records.estimate(GRID, runs)
    assert (pc.sweep(GRID)["accuracy"] < 1).all()


def test_a_run_of_ones_own_takes_the_place_of_the_imported_one(bundle: Path) -> None:
    imported.take(bundle)
    pc.sweep(GRID | {"k": 5, "seed": 0})
    runs = records.all_runs()
    assert sorted(runs["origin"]) == [imported.MARK] * 3 + [imported.OWN]
    assert runs["key"].is_unique
    assert len(imported.among(sweep.cells(GRID))) == 3


def test_no_mean_mixes_them_with_own_runs(bundle: Path) -> None:
    pc.sweep(GRID | {"seed": [0, 2]})
    imported.take(bundle)
    lines = records.lines(records.all_runs()).set_index(["origin", "k"])
    assert lines["seeds"].to_dict() == {(imported.MARK, 5): 1, (imported.MARK, 10): 1, (imported.OWN, 5): 2, (imported.OWN, 10): 2}
    assert (lines.loc[imported.MARK, "mean"] == 1).all()
    assert (lines.loc[imported.OWN, "mean"] < 1).all()
    asked = {"method": "pillar", "epsilon": 1.37, "delta": 1e-5, "relation": "add_or_remove_one"}
    curves = feature_sets.curves_of_sets(records.all_runs(), **asked)
    assert set(curves["set"]) == {"digits, 10 % public", f"digits, 10 % public, {imported.MARK}"}


def test_their_settings_leave_as_grids_and_their_versions_are_named(bundle: Path) -> None:
    imported.take(bundle)
    keys = list(records.all_runs()["key"])
    assert sorted(grid["k"] for grid in records.grid_of(keys)) == [5, 10]
    assert records.versions_of(keys)[0]["pillar_core"] == pc.__version__


def test_a_file_of_ones_own_answers_when_the_person_says_so(bundle: Path) -> None:
    imported.take(bundle, trusted=True)
    assert records.all_runs()["origin"].tolist() == [imported.OWN] * 4
    assert (pc.sweep(GRID)["accuracy"] == 1).all()


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("cell",), {}, "method is missing"),
        (("cell", "method"), "none such", "no learner 'none such'"),
        (("cell", "settings"), {"group": "own"}, "not known here: group"),
        (("cell", "split"), {"split_seed": 0, "key": 1}, "not known here: key"),
        (("metrics", "group"), 0.5, "not known here: group"),
        (("metrics", "auc"), 7.0, r"outside \[0, 1\]"),
        (("metrics", "auc"), {"a": 1}, "no number"),
        (("accuracy",), -1, r"outside \[0, 1\]"),
        (("guarantee", "epsilon", "upper"), -2, "no number from 0"),
        (("cell", "settings", "k"), [5], "no number"),
        (("cell", "settings", "k"), 10**40, "too large"),
        (("cell", "split", "public"), {"a": []}, "no number"),
        (("seconds",), 10**400, "no number from 0"),
        (("facts", "n_private"), 10**40, "too large"),
        (("cell", "data", "backbone"), "onnx:/tmp/x.onnx", "names a file"),
        (("cell", "data", "backbone"), "open_clip:hf-hub:x/y", "names a file"),
        (("cell", "data", "backbone"), "timm:resnet18?weights=/etc/passwd", "names a file"),
        (("cell", "data", "dataset_settings"), {"root": "/etc"}, "names a file"),
    ],
    ids=str,
)
def test_malformed_ones_are_refused_with_the_reason(bundle: Path, tmp_path: Path, path: tuple[str, ...], value: Any, reason: str) -> None:
    made = store.Store(tmp_path / "forged")
    forged = copy.deepcopy(made.get_json("record", made.ls("record")[0].key))
    inner = forged
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    made.put_json("record", "forged", forged)
    made.export(tmp_path / "more.zip")
    report = imported.take(tmp_path / "more.zip")
    assert (report.added, len(report.refused)) == (4, 1)
    assert re.search(reason, report.refused[0])
    store.default().put_json(imported.KIND, "planted", forged)
    assert "planted" not in set(records.all_runs()["key"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("cell", "data", "dataset"), "\ud800"),
        (("cell", "data", "backbone"), "\ud800"),
        (("cell", "data", "dataset_settings"), {"a": "\ud800"}),
        (("guarantee", "accountant"), "\ud800"),
        (("versions",), {"numpy": "\ud800"}),
        (("cell", "data", "dataset_settings"), {"a": functools.reduce(lambda inner, _: {"a": inner}, range(900), 1)}),
    ],
    ids=["name", "backbone", "setting", "accountant", "version", "deep"],
)
def test_what_no_page_can_show_is_refused(bundle: Path, tmp_path: Path, path: tuple[str, ...], value: Any) -> None:
    """Written by hand: JSON holds halves of signs that no file or browser takes."""
    forged, (item, *_) = store.Store(tmp_path / "by hand"), store.Store(tmp_path / "forged").ls("record")
    record = store.Store(tmp_path / "forged").get_json("record", item.key)
    inner = record
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    store.entry.write_entry(forged.root, "record", item.key, lambda out: out.write(json.dumps(record).encode()))
    forged.export(tmp_path / "by_hand.zip")
    report = imported.take(tmp_path / "by_hand.zip")
    assert (report.added, len(report.refused)) == (0, 1)


def test_the_network_of_a_deep_learner_is_none_of_a_file(bundle: Path, tmp_path: Path) -> None:
    made = store.Store(tmp_path / "forged")
    deep = copy.deepcopy(made.get_json("record", made.ls("record")[0].key))
    deep["cell"] |= {"method": "from_scratch", "settings": {"network": "timm:resnet18?weights=/etc/passwd"}}
    deep["settings"] = {}
    assert "names a file" in imported.problem_of(deep)
    deep["cell"]["settings"]["network"] = "wrn_16_4"
    assert imported.problem_of(deep) == ""


def test_the_models_of_a_library_are_listed_once_for_all_records(bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timm = pytest.importorskip("timm")
    listed: list[object] = []
    whole = timm.list_models
    monkeypatch.setattr(timm, "list_models", lambda *rest, **more: listed.append(rest) or whole(*rest, **more))
    made = store.Store(tmp_path / "forged")
    record = made.get_json("record", made.ls("record")[0].key)
    for name in ("resnet18", "resnet34", "vit_tiny_patch16_224"):
        record["cell"]["data"]["backbone"] = f"timm:{name}"
        assert imported.problem_of(record) == ""
    assert len(listed) <= 1
