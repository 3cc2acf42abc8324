"""Learners, data sets, backbones and scores of another installed package; what is wrong with one is said, each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MODULE = """
import dataclasses

import pillar_core as pc

LEARNER = dataclasses.replace(pc.METHODS["pillar"], name="tiny_learner", title="A tiny learner")
DATA = dataclasses.replace(pc.DATASETS["breast_cancer"], name="tiny_data", title="A tiny set")
BACKBONE = dataclasses.replace(pc.BACKBONES["raw_pixels"], name="tiny_backbone", title="A tiny backbone")
SCORE = dataclasses.replace(pc.SCORES["missed_energy"], name="tiny_score", title="A tiny score")
TWICE = dataclasses.replace(pc.METHODS["pillar"], title="Another title")
"""
ENTRIES = """
[pillar_explorer.methods]
learner = tiny_plugin:LEARNER
[pillar_explorer.datasets]
data = tiny_plugin:DATA
[pillar_explorer.backbones]
backbone = tiny_plugin:BACKBONE
[pillar_explorer.scores]
score = tiny_plugin:SCORE
"""


def _installed(folder: Path, entries: str) -> None:
    """A distribution in `folder`, as an installer leaves it."""
    (folder / "tiny_plugin.py").write_text(MODULE, encoding="utf-8")
    facts = folder / "tiny_plugin-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-plugin\nVersion: 1.0\n", encoding="utf-8")
    (facts / "entry_points.txt").write_text(entries, encoding="utf-8")


def _python(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(folder), str(REPOSITORY)])
    environment = os.environ | {"PYTHONPATH": paths, "PILLAR_CACHE": str(folder / "cache")}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False
    )


def test_items_of_an_installed_package_are_listed_and_run(tmp_path: Path) -> None:
    _installed(tmp_path, ENTRIES)
    listed = _python(tmp_path, "-m", "pillar_core", "list")
    assert listed.returncode == 0, listed.stderr
    parts = {part.partition(":")[0]: part for part in listed.stdout.split("\n\n")}
    for word, name in (("methods", "learner"), ("datasets", "data"), ("backbones", "backbone"), ("scores", "score")):
        # After the library's own.
        assert parts[word].splitlines()[-1].startswith(f"tiny_{name} ")
    run = ("run", "--dataset", "tiny_data", "--method", "tiny_learner", "--public-fraction", "0.2", "--epsilon", "1", "--set", "k=4")
    ran = _python(tmp_path, "-m", "pillar_core", *run)
    assert ran.returncode == 0, ran.stderr
    assert "ε ≤" in ran.stdout


@pytest.mark.slow
def test_workers_of_jobs_know_them_too(tmp_path: Path) -> None:
    _installed(tmp_path, ENTRIES)
    code = """
import pillar_core as pc
if __name__ == "__main__":
    grid = {"dataset": "tiny_data", "method": "tiny_learner", "public_fraction": 0.2, "epsilon": 1.0, "k": 4}
    try:
        print(pc.sweep(grid, scheduler="jobs")["accuracy"].notna().all())
    finally:
        pc.jobs.stop()
"""
    (tmp_path / "script.py").write_text(code, encoding="utf-8")
    ran = _python(tmp_path, str(tmp_path / "script.py"))
    assert ran.stdout.strip() == "True", ran.stderr


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such_module:LEARNER", "No module named 'no_such_module'"),
        ("tiny_plugin:ABSENT", "ABSENT"),
        ("tiny_plugin:DATA", "class DatasetCard, and a method is wanted"),
        ("tiny_plugin:TWICE", "collides with 'pillar'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_package_and_cause(tmp_path: Path, value: str, cause: str) -> None:
    _installed(tmp_path, f"[pillar_explorer.methods]\nbroken = {value}\n")
    code = (
        "import pillar_core as pc\nfrom pillar_core.errors import PluginError\n"
        "assert 'digits' in pc.DATASETS\n"
        "for _ in range(2):\n"
        "    try:\n        list(pc.METHODS)\n    except PluginError as problem:\n        print(problem)\n"
    )
    ran = _python(tmp_path, "-c", code)
    lines = ran.stdout.splitlines()
    assert len(lines) == 2, ran.stderr
    assert lines[0] == lines[1]
    for part in ("'broken'", value, "pillar_explorer.methods", "tiny-plugin", cause):
        assert part in lines[0]
