"""Sweeps: axes, grouping, the cache, refusals."""

import dataclasses
import json
import logging
import math
import time
from unittest import mock

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import errors, store
from pillar_core.commands.sweep import read_grids
from pillar_core.data import uploads
from pillar_core.errors import SettingError
from pillar_core.jobs.kinds import sweep as jobs_sweep
from pillar_core.runs import records, sweep
from pillar_core.runs import sweep as sweeping
from pillar_core.runs.tables import refusal_json
from pillar_core.studies import geometry
from pillar_core.studies.screening.answers import Ask
from pillar_core.types import Dataset, RunSpec
from users import raises, refuses, table_of

GRID = {
    "dataset": "digits",
    "public_fraction": 0.1,
    "method": ["pillar", "dp_sgd"],
    "k": [5, 10],
    "epsilon": [0.5, "inf"],
    "seed": [0, 1],
}


pytestmark = pytest.mark.usefixtures("own_cache")


def test_cells_multiply_by_their_own_axes_keep_their_key_and_train_together():
    cells = sweeping.specs_of(GRID)
    assert sum(cell.method == "pillar" for cell in cells) == 8
    assert sum(cell.method == "dp_sgd" for cell in cells) == 4
    assert {cell.epsilon for cell in cells} == {0.5, math.inf}
    for cell in sweeping.specs_of(
        {**GRID, "dataset_settings": {"n": 5}, "preset": "paper", "seed": [0, None]}
    ):
        again = RunSpec(**json.loads(json.dumps(cell.form)))
        assert (again, sweeping.run_key(again)) == (cell, sweeping.run_key(cell))
    asked = RunSpec.of("pillar", epsilon=2.0, seed=None, k=5, steps=3)
    assert asked == RunSpec("pillar", epsilon=2.0, seed=None, settings={"k": 5, "steps": 3})
    groups = sweeping.group_specs(GRID)
    assert sorted(len(group) for group in groups) == [2, 2, 4, 4]


def test_groups_of_one_split_follow_each_other_and_rows_are_read_once(monkeypatch):
    groups = sweeping.group_specs({**GRID, "seed": [0, 1, 2]})
    splits = [group[0].split["split_seed"] for group in groups]
    assert splits == sorted(splits)
    read = []
    load = sweeping.splitting.load_named_features
    monkeypatch.setattr(
        sweeping.splitting, "load_named_features", lambda *names: read.append(names) or load(*names)
    )
    sweeping._rows.clear()
    pc.sweep({**GRID, "epsilon": 0.5, "k": 5, "seed": [0, 1, 2]})
    assert len(read) == 1


def test_the_table_holds_what_single_runs_give_and_is_not_run_again(monkeypatch):
    table = pc.sweep(GRID)
    assert len(table) == 12
    row = table[
        (table.method == "pillar") & (table.k == 10) & (table.epsilon == 0.5) & (table.seed == 1)
    ].iloc[0]
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1, seed=1)
    single = pc.run("pillar", split, epsilon=0.5, k=10, seed=1)
    assert row.accuracy == pytest.approx(single.accuracy)
    assert row.epsilon_upper == single.guarantee.epsilon.upper
    first = pc.sweep(GRID)
    monkeypatch.setattr(
        sweeping.run, "run_many", lambda *_: pytest.fail("a cached cell was trained")
    )
    again = pc.sweep(GRID)
    assert first.equals(again)


@pytest.mark.parametrize(
    "method", ["pillar", "pillar_one_shot", "adamix", "pate", "non_private", "only_public"]
)
def test_a_record_from_the_store_is_the_record_of_the_run(method):
    cell = sweeping.specs_of(
        {**GRID, "method": [method, "pillar"], "k": None, "epsilon": 2.0, "seed": 0}
    )[0]
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1, seed=0)
    trained = sweeping.run.run_spec(cell, split)
    stored, again = (sweeping.read_or_run(cell, split) for _ in range(2))
    assert stored == again == dataclasses.replace(trained, diagnostics={}, seconds=stored.seconds)
    assert stored.classifier is None
    found = sweeping.find(sweeping.run_key(cell))
    assert found == dataclasses.replace(stored, data="")


@pytest.fixture
def table_file(tmp_path, monkeypatch):
    """Writes n rows of a table into the one file that `openml:mine` stands for."""
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    (tmp_path / "data" / "openml-mine").mkdir(parents=True)

    def write(n):
        (tmp_path / "data" / "openml-mine" / "mine.csv").write_text(table_of(n))

    return write


