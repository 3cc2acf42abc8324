"""The scripts in examples/ run as they are."""

import runpy
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
EXPECTED = {
    "private_head": "saved private_head.zip",
    "screen_three_sets": "ε ≤",
    "calibrate_and_audit": "the claim stands",
    "sweep": "pillar_one_shot",
    "stories": "10 stories",
    "certified_opacus": "≤ ε ≤ 1.99",
}


def test_every_example_is_run_here():
    assert {path.stem for path in (REPOSITORY / "examples").glob("*.py")} == set(EXPECTED)


@pytest.mark.filterwarnings("default::pillar_core.opacus.UncheckedAssumptions")
@pytest.mark.parametrize("name", EXPECTED)
def test_examples(name, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    script = str(REPOSITORY / "examples" / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [script])
    runpy.run_path(script, run_name="__main__")
    assert EXPECTED[name] in capsys.readouterr().out
