"""A small package of somebody else's: a learner, a data set, a backbone and a score, installed in a
folder."""

import sys
from pathlib import Path

import pytest

import pillar_core as pc

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
NAMES = {
    "methods": "tiny_learner",
    "datasets": "tiny_data",
    "backbones": "tiny_backbone",
    "scores": "tiny_score",
}
"""Registry → its item of the package."""


def install(folder: Path, entries: str = ENTRIES) -> None:
    """A distribution in `folder`, as an installer leaves it."""
    (folder / "tiny_plugin.py").write_text(MODULE, encoding="utf-8")
    facts = folder / "tiny_plugin-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: tiny-plugin\nVersion: 1.0\n", encoding="utf-8"
    )
    (facts / "entry_points.txt").write_text(entries, encoding="utf-8")


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder that this process imports from until the test ends; its registries are read as if
    for the first time."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    for registry in (pc.METHODS, pc.DATASETS, pc.BACKBONES, pc.SCORES):
        monkeypatch.setattr(registry, "_items", dict(registry))
        monkeypatch.setattr(registry, "_plugged", set(registry._plugged))
        monkeypatch.setattr(registry, "_is_loaded", False)
    yield folder
    sys.modules.pop("tiny_plugin", None)
