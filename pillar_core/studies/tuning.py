"""How a run's step size is chosen, by name: by the rules, for free as the papers do, or by random
stopping, which pays on the ledger.

Three step sizes around the learner's rule are tried: a quarter of it, the rule, and four times it.
Scores of random stopping are accuracies on *public labelled* rows, so a trial's (model, score) is
one release: its model, post-processed. The papers tune on test or validation rows and pay nothing;
so does `papers`, which alone breaks its promise: its ε covers one run, not the choice, and a number
found that way is not differentially private.
"""

import dataclasses
import enum
import functools
import math
from collections.abc import Sequence

from pillar_core import accounting, ledger
from pillar_core.accounting.rdp import rate_of
from pillar_core.errors import DataError, LedgerError, SettingError, UnsupportedError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, describe
from pillar_core.rng import Stream, Streams
from pillar_core.runs.run import RunPlan, run_many, run_spec, solve_spec
from pillar_core.runs.statement import UNPAID
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import (
    Classifier,
    Guarantee,
    NeighboringRelation,
    PrivacyBudget,
    RunRecord,
    RunSpec,
    SemiPrivateSplit,
    Values,
)

Candidate = Values

LOSERS = (
    "the number of trials was drawn (in floating point) and is not told; losing trials are not"
    " shown: both would void the bound"
)
ADDED = NeighboringRelation.ADD_OR_REMOVE_ONE
PRICED = "the price of a choice is known under adding or removing a row only"
MEAN_TRIALS = 10.0


Law = enum.StrEnum("Law", ["LOGARITHMIC"])
"""How the number of trials is drawn (Papernot & Steinke 2022); its name is part of the draw's
stream."""
SHAPE = 0.0
"""Of the logarithmic law, as a truncated negative binomial one."""


@dataclasses.dataclass(frozen=True)
class Tuned:
    """The winner, its guarantee counting the choice, and what each trial alone could spend."""

    record: RunRecord
    chosen: Candidate
    guarantee: Guarantee
    trial_epsilon: float


def trial_noise(epsilon: float, *, delta: float, mean_trials: float) -> float:
    """The noise of one Gaussian trial (its μ is 1 over this) such that the best of so many stays
    within (ε, δ).

    Raises BudgetError, SettingError: no noise would do, or a mean below 1.
    """

    def cost(noise: float) -> DpEvent:
        return ledger.best_of(ledger.gaussian(noise), mean_trials=mean_trials, shape=SHAPE)

    return float(accounting.calibrate(cost, PrivacyBudget(epsilon, delta)))


@functools.cache
def trial_epsilon(epsilon: float, *, delta: float, mean_trials: float) -> float:
    """The ε that a single trial may spend when the best of a random number of trials must stay
    within `epsilon`."""
    return accounting.epsilon_of_mu(
        1 / trial_noise(epsilon, delta=delta, mean_trials=mean_trials), delta
    )


