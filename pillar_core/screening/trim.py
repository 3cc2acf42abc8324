"""Row by row: one private release of votes over clusters of one public set tells which share of its
rows to keep.

u = unit(x − c), c the public rows' mean. k-means on the public u makes K clusters with centres m_j,
a public matter. Every private row votes once, for the nearest centre; the counts V are released
with noise; public rows are kept by V_j / |cluster j|, best clusters first.

Guarantee: a row (one that is no number too) enters one count by 1, whatever the other rows are: its
nearest centre comes of exact products. V moves by 1 in L2 when a row is added or removed, by √2
when one is replaced. One Gaussian release, its noise exact; all else is post-processing of it and
of public rows. Private labels are not read; the number of private rows is public. Source: ours,
after Private Evolution's votes (Lin et al. 2024) and PrivImage (Li et al. 2024).
"""

import dataclasses
import math

import numpy as np

from pillar_core import accounting, checks, params
from pillar_core import ledger as events
from pillar_core.arrays import Array
from pillar_core.data.persons import refuse_shared
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import torch
from pillar_core.engine import exact
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.rng import Stream, Streams, stream
from pillar_core.screening.class_signal import (
    ONE_EACH,
    as_features,
    first_of_each_person,
    unit,
)
from pillar_core.screening.ranking import promise_of
from pillar_core.splits.transform import Transform
from pillar_core.types import Dataset, FeatureSet, NeighboringRelation, PrivacyBudget

REPLACE_ONE_FACTOR = math.sqrt(2.0)
"""A replaced row leaves one count and enters another."""
NOISE_PER_CLUSTER = 3.0
"""Private rows of a cluster in the mean, in standard deviations of a count's noise, at least."""
ROWS_PER_CLUSTER = 5
MOST_CLUSTERS = 200
"""More of them find no better rows and take seconds."""
COVERS = (
    "This covers every share of the public rows: all follow from one noised release of the private"
    " rows' votes."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Clusters:
    """Public. centre: (d,) float32; centres: (K, d) float32; codes: (n,) the cluster of each public
    row."""

    centre: Array
    centres: Array
    codes: Array

    @classmethod
    def of(cls, x: Array, count: int) -> "Clusters":
        """k-means of public rows (n, d), under a public seed."""
        from sklearn.cluster import MiniBatchKMeans

        centre = x.mean(axis=0, dtype=np.float64).astype(np.float32)
        seed = int(stream(0, "clusters of public rows").integers(2**31))
        fitted = MiniBatchKMeans(count, random_state=seed, n_init=1, max_iter=10).fit(
            unit(x, centre)
        )
        centres = fitted.cluster_centers_.astype(np.float32)
        return cls(centre, centres, _nearest(x, centre, centres))

    def votes(self, x: Array) -> Array:
        """(K,) int64 how many of the rows (n, d) lie nearest to each centre."""
        return np.bincount(_nearest(x, self.centre, self.centres), minlength=len(self.centres))


@dataclasses.dataclass(frozen=True, eq=False)
class Trimmed:
    """What one release says about one public set.

    order: all its row numbers, those to keep first; votes: a row a cluster, best first: cluster,
    rows, votes (with noise), per_row; guarantee: in words, for any number of shares.
    """

    order: Array
    votes: "pd.DataFrame"
    share: float
    guarantee: str
    ledger: Ledger

    @property
    def kept(self) -> Array:
        """The numbers of the rows to keep, ascending."""
        return self.at(self.share)

    def at(self, share: float) -> Array:
        """The same for another share of the rows, at least one row; it costs nothing more."""
        return np.sort(self.order[: max(1, round(share * len(self.order)))])


def trim(
    private: Dataset | FeatureSet,
    public: Dataset | FeatureSet,
    *,
    share: float,
    epsilon: float,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    seed: int | None = 0,
) -> Trimmed:
    """The share of the public rows that private rows lie nearest to, from one release at (epsilon,
    delta) under `relation`.

    Guarantee: see above. Fewer clusters are made where the noise is large: the mean count is three
    times its noise, 200 clusters at most. A known seed is an experiment.
    Raises DataError: sets of other widths, images, fewer than two rows or equal ones, persons on
    both sides. SettingError,
    BudgetError: settings out of range.
    """
    checks.within(share=(share, params.SHARE))
    refuse_shared(private, public)
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))
    if math.isinf(epsilon):
        raise SettingError("epsilon must be finite: votes without noise are not released.")
    rows, x = as_features(first_of_each_person(private)), as_features(public).x_train
    if x.shape[1] != rows.d:
        raise DataError(
            f"the public set has {x.shape[1]} features and the private rows {rows.d}; one backbone"
            " for both is needed."
        )
    if len(x) < 2 or (x == x[0]).all():
        raise DataError(
            "the public set has fewer than two different rows, so there is nothing to choose among."
        )
    multiplier = accounting.calibrate(
        lambda noise: events.gaussian(noise, replace_one_factor=REPLACE_ONE_FACTOR), budget
    )
    clusters = Clusters.of(x, n_clusters(len(rows.x_train), len(x), multiplier))
    question = fingerprint(
        "trim",
        rows.fingerprint,
        as_features(public).fingerprint,
        epsilon,
        delta,
        str(budget.relation),
    )
    noise, ledger = Streams(seed, question).secret("votes"), Ledger()
    votes = release_votes(
        rows.x_train, clusters, noise_multiplier=multiplier, noise=noise, ledger=ledger
    )
    sizes = np.bincount(clusters.codes, minlength=len(votes))
    table = pd.DataFrame(
        {
            "cluster": np.arange(len(votes)),
            "rows": sizes,
            "votes": votes,
            "per_row": votes / np.maximum(sizes, 1),
        }
    )
    table = table[table["rows"] > 0].sort_values(
        "per_row", ascending=False, kind="stable", ignore_index=True
    )
    place = np.zeros(len(votes), dtype=np.int64)
    place[table["cluster"]] = np.arange(len(table))
    promise = promise_of(ledger.total_event, COVERS, delta, len(rows.x_train), seed)
    promise += ONE_EACH if private.persons else ""
    return Trimmed(np.argsort(place[clusters.codes], kind="stable"), table, share, promise, ledger)


def n_clusters(n_private: int, n_public: int, noise_multiplier: float) -> int:
    """How many clusters these counts, all of them public, allow."""
    most = min(
        MOST_CLUSTERS,
        n_public // ROWS_PER_CLUSTER,
        int(n_private / (NOISE_PER_CLUSTER * noise_multiplier)),
    )
    return max(2, most)


def release_votes(
    x: Array, clusters: Clusters, *, noise_multiplier: float, noise: Stream, ledger: Ledger
) -> Array:
    """(K,) float64 votes of the private rows (n, d) with their noise."""
    exact.refuse(len(x), len(clusters.centres), exact.SUM_UNITS)
    mechanism = GaussianMechanism(
        noise_multiplier,
        1.0,
        noise,
        ledger,
        REPLACE_ONE_FACTOR,
        label="noised votes for public clusters",
    )
    return np.asarray(mechanism.release_counts(torch.from_numpy(clusters.votes(x))).numpy())


def _nearest(x: Array, centre: Array, centres: Array) -> Array:
    """(n,) the nearest centre of each row, from that row alone to the last bit; the first of
    several."""
    products = Transform(projection=np.ascontiguousarray(centres.T))(unit(x, centre))
    return np.asarray(
        np.argmax(products - np.square(centres, dtype=np.float64).sum(axis=1) / 2, axis=1)
    )