TABLE = {
    "dataset": "openml:mine",
    "method": "dp_sgd",
    "noise_multiplier": 2.0,
    "batch_size": 40,
    "steps": 50,
    "public_fraction": 0.1,
}


def test_a_changed_file_under_a_name_is_trained_anew(table_file):
    """A table's file of 3,000 rows that became one of 300 under its name kept ε ≤ 0.372 where 4.611
    is spent."""
    rows, other_keys = {}, set()
    for n in (3000, 300, 3000):
        table_file(n)
        rows.setdefault(n, []).append(pc.sweep(TABLE).iloc[0])
        other_keys.add(geometry.task_key(geometry.payload("openml:mine", public_fraction=0.1)))
        other_keys.add(Ask("energy", "digits", ("openml:mine",)).key)
        (cell,) = sweeping.specs_of(TABLE)
        split = sweeping.split_of(cell.data, cell.split)
        again = pc.run(
            "dp_sgd", split, noise_multiplier=2.0, batch_size=40, steps=50, chosen_beforehand=True
        )
        assert sweeping.read_or_run(cell, split).guarantee == again.guarantee
    assert (rows[3000][0].n_private, rows[300][0].n_private) == (2160, 216)
    assert rows[300][0].epsilon_upper > 5 * rows[3000][0].epsilon_upper
    assert rows[3000][1].accuracy == rows[3000][0].accuracy
    assert len(other_keys) == 6


def test_a_file_that_changes_while_its_rows_train_gets_no_record_of_them(table_file, monkeypatch):
    train = sweeping.run.run_many

    def trained(solved, split):
        table_file(300)
        return train(solved, split)

    table_file(3000)
    (task,) = jobs_sweep.split({"grid": TABLE})
    with monkeypatch.context() as patch:
        patch.setattr(sweeping.run, "run_many", trained)
        (old,) = jobs_sweep.keep(task, jobs_sweep.run(task, lambda *_: None, lambda: False))
    (new,) = jobs_sweep.keep(task, jobs_sweep.run(task, lambda *_: None, lambda: False))
    assert [
        store.default().get_json("record", key)["facts"]["n_private"] for key in (old, new)
    ] == [2160, 216]
    assert jobs_sweep.cached({"grid": TABLE}) is None
    table = records.all_runs()
    assert sorted(table.n_private) == [216, 2160]
    assert table.group.nunique() == 2


def test_a_folder_that_cannot_be_looked_at_in_whole_answers_for_its_own_rows(table_file, tmp_path):
    """What lies beside the rows, or behind a link, hid that they had changed."""
    folder = tmp_path / "data" / "openml-mine"
    other = tmp_path / "elsewhere"
    table_file(3000)
    folder.rename(other)
    folder.symlink_to(other)
    (other / "lost+found").mkdir()
    (other / "lost+found").chmod(0)
    states = []
    for n in (3000, 300):
        table_file(n)
        states.append(pc.data.state_of(str(folder)))
        assert pc.sweep(TABLE).iloc[0].n_private == 0.72 * n
    assert len({*states, ""}) == 3


def test_a_refusal_is_kept_of_the_file_that_was_refused(table_file):
    grid = {**TABLE, "method": "pillar", "k": 3, "public_fraction": None, "public_per_class": 20}
    for n, is_refused in ((30, True), (3000, False)):
        table_file(n)
        try:
            assert is_refused == isinstance(pc.sweep(grid).iloc[0].error_message, str)
        except errors.DataError:
            assert is_refused


def test_a_cell_that_cannot_run_is_a_row_with_its_reason_and_is_not_tried_again(split, monkeypatch):
    grid = {**GRID, "method": "pillar", "k": [5, 400], "seed": 0}
    first = pc.sweep(grid)
    failed = first[first.error_message.notna()]
    assert set(failed.k) == {400}
    assert all("k must be at most" in message for message in failed.error_message)
    assert first[first.k == 5].accuracy.notna().all()
    (cell,) = sweeping.specs_of(grid | {"k": 400, "epsilon": 0.5})
    for _ in range(2):
        raises(errors.DataError, "k must be at most", sweeping.read_or_run, cell, split)
    assert sweeping.find(sweeping.run_key(cell)) is None
    monkeypatch.setattr(
        sweeping.run, "solve_spec", lambda *_: pytest.fail("a refused cell was tried again")
    )
    assert pc.sweep(grid).equals(first)
    refused = [
        record for record in sweeping.cached_records(sweeping.specs_of(grid)) if record.get("error")
    ]
    assert {record["cause"] for record in refused} == {"DataError"}
    assert all(record["versions"]["pillar_core"] == pc.__version__ for record in refused)


