"""What one training run shows: an audit with many canaries, each in or out by its own coin; and
individual privacy.

Bounds on ε come from the coins called rightly. White-box on a linear head: every release is taken
at the ledger's gate. Less what the other rows gave, it is a known linear map of the coins plus the
noise, so the best linear estimate of all coins at once is a ridge regression on the canaries'
clipped gradients along the released trajectory. How many coins are called is fixed beforehand, from
the claim alone. The bounds are those of `auditing.one_run`; they hold for any dependence between
canaries. An experiment on simulated releases.

Individual privacy is what each private row really gave along one released trajectory of a
full-batch learner: μᵢ² = Σ_t ‖released part of row i's clipped gradient‖² / (τ_t σ)² (Golatkar et
al., AdaMix, Proposition 14, its first form with the τ² that print leaves out). No guarantee: the
trajectory depends on the data, so plain composition does not cover it, and the numbers are computed
from private rows: a non-private diagnostic that must not be released.
"""

import dataclasses
import math

import numpy as np
import pandas as pd

from pillar_core import accounting, rng
from pillar_core.arrays import Array
from pillar_core.auditing import HeadRows, ReleaseTape, membership, one_run, trajectory
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, HeadPlan, LinearClassifier
from pillar_core.engine.train import PLAIN
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.ledger import Call, Ledger
from pillar_core.methods import METHODS
from pillar_core.methods.parts.descent import HeadGroup
from pillar_core.methods.parts.mixed import PublicRows
from pillar_core.methods.public_gradients import adamix
from pillar_core.runs.run import RunPlan, solve_spec
from pillar_core.splits import Prepared
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import Form, NeighboringRelation, RunSpec, SemiPrivateSplit

CANARIES = 200
COIN_VARIANCE = 0.25


@dataclasses.dataclass(frozen=True)
class OneRunAudit:
    """Coins called and called rightly, what they certify by the (ε, δ) bound and by the f-DP bound,
    and what could be hoped for.

    expected: the same two, for an ideal attack on independent canaries of a run that spends what it
    claims. visible_from: the ε from which on that attack certifies anything.
    """

    canaries: int
    guesses: int
    correct: int
    certified: tuple[float, float]
    expected: tuple[float, float]
    claimed_epsilon: float
    visible_from: float

    @property
    def is_rejected(self) -> bool:
        """Whether more is certified than was claimed."""
        return max(self.certified) > self.claimed_epsilon


def one_run_audit(
    spec: RunSpec,
    split: SemiPrivateSplit,
    *,
    canaries: int = CANARIES,
    significance: float = evidence.SIGNIFICANCE,
) -> OneRunAudit:
    """Trains the learner once with `canaries` coins; bounds its ε from below, at `significance` for
    both.

    Raises UnsupportedError: a learner that is no full-batch descent, or a run without noise.
    SettingError: fewer than 10 canaries.
    """
    if not canaries >= 10:
        raise SettingError(f"canaries must be at least 10; got {canaries!r}.")
    plan = evidence.claiming_run(spec, split)
    stream, epsilon = rng.stream(spec.seed, "one-run audit"), plan.guarantee.epsilon.upper
    setup: Form = {
        "canaries": canaries,
        "delta": plan.guarantee.delta,
        "significance": significance,
    }
    coins = stream.random(canaries) < 0.5
    estimates = _estimates(plan, coins, stream)
    guesses = one_run.best_guesses(epsilon, **setup)
    guessed = np.argsort(-np.abs(estimates), kind="stable")[:guesses]
    correct = int(((estimates[guessed] > 0) == coins[guessed]).sum())
    # the larger of two bounds is reported, so each gets half
    halved = setup | {"guesses": guesses, "correct": correct, "significance": significance / 2}
    certified = (one_run.epsilon_lower_bound(**halved), one_run.epsilon_lower_bound_fdp(**halved))
    ideal = one_run.most_certifiable(epsilon, **setup)
    return OneRunAudit(
        canaries, guesses, correct, certified, ideal, epsilon, one_run.least_visible(**setup)
    )


