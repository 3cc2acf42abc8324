"""The batches of one training: Poisson samples, or passes of random allocation, in which each row enters one step by a draw of its own."""

import contextlib
from collections.abc import Iterator, Sequence

import numpy as np

from pillar_core.arrays import Array
from pillar_core.ledger import Ledger
from pillar_core.mechanisms.poisson import sampled
from pillar_core.rng import Stream


class Batches:
    """Poisson samples of range(n_rows) where a pass has one step, else random allocation; `ledgers` are charged for each.

    Guarantee: each row's step is drawn uniformly and independently of all else, anew for each pass. docs/accounting.md, "Random
    allocation", bounds the pass for one row added or removed.
    """

    def __init__(self, probability: float, steps_of_pass: int, n_rows: int, stream: Stream, ledgers: Sequence[Ledger]) -> None:
        self._probability, self._steps, self._n_rows = probability, steps_of_pass, n_rows
        self._stream, self._ledgers = stream, ledgers
        self._taken = 0
        self._step_of_row = np.empty(0)

    @contextlib.contextmanager
    def next(self) -> Iterator[Array]:
        """Indices (m,) int64 of the next batch, in order; at most one release of each ledger inside the block."""
        if self._steps == 1:
            with sampled(self._probability, self._n_rows, self._stream, self._ledgers) as indices:
                yield indices
            return
        step = self._taken % self._steps
        self._taken += 1
        if step == 0:
            self._step_of_row = steps_of_rows(self._steps, self._n_rows, self._stream)
        chosen = np.flatnonzero(self._step_of_row == step)
        with contextlib.ExitStack() as stack:
            indices = stack.enter_context(self._ledgers[0].allocated(step, self._steps, self._n_rows, lambda: chosen))
            for ledger in self._ledgers[1:]:
                stack.enter_context(ledger.allocated(step, self._steps, self._n_rows, lambda: indices))
            yield indices


def steps_of_rows(steps: int, n_rows: int, stream: Stream) -> Array:
    """(n_rows,) int64 in 0, …, steps − 1: the step of one pass that each row enters, uniform and independent."""
    drawn: Array = (steps * stream.random(n_rows)).astype(np.int64)
    return drawn
