"""A cache on a full or read-only disk: runs go on from memory and say so; what must be kept fails
with our own error."""

import errno
from typing import Any

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.data import uploads
from pillar_core.errors import StoreError
from pillar_core.jobs import sweep as sweeps
from pillar_core.jobs.kinds import sweep as kind
from pillar_core.runs import receipts
from pillar_core.types import FeatureSet
from users import output_of, raises

GRID: dict[str, Any] = {"dataset": "digits", "method": "noisy_gd", "epsilon": 1.37, "seed": [0, 1]}


@pytest.fixture(params=["full", "read-only"])
def unwritable(request, tmp_path, monkeypatch):
    """The default store, each of whose writes fails as on a full disk or in a read-only folder."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))

    def refuse(*_, **__):
        raise (
            OSError(errno.ENOSPC, "No space left on device")
            if request.param == "full"
            else OSError(errno.EROFS, "Read-only file system")
        )

    places = (
        ("store.entry.write_whole",)
        if request.param == "full"
        else ("store.entry.make_private", "store.index.make_private")
    )
    for place in (*places, "jobs.state.make_private"):
        monkeypatch.setattr(f"pillar_core.{place}", refuse)
    return store.default()


def test_a_sweep_runs_from_memory_and_says_so_once(unwritable):
    table = pc.sweep(GRID)
    assert table["error_message"].isna().all()
    assert len(table) == 2
    assert "only in memory" in unwritable.unkept
    assert sum("only in memory" in note for note in unwritable.notes()) == 1
    assert not list(unwritable.root.rglob("*.json"))


def test_what_memory_holds_is_found_again_and_bounded(unwritable, monkeypatch):
    monkeypatch.setattr(store, "MEMORY_BYTES", 20)
    for number in range(10):
        unwritable.remember_json("calibration", f"k{number}", float(number))
    assert unwritable.get_json("calibration", "k9") == 9.0
    assert unwritable.get_json("calibration", "k0") is None
    assert not unwritable.has("calibration", "k9")  # another process would not find it


def test_a_disk_that_takes_writes_again_ends_the_warning(tmp_path, monkeypatch):
    cache = store.Store(tmp_path / "cache")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        assert not cache.remember_json("calibration", "k1", 1.0)
    assert cache.unkept
    assert cache.remember_json("calibration", "k2", 2.0)
    assert not cache.unkept


def test_the_command_line_warns_once_and_pages_and_jobs_go_on(unwritable):
    assert (
        output_of("run --method noisy_gd --dataset digits --epsilon 1.37 --seed 0").err.count(
            "only in memory"
        )
        == 1
    )
    assert pc.jobs.status() == ()
    assert pc.jobs.find({"kind": "sweep", "grid": GRID}) is None
    task = kind.split({"kind": "sweep", "grid": GRID})[0]
    answers = kind.keep(task, kind.run(task, lambda *_: None, lambda: False))
    assert all(record["accuracy"] for record in sweeps.records([answers]))


def test_what_must_be_kept_fails_with_our_own_error(unwritable):
    rows = FeatureSet(
        x_train=np.eye(4, dtype=np.float32),
        y_train=np.array([0, 1, 0, 1]),
        x_test=None,
        y_test=None,
        classes=("a", "b"),
        name="mine",
    )
    raises(StoreError, r"another folder; for the cache with PILLAR_CACHE", uploads.keep, rows)
    if not unwritable.root.exists():
        with pytest.raises(StoreError):
            pc.jobs.submit({"kind": "sweep", "grid": GRID})


RELEASES = {
    "run": "run --dataset digits --method pillar_one_shot --public-fraction 0.1",
    "choose": "choose --dataset digits --public-fraction 0.1 --candidates digits",
}


@pytest.mark.parametrize("command", RELEASES)
@pytest.mark.parametrize("what", ["no folder", "a folder", "full", "cache"])
def test_a_release_that_could_not_be_written_down_spends_nothing(
    command, what, tmp_path, monkeypatch
):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    (tmp_path / "taken").touch()
    path = tmp_path / {"no folder": "taken/model.zip", "a folder": ""}.get(what, "model.zip")
    if what == "cache":
        monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "taken"))
    if what == "full":
        monkeypatch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 1000}))

    def trained(*_, **__):
        raise AssertionError("something was spent")

    monkeypatch.setattr("pillar_core.commands.run.run_declared", trained)
    monkeypatch.setattr("pillar_core.commands.advise.choose", trained)
    monkeypatch.setattr(receipts.Account, "keep", trained)
    line = f"{RELEASES[command]} --epsilon 2 --release --export {path}"
    told = output_of(line, status=2).err
    assert "could not be read or written" in told
    assert ("Free space on that disk" in told) == (what == "full")
    assert not (tmp_path / "model.zip").exists()


def test_a_model_that_could_not_be_written_leaves_no_receipt(tmp_path, monkeypatch):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    record = pc.run("pillar_one_shot", split, epsilon=2.0, seed=None)
    (tmp_path / "old.zip").write_bytes(b"an older model")
    with monkeypatch.context() as patch:
        patch.setattr("shutil.disk_usage", lambda place: type("Usage", (), {"free": 1000}))
        for path in (
            tmp_path,
            tmp_path / "old.zip" / "model.zip",
            tmp_path / "old.zip",
            tmp_path / "model.zip",
        ):
            raises(
                StoreError, "could not be read or written", pc.save_model, record, path, split=split
            )
        raises(
            StoreError,
            "Free space",
            pc.private_test,
            record,
            split.features,
            epsilon=1.0,
            seed=None,
        )
    assert (tmp_path / "old.zip").read_bytes() == b"an older model"
    assert receipts.account_of(split.features).trainings == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "old.zip"]
    assert pc.save_model(record, tmp_path / "old.zip", split=split).stat().st_size > 1000
    assert len(receipts.account_of(split.features).trainings) == 1
