"""The scripts in examples/ run as they are."""

import os
import re
import runpy
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from repository import REPOSITORY, text_of

from processes import started

EXPECTED = {
    "private_head": "saved private_head.zip",
    "screen_three_sets": "ε ≤",
    "calibrate_and_audit": "coins called",
    "sweep": "pillar_one_shot",
    "stories": "10 stories",
    "certified_opacus": "≤ ε ≤ 1.99",
}


def test_every_example_is_run_here():
    assert {path.stem for path in (REPOSITORY / "examples").glob("*.py")} == {*EXPECTED, "slurm"}


@pytest.mark.filterwarnings("ignore::pillar_core.opacus.UncheckedAssumptions")
@pytest.mark.parametrize("name", EXPECTED)
def test_examples(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    script = str(REPOSITORY / "examples" / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(script, run_name="__main__")
    assert EXPECTED[name] in capsys.readouterr().out


STUBS = {
    "sbatch": (
        'job="$(cat "$1")"; setsid bash -c "$job" >/dev/null 2>&1 & echo "Submitted batch job $!"'
    ),
    "scancel": 'kill -- "-$1"',
}
"""What SLURM's commands do on a machine alone: a job starts at once, and its number is that of its
process group."""


def test_the_example_of_slurm_trains_on_the_workers_that_sbatch_starts(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="dask-jobqueue is not installed")
    for name, command in STUBS.items():
        (tmp_path / name).write_text(f"#!/bin/bash\necho {name} >> {tmp_path}/calls\n{command}\n")
        (tmp_path / name).chmod(0o700)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)}
    environment = os.environ | variables | {"PILLAR_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, str(REPOSITORY / "examples" / "slurm.py")]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pillar") == 1
    assert len(list((tmp_path / "cache" / "record").rglob("*.json"))) == 8
    assert sorted((tmp_path / "calls").read_text().split()) == [
        "sbatch",
        "sbatch",
        "scancel",
        "scancel",
    ]


def test_the_commands_from_laptop_to_cluster_run_as_they_stand(tmp_path):
    text = text_of("docs/runs.md")
    block = re.search(r"## From laptop to cluster.*?```bash\n(.*?)```", text, flags=re.DOTALL)
    assert block is not None
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
    for name, seeds in (("grid", "[3, 4]"), ("more", "[3, 4, 5, 6]")):
        grid = (
            "dataset: digits\npublic_fraction: 0.1\nmethod: [pillar, dp_sgd]\nepsilon:"
            f" [0.7]\nseed: {seeds}\n"
        )
        (tmp_path / f"{name}.yaml").write_text(grid)
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY),
    }
    environment = os.environ | variables | {"PILLAR_CACHE": str(tmp_path / "cache")}
    with started(
        ["bash", "-ec", block[1].replace("8786", port)],
        cwd=tmp_path,
        env=environment,
        start_new_session=True,
    ) as shell:
        try:
            assert shell.wait() == 0
        finally:
            os.killpg(shell.pid, signal.SIGTERM)
    here, there = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("here", "there"))
    assert (len(here), len(there)) == (4, 8)
    assert (there["epsilon_upper"] <= 0.7).all()
    laptop, cache = (
        {path.stem for path in (tmp_path / name / "record").rglob("*.json")}
        for name in ("laptop", "cache")
    )
    assert laptop == cache
