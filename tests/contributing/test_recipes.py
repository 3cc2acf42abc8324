"""CONTRIBUTING.md is followed to the letter in a copy of the repository, and what it adds is found
on every surface."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from repository import REPOSITORY, text_of

BLOCKS = re.findall(
    r"```(?:python|text)\n# (new file|lines? in|entry in) (\S+?)(?:, ([^\n]+))?\n(.*?)```",
    text_of("CONTRIBUTING.md"),
    re.DOTALL,
)


def followed(copy: Path) -> None:
    """Does what every block of CONTRIBUTING.md says: a new file, imports below a module's own,
    other lines or entries at the end."""
    for how, name, table, code in BLOCKS:
        path = copy / name
        if how == "new file":
            assert not path.exists(), f"{name} exists: the recipe would overwrite it"
            path.write_text(code, encoding="utf-8")
            continue
        text = text_of(path)
        if how == "entry in":
            start = text.index(f"\n{table}")
            end = text.index("\n\n" if path.suffix == ".md" else "\n)", start)
            path.write_text(
                f"{text[:end]}\n{'' if path.suffix == '.md' else '    '}{code.strip()}{text[end:]}",
                encoding="utf-8",
            )
        else:
            imports = [line for line in code.splitlines() if line.startswith("from ")]
            others = [line for line in code.splitlines() if line and line not in imports]
            lines = text.splitlines()
            at = max(
                node.end_lineno or 0
                for node in ast.parse(text).body
                if isinstance(node, ast.ImportFrom)
            )
            path.write_text(
                "\n".join([*lines[:at], *imports, *lines[at:], *others, ""]), encoding="utf-8"
            )


def test_recipes_work_as_written_and_reach_every_surface(tmp_path):
    assert len([how for how, *_ in BLOCKS if how == "new file"]) >= 9
    copy = tmp_path / "copy"
    ignored = shutil.ignore_patterns(".git", ".venv", "*.pyc.*", "entries", ".*_cache")
    shutil.copytree(REPOSITORY, copy, ignore=ignored)
    followed(copy)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")
    }
    environment |= {"PILLAR_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(copy)}
    chosen = (
        "noisy_means or surfaces or (architecture and not cold and not examples and not package and"
        " not pattern and not readme_runs)"
    )
    tests = ["tests/pages/surfaces.py", "tests/architecture", "tests/contract/test_methods.py"]
    for arguments in (
        ["ruff", "check", "-q", "--fix", "."],
        ["docs.generated"],
        ["pytest", "-q", "-n0", "-p", "no:cacheprovider", *tests, "-k", chosen],
    ):
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
