"""What choosing settings costs, three ways: random stopping on the ledger, the linear scaling rule, free on public rows.

Scores are accuracies on *public labelled* rows, so a trial's (model, score) is one release: its model, post-processed.
The papers tune on test or validation rows and pay nothing; a number found that way is not differentially private.
"""

import dataclasses
import enum
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import accounting, ledger, rng
from pillar_core.errors import BudgetError, DataError, LedgerError, SettingError, UnsupportedError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, compose, describe
from pillar_core.rng import Stream, Streams
from pillar_core.runs.run import Solved, run_many, solve, solve_spec
from pillar_core.splits import split_features
from pillar_core.types import FeatureSet, Guarantee, NeighboringRelation, PrivacyBudget, RunRecord, RunSpec, SemiPrivateSplit

Candidate = Mapping[str, Any]

LOSERS = "the number of trials was drawn and is not told; losing trials are not shown: both would void the bound"
SCORED_PUBLICLY = "candidates were scored on public labelled rows"
PRICED = "the price of a choice is known under adding or removing a row only"
SIMULATED = "settings were chosen in simulations on public rows alone, which costs nothing"
SIMULATION_SEEDS = 3
HELD_OUT = 0.25
SCALING_SHARES = (0.03, 0.12)
"""Shares of μ² for the two cheap rounds of the linear scaling rule: μ at 17 and 35 % of the whole budget, over all their trials."""
SCALING_FACTORS = (0.25, 1.0, 4.0)


class Law(enum.StrEnum):
    """How the number of trials is drawn (Papernot & Steinke 2022); its name is part of the draw's stream."""

    LOGARITHMIC = "logarithmic"


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
    """The noise of one Gaussian trial (its μ is 1 over this) such that the best of so many stays within (ε, δ).

    Raises:
        BudgetError, SettingError: no noise would do, or a mean below 1.
    """

    def cost(noise: float) -> DpEvent:
        return ledger.selected(ledger.gaussian(noise), mean_trials=mean_trials, shape=SHAPE)

    return float(accounting.calibrate(cost, PrivacyBudget(epsilon, delta), accountant="rdp"))


def trial_epsilon(epsilon: float, *, delta: float, mean_trials: float) -> float:
    """The ε that a single trial may spend when the best of a random number of trials must stay within `epsilon`."""
    return accounting.epsilon_of_mu(1 / trial_noise(epsilon, delta=delta, mean_trials=mean_trials), delta)


def tune(asked: RunSpec, split: SemiPrivateSplit, grid: Sequence[Candidate], *, mean_trials: float = 10.0) -> Tuned:
    """The best of a random number of trials, each of a candidate drawn uniformly from `grid`, by random stopping.

    Guarantee: (ε, δ) under add/remove for winner and choice together. Every candidate is a full Gaussian run of the same
    μ, so the base event covers a uniformly drawn one.

    Raises:
        DataError: no public labels to score on. SettingError: an empty grid, or no budget.
        UnsupportedError: a candidate that is no full Gaussian run, or another relation. LedgerError: a bug, more trials than were drawn.
    """
    epsilon, delta = _budget(asked, split), asked.delta
    if not grid:
        raise SettingError("grid must hold at least one candidate; got none.")
    noise = trial_noise(epsilon, delta=delta, mean_trials=mean_trials)
    event = ledger.selected(ledger.gaussian(noise), mean_trials=mean_trials, shape=SHAPE)
    each = accounting.epsilon_of_mu(1 / noise, delta)
    best: tuple[float, RunRecord, Candidate] | None = None
    name = fingerprint(asked.form, [dict(one) for one in grid], mean_trials, Law.LOGARITHMIC, split.fingerprint)
    secret = Streams(asked.seed, name).secret("tuning")
    drawn, scores = _trials(mean_trials, secret), list[float]()
    for place in range(drawn):
        candidate = grid[min(int(secret.random(1)[0] * len(grid)), len(grid) - 1)]
        one = solve_spec(_trial(asked, each, place, candidate), split)
        refuse_more_than(1 / noise, one)
        record = run_many([one], split)[0]
        scores.append(_public_accuracy(record, split))
        if best is None or scores[-1] > best[0]:
            best = scores[-1], record, dict(candidate)
    if len(scores) != drawn or best is None:
        raise LedgerError("tuning scored another number of trials than it drew and prices.")
    guarantee = guarantee_of(event, delta, "rdp", (SCORED_PUBLICLY, LOSERS), split.rows_per_person)
    _, winner, chosen = best
    return Tuned(dataclasses.replace(winner, guarantee=_joined(guarantee, winner.guarantee)), chosen, guarantee, each)


