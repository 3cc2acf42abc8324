"""Private-kNN: each public row is labelled by a noisy vote of its nearest private rows; a student learns from these labels.

Guarantee: one row can enter a query's neighbours and push one out, or leave and let one in: one swap, so the votes move by
√2 at most under both relations (fewer than `neighbours` rows in a sample: one vote less, norm 1). With a batch size, each
query sees its own Poisson sample and is one subsampled Gaussian. Ties in distance go to the smaller row number, which no
other row changes; arithmetic is taken as exact. Source: Zhu, Yu, Chandraker & Wang 2020. Cost: one product of asked public
rows with private rows in k dimensions. The paper releases the argmax; its bound covers the votes, which teach more.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import sampled
from pillar_core.methods import descent, rules, voting
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.pillar import measure
from pillar_core.params import Param
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse, TrainResult

Array = np.ndarray[Any, Any]

CHUNK_QUERIES = 64
MOST_K = 32
MOST_SHARE = 0.25
"""Neighbours are n/C, so that a class can fill them, and at most a quarter of all rows, or a large class always wins."""

NEIGHBOURS = Param(
    "neighbours", int, None, "Private rows that vote on a public row.", low=1, unit="rows", log=True, none_means="n/C, at most n/4"
)


@dataclasses.dataclass(frozen=True)
class PrivateKnnSettings(voting.VotingSettings):
    """Votes of the nearest rows, among all of them or in a Poisson sample for each query."""

    neighbours: int | None = params.setting(NEIGHBOURS)
    batch_size: int | None = params.setting(
        params.BATCH_SIZE, help="Expected private rows in a query's Poisson sample.", none_means="all rows"
    )


def sampling_probability(settings: PrivateKnnSettings, facts: PublicFacts) -> float:
    """q of each query's sample."""
    return 1.0 if settings.batch_size is None else min(1.0, settings.batch_size / facts.n_private)


def cost(settings: PrivateKnnSettings, facts: PublicFacts) -> DpEvent:
    """One Gaussian a query, each on its own Poisson sample."""
    query = voting.query_event(float(settings.noise_multiplier or 0.0))
    return events.repeated(events.subsampled(query, sampling_probability(settings, facts)), voting.queries_of(settings, facts))


def finish(settings: PrivateKnnSettings, facts: PublicFacts) -> Plan:
    """Fills k and the number of neighbours from public facts."""
    why: list[str] = []
    if settings.k is None:
        k = min(MOST_K, rules.public_rank(facts))
        why.append(f"k = {k}: distances in the public rows' first {k} directions.")
        settings = dataclasses.replace(settings, k=k)
    if settings.neighbours is None:
        present = facts.n_private * sampling_probability(settings, facts)
        neighbours = max(1, round(present * min(MOST_SHARE, 1.0 / facts.n_classes)))
        why.append(f"neighbours = {neighbours}: n/C of the {present:,.0f} rows that can vote, at most a quarter of them.")
        settings = dataclasses.replace(settings, neighbours=neighbours)
    return Plan(settings, tuple(why))


def fit_many(
    settings: Sequence[PrivateKnnSettings], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]
) -> list[TrainResult]:
    """Runs that agree on everything but noise and seed share the rows and, where all rows vote, the votes."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for position, one in enumerate(settings):
        groups[(one.k, one.standardise, one.centre, one.normalise)].append(position)
    results: dict[int, TrainResult] = {}
    for positions in groups.values():
        prepared = voting.project(settings[positions[0]], view)
        votes: dict[tuple[Any, ...], Array] = {}
        for p in positions:
            results[p] = _fit(settings[p], prepared, view, streams[p], ledgers[p], votes)
    return [results[position] for position in range(len(settings))]


def _fit(
    settings: PrivateKnnSettings, prepared: Prepared, view: View, streams: Streams, ledger: Ledger, votes: dict[tuple[Any, ...], Array]
) -> TrainResult:
    facts, probability = view.facts, sampling_probability(settings, view.facts)
    asked = np.arange(facts.n_public)
    if voting.queries_of(settings, facts) < facts.n_public:
        asked = streams.public("queries").permutation(facts.n_public)[: voting.queries_of(settings, facts)]
    z_asked = np.ascontiguousarray(prepared.z_public[asked])
    mechanism = voting.vote_mechanism(float(settings.noise_multiplier or 0.0), streams.secret("noise"), ledger)
    if probability == 1:
        key = (settings.neighbours, asked.tobytes())
        if key not in votes:
            votes[key] = neighbour_votes(z_asked, prepared.z, view.y, voting.stable_ids(view), settings, n_classes=facts.n_classes)
        noisy = [mechanism.release(torch.from_numpy(row)).numpy() for row in votes[key]]
    else:
        noisy, sampling, ids = [], streams.secret("sampling"), voting.stable_ids(view)
        for row in z_asked:
            with sampled(probability, len(view.y), sampling, [ledger]) as picked:
                own = neighbour_votes(row[None], prepared.z[picked], view.y[picked], ids[picked], settings, n_classes=facts.n_classes)
                noisy.append(mechanism.release(torch.from_numpy(own[0])).numpy())
    return voting.student(
        z_asked,
        np.stack(noisy).astype(np.float64),
        prepared,
        learns=settings.student,
        noise_std=mechanism.noise_multiplier * mechanism.l2_clip_norm,
    )


def neighbour_votes(z_asked: Array, z: Array, y: Array, ids: Array, settings: PrivateKnnSettings, *, n_classes: int) -> Array:
    """(m, C) float64 labels of each asked row's nearest rows, counted. z_asked: (m, k), z: (n, k) float32; y, ids: (n,) int64."""
    counts = np.zeros((len(z_asked), n_classes))
    wanted = min(int(settings.neighbours or 1), len(z))
    if wanted == 0:
        return counts
    lengths = np.einsum("ij,ij->i", z, z)
    for start in range(0, len(z_asked), CHUNK_QUERIES):
        asked = z_asked[start : start + CHUNK_QUERIES]
        keys = _ordered(lengths - 2.0 * (asked @ z.T), ids)
        nearest = np.argpartition(keys, wanted - 1, axis=1)[:, :wanted]
        for row, own in enumerate(nearest):
            counts[start + row] = np.bincount(y[own], minlength=n_classes)
    return counts


def _ordered(distances: Array, ids: Array) -> Array:
    """(m, n) int64 keys that order by distance (float32), then by row number: the bits of a float order as integers do."""
    bits = np.ascontiguousarray(distances, dtype=np.float32).view(np.int32).astype(np.int64)
    rising = np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)
    keys: Array = (rising << 32) + ids
    return keys


METHODS.register(
    Method(
        name="private_knn",
        title="Private-kNN",
        source="Zhu, Yu, Chandraker & Wang 2020; PILLAR, App. B-D",
        idea="A public row takes the noisy vote of its nearest private rows; a student learns from the votes.",
        public_use=PublicUse.UNLABELLED,
        settings=PrivateKnnSettings,
        cost=cost,
        fit=descent.fit_with(fit_many),
        measure=measure,
        fit_many=fit_many,
        prepare=voting.prepare,
        finish=finish,
        presets={"paper": {"student": "labels", "neighbours": 300, "batch_size": 9000}},
        assumptions=("distances are taken as exact, ties go to the smaller row number",),
    )
)
