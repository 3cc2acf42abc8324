"""ε of the commonest run, `steps` Gaussian releases, each on a Poisson sample; the noise for a
given ε; other samplers.

Accountants of Poisson sampling say nothing about shuffled batches: there, amplification is not
known to hold in general, and the bound without any is the only one offered.
"""

import dataclasses
import functools
import math
from collections.abc import Sequence

from pillar_core import checks
from pillar_core.accounting.auto import resolve
from pillar_core.accounting.calibration import calibrate
from pillar_core.accounting.elementary import REPLACE_ONE
from pillar_core.events import GaussianDpEvent, SampledWithoutReplacementDpEvent
from pillar_core.ledger import DpEvent, allocation_pass, gaussian, repeat, subsample
from pillar_core.params import NOISE_MULTIPLIER, Param
from pillar_core.types import EpsilonBounds, NeighboringRelation, PrivacyBudget

SAMPLING_PROBABILITY = Param(
    "sampling_probability",
    float,
    1.0,
    "Chance of each row to be in a step's Poisson sample.",
    low=0,
    low_open=True,
    high=1,
    log=True,
)
NOISE = dataclasses.replace(NOISE_MULTIPLIER, none_means="")
STEPS_TAKEN = Param("steps", int, 1, "Noisy steps.", low=0, high=10**7, unit="steps", log=True)


def gaussian_run(
    noise_multiplier: float, *, sampling_probability: float = 1.0, steps: int = 1
) -> DpEvent:
    """The privacy event of `steps` Gaussian releases, each on its own Poisson sample.

    Raises SettingError for a number outside its range, NaN included.
    """
    step = subsample(
        gaussian(NOISE.number(noise_multiplier)), SAMPLING_PROBABILITY.number(sampling_probability)
    )
    return repeat(step, int(STEPS_TAKEN.number(steps)))


def epsilon(
    event: DpEvent, *, delta: float, relation: str, accountant: str = "auto"
) -> EpsilonBounds:
    """ε of any run's event at `delta`, by the accountant that `resolve` picks.

    Raises SettingError, UnknownNameError, UnsupportedError: as `Accountant.epsilon` and `resolve`.
    """
    return resolve(event, relation=relation, accountant=accountant).epsilon(
        event, delta=delta, relation=relation
    )


def epsilon_of_gaussian(
    noise_multiplier: float,
    *,
    sampling_probability: float = 1.0,
    steps: int = 1,
    delta: float = 1e-5,
    accountant: str = "auto",
    relation: str = "add_or_remove_one",
) -> EpsilonBounds:
    """ε of `steps` Gaussian releases with noise std `noise_multiplier` × clip norm, each on a
    Poisson sample; inf without noise.

    Guarantee: where `is_bound`, `upper` holds for the relation named, with a public number of rows,
    Poisson samples and secret noise; an accountant that approximates ("gdp") says that it is none.
    Raises SettingError for a number outside its range, NaN included. Raises UnsupportedError where
    a bound of this accountant does not cover these settings.

    >>> bounds = pc.epsilon(1.1, sampling_probability=0.01, steps=1_000, delta=1e-5)
    >>> round(bounds.lower, 2), round(bounds.upper, 2)
    (1.51, 1.52)
    """
    run = gaussian_run(noise_multiplier, sampling_probability=sampling_probability, steps=steps)
    return epsilon(run, delta=delta, relation=relation, accountant=accountant)


def noise_multiplier(
    epsilon: float,
    *,
    delta: float = 1e-5,
    sampling_probability: float = 1.0,
    steps: int = 1,
    accountant: str = "auto",
    relation: str = "add_or_remove_one",
) -> float:
    """The smallest noise_multiplier whose certified ε stays within `epsilon`, to 0.1 % from above;
    0.0 for ε = inf.

    Raises BudgetError for ε not above 0. Raises SettingError for another number outside its range.
    Raises UnsupportedError where the accountant gives no bound.

    >>> sigma = pc.noise_multiplier(2.0, sampling_probability=0.01, steps=1_000)
    >>> pc.epsilon(sigma, sampling_probability=0.01, steps=1_000).upper <= 2.0
    True
    """
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))

    def cost(noise: float) -> DpEvent:
        return gaussian_run(noise, sampling_probability=sampling_probability, steps=steps)

    return calibrate(cost, budget, accountant=accountant)


def epsilon_against_steps(
    noise_multiplier: float,
    *,
    steps: Sequence[int],
    sampling_probability: float = 1.0,
    delta: float = 1e-5,
    accountant: str = "auto",
    relation: str = "add_or_remove_one",
) -> tuple[EpsilonBounds, ...]:
    """ε after each of `steps`, as `epsilon_of_gaussian` gives it."""
    return tuple(
        epsilon_of_gaussian(
            noise_multiplier,
            sampling_probability=sampling_probability,
            steps=count,
            delta=delta,
            accountant=accountant,
            relation=relation,
        )
        for count in steps
    )


