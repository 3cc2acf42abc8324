"""What an event costs, in the budget that tests ask for unless they say another, and what a check
of a run says."""

from typing import Any

import pillar_core as pc
from pillar_core import accounting
from pillar_core.ledger import DpEvent
from pillar_core.studies.check import RunCheck, read_script
from pillar_core.types import EpsilonBounds, NeighboringRelation

ADD, REPLACE = NeighboringRelation


def cost_of(
    event: DpEvent,
    accountant: str = "auto",
    *,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
) -> EpsilonBounds:
    """ε of an event, by an accountant."""
    return accounting.epsilon(event, delta=delta, relation=relation, accountant=accountant)


def steps_of(noise: float, q: float = 1.0, steps: int = 1) -> DpEvent:
    """Gaussian steps on Poisson samples."""
    return accounting.gaussian_run(noise, sampling_probability=q, steps=steps)


def cost_of_steps(noise: float, q: float = 1.0, steps: int = 1, **asked: Any) -> EpsilonBounds:
    """Their ε."""
    return accounting.epsilon_of_gaussian(noise, sampling_probability=q, steps=steps, **asked)


def noise_of_steps(epsilon: float, q: float = 1.0, steps: int = 1, **asked: Any) -> float:
    """The noise with which they stay within ε."""
    return accounting.noise_multiplier(epsilon, sampling_probability=q, steps=steps, **asked)


def checked(**given: Any) -> RunCheck:
    """What `pc.check_run` says; numbers that are not given stand in the script."""
    return pc.check_run(**{"n": None, "batch_size": None, "delta": None, **given})


def upper(check: RunCheck, relation: str = "add_or_remove_one") -> float:
    return check.epsilon[relation].upper


def said(check: RunCheck) -> str:
    return " ".join((*check.problems, *check.advice, *(one.why for one in check.reported)))


def is_proven(check: RunCheck) -> bool:
    """Whether any ε is certified."""
    return any(check.epsilon.values())


def unread(script: str, command: str = "") -> str:
    """What a reading of a script tells beside its numbers."""
    return " ".join(read_script(script, command).unread)


def unproven(**given: Any) -> str:
    """What a check of a run says that has no ε."""
    check = checked(**given)
    assert not is_proven(check)
    return said(check)
