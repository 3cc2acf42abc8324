"""PILLAR with Noisy-SGD: several noisy halfspaces on public components, and the exponential
mechanism picks one.

Guarantee: the base runs and the choice get half the budget each (as printed, both get all of it, so
that the whole costs 2ε). Base runs: per step one Gaussian release of the joint clipped gradient
over the one-versus-rest halfspaces. Choice: the score is minus the summed loss; on unit rows and
the unit ball one row's losses spread by at most 1/ln 2 (logistic) or 1 + L (hinge) over candidates,
whatever the data are. Variant "as_printed" takes n² steps on one uniform row each and is charged by
its own theorem, never as Poisson. Source: PILLAR, Algorithm 1 with Algorithm 2. Cost: ⌈log 1/β⌉
times two matrix products a step.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine.device import training_device
from pillar_core.engine.halfspaces import (
    HalfspaceHead,
    Loss,
    hinge,
    logistic,
    losses,
    problems,
    targets,
    train_halfspaces,
)
from pillar_core.errors import SettingError
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import ExponentialMechanism, exponential
from pillar_core.mechanisms.printed_noisy_sgd import PrintedNoisySgd, printed_event
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import descent, halfspaces, rules
from pillar_core.rng import Streams
from pillar_core.splits import Prepared, View
from pillar_core.types import (
    NeighboringRelation,
    PrivacyBudget,
    PublicFacts,
    PublicUse,
    TrainResult,
)

PRINTED_STEPS = 3_000_000
"""Single-row steps, over all runs, that the printed algorithm may take: about half a minute."""
ROUNDING = 1e-6
"""Unit rows and weights have norm 1 to a few 1e-7, which widens the range of losses by no more than
this fraction."""
UNITS = 2.0**32
"""Of a loss of 1, to which scores are rounded."""


@dataclasses.dataclass(frozen=True)
class PillarNoisySgdSettings(halfspaces.HalfspaceSettings):
    """Noisy halfspaces and the choice among them."""

    variant: str = params.declare(
        "poisson",
        "Base runs on Poisson samples (or all rows), or n² single-row steps.",
        choices=("poisson", "as_printed"),
    )
    loss: str = params.declare(
        "cross_entropy",
        "Loss of a margin on the unit ball.",
        choices=("cross_entropy", "scaled_hinge"),
    )
    failure_probability: float = params.declare(
        0.1, "β: ⌈log 1/β⌉ base runs are made.", low=1e-6, high=1, high_open=True, log=True
    )
    margin: float = params.declare(
        0.1,
        "γ₀ of the scaled hinge: an assumption about the private rows.",
        low=0,
        low_open=True,
        high=1,
        high_open=True,
    )
    xi: float = params.declare(
        0.0,
        "ξ₀ of the scaled hinge: an assumption about the private rows.",
        low=0,
        high=1,
        high_open=True,
    )
    choice_epsilon: float | None = params.declare(
        None,
        "ε of the choice (add/remove).",
        low=0,
        low_open=True,
        log=True,
        none_means="half of the budget",
    )
    runs_delta: float | None = params.declare(
        None,
        "δ of all runs as printed.",
        low=0,
        low_open=True,
        high=1,
        high_open=True,
        none_means="half of the budget's",
    )


def runs(settings: PillarNoisySgdSettings) -> int:
    """⌈log 1/β⌉, at least one."""
    return max(1, math.ceil(math.log(1 / settings.failure_probability)))


def loss_of(settings: PillarNoisySgdSettings) -> Loss:
    """The loss, with the scaled hinge's slope 1/(0.9·γ₀·(1 − ξ₀))."""
    return (
        logistic()
        if settings.loss == "cross_entropy"
        else hinge(1 / (0.9 * settings.margin * (1 - settings.xi)))
    )


def resolve_schedule(
    settings: PillarNoisySgdSettings, facts: PublicFacts, budget: PrivacyBudget | None
) -> Plan[PillarNoisySgdSettings]:
    """Fills `steps`, `choice_epsilon` and `runs_delta`.

    Raises SettingError for neither a budget nor choice_epsilon, or more printed steps than can be
    taken.
    """
    printed = settings.variant == "as_printed"
    plan = (
        Plan(_fill_printed_steps(settings, facts))
        if printed
        else halfspaces.resolve_schedule(settings, facts, budget)
    )
    if budget is None:
        needed = ("choice_epsilon", "runs_delta") if printed else ("choice_epsilon",)
        for name in needed:
            if getattr(settings, name) is None:
                raise SettingError(
                    f"{name} must be given where epsilon is not: there is no budget to take half"
                    " of."
                )
        return plan
    factor = 4 if budget.relation is NeighboringRelation.REPLACE_ONE else 2
    why = "half of the budget (the choice costs twice that under replace-one)"
    plan = plan.fill("choice_epsilon", budget.epsilon / factor, why)
    return plan.fill("runs_delta", budget.delta / 2, "half of δ") if printed else plan


def cost(settings: PillarNoisySgdSettings, facts: PublicFacts) -> DpEvent:
    """The base runs and one choice."""
    choice = exponential(float(settings.choice_epsilon or math.nan))
    if settings.variant == "as_printed":
        run = printed_event(
            settings.noise_multiplier or 0.0,
            n_private=facts.n_private,
            delta=_run_delta(settings, facts),
        )
        return events.compose(
            events.repeat(run, runs(settings) * problems(facts.n_classes)), choice
        )
    return events.compose(events.repeat(descent.cost(settings, facts), runs(settings)), choice)


