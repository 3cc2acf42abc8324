"""Disjunction: public rows tell which variables go together, the exponential mechanism picks a
union of such components.

Guarantee: components come from public rows. Each private row scores 1 for every union that labels
it rightly and 0 for the others, so the range over candidates of one row is 1 and the choice with
probability ∝ exp(score/scale) is pure (1/scale)-DP (add/remove; twice that under replace-one).
Source: Hu, Pinto, Sanyal & Yang, Semi-private learning, section 3.1 and appendix B.1. Cost: 2^Z
candidates for Z components, of at most 14.
"""

import dataclasses

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import ExponentialMechanism, epsilon_of, exponential
from pillar_core.methods.method import METHODS, Method
from pillar_core.rng import Streams
from pillar_core.splits import Transform, View
from pillar_core.types import PublicFacts, PublicUse, SemiPrivateSplit, TrainResult

MOST_COMPONENTS = 14
ACTIVE = 0.5
"""A feature above this counts as active: every private row then has a label under every
candidate."""


@dataclasses.dataclass(frozen=True)
class DisjunctionSettings:
    """The noise of the choice; there is nothing else to set."""

    noise_scale: float | None = params.setting(params.NOISE_SCALE)


def cost(settings: DisjunctionSettings, facts: PublicFacts) -> DpEvent:
    """One choice at ε = 1/noise_scale."""
    return exponential(epsilon_of(settings.noise_scale or 0.0))


def components(x_public: Array) -> Array:
    """(Z, d) bool: the variables of each component of the public co-activity graph, in the order of
    their first variable.

    Variables that no public row activates are on their own and left out: the public rows say
    nothing about them. Raises DataError for rows that are not boolean, no active variable, or more
    components than candidates can be listed for.
    """
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    if not np.isin(x_public, (0.0, 1.0)).all():
        raise DataError(
            "disjunction needs boolean features, 0 or 1, and these public rows have others; dataset"
            " 'disjunctions' fits."
        )
    together = x_public.T @ x_public
    seen = np.flatnonzero(np.diagonal(together) > 0)
    if not len(seen):
        raise DataError(
            "no variable is active in any public row, so they show no component; bring other public"
            " rows."
        )
    count, labels = connected_components(
        csr_matrix(together[np.ix_(seen, seen)] > 0), directed=False
    )
    if count > MOST_COMPONENTS:
        raise DataError(
            f"the public rows leave {count} components, and more than {MOST_COMPONENTS} make too"
            " many unions to choose from; more public rows join them."
        )
    members = np.zeros((count, x_public.shape[1]), dtype=bool)
    members[labels, seen] = True
    return members


def unsupported_reason(split: SemiPrivateSplit) -> str:
    """Why these data do not fit, from the public list of classes and the public rows alone."""
    if split.features.n_classes != 2:
        return (
            f"tells two classes apart and these data have {split.features.n_classes}; dataset"
            " 'disjunctions' fits"
        )
    boolean = bool(np.isin(split.public_x, (0.0, 1.0)).all())
    return "" if boolean else "needs boolean features, 0 or 1; dataset 'disjunctions' fits"


def public_statistics(settings: DisjunctionSettings, view: View) -> dict[str, int | float]:
    """How many components the public rows show."""
    return {"components": len(components(view.x_public))}


def fit(settings: DisjunctionSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The chosen disjunction as a linear classifier: Σ of its variables against ½."""
    parts = components(view.x_public)
    x = view.x if view.rows is None else view.x[view.rows]
    scores = right_rows(x, view.y, parts)
    mechanism = ExponentialMechanism(
        epsilon_of(settings.noise_scale or 0.0),
        1,
        streams.secret("choice"),
        ledger,
        label="choice of a disjunction",
    )
    members = union(parts, mechanism.choose(scores))
    weights = np.stack([np.zeros_like(members), members], axis=1).astype(np.float32)
    return TrainResult(
        LinearClassifier(Transform(), weights, np.array([ACTIVE, 0.0], dtype=np.float32))
    )


def union(parts: Array, candidate: int) -> Array:
    """(d,) bool: the variables of candidate 0 … 2^Z − 1, whose bits say which components it
    holds."""
    chosen = (candidate >> np.arange(len(parts))) & 1
    return np.asarray((parts & chosen.astype(bool)[:, None]).any(axis=0))


def right_rows(x: Array, y: Array, parts: Array) -> Array:
    """(2^Z,) int64: how many rows x (n, d), y (n,) in {0, 1} each union labels rightly."""
    touched = np.zeros(len(x), dtype=np.int64)
    for position, variables in enumerate(parts):
        touched |= (x[:, variables] > ACTIVE).any(axis=1).astype(np.int64) << position
    patterns = 1 << len(parts)
    positive = np.bincount(touched[y == 1], minlength=patterns)
    negative = np.bincount(touched[y != 1], minlength=patterns)
    occupied = np.flatnonzero(positive + negative)
    scores = np.zeros(patterns, dtype=np.int64)
    candidates = np.arange(patterns)
    for pattern in occupied:
        says_one = (candidates & pattern) != 0
        scores += np.where(says_one, positive[pattern], negative[pattern])
    return scores


METHODS.register(
    Method(
        name="disjunction",
        title="Disjunction",
        source="Hu, Pinto, Sanyal & Yang, Semi-private learning, section 3.1",
        idea="Public rows join variables into a few components, so that few candidates remain for"
        " one private choice.",
        public_use=PublicUse.UNLABELLED,
        settings=DisjunctionSettings,
        cost=cost,
        fit=fit,
        public_statistics=public_statistics,
        unsupported_reason=unsupported_reason,
        budget_setting="noise_scale",
        is_exact=True,
        version=2,
    )
)
