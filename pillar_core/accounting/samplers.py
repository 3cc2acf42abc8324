"""The same noise under different samplers and neighbours: what may be claimed for each, and what may not.

Accountants of Poisson sampling say nothing about shuffled batches: there, amplification is not known to hold in general,
and the bound without any is the only one offered.
"""

import dataclasses
import math
from typing import Any

from pillar_core import checks
from pillar_core.accounting.elementary import REPLACE_ONE
from pillar_core.accounting.gaussian_runs import SAMPLING_PROBABILITY, STEPS_TAKEN, epsilon, gaussian_run
from pillar_core.events import GaussianDpEvent, SampledWithoutReplacementDpEvent
from pillar_core.ledger import DpEvent, allocation_pass, gaussian, repeat
from pillar_core.types import EpsilonBounds, NeighboringRelation

ADD_OR_REMOVE_ONE = NeighboringRelation.ADD_OR_REMOVE_ONE
TITLES = {
    "poisson": "Poisson sample",
    "fixed_size": "Random batch of fixed size",
    "random_allocation": "One random step a pass",
    "shuffled": "Shuffled batches",
}
FIXED_SIZE = (
    "A Rényi bound (Wang, Balle & Kasiviswanathan 2019) at twice the sensitivity: sound, loose. A row that is absent "
    "leaves its place empty; where another row would take it, only “replace one” speaks of that."
)
SHUFFLED = (
    "No amplification claimed: one full release a pass. Charging shuffled batches as Poisson is a privacy bug: their true "
    "ε can be several times the Poisson figure (Chua et al. 2024; Annamalai et al. 2024). A row that is absent leaves its place "
    "empty; where the others move up, only “replace one” speaks of that."
)
ALLOCATED = "Each row draws one step of every pass by itself; tight."


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

    Raises SettingError for a number outside its range, NaN included.
    """
    both = (ADD_OR_REMOVE_ONE, REPLACE_ONE)
    how: dict[str, Any] = {"sampling_probability": sampling_probability, "steps": steps, "delta": delta}
    relations = {"poisson": both, "fixed_size": (REPLACE_ONE,), "shuffled": both}
    pairs = ((sampler, str(relation)) for sampler, of_sampler in relations.items() for relation in of_sampler)
    return tuple(sampler_cost(sampler, noise_multiplier, relation=relation, **how) for sampler, relation in pairs)


def sampler_cost(
    sampler: str, noise_multiplier: float, *, sampling_probability: float, steps: int, relation: str, delta: float = 1e-5
) -> SamplerCost:
    """ε of steps on batches that `sampler`, one of TITLES, draws. A pass of random allocation has 1/q steps, rounded down."""
    neighbours = NeighboringRelation.of(relation)
    poisson = gaussian_run(noise_multiplier, sampling_probability=sampling_probability, steps=steps)
    passes = epochs(sampling_probability=sampling_probability, steps=steps)
    full = repeat(gaussian(noise_multiplier), passes)

    def epsilon_of(event: DpEvent, *, accountant: str = "auto", of: NeighboringRelation = neighbours) -> EpsilonBounds:
        return epsilon(event, delta=delta, relation=of, accountant=accountant)

    match sampler:
        case "poisson":
            bounds, known = (
                epsilon_of(poisson),
                "What runs here; tight." if neighbours is ADD_OR_REMOVE_ONE else "What runs here; the exact pair, tight.",
            )
        case "fixed_size":
            bounds, known = (
                epsilon_of(_fixed_size(noise_multiplier, sampling_probability, steps), accountant="rdp", of=REPLACE_ONE),
                FIXED_SIZE,
            )
            if neighbours is ADD_OR_REMOVE_ONE:
                unsampled = epsilon_of(repeat(gaussian(noise_multiplier), steps))
                bounds = EpsilonBounds(0.0, *(min(bounds.upper, unsampled.upper),) * 2)
                known = "A row replaced by an empty one, or a full release a step, whichever is less: sound, loose."
        case "random_allocation" if neighbours is ADD_OR_REMOVE_ONE:
            bounds, known = epsilon_of(repeat(allocation_pass(noise_multiplier, batches(sampling_probability)), passes)), ALLOCATED
        case _:
            bounds = dataclasses.replace(epsilon_of(full), lower=0.0)
            known = f"{SHUFFLED} Here each row enters {passes}."
            if neighbours is REPLACE_ONE:
                known = "No amplification claimed, and both rows enter the sum."
    return SamplerCost(sampler, TITLES[sampler], neighbours, bounds, known)


def epochs(*, sampling_probability: float, steps: int) -> int:
    """Passes over the data that `steps` shuffled batches begin, if incomplete batches are dropped: ⌈steps / ⌊1/q⌋⌉."""
    checks.within(sampling_probability=(sampling_probability, SAMPLING_PROBABILITY), steps=(steps, STEPS_TAKEN))
    return math.ceil(steps / batches(sampling_probability))


def _fixed_size(noise_multiplier: float, sampling_probability: float, steps: int) -> DpEvent:
    if sampling_probability == 1 or noise_multiplier == 0:
        return gaussian_run(noise_multiplier, steps=steps)
    rows = 10**9
    batch = math.ceil(sampling_probability * rows - 1e-6)
    return repeat(SampledWithoutReplacementDpEvent(rows, batch, GaussianDpEvent(noise_multiplier)), steps)


def batches(sampling_probability: float) -> int:
    """Whole batches of a share of the rows, whose quotient was rounded once or twice."""
    return math.floor(1 / sampling_probability * (1 + 2e-15))
