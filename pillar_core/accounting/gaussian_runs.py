"""ε of the commonest run, `steps` Gaussian releases, each on a Poisson sample; and the noise for a given ε."""

import dataclasses
from collections.abc import Sequence

from pillar_core.accounting.auto import resolve, resolve_events
from pillar_core.accounting.calibration import calibrate
from pillar_core.accounting.elementary import gaussian_events
from pillar_core.ledger import DpEvent, gaussian, repeat, subsample
from pillar_core.params import NOISE_MULTIPLIER, Param
from pillar_core.types import EpsilonBounds, NeighboringRelation, PrivacyBudget

SAMPLING_PROBABILITY = Param(
    "sampling_probability", float, 1.0, "Chance of each row to be in a step's Poisson sample.", low=0, low_open=True, high=1, log=True
)
NOISE = dataclasses.replace(NOISE_MULTIPLIER, none_means="")
STEPS_TAKEN = Param("steps", int, 1, "Noisy steps.", low=0, high=10**7, unit="steps", log=True)


def gaussian_run(noise_multiplier: float, *, sampling_probability: float = 1.0, steps: int = 1) -> DpEvent:
    """The privacy event of `steps` Gaussian releases, each on its own Poisson sample.

    Raises SettingError for a number outside its range, NaN included.
    """
    step = subsample(gaussian(NOISE.number(noise_multiplier)), SAMPLING_PROBABILITY.number(sampling_probability))
    return repeat(step, int(STEPS_TAKEN.number(steps)))


def epsilon(event: DpEvent, *, delta: float, relation: str, accountant: str = "auto") -> EpsilonBounds:
    """ε of any run's event at `delta`, by the accountant that `resolve` picks.

    Raises SettingError, UnknownNameError, UnsupportedError: as `Accountant.epsilon` and `resolve`.
    """
    neighbours = NeighboringRelation.of(relation)
    return resolve(event, relation=neighbours, accountant=accountant).epsilon(event, delta=delta, relation=neighbours)


def epsilon_of_gaussian(
    noise_multiplier: float,
    *,
    sampling_probability: float = 1.0,
    steps: int = 1,
    delta: float = 1e-5,
    accountant: str = "auto",
    relation: str = "add_or_remove_one",
) -> EpsilonBounds:
    """ε of `steps` Gaussian releases with noise std `noise_multiplier` × clip norm, each on a Poisson sample; inf without noise.

    Guarantee: `upper` holds for the relation named, with a public number of rows, Poisson samples and secret noise.
    Raises SettingError for a number outside its range, NaN included. Raises UnsupportedError where the accountant has no sound bound for
    these settings.
    """
    noise, probability, count = NOISE.number(noise_multiplier), SAMPLING_PROBABILITY.number(sampling_probability), STEPS_TAKEN.number(steps)
    events = gaussian_events(noise, probability, int(count), NeighboringRelation.of(relation))
    return resolve_events(events, accountant=accountant).epsilon_of(events, delta=delta)


def noise_multiplier(
    epsilon: float,
    *,
    delta: float = 1e-5,
    sampling_probability: float = 1.0,
    steps: int = 1,
    accountant: str = "auto",
    relation: str = "add_or_remove_one",
) -> float:
    """The smallest noise_multiplier whose certified ε stays within `epsilon`, to 0.1 % from above; 0.0 for ε = inf.

    Raises BudgetError for ε not above 0. Raises SettingError for another number outside its range. Raises UnsupportedError where the
    accountant gives no bound.
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
            noise_multiplier, sampling_probability=sampling_probability, steps=count, delta=delta, accountant=accountant, relation=relation
        )
        for count in steps
    )
