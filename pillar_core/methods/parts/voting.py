"""What PATE and private-kNN share: private rows vote on public rows, the noisy votes teach a
student that sees public rows only.

One query's votes (C,) move by at most √2 in L2 norm when one voter changes its mind, whichever
relation makes it: so a query is a Gaussian release with sensitivity √2 under both, and
`noise_multiplier` is the votes' noise in units of √2.

Rows in k public directions are each a function of itself alone to the last bit (`Transform.rows`).
Where a vote or a neighbour hangs on a comparison, a row that comes or goes could else move more
than one of them. Here rows are multiples of 2⁻¹⁵ of a public power of two, so that their squared
distances are exact in float64 as well.
"""

import dataclasses
import math
from typing import TypeVar

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier, exact
from pillar_core.engine.logistic import cross_validated_ridge, shrunk_regression
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import Plan
from pillar_core.methods.parts import rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PrivacyBudget, PublicFacts, TrainResult

VOTE_SENSITIVITY = math.sqrt(2.0)
REPLACE_ONE_FACTOR = 1.0

MOST_QUERIES = 1000
ROWS = ("k", "standardise", "centre", "normalise")
"""The settings that decide which rows are compared."""


@dataclasses.dataclass(frozen=True)
class VotingSettings:
    """How many public rows are voted on, in how many dimensions, and what the student learns."""

    queries: int | None = params.declare(
        None,
        "Public rows that are labelled by vote.",
        low=1,
        unit="rows",
        log=True,
        none_means="all public rows, at most 1,000",
    )
    k: int | None = params.setting(params.K)
    student: str = params.declare(
        "votes",
        "What the student learns: the noisy votes themselves (released anyway), or their argmax"
        " as in the papers.",
        choices=("votes", "labels"),
    )
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    normalise: bool = params.setting(params.NORMALISE)
    noise_multiplier: float | None = params.setting(
        params.NOISE_MULTIPLIER, help="Noise of a query's votes, in units of √2."
    )


V = TypeVar("V", bound=VotingSettings)


def query_event(noise_multiplier: float) -> DpEvent:
    """One answered query."""
    return events.gaussian(noise_multiplier, replace_one_factor=REPLACE_ONE_FACTOR)


def queries_of(settings: VotingSettings, facts: PublicFacts) -> int:
    """How many public rows are asked about."""
    return min(settings.queries or MOST_QUERIES, facts.n_public)


def resolve_schedule(settings: V, facts: PublicFacts, budget: PrivacyBudget | None) -> Plan[V]:
    """Fills `queries`."""
    why = f"all public rows, at most {MOST_QUERIES:,}"
    return Plan(settings).fill("queries", queries_of(settings, facts), why)


def resolve_k(settings: V, facts: PublicFacts, most: int, purpose: str) -> Plan[V]:
    """Fills `k`, at most `most`; purpose: the end of the reason, after the number. Raises
    DataError for a k above the rank of the public rows."""
    rank = rules.public_rank(facts)
    rules.check_k(settings.k, rank)
    k = min(most, rank)
    return Plan(settings).fill("k", k, f"{purpose} {k} directions")


def project(settings: VotingSettings, view: View) -> Prepared:
    """Private and public rows in k public directions, each independent of all others to the last
    bit; made once a split."""
    values = {name: getattr(settings, name) for name in ROWS}
    return view.memo.get(("exact rows", *values.values()), lambda: exact_rows(view, **values))


def query_rows(settings: VotingSettings, facts: PublicFacts, streams: Streams) -> Array:
    """The public rows that are asked about, in order."""
    return streams.public("queries").permutation(facts.n_public)[: queries_of(settings, facts)]


def vote_mechanism(settings: VotingSettings, streams: Streams, ledger: Ledger) -> GaussianMechanism:
    """The release of one query's votes."""
    mechanism = GaussianMechanism(
        settings.noise_multiplier or 0.0,
        VOTE_SENSITIVITY,
        streams.secret("noise"),
        ledger,
        REPLACE_ONE_FACTOR,
        label="noisy votes",
    )
    if mechanism.is_exact:
        exact.refuse(1, 1, exact.SUM_UNITS)
    return mechanism


def release_votes(mechanism: GaussianMechanism, votes: Array) -> Array:
    """(m, C) float64 noisy votes (m, C), one release a row."""
    return np.stack(
        [mechanism.release_counts(row).numpy() for row in torch.from_numpy(votes.astype(np.int64))]
    )


def noise_std(mechanism: GaussianMechanism) -> float:
    """The noise's standard deviation in votes."""
    return mechanism.noise_multiplier * mechanism.l2_clip_norm


def student(
    z_queries: Array, noisy: Array, prepared: Prepared, *, learns: str, mechanism: GaussianMechanism
) -> TrainResult:
    """The student of noisy votes (m, C) on public rows z_asked (m, k): post-processing of what
    `mechanism` released."""
    if learns == "votes":
        weights, bias = shrunk_regression(z_queries, noisy, noise_std=noise_std(mechanism))
    else:
        weights, bias = cross_validated_ridge(
            z_queries, np.eye(noisy.shape[1])[noisy.argmax(axis=1)]
        )
    return TrainResult(LinearClassifier(prepared.transform, weights, bias))


STEP = 2.0**-15


def exact_rows(
    view: View, *, standardise: bool | None, centre: bool | None, normalise: bool, k: int
) -> Prepared:
    """Private and public rows as `View.prepare` makes them, on the grid of STEP. z, z_public: (n,
    k), (m, k) float32.

    Raises DataError for k above the rank of the public rows, or no public rows.
    """
    transform = view.basis(standardise=standardise, centre=centre).transform(k, normalise=normalise)
    prepared = view.apply(transform)
    largest = 1.0 if normalise else float(np.abs(prepared.z_public).max(initial=0.0)) or 1.0
    limit = 2.0 ** math.ceil(math.log2(largest))
    return Prepared(
        _on_grid(prepared.z, limit), transform, lambda: _on_grid(prepared.z_public, limit)
    )


def _on_grid(z: Array, limit: float) -> Array:
    return np.asarray(
        (np.rint(np.clip(z / limit, -1.0, 1.0) / STEP) * (STEP * limit)).astype(np.float32)
    )
