"""The batches of a training: Poisson samples, each row with probability q, by geometric gaps, in
O(q·n); or passes of random allocation, in which each row enters one step by a draw of its own.
"""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import exact
from pillar_core.rng import Stream, exact_words


def poisson_sample(probability: float, n_rows: int, stream: Stream) -> Array:
    """Sorted indices (m,) int64 of a sample of range(n_rows), every row in it independently with
    `probability`.

    The gaps between successes of independent trials are geometric: ⌊log U / log(1 − q)⌋ failures
    before each. In a release each row has a word of its own instead, and its chance is
    `probability` less at most 2⁻⁶⁴. Raises SettingError for probability outside (0, 1].
    """
    if not 0 < probability <= 1:
        raise SettingError(f"sampling_probability must be in (0, 1]; got {probability!r}.")
    if probability == 1:
        return np.arange(n_rows, dtype=np.int64)
    if words := exact_words(stream):
        return exact.poisson_sample(probability, n_rows, words)
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
def draw_batch(
    probability: float, n_rows: int, stream: Stream, ledgers: Sequence[Ledger]
) -> Iterator[Array]:
    """One Poisson sample (m,) int64 that every ledger in `ledgers` (one for each head trained on
    it) is charged for."""
    with contextlib.ExitStack() as stack:
        indices = stack.enter_context(
            ledgers[0].poisson(
                probability, n_rows, lambda: poisson_sample(probability, n_rows, stream)
            )
        )
        for ledger in ledgers[1:]:
            stack.enter_context(ledger.poisson(probability, n_rows, lambda: indices))
        yield indices


class Batches:
    """Poisson samples of range(n_rows) where a pass has one step, else random allocation; `ledgers`
    are charged for each.

    Guarantee: each row's step is drawn uniformly and independently of all else, anew for each pass.
    docs/accounting.md, "Random allocation", bounds the pass for one row added or removed.
    """

    def __init__(
        self,
        probability: float,
        steps_of_pass: int,
        n_rows: int,
        stream: Stream,
        ledgers: Sequence[Ledger],
    ) -> None:
        self._probability, self._steps, self._n_rows = probability, steps_of_pass, n_rows
        self._stream, self._ledgers = stream, ledgers
        self._taken = 0
        self._step_of_row = np.empty(0)

    @contextlib.contextmanager
    def next(self) -> Iterator[Array]:
        """Indices (m,) int64 of the next batch, in order; at most one release of each ledger inside
        the block."""
        if self._steps == 1:
            with draw_batch(
                self._probability, self._n_rows, self._stream, self._ledgers
            ) as indices:
                yield indices
            return
        step = self._taken % self._steps
        self._taken += 1
        if step == 0:
            self._step_of_row = steps_of_rows(self._steps, self._n_rows, self._stream)
        chosen = np.flatnonzero(self._step_of_row == step)
        with contextlib.ExitStack() as stack:
            indices = stack.enter_context(
                self._ledgers[0].allocation(step, self._steps, self._n_rows, lambda: chosen)
            )
            for ledger in self._ledgers[1:]:
                stack.enter_context(
                    ledger.allocation(step, self._steps, self._n_rows, lambda: indices)
                )
            yield indices


def steps_of_rows(steps: int, n_rows: int, stream: Stream) -> Array:
    """(n_rows,) int64 in 0, …, steps − 1: the step of one pass that each row enters, uniform and
    independent."""
    if words := exact_words(stream):
        return exact.uniform_below(steps, n_rows, words)
    drawn: Array = (steps * stream.random(n_rows)).astype(np.int64)
    return drawn
