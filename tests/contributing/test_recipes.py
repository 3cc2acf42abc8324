"""CONTRIBUTING.md is followed to the letter in a copy of the repository, and what it adds is found on every surface."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(
    r"```python\n# (new file|lines? in|entry in) (\S+?)(?:, (\w+))?\n(.*?)```",
    (REPOSITORY / "CONTRIBUTING.md").read_text("utf-8"),
    re.DOTALL,
)


def followed(copy: Path) -> None:
    """Does what every block of CONTRIBUTING.md says: a new file, lines at the end of a module, an entry at the end of a tuple."""
    for how, name, table, code in BLOCKS:
        path = copy / name
        if how == "new file":
            assert not path.exists(), f"{name} exists: the recipe would overwrite it"
            path.write_text(code, encoding="utf-8")
            continue
        text = path.read_text(encoding="utf-8")
        if how == "entry in":
            start = text.index(f"\n{table}:")
            end = text.index("\n)", start)
            path.write_text(f"{text[:end]}\n    {code.strip()}{text[end:]}", encoding="utf-8")
        else:
            path.write_text(f"{text}\n{code}", encoding="utf-8")


def test_recipes_work_as_written_and_reach_every_surface(tmp_path: Path) -> None:
    assert len([how for how, *_ in BLOCKS if how == "new file"]) >= 9
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".git", ".venv", "__pycache__", "entries", ".*_cache")
    shutil.copytree(REPOSITORY, copy, ignore=ignored)
    followed(copy)
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", "tests/contributing/surfaces.py"]
    learner = ["tests/contract/test_methods.py", "-k", "noisy_means or surfaces"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"PILLAR_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(copy)}
    done = subprocess.run([*command, *learner], cwd=copy, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
