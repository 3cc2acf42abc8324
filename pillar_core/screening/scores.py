"""The scores of public data by name: smaller is closer, in every one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.registry import Registry
from pillar_core.screening import leep, logme, task2vec
from pillar_core.screening.batches import image_batches
from pillar_core.screening.gsd import Gradients, Side
from pillar_core.screening.otdd import otdd
from pillar_core.subspace import projection_distance

FLAT_SIDE = 16
"""Side of the images whose pixels the label-based rivals compare."""


class Seen:
    """One set in one repeat: gradients and pixels, each made when a score asks for it."""

    def __init__(self, side: Side, repeat: int) -> None:
        self.side, self.repeat = side, repeat
        self.embeddings: dict[int, Array] = {}

    @property
    def count(self) -> int:
        """Rows that the repeat chose."""
        return len(self.side.chosen[self.repeat])

    @cached_property
    def gradients(self) -> Gradients:
        """The gradients under random labels."""
        return self.side.gradients(self.repeat)

    @cached_property
    def flat(self) -> Array:
        """(n, d) float64: the features of a frozen network, the rows' own numbers, or grey pixels in [−1, 1] of small images."""
        if self.side.model.is_frozen_network:
            return self.side.prepared[self.side.places[self.repeat]].astype(np.float64)
        rows = self.side.data.x_train[self.side.chosen[self.repeat]]
        if rows.ndim == 2:
            return rows.astype(np.float64)
        return np.concatenate([part.flatten(1).numpy() for part in image_batches(rows, FLAT_SIDE, channels=1)]).astype(np.float64)

    @property
    def labels(self) -> Array:
        """(n,) int64 labels of the chosen rows.

        Raises:
            DataError: the set has none.
        """
        if self.side.data.y_train is None:
            raise DataError(f"{self.side.data.name!r} has no labels, which this score needs; choose gsd or missed_energy.")
        return self.side.data.y_train[self.side.chosen[self.repeat]]

    def fisher(self, m: int) -> Array:
        """The Task2Vec embedding of the first m rows."""
        if m not in self.embeddings:
            rows = self.side.data.x_train[self.side.chosen[self.repeat][:m]]
            self.embeddings[m] = task2vec.embedding(rows, self.labels[:m], seed=self.side.seed, repeat=self.repeat)
        return self.embeddings[m]


@dataclasses.dataclass(frozen=True)
class Score:
    """A score of one public set: `value(private, public, k, m)` reads the first m rows of both without noise.

    `smallest` and `largest` are the least and the most that it can be.
    `private_form` says how ε is spent where the score has a private form: "moment" (one Gaussian release ranks any number of
    candidates) or "directions" (pure ε, exact sampler); "" where it has none.
    """

    name: str
    title: str
    source: str
    idea: str
    value: Callable[[Seen, Seen, int, int], float] | None
    private_form: str = ""
    needs_labels: bool = False
    smallest: float = 0.0
    largest: float = math.inf
    version: int = 1


SCORES: Registry[Score] = Registry("score")


def missed_energy(private: Seen, public: Seen, k: int, m: int) -> float:
    """The share of the private gradients' squared norm outside the public directions: 1 − ‖GV‖²_F/‖G‖²_F."""
    basis = public.gradients.directions(k, m).basis
    held, total = 0.0, 0.0
    for chunk in (private.gradients.rows[:m],) if private.gradients.fits else private.gradients.chunks():
        held += float(np.square(chunk.numpy() @ basis.astype(np.float32)).sum(dtype=np.float64))
        total += float(np.square(chunk.numpy()).sum(dtype=np.float64))
    return float(np.clip(1.0 - held / max(total, 1e-300), 0.0, 1.0))


def _gsd(private: Seen, public: Seen, k: int, m: int) -> float:
    return projection_distance(private.gradients.directions(k, m).basis, public.gradients.directions(k, m).basis)


def _task2vec(private: Seen, public: Seen, k: int, m: int) -> float:
    return task2vec.task2vec_distance(private.fisher(m), public.fisher(m))


def _otdd(private: Seen, public: Seen, k: int, m: int) -> float:
    return otdd(private.flat[:m], private.labels[:m], public.flat[:m], public.labels[:m])


def _leep(private: Seen, public: Seen, k: int, m: int) -> float:
    return leep.negative_leep(public.flat[:m], public.labels[:m], private.flat[:m], private.labels[:m])


def _logme(private: Seen, public: Seen, k: int, m: int) -> float:
    return logme.negative_logme(public.flat[:m], private.flat[:m], private.labels[:m])


for _score in (
    Score(
        "gsd", "Gradient subspace distance", "gsd, Algorithm 1", "angles between the top gradient directions", _gsd, "moment", largest=1.0
    ),
    Score(
        "missed_energy",
        "Missed gradient energy",
        "ours, after gsd, Lemma 4.1",
        "share of private gradients outside the public directions",
        missed_energy,
        "moment",
        largest=1.0,
    ),
    Score(
        "gsd_pure",
        "Gradient subspace distance, pure ε",
        "gsd, Algorithms 3 and 4",
        "directions from the exact Bingham sampler",
        None,
        "directions",
        largest=1.0,
    ),
    Score(
        "task2vec", "Task2Vec", "Achille et al. 2019", "Fisher information of a probe's filters", _task2vec, needs_labels=True, largest=1.0
    ),
    Score("otdd", "Optimal transport (OTDD)", "Alvarez-Melis & Fusi 2020", "transport with label distances", _otdd, needs_labels=True),
    Score("leep", "LEEP (negative)", "Nguyen et al. 2020", "how well public labels predict private ones", _leep, needs_labels=True),
    Score(
        "logme",
        "LogME (negative)",
        "You et al. 2021",
        "evidence of private labels on public directions",
        _logme,
        needs_labels=True,
        smallest=-math.inf,
    ),
):
    SCORES.register(_score)