def linear_scaling(asked: RunSpec, split: SemiPrivateSplit) -> Tuned:
    """Step size × steps found at two small budgets and extrapolated linearly in μ to the rest (Panda et al. 2022).

    Each round tries three step sizes around the learner's rule; all six trials and the final run compose: μ² adds up.

    Guarantee: (ε, δ) under add/remove for all seven runs together.

    Raises:
        DataError: no public labels to score on. SettingError: no budget. UnsupportedError: another relation.
        BudgetError: a learner that is no full Gaussian run.
    """
    epsilon, delta = _budget(asked, split), asked.delta
    total = accounting.mu_of(epsilon, delta)
    events: list[DpEvent] = []
    points: list[tuple[float, float]] = []
    for round_, share in enumerate(SCALING_SHARES):
        mu = total * math.sqrt(share / len(SCALING_FACTORS))
        small = accounting.epsilon_of_mu(mu, delta)
        rule = solve_spec(dataclasses.replace(asked, epsilon=small), split).settings
        scored = []
        for place, factor in enumerate(SCALING_FACTORS):
            trial = {"learning_rate": rule.learning_rate * factor, "steps": rule.steps}
            one = solve_spec(_trial(asked, small, 10 * (round_ + 1) + place, trial), split)
            events.append(one.cost)
            path_length = trial["learning_rate"] * trial["steps"]
            scored.append((_public_accuracy(run_many([one], split)[0], split), path_length))
        points.append((mu, max(scored)[1]))
    rest = total * math.sqrt(1 - sum(SCALING_SHARES))
    (low, low_length), (high, high_length) = points
    slope = (high_length - low_length) / (high - low)
    path_length = max(high_length + slope * (rest - high), high_length)
    last = accounting.epsilon_of_mu(rest, delta)
    asked = dataclasses.replace(asked, epsilon=last)
    steps = solve_spec(asked, split).settings.steps
    chosen = {"learning_rate": path_length / steps, "steps": steps}
    one = solve_spec(with_settings(asked, chosen), split)
    guarantee = guarantee_of(compose(*events, one.cost), delta, "auto", (SCORED_PUBLICLY,), split.rows_per_person)
    if not guarantee.epsilon.upper <= epsilon:
        raise BudgetError(
            f"the rounds and the final run cost ε = {guarantee.epsilon.upper:.6g}, above {epsilon:g}; use a full-batch learner."
        )
    record = run_many([one], split)[0]
    record = dataclasses.replace(record, guarantee=_joined(guarantee, record.guarantee))
    return Tuned(record, chosen, guarantee, accounting.epsilon_of_mu(points[0][0], delta))


def free_by_simulation(asked: RunSpec, split: SemiPrivateSplit, grid: Sequence[Candidate]) -> Tuned:
    """The candidate that does best when public rows play both parts, then one run at the whole budget.

    The simulation keeps signal against noise: its n_sim rows get μ_sim = μ · n_private / n_sim, so σ_sim = σ · n_sim / n_private.

    Guarantee: that of the final run; no private row is read before it.

    Raises:
        DataError: no public labels, or too few rows. SettingError: an empty grid, or no budget. UnsupportedError: another relation.
    """
    epsilon = _budget(asked, split)
    if not grid:
        raise SettingError("grid must hold at least one candidate; got none.")
    solved = [solve_spec(with_settings(asked, candidate), split) for candidate in grid]
    means = [np.mean([_simulated(one, split, simulation) for simulation in range(SIMULATION_SEEDS)]) for one in solved]
    winner = int(np.argmax(means))
    record = run_many([solved[winner]], split)[0]
    guarantee = dataclasses.replace(record.guarantee, assumptions=(*record.guarantee.assumptions, SIMULATED))
    return Tuned(dataclasses.replace(record, guarantee=guarantee), dict(grid[winner]), guarantee, epsilon)


def budget_of(asked: RunSpec) -> float:
    """The ε to stay within.

    Raises:
        SettingError: none is asked for.
    """
    if asked.epsilon is None:
        raise SettingError("choosing settings needs a budget to stay within: pass epsilon.")
    return asked.epsilon


def with_settings(asked: RunSpec, candidate: Candidate) -> RunSpec:
    """What is asked, with a candidate's settings."""
    return dataclasses.replace(asked, settings={**asked.settings, **candidate})


