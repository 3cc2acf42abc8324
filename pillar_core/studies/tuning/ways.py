"""How a run's step size is chosen, by name: by the rules, for free as the papers do, or by random stopping, which pays.

Three step sizes around the learner's rule are tried: a quarter of it, the rule, and four times it. Only `papers` breaks its
promise: it picks on test rows, as published tables do, and its ε covers one run, not the choice.
"""

import dataclasses
import enum
from pathlib import Path

from pillar_core.errors import DataError, UnsupportedError
from pillar_core.registry import toml_tables
from pillar_core.runs.models import UNPAID
from pillar_core.runs.run import run_many, run_spec, solve_spec
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.tuning import selection as tuning
from pillar_core.studies.tuning.selection import SCALING_FACTORS, Candidate, Tuned
from pillar_core.types import NeighboringRelation, RunSpec, SemiPrivateSplit

MEAN_TRIALS = 10.0


class Choosing(enum.StrEnum):
    """Who chooses the step size, and what for."""

    RULES = "rules"
    PAPERS = "papers"
    STOPPING = "stopping"


SAID = toml_tables(Path(__file__).with_suffix(".toml"))
"""By the way's name: its `words` and, where something is tried, its `price`."""


def supports(spec: RunSpec, split: SemiPrivateSplit, *, choosing: Choosing) -> str:
    """Empty where this choice can be made, else the reason why not."""
    if choosing is Choosing.RULES:
        return ""
    reason = evidence.supports(spec.method)
    if reason:
        return f"{reason}, and tuning here is for those"
    if choosing is Choosing.PAPERS:
        return "" if split.features.x_test is not None and len(split.features.x_test) else "there are no test rows to choose on"
    if spec.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        return tuning.PRICED
    return "" if split.has_public_labels else "candidates are scored on public labels, and the public rows have none"


def tune_step_size(spec: RunSpec, split: SemiPrivateSplit, *, choosing: Choosing) -> Tuned:
    """One run with its step size chosen that way; what is not asked for follows the learner's rules.

    Guarantee: (ε, δ) for run and choice together, but for `Choosing.PAPERS`, whose record says so.
    Raises UnsupportedError: `supports` says why. Errors of `tuning` and `run`.
    """
    reason = supports(spec, split, choosing=choosing)
    if reason:
        raise UnsupportedError(f"the step size cannot be chosen so: {reason}.")
    epsilon = tuning.budget_of(spec)
    match choosing:
        case Choosing.STOPPING:
            each = tuning.trial_epsilon(epsilon, delta=spec.delta, mean_trials=MEAN_TRIALS)
            return tuning.tune(spec, split, _grid(dataclasses.replace(spec, epsilon=each), split), mean_trials=MEAN_TRIALS)
        case Choosing.PAPERS:
            return _as_the_papers_do(spec, split, _grid(spec, split))
    record = run_spec(spec, split)
    return Tuned(record, {}, record.guarantee, epsilon)


def _grid(spec: RunSpec, split: SemiPrivateSplit) -> list[Candidate]:
    """Three step sizes around the rule at this budget, with the rule's number of steps."""
    rule = solve_spec(spec, split).settings
    return [{"learning_rate": rule.learning_rate * factor, "steps": rule.steps} for factor in SCALING_FACTORS]


def _as_the_papers_do(spec: RunSpec, split: SemiPrivateSplit, grid: list[Candidate]) -> Tuned:
    records = run_many([solve_spec(tuning.with_settings(spec, candidate), split) for candidate in grid], split)
    scores = [-1.0 if record.accuracy is None else record.accuracy for record in records]
    best = max(range(len(grid)), key=scores.__getitem__)
    if scores[best] < 0:
        raise DataError("choosing as the papers do needs test rows with labels.")
    assumptions = (*records[best].guarantee.assumptions, UNPAID)
    guarantee = dataclasses.replace(records[best].guarantee, assumptions=assumptions, covers_choice=False)
    return Tuned(dataclasses.replace(records[best], guarantee=guarantee), grid[best], guarantee, tuning.budget_of(spec))
