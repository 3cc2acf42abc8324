"""The scripts in examples/ run as they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = {
    "private_head": "saved private_head.zip",
    "screen_three_sets": "ε ≤",
    "calibrate_and_audit": "the claim stands",
    "sweep": "pillar_one_shot",
}


def test_every_example_is_run_here():
    assert {path.stem for path in (REPOSITORY / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_examples(name, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PILLAR_CACHE": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
    script = str(REPOSITORY / "examples" / f"{name}.py")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert EXPECTED[name] in done.stdout