def test_what_a_full_disk_or_a_missing_package_refuses_is_tried_again(monkeypatch):
    grid = {**GRID, "method": "pillar", "k": 5, "seed": 0}

    def refuse(*_):
        raise errors.MissingDependencyError("opacus is not installed.")

    with monkeypatch.context() as patch:
        patch.setattr(sweeping.run, "solve_spec", refuse)
        assert pc.sweep(grid).error_message.notna().all()
    assert pc.sweep(grid).error_message.isna().all()


def test_a_missing_device_or_file_is_no_result_and_stores_that_hold_one_heal(
    monkeypatch, own_cache, tmp_path
):
    """It was stored, counted, exported, and kept good records of the same runs out."""
    grid, good = {**GRID, "method": "pillar", "k": 5, "seed": 0}, tmp_path / "good.zip"
    specs = sweeping.specs_of(grid)
    monkeypatch.setenv("PILLAR_DEVICE", "cuda:99")
    assert pc.sweep(grid).error_message.str.contains("CUDA devices here").all()
    cache = store.default()
    assert not cache.ls("record")
    monkeypatch.delenv("PILLAR_DEVICE")
    assert pc.sweep(grid).error_message.isna().all()
    keys = sweeping.run_keys(specs)
    assert cache.export(good) == len(keys)
    for key, spec in zip(keys, specs, strict=True):  # as the library stored them once
        cache.delete("record", key)
        refusal = errors.SettingError(
            "PILLAR_DEVICE is 'cuda' and torch sees 0 CUDA devices here; set it to cpu or auto."
        )
        cache.put_json("record", key, refusal_json(refusal, spec, features="digits"))
    assert not any(cache.has("record", key) for key in keys)
    assert records.estimate(grid, records.all_runs())["cached"] == 0
    assert cache.export(tmp_path / "bad.zip") == 0
    report = cache.import_(good)
    assert (report.added, report.present) == (len(keys), 0)
    assert pc.sweep(grid).error_message.isna().all()


@pytest.mark.parametrize("content", [None, b"no weights"])
def test_a_network_whose_weights_are_not_here_is_refused_and_tried_again(tmp_path, content):
    pytest.importorskip("timm", reason="no network to fill")
    file = tmp_path / "weights.safetensors"
    if content is not None:
        file.write_bytes(content)
    network = f"timm:mobilenetv2_100?weights={file}"
    grid = {"dataset": "digits", "method": "private_fine_tuning", "network": network, "steps": 2}
    grid |= {"public_fraction": 0.1, "epsilon": 1.0}
    assert pc.sweep(grid).error_message.str.contains("weights").all()
    assert not store.default().ls("record")


def test_one_refusal_in_training_spoils_no_other_run(monkeypatch):
    train = sweeping.run.run_many

    def refuse_five(solved, split):
        if any(one.settings.k == 5 for one in solved):
            raise errors.DataError("k = 5 does not train today.")
        return train(solved, split)

    monkeypatch.setattr(sweeping.run, "run_many", refuse_five)
    table = pc.sweep({**GRID, "method": "pillar", "seed": 0})
    assert set(table[table.error_message.notna()].k) == {5}
    assert table[table.k == 10].accuracy.notna().all()


def test_a_spending_that_was_not_declared_stops_the_sweep(monkeypatch):
    def overspent(*_):
        raise errors.LedgerError("pillar declared one release and spent two.")

    monkeypatch.setattr(sweeping.run, "run_many", overspent)
    with pytest.raises(errors.LedgerError):
        pc.sweep({**GRID, "method": "pillar", "seed": 0})


def test_records_say_what_made_them_and_releases_are_never_stored(own_cache):
    pc.sweep({**GRID, "method": "pillar", "k": 5, "epsilon": 0.5, "seed": None, "split_seed": 0})
    assert not [path for path in (own_cache / "record").rglob("*") if path.is_file()]
    grid = {**GRID, "method": "pillar", "k": 5, "seed": 0}
    pc.sweep(grid)
    assert [path for path in (own_cache / "record").rglob("*") if path.is_file()]
    for record in sweeping.cached_records(sweeping.specs_of(grid)):
        assert record["versions"]["pillar_core"] == pc.__version__
        assert {"source", "Python", "numpy", "torch"} <= set(record["versions"])