def _estimates(plan: RunPlan, coins: Array, stream: np.random.Generator) -> Array:
    """(m,) estimates of coin − ½ from one run with the canaries whose coin says so."""
    view, _ = evidence.audit_rows(plan.view)
    centre = view.x_public.mean(axis=0) if len(view.x_public) else view.x.mean(axis=0)
    spread = float(np.linalg.norm(view.x - centre, axis=1).mean())
    directions = stream.standard_normal((len(coins), view.x.shape[1]))
    x = (centre + spread * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(
        np.float32
    )
    y = stream.integers(plan.view.facts.n_classes, size=len(coins))
    copies = (
        plan.guarantee.rows_per_person or 1
    )  # a canary is a person with as many rows as are counted, all alike
    entering = np.repeat(np.flatnonzero(coins), copies)
    world = evidence.add_rows(view, x[entering], y[entering])
    released, classifier = evidence.train_on_tape(dataclasses.replace(plan, view=world))
    rows, added = (
        HeadRows.of(classifier.transform(view.x), view.y),
        HeadRows.of(classifier.transform(x), y),
    )
    return _regress_coins(released[:, None], rows, added, evidence.head_plan_of(plan), copies)


def _regress_coins(
    released: "torch.Tensor", rows: HeadRows, added: HeadRows, head_plan: HeadPlan, copies: int
) -> Array:
    """The linear estimate of coins − ½ with the least mean square error, step by step: (AᵀA +
    4)⁻¹Aᵀ(y − A/2)."""
    normal = torch.eye(len(added.y), dtype=torch.float64) / COIN_VARIANCE
    right = torch.zeros(len(added.y), dtype=torch.float64)
    for state, step in zip(trajectory.states(released, head_plan)[:-1], released, strict=True):
        gradients = (
            copies
            * trajectory.clipped_rows(added, state[0], head_plan)
            / (head_plan.noise_multiplier * head_plan.l2_clip_norm)
        )
        left_over = (
            step.double() - trajectory.clipped_gradient(rows, state, head_plan).double()
        ).flatten()
        left_over = left_over / (head_plan.noise_multiplier * head_plan.l2_clip_norm)
        normal += gradients @ gradients.T
        right += gradients @ (left_over - gradients.sum(0) / 2)
    estimates: Array = torch.linalg.solve(normal, right).numpy()
    return estimates


@dataclasses.dataclass(frozen=True)
class Individuals:
    """Individual privacy along one trajectory: columns row, class, mu, epsilon, loss; and what the
    run states for all."""

    table: pd.DataFrame
    stated_mu: float
    stated_epsilon: float
    delta: float


def individuals(spec: RunSpec, split: SemiPrivateSplit) -> Individuals:
    """Each private row's individual μ and ε along the trajectory that this seed releases. No
    guarantee.

    For full-batch descent on one head (noisy_gd, dp_sgd, pillar) and for adamix, where only the
    part that its projection keeps was released.
    Raises UnsupportedError: any other learner, batches, a run without noise, or several rows of one
    person.
    """
    if (split.rows_per_person or 1) > 1:
        raise UnsupportedError(
            "individual privacy is told of single rows, and here ε is that of a person with"
            " several."
        )
    if spec.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise UnsupportedError(
            "individual privacy is told of a row that is added or removed: choose that relation."
        )
    reason = supports(spec.method)
    if reason:
        raise UnsupportedError(f"{reason}. Choose noisy_gd, dp_sgd, pillar or adamix.")
    is_mixed = METHODS[spec.method].is_mixed_descent
    plan = solve_spec(spec, split) if is_mixed else evidence.descent_run(spec, split)
    if plan.settings.noise_multiplier == 0:
        raise UnsupportedError("without noise every row's individual ε is infinite: lower ε.")
    mu, z, classifier = _mixed_losses(plan) if is_mixed else _descent_losses(plan)
    names, delta = split.features.classes, plan.guarantee.delta
    columns = {
        "row": split.private,
        "class": [names[y] for y in plan.view.y],
        "mu": mu,
        "epsilon": _epsilons(mu, delta),
        "loss": membership.log_losses(z @ classifier.weights + classifier.bias, plan.view.y),
    }
    stated = math.sqrt(plan.settings.steps) / plan.settings.noise_multiplier
    return Individuals(
        pd.DataFrame(columns), stated, accounting.epsilon_of_mu(stated, delta), delta
    )


def supports(method: str) -> str:
    """Empty where `individuals` covers a learner, else the reason why not."""
    return "" if METHODS[method].is_mixed_descent else evidence.supports(method)


def _descent_losses(plan: RunPlan) -> tuple[Array, Array, LinearClassifier]:
    """(n,) individual μ, and the rows (n, k) as the head takes them."""
    released, classifier = evidence.train_on_tape(plan)
    z = classifier.transform.rows(plan.view.x, plan.view.rows)
    mu = trajectory.individual_mu(
        released, HeadRows.of(z, plan.view.y), evidence.head_plan_of(plan)
    )
    return mu, z, classifier


def _mixed_losses(plan: RunPlan) -> tuple[Array, Array, LinearClassifier]:
    view, (classifier, prepared, steps) = plan.view, retrace_adamix(plan)
    rows, squares = HeadRows.of(prepared.z, view.y), torch.zeros(len(view.y), dtype=torch.float64)
    for state, basis, call in steps:
        kept = trajectory.kept_norms(rows, state[0], clip=call.clip, basis=basis)
        squares += (kept / call.noise_std).square()
    return squares.sqrt().numpy(), prepared.z, classifier


AdamixStep = tuple["torch.Tensor", "torch.Tensor | None", Call]
"""Weights (1, C, d) before a step, the directions (d, k) that it keeps (None: all), and its
release."""


def retrace_adamix(plan: RunPlan) -> tuple[LinearClassifier, Prepared, list[AdamixStep]]:
    """Trains AdaMix and goes over its released sums again: the classifier, the rows, the steps.

    Raises UnsupportedError: the releases do not give the classifier's weights back.
    """
    tape, settings, view = ReleaseTape(), plan.settings, plan.view
    classifier = plan.method.train(settings, view, plan.streams(plan.seed), Ledger(tape)).classifier
    prepared = view.prepare(
        standardise=settings.standardise, centre=settings.centre, normalise=settings.normalise
    )
    together = HeadGroup(view, prepared, plan.streams(plan.seed))
    directions, public = adamix.public_directions([settings], view), PublicRows.of(together)
    pairs, steps = zip(tape.calls, tape.released, strict=True), list[AdamixStep]()
    state = torch.from_numpy(np.ascontiguousarray(adamix.start(settings, together).T))[None]
    step = adamix.both_kinds([settings], together, state)

    def replay(state: "torch.Tensor", clipping: Clipping = PLAIN, /) -> "torch.Tensor":
        call, released = next(pairs)
        basis = adamix.subspace(settings, public.gradients(state)[1][0], directions)
        steps.append((state.clone(), basis, call))
        noisy: torch.Tensor = released[None].float()
        return noisy

    for number in range(settings.steps):
        state = step(number, state, replay)
    if not isinstance(classifier, LinearClassifier) or not np.allclose(
        state[0].T.numpy(), classifier.weights, rtol=1e-3, atol=1e-3
    ):
        raise UnsupportedError(
            "AdaMix's weights are not what its releases give back, so its steps cannot be read off"
            " them."
        )
    return classifier, prepared, steps


def _epsilons(mu: Array, delta: float) -> Array:
    """ε of each μ, by interpolation between 200 exact points: for figures."""
    points = np.linspace(mu.min(), mu.max(), 200) if mu.max() > mu.min() else mu[:1]
    return np.interp(
        mu, points, [accounting.epsilon_of_mu(float(point), delta) for point in points]
    )