TITLES = {
    "poisson": "Poisson sample",
    "fixed_size": "Random batch of fixed size",
    "random_allocation": "One random step a pass",
    "shuffled": "Shuffled batches",
}
FIXED_SIZE = (
    "A Rényi bound (Wang, Balle & Kasiviswanathan 2019) at twice the sensitivity: sound, loose. A"
    " row that is absent leaves its place empty; where another row would take it, only “replace"
    " one” speaks of that."
)
SHUFFLED = (
    "No amplification claimed: one full release a pass. Charging shuffled batches as Poisson is a"
    " privacy bug: their true ε can be several times the Poisson figure (Chua et al. 2024;"
    " Annamalai et al. 2024). A row that is absent leaves its place empty; where the others move"
    " up, only “replace one” speaks of that."
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


def samplers(
    noise_multiplier: float, *, sampling_probability: float, steps: int, delta: float = 1e-5
) -> tuple[SamplerCost, ...]:
    """The same noise, batch share and steps under Poisson, fixed-size and shuffled sampling.

    Raises SettingError for a number outside its range, NaN included.
    """
    both = tuple(NeighboringRelation)
    relations = {"poisson": both, "fixed_size": (REPLACE_ONE,), "shuffled": both}
    return tuple(
        sampler_cost(
            sampler,
            noise_multiplier,
            sampling_probability=sampling_probability,
            steps=steps,
            relation=relation,
            delta=delta,
        )
        for sampler, of_sampler in relations.items()
        for relation in of_sampler
    )


def sampler_cost(
    sampler: str,
    noise_multiplier: float,
    *,
    sampling_probability: float,
    steps: int,
    relation: str,
    delta: float = 1e-5,
) -> SamplerCost:
    """ε of steps on batches that `sampler`, one of TITLES, draws. A pass of random allocation has
    1/q steps, rounded down."""
    neighbours = NeighboringRelation.of(relation)
    poisson = gaussian_run(noise_multiplier, sampling_probability=sampling_probability, steps=steps)
    passes = epochs(sampling_probability=sampling_probability, steps=steps)
    full = repeat(gaussian(noise_multiplier), passes)
    is_replaced = neighbours is REPLACE_ONE
    epsilon_of = functools.partial(epsilon, delta=delta, relation=neighbours)
    match sampler:
        case "poisson":
            bounds = epsilon_of(poisson)
            known = f"What runs here; {'the exact pair, ' if is_replaced else ''}tight."
        case "fixed_size":
            batch = _fixed_size(noise_multiplier, sampling_probability, steps)
            bounds = epsilon_of(batch, accountant="rdp", relation=REPLACE_ONE)
            known = FIXED_SIZE
            if not is_replaced:
                unsampled = epsilon_of(repeat(gaussian(noise_multiplier), steps))
                bounds = EpsilonBounds(0.0, *(min(bounds.upper, unsampled.upper),) * 2)
                known = (
                    "A row replaced by an empty one, or a full release a step, whichever is less:"
                    " sound, loose."
                )
        case "random_allocation" if not is_replaced:
            one = allocation_pass(noise_multiplier, batches(sampling_probability))
            bounds, known = epsilon_of(repeat(one, passes)), ALLOCATED
        case _:
            bounds = dataclasses.replace(epsilon_of(full), lower=0.0)
            known = f"{SHUFFLED} Here each row enters {passes}."
            if is_replaced:
                known = "No amplification claimed, and both rows enter the sum."
    return SamplerCost(sampler, TITLES[sampler], neighbours, bounds, known)


def epochs(*, sampling_probability: float, steps: int) -> int:
    """Passes over the data that `steps` shuffled batches begin, if incomplete batches are dropped:
    ⌈steps / ⌊1/q⌋⌉."""
    checks.within(
        sampling_probability=(sampling_probability, SAMPLING_PROBABILITY),
        steps=(steps, STEPS_TAKEN),
    )
    return math.ceil(steps / batches(sampling_probability))


def _fixed_size(noise_multiplier: float, sampling_probability: float, steps: int) -> DpEvent:
    if sampling_probability == 1 or noise_multiplier == 0:
        return gaussian_run(noise_multiplier, steps=steps)
    rows = 10**9
    batch = math.ceil(sampling_probability * rows - 1e-6)
    return repeat(
        SampledWithoutReplacementDpEvent(rows, batch, GaussianDpEvent(noise_multiplier)), steps
    )


def batches(sampling_probability: float) -> int:
    """Whole batches of a share of the rows, whose quotient was rounded once or twice."""
    return math.floor(1 / sampling_probability * (1 + 2e-15))
