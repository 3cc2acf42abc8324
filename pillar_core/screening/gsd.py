"""Gradient subspace distance: how far the directions of public gradients lie from those of private
ones.

Per-example gradients of m private and m public rows under random labels, at the model's start;
uncentred; their top k right singular directions; the projection metric, divided by √k (gsd,
Algorithm 1; the paper's tables are the normalised form). A non-private diagnostic: it reads private
rows without noise.
"""

import dataclasses
from collections.abc import Hashable, Iterator
from functools import cached_property

import numpy as np

from pillar_core import checks, subspace
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.memo import Memo
from pillar_core.params import Param
from pillar_core.screening.batches import Start, chosen_rows, random_labels, require_images
from pillar_core.screening.models import Chunks, GradientModel, model_of
from pillar_core.types import Dataset

K = Param(
    "k", int, 16, "Directions that are compared.", low=1, high=1024, unit="directions", log=True
)
N_EXAMPLES = Param(
    "n_examples",
    int,
    2000,
    "Rows of each set (fewer where a set has fewer).",
    low=2,
    high=100_000,
    unit="rows",
    log=True,
)
REPEATS = Param(
    "repeats", int, 3, "Draws of rows, labels and network start, for intervals.", low=1, high=100
)

_DIRECTIONS = Memo(slots=12)
"""Directions by what their gradients are made of: a longer list of candidates costs only what is
new in it."""


def gsd(
    private: Dataset,
    public: Dataset,
    *,
    model: str = "probe",
    k: int = 16,
    n_examples: int = 2000,
    normalised: bool = True,
    seed: int = 0,
) -> float:
    """The gradient subspace distance of two sets' train rows: in [0, 1], or [0, √k] where not
    normalised.

    Both get the same random labels at the same positions and the same choice of rows, so a set and
    itself are at distance 0 exactly. The smaller set decides m where one has fewer than
    `n_examples` rows. A non-private diagnostic. Raises SettingError: k or n_examples out of range.
    DataError: fewer rows than k, gradients that span fewer than k directions, numbers where the
    model takes images. UnknownNameError: no such model.

    >>> digits = pc.load_dataset("digits")
    >>> pc.gsd(digits, digits, k=4, n_examples=100)
    0.0
    """
    checks.within(k=(k, K), n_examples=(n_examples, N_EXAMPLES))
    chosen = model_of(model)
    require_one_width([private, public], chosen)
    m = min(n_examples, len(private.x_train), len(public.x_train))
    first, second = (
        Side(data, chosen, n_examples, seed).gradients(0, m) for data in (private, public)
    )
    return subspace.projection_distance(*shared_bases(first, second, k), normalised=normalised)


@dataclasses.dataclass(frozen=True, eq=False)
class Gradients:
    """The gradients of m rows: in memory with their Gram matrix where narrow, else made again for
    each pass.

    made_of: what decides their numbers, by content; their directions are then computed once in this
    process.
    """

    chunks: Chunks
    m: int
    seed: int = 0
    made_of: Hashable = None

    @cached_property
    def width(self) -> int:
        """p, numbers in a gradient."""
        return int(self._first_and_rest[0].shape[1])

    @property
    def fits(self) -> bool:
        """Whether the rows are kept in memory."""
        return self.width <= subspace.GRAM_PARAMETERS

    @cached_property
    def rows(self) -> "torch.Tensor":
        """(m, p) float32; for p up to GRAM_PARAMETERS."""
        first, rest = self._first_and_rest
        return torch.cat([first, *rest])

    @cached_property
    def products(self) -> "torch.Tensor":
        """(m, m) float32 Gram matrix."""
        return subspace.gram(self.rows)

    def directions(self, k: int, m: int) -> subspace.Directions:
        """The top k directions of the first m rows, computed once: exact through the Gram matrix,
        or where wide a randomised SVD."""

        def compute() -> subspace.Directions:
            if self.fits:
                return subspace.top_directions(self.rows[:m], k, products=self.products[:m, :m])
            return subspace.streamed_directions(
                lambda: _take_rows(self.chunks(), m), k, seed=self.seed
            )

        return compute() if self.made_of is None else _DIRECTIONS.get((self.made_of, k, m), compute)

    @cached_property
    def _first_and_rest(self) -> "tuple[torch.Tensor, Iterator[torch.Tensor]]":
        """The first chunk, which tells the width, and an iterator of the rest."""
        chunks = self.chunks()
        return next(chunks), chunks


def shared_bases(first: Gradients, second: Gradients, k: int) -> tuple[Array, Array]:
    """The top k directions (p, k) of both, from as many rows of each."""
    m = min(first.m, second.m)
    return first.directions(k, m).basis, second.directions(k, m).basis


class Side:
    """One set seen through one model: what no repeat changes is done once, for the rows that the
    repeats choose."""

    def __init__(
        self, data: Dataset, model: GradientModel, n_examples: int, seed: int, repeats: int = 1
    ) -> None:
        if not model.takes_numbers:
            require_images(data, model.name)
        self.data, self.model, self.seed, self.n_examples = data, model, seed, n_examples
        chosen = [
            chosen_rows(len(data.x_train), n_examples, seed=seed, repeat=repeat)
            for repeat in range(repeats)
        ]
        used = np.unique(np.concatenate(chosen))
        self.prepared = model.prepare(data.x_train[used])
        self.places = [np.searchsorted(used, rows) for rows in chosen]
        self.chosen = chosen

    def gradients(
        self, repeat: int = 0, m: int | None = None, *, start: int | None = None
    ) -> Gradients:
        """The gradients of the repeat's first m rows, at the network start of that repeat or of
        `start`."""
        places = self.places[repeat][:m]
        labels = random_labels(len(places), seed=self.seed, repeat=repeat)
        rows, named = self.prepared[places], Start(self.seed, repeat if start is None else start)
        chunks = self.model.chunks(rows, labels, named)
        return Gradients(
            chunks, len(places), self.seed, (self.model, fingerprint(rows), repeat, named)
        )


def require_one_width(sets: list[Dataset], model: GradientModel) -> None:
    """Rows of numbers can be compared only where they have the same columns. Raises DataError:
    naming the widths."""
    if not model.takes_numbers:
        return
    widths = {data.x_train.shape[1] if data.x_train.ndim == 2 else "images" for data in sets}
    if len(widths) > 1:
        raise DataError(
            "rows must have the same columns to be compared; got"
            f" {', '.join(map(str, sorted(map(str, widths))))}."
        )


def _take_rows(chunks: "Iterator[torch.Tensor]", count: int) -> "Iterator[torch.Tensor]":
    """The chunks of the first `count` rows."""
    for chunk in chunks:
        if count <= 0:
            return
        yield chunk[:count]
        count -= len(chunk)
