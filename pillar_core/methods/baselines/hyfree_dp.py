"""HyFreeDP: noisy descent whose step size comes from noisy losses: a parabola through them along the step says how far to go.

Every `refresh` steps the mean losses at w, w − ηm and w − 2ηm, m the noisy mean gradient just released, are released too: each row's
three losses are clipped to [0, R]. The parabola's lowest point is the new η, within a factor of two of the old one; where noise
leaves no lowest point, η is halved (uphill) or doubled (downhill). R is twice the mean loss released before, 2·log C at first.

Guarantee: T clipped sums and P = ⌈T/refresh⌉ triples of losses, all rows in each. A triple lies in [0, R]³, so one row moves the sum by
at most √3·R, added, removed or replaced; R, η, w and m are what earlier releases say. Multipliers are fixed beforehand,
σ√(T/(1 − s)) and σ√(P/s) with s = loss_share, together σ. Losses are summed in float64 products, so that rounding stays far below
the guard on R; a loss that is not finite counts as R. Public size.
Source: Liu & Bu, ICLR 2025 (arXiv 2503.00703: abstract, and its formulas as a third party prints them); probes at 0, η and 2η, the factor
of two and R's rule are ours. Cost: noisy descent's, and three more products in P of the steps.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier, clipped_sum
from pillar_core.engine.gradient import SUM_ROWS, squared_lengths
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import METHODS, Method, Plan, said_of
from pillar_core.methods.parts import rules
from pillar_core.methods.parts.fields import filled, own
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import PublicFacts, PublicUse, TrainResult

PROBES = 3
LOSS_FACTOR = 1.0
"""Replacing a row moves its triple within [0, R]³, no further than adding one."""
SMALLEST_BOUND = 0.05
ROUNDING_GUARD = 1e-9


@dataclasses.dataclass(frozen=True)
class HyFreeSettings:
    """Noisy full-batch descent; `noise_multiplier` is what all releases together are worth."""

    steps: int | None = params.setting(params.STEPS)
    refresh: int = own("hyfree_dp", "refresh")
    loss_share: float = own("hyfree_dp", "loss_share")
    learning_rate: float | None = params.setting(params.LEARNING_RATE, help="Step size on the mean gradient at first.")
    l2_clip_norm: float = params.setting(params.L2_CLIP_NORM)
    standardise: bool | None = params.setting(params.STANDARDISE, default=False)
    centre: bool | None = params.setting(params.CENTRE)
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


def looks(settings: HyFreeSettings) -> int:
    """P: how often losses are released."""
    return math.ceil(filled(settings.steps, "steps") / settings.refresh)


def noise_multipliers(settings: HyFreeSettings) -> tuple[float, float]:
    """(of each sum of gradients, of each triple of losses)."""
    total, share = settings.noise_multiplier or 0.0, settings.loss_share
    return total * math.sqrt(filled(settings.steps, "steps") / (1.0 - share)), total * math.sqrt(looks(settings) / share)


def cost(settings: HyFreeSettings, facts: PublicFacts) -> DpEvent:
    """T sums of gradients and P triples of losses."""
    gradients, losses = noise_multipliers(settings)
    triples = events.repeated(events.gaussian(losses, replace_one_factor=LOSS_FACTOR), looks(settings))
    return events.compose(events.repeated(events.gaussian(gradients), filled(settings.steps, "steps")), triples)


def resolve_hyperparameters(settings: HyFreeSettings, facts: PublicFacts) -> Plan[HyFreeSettings]:
    """Fills the first step size: that of plain noisy descent."""
    if settings.learning_rate is not None:
        return Plan(settings)
    mu = math.inf if not settings.noise_multiplier else 1.0 / settings.noise_multiplier
    path = min(min(0.5 + mu, 1.0) * mu * facts.n_private, rules.LONGEST_PATH_PER_CLASS * facts.n_classes)
    rate = path / (filled(settings.steps, "steps") * settings.l2_clip_norm)
    return Plan(dataclasses.replace(settings, learning_rate=rate), (f"learning_rate = {rate:.4g} at first; then noisy losses decide.",))


def loss_sums(z: torch.Tensor, y: torch.Tensor, weights: torch.Tensor, along: torch.Tensor, rate: float, bound: float) -> torch.Tensor:
    """(3,) float64 sums over rows of losses clipped to [0, bound] at weights − j·rate·along, j = 0, 1, 2. weights, along: (C, k)."""
    total = torch.zeros(PROBES, dtype=torch.float64)
    both = torch.cat([weights, along]).double().T
    for start in range(0, len(z), SUM_ROWS):
        part = slice(start, start + SUM_ROWS)
        here, slope = (z[part].double() @ both).chunk(2, dim=1)
        for probe in range(PROBES):
            losses = torch.nn.functional.cross_entropy(here - probe * rate * slope, y[part], reduction="none")
            total[probe] += torch.nan_to_num(losses, nan=bound, posinf=bound).clamp(0.0, bound).sum()
    return total


def next_rate(losses: torch.Tensor, rate: float) -> float:
    """Where the parabola through three losses at 0, rate and 2·rate is lowest, within a factor of two of `rate`."""
    first, second, third = losses.tolist()
    slope, curvature = (3 * first - 4 * second + third) / 2, first - 2 * second + third
    if not curvature > 0:
        return 2.0 * rate if slope > 0 else 0.5 * rate
    return rate * float(min(max(slope / curvature, 0.5), 2.0))


def fit(settings: HyFreeSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The head after T steps from zero."""
    facts, clip = view.facts, settings.l2_clip_norm
    prepared = view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=True)
    z, y = torch.from_numpy(prepared.z), torch.from_numpy(view.y)
    squared, noise = squared_lengths(z), streams.secret("noise")
    for_gradients, for_losses = noise_multipliers(settings)
    mechanism = GaussianMechanism(for_gradients, clip, noise, ledger)
    weights = torch.zeros((facts.n_classes, z.shape[1]))
    rate, bound = filled(settings.learning_rate, "learning_rate"), 2.0 * math.log(facts.n_classes)
    for number in range(filled(settings.steps, "steps")):
        total = torch.zeros(weights.shape, dtype=torch.float64)
        for start in range(0, len(z), SUM_ROWS):
            part = slice(start, start + SUM_ROWS)
            total += clipped_sum(z[part], squared[part], y[part], weights[None], None, torch.tensor([clip]))[0][0]
        along = (mechanism.release(total) / facts.n_private).float()
        if number % settings.refresh == 0:
            reach = math.sqrt(PROBES) * bound * (1 + ROUNDING_GUARD)
            triple = GaussianMechanism(for_losses, reach, noise, ledger, LOSS_FACTOR, label="noisy losses")
            losses = triple.release(loss_sums(z, y, weights, along, rate, bound))
            rate = next_rate(losses, rate)
            bound = max(2.0 * float(losses[0]) / facts.n_private, SMALLEST_BOUND)
        weights = weights - rate * along
    classifier = LinearClassifier(prepared.transform, np.ascontiguousarray(weights.numpy().T), np.zeros(facts.n_classes, dtype=np.float32))
    return TrainResult(classifier)


METHODS.register(
    Method(
        **said_of("hyfree_dp"),
        public_use=PublicUse.NONE,
        settings=HyFreeSettings,
        cost=cost,
        fit=fit,
        resolve_schedule=rules.resolve_schedule,
        resolve_hyperparameters=resolve_hyperparameters,
    )
)
