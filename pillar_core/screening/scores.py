"""The scores of public data by name: smaller is closer, in every one."""

import dataclasses
import enum
import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.registry import Registry, toml_tables
from pillar_core.screening import rivals
from pillar_core.screening.batches import Start, flat_pixels
from pillar_core.screening.gsd import Gradients, Side, shared_bases
from pillar_core.screening.release import residual_of_moment, top_of
from pillar_core.screening.rivals import otdd
from pillar_core.subspace import projection_distance


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
        """(n, d) float64: the features of a frozen network, the rows' own numbers, or grey pixels
        in [−1, 1] of small images."""
        if self.side.model.is_frozen_network:
            return self.side.prepared[self.side.places[self.repeat]].astype(np.float64)
        rows = self.side.data.x_train[self.side.chosen[self.repeat]]
        return flat_pixels(rows, 16, channels=1).astype(
            np.float64
        )  # side of the images whose pixels the label-based rivals compare

    @property
    def labels(self) -> Array:
        """(n,) int64 labels of the chosen rows. Raises DataError: the set has none."""
        if self.side.data.y_train is None:
            able = ", ".join(
                score.name
                for score in SCORES.values()
                if score.value is not None and Need.LABELS not in score.needs
            )
            raise DataError(
                f"{self.side.data.name!r} has no labels, which this score needs; choose {able}."
            )
        return self.side.data.y_train[self.side.chosen[self.repeat]]

    def fisher(self, m: int) -> Array:
        """The Task2Vec embedding of the first m rows."""
        if m not in self.embeddings:
            rows = self.side.data.x_train[self.side.chosen[self.repeat][:m]]
            start = Start(self.side.seed, self.repeat)
            self.embeddings[m] = rivals.embedding(rows, self.labels[:m], start)
        return self.embeddings[m]


ValueOf = Callable[[Seen, Seen, int, int], float]
Shares = Callable[[Array, Array], float]


class Need(enum.StrEnum):
    """What a score reads beside the rows."""

    GRADIENTS = "gradients of the model"
    LABELS = "labels"
    NETWORK = "a probe network of its own"


@dataclasses.dataclass(frozen=True)
class Score:
    """A score of one public set: `value(private, public, k, m)` reads the first m rows of both
    without noise.

    unit: what its number is, along an axis. smallest, largest: the least and the most that it can
    be. from_moment, from_directions: its private form, if any, from what was released and the
    candidate's directions (s, k): the second moment (s, s), of which one Gaussian release ranks any
    number of candidates, or directions (s, k) by the exact sampler (pure ε).
    is_of_features: it compares features of all rows, not gradients, from one release of class sums;
    `class_signal` has its form. null: what a set without use scores, from where the others are
    drawn. is_on_unit_axis: drawn on the whole of [0, 1]. is_subspace_distance: a set and itself lie
    at 0, random subspaces near 1. seconds_per_row: what it takes beside the model's own pass, on
    one core.
    """

    name: str
    title: str
    source: str
    idea: str
    unit: str
    value: ValueOf | None = None
    from_moment: Shares | None = None
    from_directions: Shares | None = None
    needs: frozenset[Need] = frozenset()
    smallest: float = 0.0
    largest: float = math.inf
    null: float = 0.0
    is_of_features: bool = False
    is_on_unit_axis: bool = False
    is_subspace_distance: bool = False
    seconds_per_row: float = 0.0
    version: int = 1

    @property
    def private_form(self) -> str:
        """How ε is spent: "class sums", "moment", "directions", or "" where the score has no
        private form."""
        if self.is_of_features:
            return "class sums"
        return "moment" if self.from_moment else "directions" if self.from_directions else ""


SCORES: Registry[Score] = Registry("score", Score, home="pillar_core.screening")


def projection_residual(private: Seen, public: Seen, k: int, m: int) -> float:
    """The share of the private gradients' squared norm outside the public directions: 1 −
    ‖GV‖²_F/‖G‖²_F."""
    basis = public.gradients.directions(k, m).basis
    inside, total = 0.0, 0.0
    for chunk in (
        (private.gradients.rows[:m],) if private.gradients.fits else private.gradients.chunks()
    ):
        inside += float(np.square(chunk.numpy() @ basis.astype(np.float32)).sum(dtype=np.float64))
        total += float(np.square(chunk.numpy()).sum(dtype=np.float64))
    return float(np.clip(1.0 - inside / max(total, 1e-300), 0.0, 1.0))


def _register(
    name: str,
    *needs: Need,
    value: ValueOf | None = None,
    moment: Shares | None = None,
    directions: Shares | None = None,
) -> None:
    """Register a score, which `scores.toml` describes."""
    facts = toml_tables(Path(__file__).with_suffix(".toml"))[name]
    SCORES.register(
        Score(
            name,
            needs=frozenset(needs),
            value=value,
            from_moment=moment,
            from_directions=directions,
            **facts,
        )
    )


_register("class_signal", Need.LABELS)
_register(
    "gsd",
    Need.GRADIENTS,
    value=lambda a, b, k, _: projection_distance(*shared_bases(a.gradients, b.gradients, k)),
    moment=lambda moment, basis: projection_distance(top_of(moment, basis.shape[1]), basis),
)
_register("missed_energy", Need.GRADIENTS, value=projection_residual, moment=residual_of_moment)
_register("gsd_pure", Need.GRADIENTS, directions=projection_distance)
_register(
    "task2vec",
    Need.LABELS,
    Need.NETWORK,
    value=lambda a, b, _, m: rivals.task2vec_distance(a.fisher(m), b.fisher(m)),
)
_register(
    "otdd",
    Need.LABELS,
    value=lambda a, b, _, m: otdd(a.flat[:m], a.labels[:m], b.flat[:m], b.labels[:m]),
)
