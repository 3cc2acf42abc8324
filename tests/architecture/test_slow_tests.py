"""The list of slow tests names tests that exist."""

import csv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def test_every_slow_test_exists():
    with (REPOSITORY / "tests" / "slow_tests.csv").open(newline="", encoding="utf-8") as file:
        names = [row["test"].split("[")[0].split("::") for row in csv.DictReader(file)]
    gone = [(path, name) for path, name in names if f"def {name}(" not in _text(REPOSITORY / path)]
    assert not gone, "run `pytest --cpu-report` to write tests/slow_tests.csv again, or take their lines out"


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""
