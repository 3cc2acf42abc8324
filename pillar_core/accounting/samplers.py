"""The same noise under different samplers and neighbours: what may be claimed for each, and what may not.

Accountants of Poisson sampling say nothing about shuffled batches: there, amplification is not known to hold in general,
and the bound without any is the only one offered.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated

from pillar_core.accounting.elementary import REPLACE_ONE
from pillar_core.accounting.gaussian_runs import SAMPLING_PROBABILITY, STEPS_TAKEN, epsilon, gaussian_run
from pillar_core.deferred import dp_event
from pillar_core.ledger import DpEvent, gaussian, repeated
from pillar_core.types import EpsilonBounds, NeighboringRelation

ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
TITLES = {"poisson": "Poisson sample", "fixed_size": "Random batch of fixed size", "shuffled": "Shuffled batches"}
FIXED_SIZE = "A Rényi bound (Wang, Balle & Kasiviswanathan 2019) at twice the sensitivity: sound, loose."
SHUFFLED = (
    "No amplification claimed: one full release a pass. Charging shuffled batches as Poisson is a privacy bug: their true "
    "ε can be several times the Poisson figure (Chua et al. 2024; Annamalai et al. 2024)."
)


@dataclasses.dataclass(frozen=True)
class SamplerCost:
    """ε of one run under one sampler and relation; `known` says in words what is proven."""

    sampler: str
    title: str
    relation: NeighboringRelation
    epsilon: EpsilonBounds
    known: str


def samplers(noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float = 1e-5) -> tuple[SamplerCost, ...]:
    """The same noise, batch share and steps under Poisson, fixed-size and shuffled sampling.

    Raises:
        SettingError: a number outside its range, NaN included.
    """
    poisson = gaussian_run(noise_multiplier, sampling_probability=sampling_probability, steps=steps)
    fixed = _fixed_size(noise_multiplier, sampling_probability, steps)
    passes = epochs(sampling_probability=sampling_probability, steps=steps)
    shuffled = repeated(gaussian(noise_multiplier), passes)

    def row(sampler: str, event: DpEvent, relation: NeighboringRelation, known: str, *, accountant: str = "auto") -> SamplerCost:
        bounds = epsilon(event, delta=delta, relation=relation, accountant=accountant)
        return SamplerCost(sampler, TITLES[sampler], relation, bounds, known)

    return (
        row("poisson", poisson, ADD_OR_REMOVE_ONE, "What runs here; tight."),
        row("poisson", poisson, REPLACE_ONE, "What runs here; the exact pair, tight."),
        row("fixed_size", fixed, REPLACE_ONE, FIXED_SIZE, accountant="rdp"),
        row("shuffled", shuffled, ADD_OR_REMOVE_ONE, f"{SHUFFLED} Here each row enters {passes}."),
        row("shuffled", shuffled, REPLACE_ONE, "No amplification claimed, and both rows enter the sum."),
    )


def epochs(*, sampling_probability: Annotated[float, SAMPLING_PROBABILITY], steps: Annotated[int, STEPS_TAKEN]) -> int:
    """Passes over the data that `steps` shuffled batches begin, if incomplete batches are dropped: ⌈steps / ⌊1/q⌋⌉."""
    return math.ceil(steps / math.floor(1 / sampling_probability + 1e-9))


def _fixed_size(noise_multiplier: float, sampling_probability: float, steps: int) -> DpEvent:
    if sampling_probability == 1 or noise_multiplier == 0:
        return gaussian_run(noise_multiplier, steps=steps)
    whole = 10**9
    batch = math.ceil(sampling_probability * whole - 1e-6)
    return repeated(dp_event.SampledWithoutReplacementDpEvent(whole, batch, dp_event.GaussianDpEvent(noise_multiplier)), steps)
