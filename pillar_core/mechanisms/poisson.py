"""Poisson sampling: each row independently with probability q, by geometric gaps, in O(q·n)."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.rng import Stream


def poisson_sample(probability: float, n_rows: int, stream: Stream) -> Array:
    """Sorted indices (m,) int64 of a sample of range(n_rows), every row in it independently with `probability`.

    The gaps between successes of independent trials are geometric: ⌊log U / log(1 − q)⌋ failures before each.

    Raises:
        SettingError: probability outside (0, 1].
    """
    if not 0 < probability <= 1:
        raise SettingError(f"sampling_probability must be in (0, 1]; got {probability!r}.")
    if probability == 1:
        return np.arange(n_rows, dtype=np.int64)
    log_miss = np.log1p(-probability)
    expected = probability * n_rows
    draws = int(expected + 4 * np.sqrt(expected) + 8)
    parts: list[Array] = []
    last = -1.0
    while last < n_rows:
        gaps = 1.0 + np.floor(np.log(stream.random(draws)) / log_miss)
        positions = last + np.cumsum(gaps)
        parts.append(positions[positions < n_rows])
        last = float(positions[-1])
    return np.concatenate(parts).astype(np.int64)


@contextlib.contextmanager
def sampled(probability: float, n_rows: int, stream: Stream, ledgers: Sequence[Ledger]) -> Iterator[Array]:
    """One Poisson sample (m,) int64 that every ledger in `ledgers` (one for each head trained on it) is charged for."""
    with contextlib.ExitStack() as stack:
        indices = stack.enter_context(ledgers[0].poisson(probability, n_rows, lambda: poisson_sample(probability, n_rows, stream)))
        for ledger in ledgers[1:]:
            stack.enter_context(ledger.poisson(probability, n_rows, lambda: indices))
        yield indices
