"""What PATE and private-kNN share: private rows vote on public rows, the noisy votes teach a student that sees public rows only.

One query's votes (C,) move by at most √2 in L2 norm when one voter changes its mind, whichever relation makes it: so a query
is a Gaussian release with sensitivity √2 under both, and `noise_multiplier` is the votes' noise in units of √2.

Rows in k public directions are each a function of itself alone to the last bit. A matrix product adds up in an order that depends on how
many rows there are and where a row stands, so in floating point a row that comes or goes can move all others by an ulp. Where a vote or a
neighbour hangs on a comparison, that could move more than one of them. Here factors are whole numbers (of a public unit) small enough for
every product and every partial sum to be exact in float64, whatever the order; all else is done entry by entry. The results are multiples
of 2⁻¹⁵ of a public power of two, so that their squared distances are exact in float64 as well.
"""

import dataclasses
import math
from typing import TypeVar

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier
from pillar_core.engine.logistic import cross_validated_ridge, shrunk_regression
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import Plan
from pillar_core.methods.parts.fields import toml_setting
from pillar_core.rng import Stream, Streams
from pillar_core.splits import Prepared, Transform, View
from pillar_core.types import PrivacyBudget, PublicFacts, TrainResult

VOTE_SENSITIVITY = math.sqrt(2.0)
REPLACE_ONE_FACTOR = 1.0

MOST_QUERIES = 1000
ROWS = ("k", "standardise", "centre", "normalise")
"""The settings that decide which rows are compared."""


@dataclasses.dataclass(frozen=True)
class VotingSettings:
    """How many public rows are voted on, in how many dimensions, and what the student learns."""

    queries: int | None = toml_setting("voting", "queries")
    k: int | None = params.setting(params.K)
    student: str = toml_setting("voting", "student")
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER, help="Noise of a query's votes, in units of √2.")


V = TypeVar("V", bound=VotingSettings)


def query_event(noise_multiplier: float) -> DpEvent:
    """One answered query."""
    return events.gaussian(noise_multiplier, replace_one_factor=REPLACE_ONE_FACTOR)


def queries_of(settings: VotingSettings, facts: PublicFacts) -> int:
    """How many public rows are asked about."""
    return min(settings.queries or MOST_QUERIES, facts.n_public)


def resolve_schedule(settings: V, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan[V]:
    """Fills `queries`."""
    if settings.queries is not None:
        return Plan(settings)
    n_queries = queries_of(settings, facts)
    return Plan(dataclasses.replace(settings, queries=n_queries), (f"queries = {n_queries}: all public rows, at most {MOST_QUERIES:,}.",))


def project(settings: VotingSettings, view: View) -> Prepared:
    """Private and public rows in k public directions, each independent of all others to the last bit; made once a split."""
    values = {name: getattr(settings, name) for name in ROWS}
    return view.memo.get(("exact rows", *values.values()), lambda: exact_rows(view, **values))


def query_rows(settings: VotingSettings, facts: PublicFacts, streams: Streams) -> Array:
    """The public rows that are asked about, in order."""
    return streams.public("queries").permutation(facts.n_public)[: queries_of(settings, facts)]


def stable_ids(view: View) -> Array:
    """(n,) int64 each private row's own number, which no other row's presence changes: its place in the loaded rows."""
    return np.arange(len(view.x), dtype=np.int64) if view.rows is None else view.rows


def vote_mechanism(noise_multiplier: float, stream: Stream, ledger: Ledger) -> GaussianMechanism:
    """The release of one query's votes."""
    return GaussianMechanism(noise_multiplier, VOTE_SENSITIVITY, stream, ledger, REPLACE_ONE_FACTOR, label="noisy votes")


def release_votes(mechanism: GaussianMechanism, votes: Array) -> Array:
    """(m, C) float64 noisy votes, one release a row."""
    return np.stack([mechanism.release(torch.from_numpy(row)).numpy() for row in votes]).astype(np.float64)


def noise_std(mechanism: GaussianMechanism) -> float:
    """The noise's standard deviation in votes."""
    return mechanism.noise_multiplier * mechanism.l2_clip_norm


def student(z_queries: Array, noisy: Array, prepared: Prepared, *, learns: str, mechanism: GaussianMechanism) -> TrainResult:
    """The student of noisy votes (m, C) on public rows z_asked (m, k): post-processing of what `mechanism` released."""
    if learns == "votes":
        weights, bias = shrunk_regression(z_queries, noisy, noise_std=noise_std(mechanism))
    else:
        weights, bias = cross_validated_ridge(z_queries, np.eye(noisy.shape[1])[noisy.argmax(axis=1)])
    return TrainResult(LinearClassifier(prepared.transform, weights, bias))


MANTISSA_BITS = 53
STEP = 2.0**-15
ROOM = 4.0
"""Private entries may be this many times the largest public one before they are cut; a unit row keeps its direction otherwise."""
CHUNK_ROWS = 4096


def exact_rows(view: View, *, standardise: bool | None, centre: bool | None, normalise: bool, k: int) -> Prepared:
    """Private and public rows as `View.prepare` makes them, on the grid of STEP. z, z_public: (n, k), (m, k) float32.

    Raises DataError for k above the rank of the public rows, or no public rows.
    """
    transform = view.basis(standardise=standardise, centre=centre).transform(k, normalise=normalise)
    reach = ROOM * (float(np.abs(_affine(view.x_public, transform)).max(initial=0.0)) or 1.0)
    public = _project_rows(view.x_public, None, transform, reach)
    largest = 1.0 if normalise else float(np.abs(public).max(initial=0.0)) or 1.0
    limit = 2.0 ** math.ceil(math.log2(largest))
    return Prepared(_on_grid(_project_rows(view.x, view.rows, transform, reach), limit), _on_grid(public, limit), transform)


def _project_rows(x: Array, indices: Array | None, transform: Transform, reach: float) -> Array:
    """(n, k) float64 rows before the grid; every product sum exact."""
    projection = np.asarray(transform.projection, dtype=np.float64)
    bits = (MANTISSA_BITS - math.ceil(math.log2(max(len(projection), 2)))) // 2
    rounded = np.rint(np.clip(projection, -1.0, 1.0) * 2.0**bits)
    n = len(x) if indices is None else len(indices)
    out = np.empty((n, projection.shape[1]))
    for start in range(0, n, CHUNK_ROWS):
        part = slice(start, start + CHUNK_ROWS)
        rows = _affine(x[part] if indices is None else x[indices[part]], transform) / reach
        np.matmul(np.rint(np.clip(rows, -1.0, 1.0) * 2.0**bits), rounded, out=out[part])
    out *= reach * 2.0 ** (-2 * bits)
    if transform.normalise:
        lengths = _lengths(out)
        out /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return out


def _affine(x: Array, transform: Transform) -> Array:
    rows = x.astype(np.float64)
    if transform.mean is not None:
        rows -= transform.mean
    if transform.scale is not None:
        rows /= transform.scale
    return rows


def _lengths(z: Array) -> Array:
    """(n,) lengths, added up column by column: the order is the same for every row."""
    squares = np.zeros(len(z))
    for column in z.T:
        squares += column * column
    return np.sqrt(squares)


def _on_grid(z: Array, limit: float) -> Array:
    return np.asarray((np.rint(np.clip(z / limit, -1.0, 1.0) / STEP) * (STEP * limit)).astype(np.float32))
