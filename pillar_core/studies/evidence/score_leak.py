"""The attack on a gradient subspace distance, wired: gradients from a screening model, attackers
from `auditing.score_leak`."""

import dataclasses

import numpy as np
import pandas as pd

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.auditing import lira
from pillar_core.auditing import score_leak as attacks
from pillar_core.auditing.membership import Rate
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.screening.batches import Start, chosen_rows, random_labels
from pillar_core.screening.models import GradientModel, model_of
from pillar_core.subspace import top_directions

K, BATCH, BATCHES, CANDIDATES = 16, 300, 128, 60
DIGITS: dict[str, int | None] = {
    "all digits": None,
    "four decimals": 4,
    "two decimals, as in tables": 2,
}
COLUMNS = 8192
"""Of the gradients that are held in double precision at once."""
PUBLISHED = 0.5031
"""Success of the paper's strongest white-box attacker: gsd, Table 8, gradients and GSD values,
1,800 of 2,000 rows known."""


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreLeak:
    """What attackers make of one released distance.

    distance: the batch's; largest_movement: the most that one of the candidates moves it; table:
    columns attacker, sees, success, low, high, shares of right guesses about one row where half are
    right by chance.
    """

    distance: float
    largest_movement: float
    rows: int
    table: pd.DataFrame


def score_leak(
    private: Array,
    public: Array,
    *,
    model: str = "linear_head",
    k: int = K,
    batch: int = BATCH,
    batches: int = BATCHES,
    candidates: int = CANDIDATES,
    seed: int = 0,
) -> ScoreLeak:
    """Attacks the distance between a batch of private rows and a batch of public rows. A
    non-private diagnostic.

    private, public: rows as the screening model takes them (numbers for "linear_head", images for
    networks). Half of the chosen private rows make the batch, the others stay out; each has a
    random label of its own, which the attackers know. Raises DataError: fewer than 2(k + 2) private
    rows, or fewer than k public ones. UnknownNameError: no such model.
    """
    size = min(batch, len(private) // 2)
    if size < k + 2:
        raise DataError(
            f"the attack needs at least {2 * (k + 2)} private rows for k = {k}; got {len(private)}."
            " Lower k."
        )
    distance = batch_distance(
        private, public, model=model, k=k, rows=2 * size, public_rows=size, seed=seed
    )
    stream = rng.stream(seed, "score leak")
    members = np.sort(stream.permutation(2 * size)[:size])
    with_row, without = attacks.movements(
        distance, members, stream.permutation(members)[:candidates]
    )
    lines = [
        ("all other rows", sees, attacks.known_others(with_row, without, decimals=count))
        for sees, count in DIGITS.items()
    ]
    for share in (
        0.5,
        0.9,
    ):  # of the batch: the paper's attacker knows 1,000 and 1,800 of 2,000 rows
        rate = _partial(distance, members, round(share * size), batches, stream)
        lines.append((f"{share:.0%} of the batch", "all digits", rate))
    table = pd.DataFrame(
        [(attacker, sees, *dataclasses.astuple(rate)) for attacker, sees, rate in lines],
        columns=["attacker", "sees", "success", "low", "high"],
    )
    moved = float(np.abs(with_row - without).max())
    return ScoreLeak(float(with_row[0]), moved, size, table)


def batch_distance(
    private: Array, public: Array, *, model: str, k: int, rows: int, public_rows: int, seed: int
) -> attacks.BatchDistance:
    """The distance of any batch out of `rows` private rows to one batch of public rows, at one
    random start of the model."""
    chosen, start = model_of(model), Start(seed)
    pool = _gradients(chosen, private, rows, start)
    directions = top_directions(_gradients(chosen, public, public_rows, start), k).basis
    gram: Array = np.zeros((len(pool), len(pool)))
    shared: Array = np.zeros((len(pool), k))
    for first in range(0, pool.shape[1], COLUMNS):
        columns = pool[:, first : first + COLUMNS].double().numpy()
        gram += columns @ columns.T
        shared += columns @ directions[first : first + COLUMNS]
    return attacks.BatchDistance(gram, shared)


def _gradients(model: GradientModel, rows: Array, count: int, start: Start) -> "torch.Tensor":
    """(m, p) float32 gradients of at most `count` of the rows, each with a random label."""
    picked = chosen_rows(len(rows), count, seed=start.seed)
    labels = random_labels(len(picked), seed=start.seed)
    return torch.cat(list(model.chunks(model.prepare(rows[picked]), labels, start)()))


def _partial(
    distance: attacks.BatchDistance,
    members: Array,
    known: int,
    batches: int,
    stream: np.random.Generator,
) -> Rate:
    """The attacker who knows `known` of the members: the rest of each batch is drawn from all other
    rows of the pool."""
    size, pool = len(members), np.arange(len(distance.gram))
    order = stream.permutation(members)
    fixed, open_ = (
        order[:known],
        np.concatenate([order[known:], np.setdiff1d(pool, members)[: size - known]]),
    )
    included = lira.halves(batches, len(open_), stream)
    distances = np.array([distance(np.concatenate([fixed, open_[row]])) for row in included])
    return attacks.known_part(distances, included)
