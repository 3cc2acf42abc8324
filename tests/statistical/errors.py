"""What each test that hangs on drawn numbers may do wrong: α, a false alarm, and β, a fault that it
must see and misses.

Both are for draws that nobody knows beforehand, whether a seed fixes them or not, and for each of a
test's cases. A test that draws what no seed repeats (`rng.SystemStream`, a stream without a seed)
has a line in errors.csv, or fails; 0 says that no draw decides it.
"""

import csv
import functools
from pathlib import Path

LIST = Path(__file__).with_name("errors.csv")
MOST = 1e-3
"""Of one run of all tests."""


@functools.cache
def read() -> dict[str, tuple[float, float]]:
    """(α, β) by a test's name without its case."""
    with LIST.open(newline="", encoding="utf-8") as file:
        return {
            row["test"]: (float(row["alpha"]), float(row["beta"])) for row in csv.DictReader(file)
        }


def of(test: str) -> tuple[float, float] | None:
    """(α, β) of a case, or None for a test that is not listed."""
    return read().get(test.split("[")[0])
