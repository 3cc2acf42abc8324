"""The public eigenbasis: one eigendecomposition of the public rows serves every k, because top-k
bases are prefixes."""

import contextlib
import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.grouping import slices
from pillar_core.splits.transform import Transform, rows_at_once
from pillar_core.threads import LARGE_WORK, threads_for

RANK_TOLERANCE = 1e-6
"""Eigenvalues below this fraction of the largest count as zero: float32 features carry about seven
digits."""


UNEQUAL = 4.0
"""Times as many labelled public rows as the smallest class has, from which the largest moves the
centre too far: measured in docs/decisions/0012."""
ROWS_AT_ONCE = 8192
"""Public rows that are widened to float64 at a time."""
LARGEST_SHARE = 0.1
"""A column with more of the variance than this has a unit of its own: of deep features and of
pixels it is below 0.05."""


@dataclasses.dataclass(frozen=True, eq=False)
class PublicBasis:
    """Principal directions of public rows. vectors: (d, r) float32, orthonormal columns;
    eigenvalues: (r,) float64, falling.

    mean, scale: (d,) float32 or None, what was subtracted and divided before. The sign of each
    direction is fixed (largest coordinate positive); only the subspaces mean anything.
    """

    eigenvalues: Array
    vectors: Array
    mean: Array | None
    scale: Array | None

    @property
    def rank(self) -> int:
        """Number of directions that the public rows span; after centring at most m − 1."""
        return len(self.eigenvalues)

    def transform(self, k: int | None, *, normalise: bool) -> Transform:
        """The preprocessing onto the first k directions (k None: no projection). Raises DataError:
        k above the rank."""
        if k is None:
            return Transform(self.mean, self.scale, None, normalise)
        if k > self.rank:
            raise DataError(
                f"k must be at most {self.rank}, the rank of the public rows; got {k}. Lower k or"
                " bring more public rows."
            )
        return Transform(self.mean, self.scale, self.vectors[:, :k], normalise)


def centre_weights(labels: Array | None) -> Array | None:
    """(m,) float64 weights, of sum 1, of public rows with these labels in their mean; None where
    classes are not `UNEQUAL`, or nobody knows them.

    A class counts by the root of its rows: between the mean of all rows, which is the largest
    class's, and the mean of the classes' means, which hangs on few rows of the smallest.
    """
    if labels is None or not len(labels):
        return None
    sizes = np.bincount(labels)
    if sizes.max() < UNEQUAL * sizes[sizes > 0].min():
        return None
    weights = sizes[labels] ** -0.5
    return np.asarray(weights / weights.sum())


def moments(
    x: Array,
    *,
    standardise: bool,
    centre: bool,
    block: slice | None = None,
    weights: Array | None = None,
) -> tuple[Array | None, Array | None]:
    """(mean, scale) of public rows x (m, d), float32, None where not asked for; a constant feature
    gets scale 1.

    block: columns that share one scale, with which they vary as much as all other columns together.
    weights: (m,) of the rows in the mean, by default all alike.
    """
    if not len(x) and (standardise or centre):
        raise DataError(
            "standardise and centre need public rows; this split has none. Set both to false, or"
            " split with public rows."
        )
    mean = None
    if centre:
        mean = x.mean(axis=0, dtype=np.float64) if weights is None else weights @ x
    scale = None
    if standardise:
        deviation = x.std(axis=0, dtype=np.float64)
        if block is not None:
            deviation[block] = np.sqrt(
                (deviation[block] ** 2).sum() / (len(deviation) - len(deviation[block]))
            )
        scale = np.where(
            deviation > RANK_TOLERANCE * deviation.max(initial=0.0), deviation, 1.0
        ).astype(np.float32)
    return (None if mean is None else mean.astype(np.float32)), scale


def has_units(x: Array, block: slice | None = None) -> bool:
    """Whether one column of the public rows x (m, d) would have most say if none were standardised;
    no rows say no.

    block: columns that became of a text beside others, whose units it does not share.
    """
    if not len(x) or block is not None:
        return bool(len(x))
    mean, parts = x.mean(axis=0, dtype=np.float64), slices(len(x), rows_at_once(x.shape[1]))
    variances = np.add.reduce([np.square(x[part] - mean).sum(axis=0) for part in parts])
    return bool(variances.max() > LARGEST_SHARE * variances.sum())


def public_basis(
    x: Array,
    *,
    standardise: bool,
    centre: bool,
    block: slice | None = None,
    weights: Array | None = None,
) -> PublicBasis:
    """The eigenbasis of the public second moment, after standardising and centring as asked; block,
    weights: see `moments`.

    Works on the smaller of the (d, d) moment and the (m, m) Gram matrix, in float64.

    Raises DataError: no public rows, or rows that are all equal.
    """
    if not len(x):
        raise DataError(
            "a public projection needs public rows; split with public_fraction, public_per_class or"
            " public."
        )
    mean, scale = moments(x, standardise=standardise, centre=centre, block=block, weights=weights)
    rows = Transform(mean, scale)(x)
    work = 10 * min(rows.shape) ** 3
    # A small decomposition on several threads waits for them; a large one gets what torch was
    # given, whatever the load is now.
    with threads_for(work) if work < LARGE_WORK else contextlib.nullcontext():
        values, vectors = _directions(rows)
    if not len(values):
        raise DataError(
            "the public rows are all equal, so they span no direction; bring other public rows."
        )
    signs = torch.sign(vectors.gather(0, vectors.abs().argmax(0, keepdim=True)))
    return PublicBasis(
        values.numpy(), np.ascontiguousarray((vectors * signs).float().numpy()), mean, scale
    )


def _directions(rows: Array) -> "tuple[torch.Tensor, torch.Tensor]":
    """(r,) positive eigenvalues of the second moment of rows (m, d) float32, falling, and their
    (d, r) eigenvectors."""
    m, d = rows.shape
    if m < d:
        wide = rows.astype(np.float64)
        values, left = torch.linalg.eigh(torch.from_numpy(wide @ wide.T / m))
        values, keep = _positive(values)
        return values, torch.from_numpy(wide).T @ left[:, keep] / torch.sqrt(values * m)
    values, vectors = torch.linalg.eigh(torch.from_numpy(second_moment(rows)))
    values, keep = _positive(values)
    return values, vectors[:, keep]


def second_moment(rows: Array) -> Array:
    """(d, d) float64 mean of u uᵀ over rows u (m, d) float32, widened some at a time.

    By numpy, which fills one half of a matrix times itself and copies it: torch computes both.
    """
    total = np.zeros((rows.shape[1], rows.shape[1]))
    for part in slices(len(rows), ROWS_AT_ONCE):
        wide = rows[part].astype(np.float64)
        total += wide.T @ wide
    return total / len(rows)


def _positive(values: "torch.Tensor") -> "tuple[torch.Tensor, torch.Tensor]":
    """The eigenvalues that count as positive, falling, and their positions."""
    order = torch.argsort(values, descending=True)
    keep = order[values[order] > RANK_TOLERANCE * values.max().clamp(min=0)]
    return values[keep], keep
