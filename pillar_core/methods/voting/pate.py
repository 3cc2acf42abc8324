"""PATE: teachers trained on disjoint parts of the private rows vote on public rows; a student
learns from the noisy votes.

A row belongs to a teacher by a fixed public scrambling of its own number, so no other row's
presence moves it. A teacher is a ridge regression in k public directions on its rows. GNMax adds
Gaussian noise to each asked row's votes. Confident-GNMax (`answers` given) first buys, for every
asked row, a noisy count of the top class, and has only the `answers` rows with the highest ones
answered; `threshold` further drops those below it from what the student sees.

Guarantee: one row added, removed or replaced changes one teacher: one vote moves, √2 for a row of
votes and 1 for a top count, under both relations. GNMax costs α/σ² per answered row in RDP, a top
count α/(2σ_top²) per asked row; the declared cost is all of it. The number of answers is fixed, not
decided by the data as in the paper, so the cost is known beforehand. The data-dependent ε of the
paper, small where teachers agree, is computed from true votes and so private itself: here a
non-private annotation, never released or used to set noise. Source: Papernot et al. 2017, 2018.
Cost: one small ridge regression a teacher, one product of asked rows with all teachers.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import log_ndtr, logsumexp

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine.logistic import grouped_ridge
from pillar_core.errors import SettingError
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import rules, voting
from pillar_core.numerics import number_words
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.splits.transform import bits_of, rounded_rows
from pillar_core.types import Provenance, PublicFacts, PublicUse, TrainResult

MOST_K = 16
PENALTY = 0.3
"""Ridge penalty of a teacher on unit rows: a few dozen rows decide few directions."""
ROWS_PER_TEACHER = 8
MOST_TEACHERS = 2000
BLOCK = 2**23
"""Numbers that the teachers which are trained together take up, one matrix each."""
ANNOTATION_DELTA = 1e-5


@dataclasses.dataclass(frozen=True)
class PateSettings(voting.VotingSettings):
    """How many teachers, and whether only confident rows are answered."""

    teachers: int | None = params.declare(
        None,
        "Disjoint parts of the private rows, one teacher each.",
        low=2,
        high=1_000_000,
        log=True,
        none_means="n/8, at most 2,000",
    )
    answers: int | None = params.declare(
        None,
        "Confident-GNMax: rows answered, of those asked.",
        low=1,
        unit="rows",
        log=True,
        none_means="GNMax: all that are asked",
    )
    threshold: float = params.declare(
        0.0,
        "Confident-GNMax: noisy top counts below this share of the teachers are dropped.",
        low=0,
        high=1,
    )
    top_noise_ratio: float = params.declare(
        2.0, "Confident-GNMax: noise of a top count, in noise multipliers.", low=0, low_open=True
    )


def cost(settings: PateSettings, facts: PublicFacts) -> DpEvent:
    """Every answer, and with `answers` a top count for every asked row. Raises SettingError for
    more answers than rows asked."""
    noise, n_queries = settings.noise_multiplier or 0.0, voting.queries_of(settings, facts)
    if settings.answers is None:
        return events.repeat(voting.query_event(noise), n_queries)
    if settings.answers > n_queries:
        raise SettingError(
            f"answers must be at most {n_queries}, the rows asked; got {settings.answers}. Lower it"
            " or raise queries."
        )
    top = events.repeat(voting.query_event(noise * settings.top_noise_ratio), n_queries)
    return events.compose(top, events.repeat(voting.query_event(noise), settings.answers))


def resolve_hyperparameters(settings: PateSettings, facts: PublicFacts) -> Plan[PateSettings]:
    """Fills k and the number of teachers from public facts."""
    plan = voting.resolve_k(
        settings, facts, MOST_K, "teachers and student see the public rows' first"
    )
    if settings.teachers is not None and settings.teachers > max(2, facts.n_private):
        raise SettingError(
            f"teachers must be at most the number of private rows, {facts.n_private:,}; got"
            f" {settings.teachers:,}."
        )
    teachers = min(max(2, facts.n_private // ROWS_PER_TEACHER), MOST_TEACHERS)
    why = f"{ROWS_PER_TEACHER} rows each, at most {MOST_TEACHERS:,} teachers"
    return plan.fill("teachers", teachers, why)


def teacher_of(ids: Array, teachers: int) -> Array:
    """(n,) int64 in 0 … teachers − 1: each row's own number scrambled (SplitMix64, Steele et al.
    2014), modulo the teachers."""
    mixed = ids.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return ((mixed ^ (mixed >> np.uint64(31))) % np.uint64(teachers)).astype(np.int64)


def teacher_votes(
    z_queries: Array, z: Array, y: Array, teacher: Array, *, teachers: int, n_classes: int
) -> Array:
    """(m, C) float64 counts of the teachers' answers on z_queries (m, k). Weights and queries are
    rounded so that products are exact."""
    counts, rows, k = np.zeros((len(z_queries), n_classes)), np.arange(len(z_queries)), z.shape[1]
    block, queries = max(1, BLOCK // k**2), rounded_rows(z_queries.astype(np.float64), bits_of(k))
    for start in range(0, teachers, block):
        mine, n_groups = (
            np.flatnonzero((teacher >= start) & (teacher < start + block)),
            min(block, teachers - start),
        )
        weights, bias = grouped_ridge(
            z[mine],
            y[mine],
            teacher[mine] - start,
            n_groups=n_groups,
            n_classes=n_classes,
            penalty=PENALTY,
        )
        for g in range(n_groups):
            answers = queries @ rounded_rows(weights[g].T, bits_of(k)).T + bias[g]
            counts[rows, np.argmax(answers, axis=1)] += 1.0
    return counts


@group_runs(*voting.ROWS, "teachers")
def fit_many(view: View, runs: list[Run[PateSettings]]) -> Iterator[TrainResult]:
    """Runs that agree on teachers and rows share the teachers' votes."""
    first = runs[0][0]
    prepared = voting.project(first, view)
    teachers = int(first.teachers or 2)
    teacher = teacher_of(view.row_numbers, teachers)
    queries = [voting.query_rows(settings, view.facts, streams) for settings, streams, _ in runs]
    union = np.unique(np.concatenate(queries))
    votes = np.zeros((view.facts.n_public, view.facts.n_classes))
    z_queries = np.ascontiguousarray(prepared.z_public[union])
    votes[union] = teacher_votes(
        z_queries, prepared.z, view.y, teacher, teachers=teachers, n_classes=view.facts.n_classes
    )
    for (settings, streams, ledger), rows in zip(runs, queries, strict=True):
        mechanism = voting.vote_mechanism(settings, streams, ledger)
        answered, confident = _choose_answers(settings, votes, rows, streams, ledger)
        noisy = voting.release_votes(mechanism, votes[answered])
        z_seen = prepared.z_public[answered[confident]]
        result = voting.student(
            z_seen, noisy[confident], prepared, learns=settings.student, mechanism=mechanism
        )
        std = voting.noise_std(mechanism)
        epsilon = (
            data_dependent_epsilon(votes[answered], std, delta=ANNOTATION_DELTA)
            if std > 0
            else math.inf
        )
        annotation = {
            f"data-dependent ε of the answers at δ = {number_words(ANNOTATION_DELTA)}": (
                epsilon,
                Provenance.NON_PRIVATE,
            )
        }
        yield dataclasses.replace(result, diagnostics=annotation)


