"""Tapes at the ledger's gate: one records every release and sample of a fit, the others answer in
the mechanisms' place."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from pillar_core import rng
from pillar_core.ledger import Call
from pillar_core.mechanisms import poisson_sample


class Recorder:
    """Lets everything happen and keeps calls, pre-noise values, releases and samples."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.values: list[Any] = []
        self.released: list[Any] = []
        self.samples: list[tuple[float, int, np.ndarray]] = []
        self.choices: list[tuple[np.ndarray, int, int]] = []

    def release(self, call: Call, value: Any, draw: Callable[[], Any]) -> Any:
        self.calls.append(call)
        self.values.append(copied(value))
        released = self.answer(draw)
        self.released.append(copied(released))
        return released

    def sample(self, probability: float, n_rows: int, draw: Callable[[], np.ndarray]) -> np.ndarray:
        indices = self.choose(probability, n_rows, draw)
        self.samples.append((probability, n_rows, indices))
        return indices

    def choice(self, sampler: Callable[..., int]) -> Callable[..., int]:
        """The sampler of choices, whose scores, rate and answer are kept."""

        def noted(scores: np.ndarray, rate: int, words: Any) -> int:
            self.choices.append((copied(scores), rate, answer := sampler(scores, rate, words)))
            return answer

        return noted

    def answer(self, draw: Callable[[], Any]) -> Any:
        return draw()

    def choose(self, probability: float, n_rows: int, draw: Callable[[], np.ndarray]) -> np.ndarray:
        return draw()


class WithFirstRow(Recorder):
    """Puts the first row, which neighbours replace, into every sample."""

    def choose(self, probability, n_rows, draw):
        return np.union1d(np.zeros(1, dtype=np.int64), draw())


class Replay(Recorder):
    """Answers with another fit's releases, and samples from a stream of its own."""

    def __init__(self, tape: Recorder, *, sampling_seed: int) -> None:
        super().__init__()
        self._tape = tape
        self._sampling = rng.stream(sampling_seed, "another sample")

    def answer(self, draw):
        position = len(self.released)
        if position >= len(self._tape.released):
            raise AssertionError(
                "one release more than on the tape: the number of releases depends on private rows"
            )
        return copied(self._tape.released[position])

    def choose(self, probability, n_rows, draw):
        return poisson_sample(probability, n_rows, self._sampling)


class Neighbour(Replay):
    """Answers with another fit's releases and samples; a row that only this data set has is forced
    into each sample.

    `position_of` maps a row of the recorded data set to its place here (a new row shifts those
    behind it).
    """

    def __init__(self, tape: Recorder, *, position_of: np.ndarray, forced: int | None) -> None:
        super().__init__(tape, sampling_seed=0)
        self._position_of = position_of
        self._forced = forced

    def choose(self, probability, n_rows, draw):
        recorded = self._tape.samples[len(self.samples)][2]
        here = self._position_of[recorded]
        here = here[here >= 0]
        extra = [] if self._forced is None else [self._forced]
        return np.sort(np.unique(np.concatenate([here, np.array(extra, dtype=np.int64)])))


def copied(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else copy.deepcopy(value)


def distance(a: Any, b: Any, kind: str = "gaussian") -> list[float]:
    """L2 distances between two pre-noise values, one for each part of a joint release; scores of a
    choice: the spread, which for the Bingham mechanism's vᵀMv is that of the eigenvalues."""
    if isinstance(a, list | tuple):
        return [part for one, other in zip(a, b, strict=True) for part in distance(one, other)]
    if kind == "exponential":
        return [float(np.ptp(np.asarray(a) - np.asarray(b)))]
    if kind == "bingham":
        return [float(np.ptp(np.linalg.eigvalsh(np.asarray(a) - np.asarray(b))))]
    return [
        float(torch.linalg.vector_norm(torch.as_tensor(a).double() - torch.as_tensor(b).double()))
    ]
