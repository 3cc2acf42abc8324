"""The repository's files, and what its code prints in a process of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]


def text_of(path: Path | str) -> str:
    """The text of a file, given by its path in the repository."""
    return (REPOSITORY / path).read_text(encoding="utf-8")


def printed(code: str, **variables: str) -> Any:
    """The JSON that a new Python, in an environment with these variables too, prints last."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)} | variables,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
