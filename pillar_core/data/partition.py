"""A stratified train/test partition, for sources that come without one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pillar_core import rng

Array = np.ndarray[Any, Any]
TEST_FRACTION = 0.2


def stratified(labels: Array, *, seed: int, name: str) -> tuple[Array, Array]:
    """Row numbers (train, test), each ascending int64: a fifth of every class is test, at least one row where it has two.

    Args:
        labels: (n,) int64 codes.
        seed: with `name`, names the random stream.
        name: what is divided; the same labels under another name are divided otherwise.
    """
    generator = rng.stream(seed, "train/test", name)
    in_test = np.zeros(len(labels), dtype=bool)
    for code in np.unique(labels):
        rows = generator.permutation(np.flatnonzero(labels == code))
        wanted = max(1, round(TEST_FRACTION * len(rows))) if len(rows) > 1 else 0
        in_test[rows[:wanted]] = True
    return np.flatnonzero(~in_test), np.flatnonzero(in_test)