def _choose_answers(
    settings: PateSettings, votes: Array, queries: Array, streams: Streams, ledger: Ledger
) -> tuple[Array, Array]:
    """The asked rows that are answered, and which of these the student sees (all of them where none
    passes the threshold)."""
    if settings.answers is None:
        return queries, np.ones(len(queries), dtype=bool)
    noise = (settings.noise_multiplier or 0.0) * settings.top_noise_ratio
    factor = voting.REPLACE_ONE_FACTOR
    mechanism = GaussianMechanism(
        noise, 1.0, streams.secret("top counts"), ledger, factor, label="noisy top count"
    )
    top = np.array(
        [
            float(mechanism.release_counts(torch.tensor([int(votes[row].max())]))[0])
            for row in queries
        ]
    )
    best = np.argsort(-top, kind="stable")[: settings.answers]
    confident = top[best] >= settings.threshold * int(settings.teachers or 2)
    return queries[best], confident if confident.any() else np.ones(len(best), dtype=bool)


METHODS.register(
    Method(
        name="pate",
        title="PATE",
        source="Papernot et al. 2017, 2018; PILLAR, App. B-D",
        idea="Teachers on disjoint private parts vote on public rows; a student learns from the"
        " noisy votes.",
        public_use=PublicUse.UNLABELLED,
        settings=PateSettings,
        cost=cost,
        public_statistics=rules.public_statistics,
        fit_many=fit_many,
        resolve_schedule=voting.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=5,
        assumptions=(
            "a row keeps its own number, whatever other rows are present; its teacher follows"
            " from that number",
        ),
        presets={"paper": {"teachers": 200, "student": "labels", "queries": 1000, "answers": 500}},
    )
)


