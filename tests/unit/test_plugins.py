"""Learners, data sets, backbones and scores of another installed package; what is wrong with one is
said, each time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pillar_core as pc
from pillar_core.errors import PluginError
from plugin_package import NAMES, install, site
from users import output_of

__all__ = ["site"]
REPOSITORY = Path(__file__).resolve().parents[2]


def test_items_of_an_installed_package_are_listed_and_run(site):
    install(site)
    parts = {part.partition(":")[0]: part for part in output_of("list").out.split("\n\n")}
    for registry, name in NAMES.items():
        assert parts[registry].splitlines()[-1].startswith(f"{name} ")  # after the library's own
    asked = "--dataset tiny_data --method tiny_learner --public-fraction 0.2 --epsilon 1 --set k=4"
    assert "ε ≤" in output_of(f"run {asked}").out
    split = pc.split(pc.load_dataset("tiny_data"), public_fraction=0.2)
    assert (
        "from the package tiny-plugin"
        in pc.statement(pc.run("tiny_learner", split, epsilon=1.0, k=4)).text
    )
    assert "from the package" not in pc.statement(pc.run("pillar", split, epsilon=1.0, k=4)).text


@pytest.mark.slow
def test_fresh_processes_and_their_workers_know_them_too(tmp_path):
    install(tmp_path)
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
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n\nos.cpu_count = lambda: 1", encoding="utf-8"
    )  # one worker is enough
    environment = os.environ | {
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{REPOSITORY}",
        "PILLAR_CACHE": str(tmp_path / "cache"),
    }
    command = [sys.executable, str(tmp_path / "script.py")]
    ran = subprocess.run(
        command,
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.stdout.strip() == "True", ran.stderr


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("no_such_module:LEARNER", "No module named 'no_such_module'"),
        ("tiny_plugin:ABSENT", "ABSENT"),
        ("tiny_plugin:DATA", "class DatasetCard, and a method is wanted"),
        ("tiny_plugin:TWICE", "collides with 'pillar'"),
        ("leaving:LEARNER", "SystemExit: 3"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_package_and_cause(site, value, cause):
    install(site, f"[pillar_explorer.methods]\nbroken = {value}\n")
    (site / "leaving.py").write_text("raise SystemExit(3)", encoding="utf-8")
    assert "digits" in pc.DATASETS
    for _ in range(2):
        with pytest.raises(PluginError) as refusal:
            list(pc.METHODS)
        for part in ("'broken'", value, "pillar_explorer.methods", "tiny-plugin", cause):
            assert part in str(refusal.value)
