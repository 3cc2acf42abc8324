"""What a released gradient subspace distance tells about one private row: two attackers on the same
number.

The distance is a deterministic function of the private batch. Whoever knows all other rows computes
it with the row and without, and needs no more than enough digits of the released one. The attacker
of gsd, appendix D.1, knows a part of the batch only; here that attacker compares the released
distance with those of many batches that hold the same known rows, with each other row and without
it, by likelihood ratio. All of it reads private rows without noise: a non-private diagnostic.
"""

import dataclasses
import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.auditing import lira
from pillar_core.auditing.membership import Rate, clopper_pearson
from pillar_core.errors import DataError

SAME = 1e-9
"""Distances this close count as equal where all digits are released: float64 sums in another order
differ by about 1e-14."""


@dataclasses.dataclass(frozen=True, eq=False)
class BatchDistance:
    """The distance of any batch out of a pool, without building its gradients' directions.

    gram: (N, N) float64 inner products of the pool's gradients; shared: (N, k) float64, the
    gradients' coordinates in the public set's k directions.
    """

    gram: Array
    shared: Array

    def __call__(self, batch: Array) -> float:
        """The normalised distance in [0, 1] of the rows numbered in `batch`: √(1 − ‖Λ^−½UᵀG
        B‖²_F/k), G GᵀU = UΛ.

        Raises DataError: a batch whose gradients span fewer than k directions.
        """
        from scipy.linalg import eigh

        k, m = self.shared.shape[1], len(batch)
        if m < k:
            raise DataError(
                f"a batch must have at least k = {k} rows to span k directions; got {m}."
            )
        values, vectors = eigh(
            self.gram[np.ix_(batch, batch)], subset_by_index=[m - k, m - 1], check_finite=False
        )
        if not values[0] > 1e-10 * values[-1]:
            raise DataError(
                f"the batch's gradients span fewer than k = {k} directions: many rows are alike."
                " Lower k."
            )
        inside = (vectors / np.sqrt(values)).T @ self.shared[batch]
        return math.sqrt(max(0.0, 1.0 - float(np.square(inside).sum()) / k))


def movements(distance: BatchDistance, batch: Array, candidates: Array) -> tuple[Array, Array]:
    """(distance with each candidate, distance without it), (n,) float64 each; candidates are
    numbers out of `batch`."""
    return np.full(len(candidates), distance(batch)), np.array(
        [distance(batch[batch != candidate]) for candidate in candidates]
    )


def known_others(with_row: Array, without_row: Array, *, decimals: int | None) -> Rate:
    """How often an attacker who knows all other rows is right about a row's presence, from a
    distance of so many decimals.

    Right for sure where the two released numbers differ, a coin otherwise: ½ + ½·share that
    differs, with the exact interval of that share. decimals None: all digits.
    """
    released = [
        values if decimals is None else np.round(values, decimals)
        for values in (with_row, without_row)
    ]
    differs = np.abs(released[0] - released[1]) > SAME
    share = clopper_pearson(int(differs.sum()), len(differs))
    return Rate((1 + share.value) / 2, (1 + share.low) / 2, (1 + share.high) / 2)


def known_part(distances: Array, included: Array) -> Rate:
    """How often an attacker who knows a part of the batch is right about a row outside that part;
    half of those are in.

    distances: (H,) of H batches that share the known rows; included: (H, n) bool, which of n other
    rows are in each. Batches come in pairs that are each other's complement. Each batch in turn is
    attacked with all but its pair as reference. The interval is normal over pairs, because all
    guesses about one batch rest on one number.
    """
    heads, right = len(distances), []
    for target in range(heads):
        references = [head for head in range(heads) if head // 2 != target // 2]
        reference = np.broadcast_to(
            distances[references, None], (len(references), included.shape[1])
        )
        ratio = lira.online(
            np.full(included.shape[1], distances[target]), reference, included[references]
        )
        right.append(float(((ratio > 0) == included[target]).mean()))
    pairs = np.array(right).reshape(-1, 2).mean(axis=1)
    mean, half = float(pairs.mean()), 1.96 * float(pairs.std(ddof=1)) / math.sqrt(len(pairs))
    return Rate(mean, max(0.0, mean - half), min(1.0, mean + half))