def tune(
    spec: RunSpec,
    split: SemiPrivateSplit,
    grid: Sequence[Candidate],
    *,
    mean_trials: float = MEAN_TRIALS,
) -> Tuned:
    """The best of a random number of trials, each of a candidate drawn uniformly from `grid`, by
    random stopping.

    Guarantee: (ε, δ) under add/remove for winner and choice together. Every candidate is a full
    Gaussian run of the same μ, so the base event covers a uniformly drawn one.
    Raises DataError: no public labels to score on. SettingError: an empty grid, or no budget.
    UnsupportedError: a candidate that is no full Gaussian run, or another relation. LedgerError: a
    bug, more trials than were drawn.
    """
    epsilon, delta = _budget(spec, split), spec.delta
    if not grid:
        raise SettingError("grid must hold at least one candidate; got none.")
    noise = trial_noise(epsilon, delta=delta, mean_trials=mean_trials)
    event = ledger.best_of(ledger.gaussian(noise), mean_trials=mean_trials, shape=SHAPE)
    each = accounting.epsilon_of_mu(1 / noise, delta)
    best: tuple[float, RunRecord, Candidate] | None = None
    name = fingerprint(
        spec.form,
        [dict(candidate) for candidate in grid],
        mean_trials,
        Law.LOGARITHMIC,
        split.fingerprint,
    )
    secret = Streams(spec.seed, name).secret("tuning")
    drawn, scores = _trials(mean_trials, secret), list[float]()
    for place in range(drawn):
        candidate = grid[min(int(secret.random(1)[0] * len(grid)), len(grid) - 1)]
        seed = None if spec.seed is None else 1000 * (spec.seed + 1) + place
        plan = solve_spec(
            dataclasses.replace(with_settings(spec, candidate), epsilon=each, seed=seed), split
        )
        refuse_more_than(1 / noise, plan)
        record = run_many([plan], split)[0]
        if record.classifier is None:
            raise DataError("a trial returned no classifier to score.")
        scores.append(_score(record.classifier, split))
        if best is None or scores[-1] > best[0]:
            best = scores[-1], record, dict(candidate)
    if len(scores) != drawn or best is None:
        raise LedgerError("tuning scored another number of trials than it drew and prices.")
    guarantee = guarantee_of(
        event,
        delta,
        "auto",
        ("candidates were scored on public labelled rows", LOSERS),
        split.rows_per_person,
    )
    _, winner, chosen = best
    assumptions = (*winner.guarantee.assumptions, *guarantee.assumptions)
    return Tuned(
        dataclasses.replace(
            winner, guarantee=dataclasses.replace(guarantee, assumptions=assumptions)
        ),
        chosen,
        guarantee,
        each,
    )


def _score(classifier: Classifier, split: SemiPrivateSplit) -> float:
    """The share of the public rows that a trial's classifier names rightly."""
    return float((classifier.predict(split.public_x) == split.public_y).mean())


def budget_of(spec: RunSpec) -> float:
    """The ε to stay within. Raises SettingError: none is asked for."""
    if spec.epsilon is None:
        raise SettingError("choosing settings needs a budget to stay within: pass epsilon.")
    return spec.epsilon


def with_settings(spec: RunSpec, candidate: Candidate) -> RunSpec:
    """What is asked, with a candidate's settings."""
    return dataclasses.replace(spec, settings={**spec.settings, **candidate})


def _trials(mean_trials: float, secret: Stream) -> int:
    """A number drawn from the law, by inversion of its distribution function."""
    uniform, gamma = float(secret.random(1)[0]), math.exp(-rate_of(mean_trials, SHAPE))
    if gamma == 1:
        return 1
    count, below = 1, (1 - gamma) / -math.log(gamma)
    mass = below
    while uniform > below and mass > 1e-18:
        count += 1
        mass *= (1 - gamma) * (count - 1) / count
        below += mass
    return count


def _budget(spec: RunSpec, split: SemiPrivateSplit) -> float:
    """The ε to stay within, where candidates can be scored and the price of choosing is known."""
    if not split.has_public_labels:
        raise DataError(
            "tuning scores candidates on public labelled rows and this split has none; bring labels"
            " for the public rows."
        )
    if spec.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise UnsupportedError(f"{PRICED}; got {spec.relation}.")
    return budget_of(spec)


def refuse_more_than(mu: float, plan: RunPlan, relation: NeighboringRelation = ADDED) -> None:
    """Refuses a run that one Gaussian of that μ does not dominate, which is what a choice among
    such runs is charged as."""
    events = accounting.read(plan.cost, relation)
    if not events.is_full_gaussian or not events.gaussian_mu <= mu * (1 + 1e-9):
        raise UnsupportedError(
            f"{plan.method.name} with these settings is no full-batch Gaussian run, so one event"
            " does not cover whatever is chosen."
        )


def guarantee_of(
    event: DpEvent,
    delta: float,
    accountant: str,
    assumptions: tuple[str, ...],
    rows_per_person: int | None,
    relation: NeighboringRelation = ADDED,
) -> Guarantee:
    """What these events promise together."""
    bounds = accounting.epsilon(event, delta=delta, relation=relation, accountant=accountant)
    chosen = accounting.resolve(event, relation=relation, accountant=accountant)
    return Guarantee(
        bounds,
        delta,
        relation,
        chosen.name,
        assumptions,
        describe(event),
        rows_per_person=rows_per_person,
        event=event,
    )


