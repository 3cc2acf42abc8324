"""The `cache` command: what it prints, what it exits with, and that records alone travel unless
features are asked for."""

import sys

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.commands.cache import byte_count, size_words
from pillar_core.errors import StoreError
from pillar_core.runs import records
from users import output_of, raises, run_command


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A cache with one record and one set of features."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    made = store.default()
    made.put_json("record", "a1", {"accuracy": 0.5})
    made.put_arrays("b2", x=np.zeros(1000))
    return made


def test_ls_counts_verify_removes_damage_and_prune_takes_features_first(cache):
    lines = output_of("cache ls").out.splitlines()
    counts = dict(line.split()[:2] for line in lines[2:])
    assert counts == {"record": "1", "arrays": "1", "calibration": "0", "blob": "0"}
    assert "entries removed: 1" in output_of("cache prune --to 2kB").out
    assert (cache.has("record", "a1"), cache.has("arrays", "b2")) == (True, False)
    assert output_of("cache ls --kind record").out.startswith("a1 ")
    whole = int(output_of("cache verify").out.split()[0])
    path = next(cache.root.glob("record/*/*.json"))
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert f"{whole - 1} whole, 1 damaged" in output_of("cache verify", status=1).out
    assert run_command("cache verify --remove") == 1
    assert not path.exists()
    assert run_command("cache verify") == 0


@pytest.mark.parametrize("flags", ["", "--features"])
def test_a_cache_travels_as_one_file(cache, monkeypatch, tmp_path, flags):
    file = str(tmp_path / "runs.zip")
    assert run_command(f"cache export {file} {flags}") == 0
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "laptop"))
    assert f"{1 + bool(flags)} added, " in output_of(f"cache import {file}").out
    assert store.default().get_json("record", "a1") == {"accuracy": 0.5}
    assert store.default().has("arrays", "b2") is bool(flags)


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("5GB", 5 * 10**9), ("1.5 mb", 1_500_000), ("12B", 12), ("7kB", 7000)],
)
def test_sizes_are_read(text, count):
    assert byte_count(text) == count


@pytest.mark.parametrize("text", ["", "nan", "-1", "many", "infGB", "1e30"])
def test_what_is_no_size_is_refused(text):
    raises(StoreError, "500MB", byte_count, text)


def test_sizes_are_written():
    assert [size_words(count) for count in (12, 1500, 2_000_000_000)] == [
        "12 bytes",
        "1.5 kB",
        "2.0 GB",
    ]


GRID = {
    "dataset": "digits",
    "public_fraction": 0.1,
    "method": "pillar",
    "epsilon": [0.5, 2.0],
    "k": [10, 5000],
}


def test_runs_leave_as_csv_and_without_mlflow_a_refusal_names_the_extra(
    own_cache, tmp_path, monkeypatch
):
    pc.sweep(GRID)
    assert (
        "4 runs written"
        in output_of(f"cache runs --format csv --output {tmp_path / 'runs.csv'}").out
    )
    table = pd.read_csv(tmp_path / "runs.csv")
    trained = table[table["error_message"].isna()]
    assert len(trained) == 2 < len(table)
    assert (trained["epsilon_upper"] <= trained["epsilon"]).all()
    assert (
        "could not be read or written"
        in output_of(
            f"cache runs --format csv --output {tmp_path / 'none' / 'runs.csv'}", status=2
        ).err
    )
    monkeypatch.setitem(sys.modules, "mlflow", None)
    assert "`mlflow`" in output_of(f"cache runs --format mlflow --output {tmp_path}", status=2).err


def test_mlflow_lists_the_runs_with_their_bounds(own_cache, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    pc.sweep(GRID)
    runs = records.all_runs()
    assert [records.write_mlflow(runs, tmp_path / "mlruns") for _ in range(2)] == [
        2,
        0,
    ], "refused runs and known ones are left out"
    assert records.write_mlflow(runs.iloc[:0], tmp_path / "none") == 0
    client = mlflow.MlflowClient((tmp_path / "mlruns").as_uri())
    listed = client.search_runs(
        [experiment.experiment_id for experiment in client.search_experiments()]
    )
    trained = runs[runs["error_message"].isna()].set_index("key")
    assert {run.data.tags["pillar.key"] for run in listed} == set(trained.index)
    for run in listed:
        row = trained.loc[run.data.tags["pillar.key"]]
        assert run.data.metrics["epsilon_upper"] == row["epsilon_upper"]
        assert run.data.metrics["accuracy"] == row["accuracy"]
        assert (float(run.data.params["epsilon"]), run.data.params["accountant"]) == (
            row["epsilon"],
            row["accountant"],
        )