@group_runs("k", "standardise", "centre", "variant", "loss", "margin", "xi")
def fit_many(view: View, heads: list[Run[PillarNoisySgdSettings]]) -> Iterator[TrainResult]:
    """The chosen halfspaces of every head; heads that agree on rows and loss are trained
    together."""
    first = heads[0][0]
    prepared, loss = halfspaces.project(first, view), loss_of(first)
    printed = first.variant == "as_printed"
    candidates = (
        [_printed_runs(*settings, prepared, view, loss) for settings in heads]
        if printed
        else _runs(heads, prepared, view, loss)
    )
    margin = (
        f"The scaled hinge assumes a margin γ₀ = {first.margin:g} and ξ₀ = {first.xi:g} of the"
        " private rows, unchecked."
    )
    notes = (margin,) if first.loss == "scaled_hinge" else ()
    for (settings, streams, ledger), weights in zip(heads, candidates, strict=True):
        scores = -losses(prepared.z, view.y, weights, loss, n_classes=view.facts.n_classes)
        spread = math.ceil(loss.spread * (1 + ROUNDING) * UNITS) + 2  # of two sums' four halves
        choice = ExponentialMechanism(
            float(settings.choice_epsilon or math.nan), spread, streams.secret("choice"), ledger
        )
        yield halfspaces.result_of(
            weights[choice.choose(np.rint(scores * UNITS).astype(np.int64))], prepared, notes
        )


def _runs(
    group: list[Run[PillarNoisySgdSettings]], prepared: Prepared, view: View, loss: Loss
) -> "list[torch.Tensor]":
    """(runs, P, k) candidates of every head; each run draws noise and samples of its own."""
    heads = [
        HalfspaceHead(
            descent.plan_of(settings, view.facts),
            loss,
            streams.secret(f"noise/{run}", device=str(training_device())),
            streams.sampling(f"sampling/{run}"),
            ledger,
            (streams.identity, run),
        )
        for settings, streams, ledger in group
        for run in range(runs(settings))
    ]
    trained = iter(train_halfspaces(prepared.z, view.y, heads, n_classes=view.facts.n_classes))
    return [torch.stack([next(trained) for _ in range(runs(settings))]) for settings, _, _ in group]


def _printed_runs(
    settings: PillarNoisySgdSettings,
    streams: Streams,
    ledger: Ledger,
    prepared: Prepared,
    view: View,
    loss: Loss,
) -> "torch.Tensor":
    """(runs, P, k) candidates, one printed run for each halfspace of each candidate."""
    signs, rows = targets(view.y, view.facts.n_classes).numpy(), prepared.z.astype(np.float64)

    def slope(margin: float) -> float:
        return float(loss.slope(torch.tensor(margin, dtype=torch.float64)))

    noise, delta, every = (
        settings.noise_multiplier or 0.0,
        _run_delta(settings, view.facts),
        [],
    )
    for run in range(runs(settings)):
        for problem, row_signs in enumerate(signs):
            noisy, drawn = (streams.secret(f"{use}/{run}/{problem}") for use in ("noise", "draws"))
            mechanism = PrintedNoisySgd(noise, view.facts.n_private, delta, noisy, drawn, ledger)
            every.append(mechanism.run(rows, row_signs, slope, loss.lipschitz))
    return torch.from_numpy(np.stack(every).astype(np.float32)).view(runs(settings), len(signs), -1)


def _fill_printed_steps(
    settings: PillarNoisySgdSettings, facts: PublicFacts
) -> PillarNoisySgdSettings:
    steps = runs(settings) * problems(facts.n_classes) * facts.n_private**2
    if steps > PRINTED_STEPS:
        raise SettingError(
            f"variant 'as_printed' takes n² single-row steps a run, {steps:.3g} in all with n ="
            f" {facts.n_private:,}, and stops at {PRINTED_STEPS:,}; take fewer private rows, or"
            " variant 'poisson'."
        )
    if settings.batch_size is not None or settings.steps not in (None, facts.n_private**2):
        got = f"got {settings.steps}, {settings.batch_size}"
        raise SettingError(
            "steps and batch_size are fixed at n² and one row by variant 'as_printed': leave them"
            f" out; {got}."
        )
    return dataclasses.replace(settings, steps=facts.n_private**2)


def _run_delta(settings: PillarNoisySgdSettings, facts: PublicFacts) -> float:
    return float(settings.runs_delta or math.nan) / (runs(settings) * problems(facts.n_classes))


METHODS.register(
    Method(
        name="pillar_noisy_sgd",
        title="PILLAR (Noisy-SGD)",
        source="Pinto, Hu, Yang & Sanyal, PILLAR, Algorithms 1 and 2",
        idea="The algorithm that PILLAR's theorem is about: several noisy halfspaces in few"
        " dimensions, one chosen privately.",
        public_use=PublicUse.UNLABELLED,
        settings=PillarNoisySgdSettings,
        cost=cost,
        fit_many=fit_many,
        public_statistics=rules.public_statistics,
        resolve_schedule=resolve_schedule,
        resolve_hyperparameters=halfspaces.resolve_hyperparameters,
        version=3,
        presets={"paper": {"variant": "as_printed"}},
    )
)
