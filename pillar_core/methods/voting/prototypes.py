"""Prototypes (DPPL-Public): for each class the exponential mechanism picks public rows that its
private rows resemble.

A private row of class c gives each public row its cosine similarity, clipped to [low, high]; public
row j is chosen for class c with probability ∝ exp(ε·Σ/(high − low)). A class is as well served as
its own rows are many; the rows of others do not drown it. Several rows a class are picked one after
the other, each at its share of ε; their mean direction stands for the class.

Guarantee: pure ε-DP under add/remove. The C choices of one round are one choice of a tuple whose
score is the sum over classes: a row enters its own class's scores alone, with numbers in [0, R], R
= high − low, so it spreads the tuples' scores by at most R, and by 2R where it is replaced (2ε).
Given a tuple's classes, choices are independent. Rounds compose. Similarities are products of rows
of whole numbers, each made of one row alone, so they and their sums are exact. low, high,
candidates are public. Source: Wahdany, Jagielski, Dziedzic & Boenisch 2024 (arXiv 2406.08039:
abstract, the authors' method page); the choice of several by shares of ε is ours, for the page does
not prove its top-K. Cost: one product of private and public rows.
"""

import dataclasses

import numpy as np

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.engine import LinearClassifier, exact
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent, Ledger, repeat
from pillar_core.mechanisms import ExponentialMechanism, epsilon_of, exponential
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import rules
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.splits.transform import unit_rows
from pillar_core.types import PrivacyBudget, PublicFacts, PublicUse, TrainResult

BUDGET_PER_ROW = 20.0
MOST_PROTOTYPES = 10
"""One prototype for each twenty units of εN/C: measured in docs/methods/prototypes.md."""
CHUNK_ROWS = 2048
ROW_UNITS = 1 << 16
"""Of a row of norm 1; similarities are whole numbers of this times itself."""


@dataclasses.dataclass(frozen=True)
class PrototypesSettings:
    """How many public rows stand for a class, and how similarities are clipped."""

    prototypes: int | None = params.declare(
        None,
        "Public rows picked for each class.",
        low=1,
        high=1000,
        unit="rows",
        log=True,
        none_means="εN/(20·C), 1 to 10",
    )
    low_percentile: float = params.declare(
        50.0,
        "Similarities are clipped below at this percentile of those among public rows.",
        low=0,
        high=90,
    )
    high_percentile: float = params.declare(95.0, "And above at this one.", low=91, high=100)
    standardise: bool | None = params.setting(params.STANDARDISE)
    centre: bool | None = params.setting(params.CENTRE)
    noise_scale: float | None = params.setting(params.NOISE_SCALE)


def cost(settings: PrototypesSettings, facts: PublicFacts) -> DpEvent:
    """One choice a round, at its share of ε = 1/noise_scale."""
    return repeat(exponential(_epsilon_per_round(settings)), rounds(settings, facts))


def rounds(settings: PrototypesSettings, facts: PublicFacts) -> int:
    """Prototypes a class: as many as asked, at most all public rows."""
    return min(rules.require(settings.prototypes, "prototypes"), facts.n_public)


def resolve_schedule(
    settings: PrototypesSettings, facts: PublicFacts, budget: PrivacyBudget | None
) -> Plan[PrototypesSettings]:
    """Fills how many prototypes a class has."""
    epsilon = epsilon_of(settings.noise_scale or 0.0) if budget is None else budget.epsilon
    wanted = min(epsilon * facts.n_private / (BUDGET_PER_ROW * facts.n_classes), MOST_PROTOTYPES)
    count = min(max(1, round(wanted)), facts.n_public)
    why = f"εN/(20·C), within 1 … {MOST_PROTOTYPES}; each choice pays its share of ε"
    return Plan(settings).fill("prototypes", count, why)


def in_units(z: Array) -> Array:
    """Rows (n, k) of norm at most 1 as float64 whole numbers, of each coordinate alone."""
    return np.asarray(np.rint(np.clip(np.nan_to_num(z), -1.0, 1.0).astype(np.float64) * ROW_UNITS))


def scores(z: Array, y: Array, z_public: Array, *, n_classes: int, low: int, high: int) -> Array:
    """(C, m) int64 sums over each class's rows of similarity − low, clipped to [0, high − low]. z:
    (n, k), z_public: (m, k) unit rows."""
    exact.refuse(len(z), z.shape[1], high - low)
    total, candidates = np.zeros((n_classes, len(z_public)), dtype=np.int64), in_units(z_public)
    for part in slices(len(z), CHUNK_ROWS):
        np.add.at(
            total,
            y[part],
            (np.clip(in_units(z[part]) @ candidates.T, low, high) - low).astype(np.int64),
        )
    return total


def similarity_range(z_public: Array, settings: PrototypesSettings) -> tuple[int, int]:
    """(low, high): percentiles of the similarities among public rows; from −1 to 1 where these are
    all alike."""
    similarities = (in_units(z_public) @ in_units(z_public).T)[~np.eye(len(z_public), dtype=bool)]
    low, high = (
        np.percentile(similarities, [settings.low_percentile, settings.high_percentile])
        if len(similarities)
        else (0.0, 0.0)
    )
    return (
        (round(low), round(high)) if round(high) > round(low) else (-(ROW_UNITS**2), ROW_UNITS**2)
    )


def fit(settings: PrototypesSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The classes' mean chosen directions as weights."""
    facts = view.facts
    prepared = rules.prepare(settings, view)
    low, high = similarity_range(prepared.z_public, settings)
    class_scores = scores(
        prepared.z, view.y, prepared.z_public, n_classes=facts.n_classes, low=low, high=high
    )
    left = np.tile(np.arange(len(prepared.z_public)), (facts.n_classes, 1))
    mechanism = ExponentialMechanism(
        _epsilon_per_round(settings),
        high - low,
        streams.secret("choice"),
        ledger,
        label="choice of prototypes",
    )
    sums = np.zeros((facts.n_classes, prepared.z.shape[1]))
    for _ in range(rounds(settings, facts)):
        places = mechanism.choose_each(np.take_along_axis(class_scores, left, axis=1))
        sums += prepared.z_public[np.take_along_axis(left, places[:, None], axis=1)[:, 0]]
        left = left[np.arange(left.shape[1]) != places[:, None]].reshape(facts.n_classes, -1)
    weights = np.ascontiguousarray(unit_rows(sums.astype(np.float32)).T)
    return TrainResult(LinearClassifier.without_bias(prepared.transform, weights))


def _epsilon_per_round(settings: PrototypesSettings) -> float:
    return epsilon_of(
        (settings.noise_scale or 0.0) * rules.require(settings.prototypes, "prototypes")
    )


METHODS.register(
    Method(
        name="prototypes",
        title="Prototypes (DPPL)",
        source="Wahdany, Jagielski, Dziedzic & Boenisch 2024, DPPL-Public",
        idea="Each class privately picks the public rows that look most like it; rare classes are"
        " not drowned by large ones.",
        public_use=PublicUse.UNLABELLED,
        settings=PrototypesSettings,
        cost=cost,
        fit=fit,
        resolve_schedule=resolve_schedule,
        version=3,
        budget_setting="noise_scale",
        is_exact=True,
    )
)
