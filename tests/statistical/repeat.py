"""Runs each test of errors.csv many times on other draws, and names those that failed: by hand, for
half an hour or more.

`PYTHONPATH=.:tests:research python -m statistical.repeat [--times 100] [test …]`, each a file or
a name of errors.csv.
"""

import argparse
import collections
import contextlib
import hashlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from pillar_core import rng
from statistical import errors


@contextlib.contextmanager
def other_draws(turn: int) -> Iterator[None]:
    """Every seed gives other numbers in each turn; what has no seed does anyway."""
    seeded = np.random.default_rng
    sha256 = SimpleNamespace(sha256=lambda name: hashlib.sha256(name + b"/turn %d" % turn))
    numpys = patch.object(
        np.random,
        "default_rng",
        lambda seed=None: seeded([seed, turn] if isinstance(seed, int) else seed),
    )
    with patch.object(rng, "hashlib", sha256), numpys:
        yield


class Repeat:
    """A plugin that runs each test so many times, all that it shares with others made anew, and
    counts its failures."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.failures: dict[str, list[str]] = collections.defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool:
        for turn in range(self.times):
            with other_draws(turn):
                reports = runtestprotocol(item, log=False, nextitem=None)
            self.failures[item.nodeid] += [
                f"turn {turn}: {one.longreprtext[-300:]}" for one in reports if one.failed
            ]
        sys.stdout.write(f"{len(self.failures[item.nodeid]):4d} of {self.times}  {item.nodeid}\n")
        return True


def main() -> int:
    """0 where no test failed: at a sum of 10⁻³ over all of them, one failure in a hundred
    repetitions is one too many."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("tests", nargs="*", default=list(errors.read()))
    asked, repeat = parser.parse_args(), None
    repeat = Repeat(asked.times)
    pytest.main(
        ["-n", "0", "-q", "-p", "no:cacheprovider", "--no-header", "-s", *asked.tests],
        plugins=[repeat],
    )
    failed = {name: told for name, told in repeat.failures.items() if told}
    for name, told in failed.items():
        sys.stdout.write(
            f"\n{name}: {len(told)} of {asked.times} failed; α + β is"
            f" {sum(errors.of(name) or ()):.1g}\n{told[0]}\n"
        )
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