def gamma_of(mean_trials: float) -> float:
    """γ of the logarithmic law with that mean."""
    if mean_trials == 1:
        return 1.0
    low, high = 1e-12, 1 - 1e-9
    for _ in range(100):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if (1 / middle - 1) / math.log(1 / middle) > mean_trials else (low, middle)
    return high


def _trials(mean_trials: float, secret: Stream) -> int:
    """A number drawn from the law, by inversion of its distribution function."""
    uniform, gamma = float(secret.random(1)[0]), gamma_of(mean_trials)
    if gamma == 1:
        return 1
    count, below = 1, (1 - gamma) / -math.log(gamma)
    mass = below
    while uniform > below and mass > 1e-18:
        count += 1
        mass *= (1 - gamma) * (count - 1) / count
        below += mass
    return count


def _simulated(one: Solved, split: SemiPrivateSplit, simulation: int) -> float:
    """Held-out accuracy of a candidate with public rows in all parts, at the simulated noise."""
    order = rng.stream(simulation, "public rows in both parts").permutation(len(split.public_x))
    held = max(1, round(HELD_OUT * len(order)))
    test, train = order[:held], order[held:]
    x, y = split.public_x, split.public_y
    if y is None:
        raise DataError("a simulation needs public labels.")
    public = FeatureSet(x[train], y[train], x[test], y[test], split.features.classes, name="simulation")
    parts = split_features(public, public_fraction=0.3, seed=simulation)
    settings = {name: value for name, value in dataclasses.asdict(one.settings).items() if name not in ("batch_size", "noise_multiplier")}
    noise = one.settings.noise_multiplier * parts.facts.n_private / one.view.facts.n_private
    rank = min(parts.facts.n_public - 1, parts.facts.d)
    if settings.get("k"):
        settings["k"] = min(settings["k"], rank)
    played = solve(one.method.name, parts, noise_multiplier=noise, seed=simulation, **settings)
    return float(run_many([played], parts)[0].accuracy or 0.0)


def _budget(asked: RunSpec, split: SemiPrivateSplit) -> float:
    """The ε to stay within, where candidates can be scored and the price of choosing is known."""
    if not split.has_public_labels:
        raise DataError("tuning scores candidates on public labelled rows and this split has none; bring labels for the public rows.")
    if asked.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise UnsupportedError(f"{PRICED}; got {asked.relation}.")
    return budget_of(asked)


def _trial(asked: RunSpec, epsilon: float, place: int, candidate: Candidate) -> RunSpec:
    """One trial of a candidate at its own budget, with independent noise."""
    seed = None if asked.seed is None else 1000 * (asked.seed + 1) + place
    return dataclasses.replace(with_settings(asked, candidate), epsilon=epsilon, seed=seed)


def _public_accuracy(record: RunRecord, split: SemiPrivateSplit) -> float:
    if record.classifier is None:
        raise DataError("a trial returned no classifier to score.")
    return float((record.classifier.predict(split.public_x) == split.public_y).mean())


def refuse_more_than(mu: float, one: Solved) -> None:
    """Refuses a run that one Gaussian of that μ does not dominate, which is what a choice among such runs is charged as."""
    events = accounting.read(one.cost, NeighboringRelation.ADD_OR_REMOVE_ONE)
    gaussian = not events.unsupported and all(release.is_full_gaussian for release in events.releases)
    if not gaussian or not events.gaussian_mu <= mu * (1 + 1e-9):
        raise UnsupportedError(
            f"{one.method.name} with these settings is no full-batch Gaussian run, so one event does not cover whatever is chosen."
        )


def guarantee_of(event: DpEvent, delta: float, accountant: str, assumptions: tuple[str, ...], rows_per_person: int | None) -> Guarantee:
    """What these events promise together, for one row added or removed."""
    relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    bounds = accounting.epsilon(event, delta=delta, relation=relation, accountant=accountant)
    chosen = accounting.resolve(event, relation=relation, accountant=accountant)
    return Guarantee(bounds, delta, relation, chosen.name, assumptions, describe(event), rows_per_person=rows_per_person, event=event)


def _joined(guarantee: Guarantee, of_run: Guarantee) -> Guarantee:
    """The guarantee of the choice with the run's own assumptions too."""
    return dataclasses.replace(guarantee, assumptions=(*of_run.assumptions, *guarantee.assumptions))