ORDERS = tuple(
    float(order)
    for order in np.concatenate(
        [np.arange(1.5, 20, 0.5), np.arange(20, 200, 5), np.arange(200, 2001, 50)]
    )
)


def log_chance_of_another(votes: Array, sigma: float) -> float:
    """log q̃ of Proposition 7: a bound on the probability that GNMax does not answer the top class.
    votes: (C,).

    At most 1 − 1/C: the top class is no less likely than any other.
    """
    top = int(np.argmax(votes))
    gaps = np.delete(votes[top] - votes, top)
    return min(
        math.log1p(-1.0 / len(votes)), float(logsumexp(log_ndtr(-gaps / (math.sqrt(2.0) * sigma))))
    )


def gnmax_rdp(votes: Array, sigma: float, orders: Sequence[float] = ORDERS) -> Array:
    """(len(orders),) RDP of one GNMax answer on these votes, at most order/σ² (Theorem 6 and
    Proposition 10)."""
    log_q = log_chance_of_another(np.asarray(votes, dtype=np.float64), sigma)
    every = np.asarray(orders, dtype=np.float64)
    plain = every / sigma**2
    if log_q == -math.inf:
        return np.zeros_like(plain)
    second = sigma * math.sqrt(-log_q)
    first = second + 1.0
    first_rdp, second_rdp = first / sigma**2, second / sigma**2
    if not second > 1:
        return plain
    limit = (second - 1.0) * second_rdp - second * (
        math.log1p(1.0 / (first - 1.0)) + math.log1p(1.0 / (second - 1.0))
    )
    if not log_q <= limit or not log_q + second_rdp < 0:
        return plain
    log_rest = math.log1p(-math.exp(log_q))
    log_a = log_rest - math.log1p(-math.exp((log_q + second_rdp) * (1.0 - 1.0 / second)))
    log_b = first_rdp - log_q / (first - 1.0)
    better = np.logaddexp(log_rest + (every - 1.0) * log_a, log_q + (every - 1.0) * log_b) / (
        every - 1.0
    )
    return np.asarray(
        np.minimum(plain, np.where(every <= first, np.maximum(better, 0.0), math.inf))
    )


def data_dependent_epsilon(votes: Array, sigma: float, *, delta: float) -> float:
    """ε at `delta` of answering all rows of votes (m, C), by RDP: non-private, because it depends
    on the votes."""
    total = np.sum([gnmax_rdp(row, sigma) for row in votes], axis=0)
    orders = np.array(ORDERS)
    return float(
        np.min(
            total + np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)
        )
    )
