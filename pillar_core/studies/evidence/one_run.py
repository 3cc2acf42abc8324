"""An audit from one training run: many canaries, each in or out by its own coin, and bounds on ε from the coins called rightly.

White-box on a linear head: every release is taken at the ledger's gate. Less what the other rows gave, it is a known linear map
of the coins plus the noise, so the best linear estimate of all coins at once is a ridge regression on the canaries' clipped
gradients along the released trajectory. How many coins are called is fixed beforehand, from the claim alone. The bounds are
those of `auditing.one_run`; they hold for any dependence between canaries. An experiment on simulated releases.
"""

import dataclasses

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.auditing import HeadRows, ReleaseTape, one_run, trajectory
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.memo import Memo
from pillar_core.runs.run import RunPlan
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import Form, RunSpec, SemiPrivateSplit

CANARIES = 200
COIN_VARIANCE = 0.25


@dataclasses.dataclass(frozen=True)
class OneRunAudit:
    """Coins called and called rightly, what they certify by the (ε, δ) bound and by the f-DP bound, and what could be hoped for.

    expected: the same two, for an ideal attack on independent canaries of a run that spends what it claims.
    """

    canaries: int
    guesses: int
    correct: int
    certified: tuple[float, float]
    expected: tuple[float, float]
    claimed_epsilon: float

    @property
    def is_rejected(self) -> bool:
        """Whether more is certified than was claimed."""
        return max(self.certified) > self.claimed_epsilon


def one_run_audit(
    spec: RunSpec, split: SemiPrivateSplit, *, canaries: int = CANARIES, significance: float = evidence.SIGNIFICANCE
) -> OneRunAudit:
    """Trains the learner once with `canaries` coins; bounds its ε from below, at `significance` for both.

    Raises UnsupportedError: a learner that is no full-batch descent, or a run without noise. SettingError: fewer than 10 canaries.
    """
    if not canaries >= 10:
        raise SettingError(f"canaries must be at least 10; got {canaries!r}.")
    solved = evidence.descent_run(spec, split)
    if evidence.plan_of(solved).noise_multiplier == 0:
        raise UnsupportedError("a run without noise claims nothing that could be tested: lower ε.")
    stream, epsilon, delta = rng.stream(spec.seed, "one-run audit"), solved.guarantee.epsilon.upper, solved.guarantee.delta
    coins = stream.random(canaries) < 0.5
    estimates = _estimates(solved, coins, stream)
    guesses = one_run.best_guesses(epsilon, canaries=canaries, delta=delta, significance=significance)
    guessed = np.argsort(-np.abs(estimates), kind="stable")[:guesses]
    correct = int(((estimates[guessed] > 0) == coins[guessed]).sum())
    counts: Form = {"canaries": canaries, "guesses": guesses, "correct": correct, "delta": delta, "significance": significance}
    halved = counts | {"significance": significance / 2}  # the larger of two bounds is reported, so each gets half
    certified = (one_run.epsilon_lower_bound(**halved), one_run.epsilon_lower_bound_fdp(**halved))
    expected = one_run.most_certifiable(epsilon, canaries=canaries, delta=delta, significance=significance)
    return OneRunAudit(canaries, guesses, correct, certified, expected, epsilon)


def _estimates(solved: RunPlan, coins: Array, stream: np.random.Generator) -> Array:
    """(m,) estimates of coin − ½ from one run with the canaries whose coin says so."""
    view, _ = evidence.audit_rows(solved.view)
    centre = view.x_public.mean(axis=0) if len(view.x_public) else view.x.mean(axis=0)
    spread = float(np.linalg.norm(view.x - centre, axis=1).mean())
    directions = stream.standard_normal((len(coins), view.x.shape[1]))
    x = (centre + spread * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    y = stream.integers(solved.view.facts.n_classes, size=len(coins))
    copies = solved.guarantee.rows_per_person or 1  # a canary is a person with as many rows as are counted, all alike
    entering = np.repeat(np.flatnonzero(coins), copies)
    world = dataclasses.replace(view, x=np.concatenate([view.x, x[entering]]), y=np.concatenate([view.y, y[entering]]), memo=Memo())
    tape, plan = ReleaseTape(), evidence.plan_of(solved)
    classifier = evidence.linear_head(solved, solved.method.train(solved.settings, world, solved.streams(solved.seed), Ledger(tape)))
    rows, added = HeadRows.of(classifier.transform(view.x), view.y), HeadRows.of(classifier.transform(x), y)
    return _regress_coins(torch.stack(tape.released)[:, None], rows, added, plan, copies)


def _regress_coins(released: "torch.Tensor", rows: HeadRows, added: HeadRows, plan: HeadPlan, copies: int) -> Array:
    """The linear estimate of coins − ½ with the least mean square error, step by step: (AᵀA + 4)⁻¹Aᵀ(y − A/2)."""
    normal = torch.eye(len(added.y), dtype=torch.float64) / COIN_VARIANCE
    right = torch.zeros(len(added.y), dtype=torch.float64)
    for state, step in zip(trajectory.states(released, plan)[:-1], released, strict=True):
        gradients = copies * trajectory.clipped_rows(added, state[0], plan) / (plan.noise_multiplier * plan.l2_clip_norm)
        left_over = (step.double() - trajectory.clipped_gradient(rows, state, plan).double()).flatten()
        left_over = left_over / (plan.noise_multiplier * plan.l2_clip_norm)
        normal += gradients @ gradients.T
        right += gradients @ (left_over - gradients.sum(0) / 2)
    estimates: Array = torch.linalg.solve(normal, right).numpy()
    return estimates
