"""Individual privacy: what each private row really gave along one released trajectory of a full-batch learner.

μᵢ² = Σ_t ‖released part of row i's clipped gradient‖² / (τ_t σ)² (Golatkar et al., AdaMix, Proposition 14, its first form
with the τ² that print leaves out). No guarantee: the trajectory depends on the data, so plain composition does
not cover it, and the numbers are computed from private rows: a non-private diagnostic that must not be released.
"""

import dataclasses
import math

import numpy as np
import pandas as pd

from pillar_core import accounting
from pillar_core.arrays import Array
from pillar_core.auditing import HeadRows, ReleaseTape, membership, trajectory
from pillar_core.deferred import torch
from pillar_core.engine import Clipping, LinearClassifier
from pillar_core.engine.train import PLAIN
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.methods import METHODS
from pillar_core.methods.parts.descent import HeadGroup
from pillar_core.methods.parts.mixed import PublicRows
from pillar_core.methods.public_gradients import adamix
from pillar_core.runs.run import RunPlan, solve_spec
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import NeighboringRelation, RunSpec, SemiPrivateSplit


@dataclasses.dataclass(frozen=True)
class Individuals:
    """Individual privacy along one trajectory: columns row, class, mu, epsilon, loss; and what the run states for all."""

    table: pd.DataFrame
    stated_mu: float
    stated_epsilon: float
    delta: float


def individuals(spec: RunSpec, split: SemiPrivateSplit) -> Individuals:
    """Each private row's individual μ and ε along the trajectory that this seed releases. No guarantee.

    For full-batch descent on one head (noisy_gd, dp_sgd, pillar) and for adamix, where only the part that its projection
    keeps was released.
    Raises UnsupportedError: any other learner, batches, a run without noise, or several rows of one person.
    """
    if (split.rows_per_person or 1) > 1:
        raise UnsupportedError("individual privacy is told of single rows, and here ε is that of a person with several.")
    if spec.relation != NeighboringRelation.ADD_OR_REMOVE_ONE:
        raise UnsupportedError("individual privacy is told of a row that is added or removed: choose that relation.")
    reason = supports(spec.method)
    if reason:
        raise UnsupportedError(f"{reason}. Choose noisy_gd, dp_sgd, pillar or adamix.")
    is_mixed = METHODS[spec.method].is_mixed_descent
    solved = solve_spec(spec, split) if is_mixed else evidence.descent_run(spec, split)
    if solved.settings.noise_multiplier == 0:
        raise UnsupportedError("without noise every row's individual ε is infinite: lower ε.")
    mu, losses = _mixed_losses(solved) if is_mixed else _descent_losses(solved)
    names, delta = split.features.classes, solved.guarantee.delta
    columns = {"row": split.private, "class": [names[y] for y in solved.view.y], "mu": mu, "epsilon": _epsilons(mu, delta), "loss": losses}
    stated = math.sqrt(solved.settings.steps) / solved.settings.noise_multiplier
    return Individuals(pd.DataFrame(columns), stated, accounting.epsilon_of_mu(stated, delta), delta)


def supports(method: str) -> str:
    """Empty where `individuals` covers a learner, else the reason why not."""
    return "" if METHODS[method].is_mixed_descent else evidence.supports(method)


def _descent_losses(solved: RunPlan) -> tuple[Array, Array]:
    released, classifier = evidence.train_on_tape(solved)
    z = classifier.transform.rows(solved.view.x, solved.view.rows)
    mu = trajectory.individual_mu(released, HeadRows.of(z, solved.view.y), evidence.plan_of(solved))
    return mu, membership.log_losses(z @ classifier.weights + classifier.bias, solved.view.y)


def _mixed_losses(solved: RunPlan) -> tuple[Array, Array]:
    """AdaMix: its step goes over the released sums again; the final weights must be the classifier's."""
    tape, settings, view = ReleaseTape(), solved.settings, solved.view
    classifier = solved.method.train(settings, view, solved.streams(solved.seed), Ledger(tape)).classifier
    prepared = view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=settings.normalise)
    rows, directions = HeadRows.of(prepared.z, view.y), adamix.public_directions([settings], view)
    together = HeadGroup(view, prepared, solved.streams(solved.seed))
    public, pairs = PublicRows.of(together), zip(tape.calls, tape.released, strict=True)
    state = torch.from_numpy(np.ascontiguousarray(adamix.start(settings, together).T))[None]
    step, squares = adamix.both_kinds([settings], together, state), torch.zeros(len(view.y), dtype=torch.float64)

    def replay(state: "torch.Tensor", clipping: Clipping = PLAIN, /) -> "torch.Tensor":
        call, released = next(pairs)
        basis = adamix.subspace(settings, public.gradients(state)[1][0], directions)
        squares.add_((trajectory.kept_norms(rows, state[0], clip=call.clip, basis=basis) / call.noise_std).square())
        noisy: torch.Tensor = released[None].float()
        return noisy

    for number in range(settings.steps):
        state = step(number, state, replay)
    if not isinstance(classifier, LinearClassifier) or not np.allclose(state[0].T.numpy(), classifier.weights, rtol=1e-3, atol=1e-3):
        raise UnsupportedError("AdaMix's weights are not what its releases give back: individual privacy cannot be read off them.")
    return squares.sqrt().numpy(), membership.log_losses(prepared.z @ classifier.weights + classifier.bias, view.y)


def _epsilons(mu: Array, delta: float) -> Array:
    """ε of each μ, by interpolation between 200 exact points: for figures."""
    points = np.linspace(mu.min(), mu.max(), 200) if mu.max() > mu.min() else mu[:1]
    return np.interp(mu, points, [accounting.epsilon_of_mu(float(point), delta) for point in points])