def test_unknown_axes_and_half_a_sign_are_refused_in_our_words():
    raises(errors.SettingError, "kk", pc.sweep, {**GRID, "kk": 3})
    raises(errors.SettingError, "needs method", pc.sweep, {"dataset": "digits"})
    raises(errors.UnknownNameError, "method", pc.sweep, {**GRID, "method": "magic"})
    with pytest.raises(errors.PillarError):
        pc.sweep({"dataset": "\ud800", "method": "pillar", "epsilon": 1.0})
    raises(
        errors.PillarError,
        "half a sign",
        pc.features,
        np.ones((4, 2)),
        ["\ud800", "b", "\ud800", "b"],
        np.ones((2, 2)),
        ["\ud800", "b"],
    )


def test_given_features_are_swept_without_a_name_and_by_their_shape():
    features = pc.load_features(pc.load_dataset("breast_cancer"))
    table = pc.sweep(
        {
            "dataset": features,
            "public_fraction": 0.2,
            "method": "pillar",
            "epsilon": 1.0,
            "k": [2, 4],
        }
    )
    assert table.accuracy.notna().all()
    split = pc.split(features, public_fraction=0.2)
    assert (
        pc.sweep({"dataset": split, "method": "pillar", "epsilon": 1.0, "k": 2})
        .accuracy.notna()
        .all()
    )
    pixels = np.random.default_rng(0).integers(256, size=(40, 144), dtype=np.uint8)
    labels = np.arange(40) % 2
    shapes = [(12, 12), (8, 18), (18, 8)]
    sets = [
        pc.load_features(Dataset("b", pixels.reshape(40, *shape), labels, None, None, ("a", "b")))
        for shape in shapes
    ]
    for given in (sets, [pc.split(one, public_fraction=0.5) for one in sets]):
        cells = [
            sweeping.specs_of({"dataset": one, "method": "from_scratch", "epsilon": 1.0})[0]
            for one in given
        ]
        assert len({sweeping.run_key(cell) for cell in cells}) == 3
        assert cells[0].data["dataset"] == f"given:{given[0].fingerprint}"
    seen = []
    pc.sweep(GRID, progress=lambda done, total, message: seen.append((done, total)))
    assert seen[-1] == (12, 12)


BOMB = "a0: &a0 [1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 7)
)


def test_grids_are_counted_before_they_are_built_and_yaml_that_repeats_itself_refused(tmp_path):
    (tmp_path / "grid.yaml").write_text(BOMB)
    refuses("alias", read_grids, str(tmp_path / "grid.yaml"))
    grid = {
        "dataset": "digits",
        "method": "pillar",
        "epsilon": 1.0,
        "k": list(range(1, 1001)),
        "seed": list(range(30)),
    }
    start = time.monotonic()
    raises(SettingError, r"30,000 runs.*at most", sweep.specs_of, grid)
    assert time.monotonic() - start < 5.0  # counting takes no time; building takes longer


def test_the_runs_of_a_grid_are_counted_along_each_axis_alone(monkeypatch):
    grid = {
        "dataset": ["digits", "breast_cancer"],
        "backbone": [None, "raw_pixels", "identity"],
        "method": ["pillar", "dp_sgd", "non_private", "pillar"],
        "k": [2, 3, None],
        "epsilon": [1, 1.0, 2],
        "seed": [0, 1],
        "split_seed": [None, 0, 5],
        "delta": [None, 1e-5],
    }
    count, built = len(sweep.specs_of(grid)), mock.Mock(wraps=sweep.spec_of)
    monkeypatch.setattr(sweep, "spec_of", built)
    assert sweep.count_runs(grid) == count
    assert built.call_count < count / 2


def test_the_log_says_when_many_runs_begin_and_end_and_what_was_unreadable_and_no_value_of_a_row(
    own_cache, caplog
):
    rows, labels = np.random.default_rng(0).normal(size=(60, 4)) + 48_271.0, np.arange(60) % 2
    features = pc.features(rows, labels, rows[:20], labels[:20])
    name = uploads.keep(features, title="ward 7")
    grid = {
        "dataset": name,
        "method": "pillar",
        "public_fraction": 0.2,
        "epsilon": 1.0,
        "k": [2, 999],
    }
    caplog.set_level(logging.DEBUG, "pillar_core")
    pc.sweep(grid)
    stored = next((store.default().root / "record").rglob("*.json"))
    stored.write_bytes(b"{")
    pc.sweep(grid)
    levels = {record.levelname: record.getMessage() for record in caplog.records}
    assert "could not be used" in levels["WARNING"]
    assert levels["INFO"] == "2 runs end, 1 refused"
    said = [str(number) for number in rows.ravel()] + ["4827", "ward"]
    assert not [part for part in said if part in caplog.text]
