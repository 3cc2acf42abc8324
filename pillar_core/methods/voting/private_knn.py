"""Private-kNN: each public row is labelled by a noisy vote of its nearest private rows; a student
learns from these labels.

Guarantee: one row can enter a query's neighbours and push one out, or leave and let one in: one
swap, so the votes move by √2 at most under both relations (fewer than `neighbours` rows in a
sample: one vote less, norm 1). With a batch size, each query sees its own Poisson sample and is one
subsampled Gaussian. Distances are exact and hang on the two rows alone (see `exact_rows`: in
float32 a row that leaves could move all others by an ulp, and several near ties with them); ties go
to the smaller row number, which no other row changes. Source: Zhu, Yu, Chandraker & Wang 2020.
Cost: one product of asked public rows with private rows in k dimensions. The paper releases the
argmax; its bound covers the votes, which teach more.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent
from pillar_core.mechanisms import draw_batch
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import rules, voting
from pillar_core.splits import Prepared, View
from pillar_core.types import PublicFacts, PublicUse, TrainResult

CHUNK_QUERIES = 64
MOST_K = 32
MOST_SHARE = 0.25
"""Neighbours are n/C, so that a class can fill them, and at most a quarter of all rows, or a large
class always wins."""


@dataclasses.dataclass(frozen=True)
class PrivateKnnSettings(voting.VotingSettings):
    """Votes of the nearest rows, among all of them or in a Poisson sample for each query."""

    neighbours: int | None = params.declare(
        None,
        "Private rows that vote on a public row.",
        low=1,
        unit="rows",
        log=True,
        none_means="n/C, at most n/4",
    )
    batch_size: int | None = params.setting(
        params.BATCH_SIZE,
        help="Expected private rows in a query's Poisson sample.",
        none_means="all rows",
    )


def cost(settings: PrivateKnnSettings, facts: PublicFacts) -> DpEvent:
    """One Gaussian a query, each on its own Poisson sample."""
    query = voting.query_event(settings.noise_multiplier or 0.0)
    return events.repeat(
        events.subsample(query, rules.sampling_probability(settings.batch_size, facts)),
        voting.queries_of(settings, facts),
    )


def resolve_hyperparameters(
    settings: PrivateKnnSettings, facts: PublicFacts
) -> Plan[PrivateKnnSettings]:
    """Fills k and the number of neighbours from public facts."""
    plan = voting.resolve_k(settings, facts, MOST_K, "distances in the public rows' first")
    present = facts.n_private * rules.sampling_probability(settings.batch_size, facts)
    neighbours = max(1, round(present * min(MOST_SHARE, 1.0 / facts.n_classes)))
    why = f"n/C of the {present:,.0f} rows that can vote, at most a quarter of them"
    return plan.fill("neighbours", neighbours, why)


@group_runs(*voting.ROWS, "neighbours")
def fit_many(view: View, runs: list[Run[PrivateKnnSettings]]) -> Iterator[TrainResult]:
    """Runs that agree on everything but noise and seed share the rows and, where all rows vote, the
    votes of all public rows."""
    prepared = voting.project(runs[0][0], view)
    votes: dict[int, Array] = {}  # of asked rows, by row, where all private rows vote
    for settings, streams, ledger in runs:
        probability = rules.sampling_probability(settings.batch_size, view.facts)
        queries = voting.query_rows(settings, view.facts, streams)
        mechanism = voting.vote_mechanism(settings, streams, ledger)
        if probability == 1:
            new = np.array([row for row in queries if row not in votes], dtype=np.int64)
            votes.update(
                zip(
                    new.tolist(),
                    _votes(settings, prepared, view, prepared.z_public[new]),
                    strict=True,
                )
            )
            noisy = voting.release_votes(mechanism, np.stack([votes[row] for row in queries]))
        else:
            sampling, answers = streams.secret("sampling"), []
            for row in queries:
                with draw_batch(probability, len(view.y), sampling, [ledger]) as picked:
                    votes_of_row = _votes(
                        settings, prepared, view, prepared.z_public[row : row + 1], picked
                    )
                    answers.append(voting.release_votes(mechanism, votes_of_row)[0])
            noisy = np.stack(answers)
        yield voting.student(
            prepared.z_public[queries],
            noisy,
            prepared,
            learns=settings.student,
            mechanism=mechanism,
        )


def _votes(
    settings: PrivateKnnSettings,
    prepared: Prepared,
    view: View,
    z_queries: Array,
    picked: Array | None = None,
) -> Array:
    """(m, C) votes of all private rows, or of those picked."""
    z, y, ids = prepared.z, view.y, view.row_numbers
    if picked is not None:
        z, y, ids = z[picked], y[picked], ids[picked]
    return neighbour_votes(
        z_queries,
        z,
        y,
        ids,
        neighbours=int(settings.neighbours or 1),
        n_classes=view.facts.n_classes,
    )


def neighbour_votes(
    z_queries: Array, z: Array, y: Array, ids: Array, *, neighbours: int, n_classes: int
) -> Array:
    """(m, C) float64 labels of each asked row's nearest rows, counted. z_asked: (m, k), z: (n, k)
    float32; y, ids: (n,) int64.

    Squared distances of rows on a grid (`exact_rows`) are exact; among equals the smaller row
    numbers come first.
    """
    counts = np.zeros((len(z_queries), n_classes))
    wanted = min(neighbours, len(z))
    if wanted == 0:
        return counts
    rows, order = z.astype(np.float64), np.argsort(ids, kind="stable")
    rows, labels = rows[order], y[order]
    lengths = np.einsum("ij,ij->i", rows, rows)
    for part in slices(len(z_queries), CHUNK_QUERIES):
        block = z_queries[part].astype(np.float64)
        for row, distances in enumerate(lengths - 2.0 * (block @ rows.T)):
            last = np.partition(distances, wanted - 1)[wanted - 1]
            nearer = distances < last
            level = np.flatnonzero(distances == last)[: wanted - int(nearer.sum())]
            counts[part.start + row] = np.bincount(
                labels[nearer], minlength=n_classes
            ) + np.bincount(labels[level], minlength=n_classes)
    return counts


METHODS.register(
    Method(
        name="private_knn",
        title="Private-kNN",
        source="Zhu, Yu, Chandraker & Wang 2020; PILLAR, App. B-D",
        idea="A public row takes the noisy vote of its nearest private rows; a student learns"
        " from the votes.",
        public_use=PublicUse.UNLABELLED,
        settings=PrivateKnnSettings,
        cost=cost,
        public_statistics=rules.public_statistics,
        fit_many=fit_many,
        resolve_schedule=voting.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=4,
        assumptions=(
            "a row keeps its own number, whatever other rows are present; ties in distance go to"
            " the smaller one",
        ),
        presets={"paper": {"student": "labels", "neighbours": 300, "batch_size": 9000}},
    )
)