class Choosing(enum.StrEnum):
    """Who chooses the step size, and what for."""

    RULES = "rules"
    PAPERS = "papers"
    STOPPING = "stopping"


SAID: dict[str, dict[str, str]] = {
    "rules": {"words": "rules"},
    "papers": {
        "words": "for free, as the papers do",
        "price": (
            "Three step sizes are tried, the best **on test rows** is kept, and nothing is paid."
            " Published tables are made so. ε covers one run and not the choice: this number is"
            " **not** differentially private."
        ),
    },
    "stopping": {
        "words": "random stopping",
        "price": (
            "The best of a random number of runs, ten on average, scored on public labels"
            " (Papernot & Steinke 2022). ε covers all of them, so each run may spend less; how"
            " many there were is not told."
        ),
    },
}
"""By the way's name: its `words` and, where something is tried, its `price`."""


def supports(spec: RunSpec, split: SemiPrivateSplit, *, choosing: Choosing) -> str:
    """Empty where this choice can be made, else the reason why not."""
    if choosing is Choosing.RULES:
        return ""
    reason = evidence.supports(spec.method)
    if reason:
        return f"{reason}, and tuning here is for those"
    if choosing is Choosing.PAPERS:
        return (
            ""
            if split.features.x_test is not None and len(split.features.x_test)
            else "there are no test rows to choose on"
        )
    if spec.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        return PRICED
    return (
        ""
        if split.has_public_labels
        else "candidates are scored on public labels, and the public rows have none"
    )


def tune_step_size(spec: RunSpec, split: SemiPrivateSplit, *, choosing: Choosing) -> Tuned:
    """One run with its step size chosen that way; what is not asked for follows the learner's
    rules.

    Guarantee: (ε, δ) for run and choice together, but for `Choosing.PAPERS`, whose record says so.
    Raises UnsupportedError: `supports` says why. Errors of `tuning` and `run`.
    """
    reason = supports(spec, split, choosing=choosing)
    if reason:
        raise UnsupportedError(f"the step size cannot be chosen so: {reason}.")
    epsilon = budget_of(spec)
    match choosing:
        case Choosing.STOPPING:
            each = trial_epsilon(epsilon, delta=spec.delta, mean_trials=MEAN_TRIALS)
            return tune(spec, split, _grid(dataclasses.replace(spec, epsilon=each), split))
        case Choosing.PAPERS:
            return _as_the_papers_do(spec, split, _grid(spec, split))
    record = run_spec(spec, split)
    return Tuned(record, {}, record.guarantee, epsilon)


def _grid(spec: RunSpec, split: SemiPrivateSplit) -> list[Candidate]:
    """Three step sizes around the rule at this budget, with the rule's number of steps."""
    rule = solve_spec(spec, split).settings
    return [
        {"learning_rate": rule.learning_rate * factor, "steps": rule.steps}
        for factor in (0.25, 1.0, 4.0)
    ]


def _as_the_papers_do(spec: RunSpec, split: SemiPrivateSplit, grid: list[Candidate]) -> Tuned:
    records = run_many(
        [solve_spec(with_settings(spec, candidate), split) for candidate in grid], split
    )
    scores = [-1.0 if record.accuracy is None else record.accuracy for record in records]
    best = max(range(len(grid)), key=scores.__getitem__)
    if scores[best] < 0:
        raise DataError("choosing as the papers do needs test rows with labels.")
    assumptions = (*records[best].guarantee.assumptions, UNPAID)
    guarantee = dataclasses.replace(
        records[best].guarantee, assumptions=assumptions, covers_choice=False
    )
    return Tuned(
        dataclasses.replace(records[best], guarantee=guarantee),
        grid[best],
        guarantee,
        budget_of(spec),
    )
