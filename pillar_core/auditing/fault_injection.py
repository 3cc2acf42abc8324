"""Fault injection: learners with one planted fault each, and the audit that must catch them. None
is registered or can be chosen.

Each is full-batch noisy descent on a linear head with one fault that real code has had. The audit
runs it many times with an added canary and without, and tests the trade-off curve that the code
*claims*. See `hypothesis_test` and docs/audit.md for the table of what was caught.
"""

import dataclasses
import enum
import math
import tomllib
from pathlib import Path

import numpy as np

from pillar_core import checks, rng
from pillar_core.accounting import TradeOff, mu_of
from pillar_core.arrays import Array
from pillar_core.auditing import hypothesis_test
from pillar_core.auditing.hypothesis_test import Counts
from pillar_core.auditing.trajectory import (
    HeadRows,
    ReleaseTape,
    canary_scores,
    clipped_gradient,
    plain_gradient,
)
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.params import CHANCE, COUNT, Param
from pillar_core.rng import Stream
from pillar_core.threads import threads_for


class Fault(enum.StrEnum):
    """What is wrong with the code under audit."""

    NONE = "none"
    NO_CLIP = "no clip"
    BATCH_CLIP = "clip per batch"
    HALF_NOISE = "half the noise"
    BARE_BIAS = "no noise on the bias"
    SPENT_TWICE = "budget spent twice"


_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FAULT_WORDS = {fault: str(_WORDS[fault]) for fault in Fault}

N_ROWS, N_FEATURES, N_CLASSES, STEPS = 40, 6, 3, 4
LEARNING_RATE = 1e-3
"""Small, so that the canary is not learnt and keeps its gradient; the claim holds for any step
size."""
PILOT = 200
"""Trials in each world that place the threshold and are then set aside, so that the test's
threshold is fixed beforehand."""
TRIALS = 800
SIGNIFICANCE = 0.02

EPSILON = Param(
    "epsilon", float, 4.0, "Budget that the audited learner claims.", low=0, low_open=True, high=1e3
)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One canary's test: counts after the pilot, exact p-value, and the scores of both worlds for
    figures."""

    canary: str
    counts: Counts
    threshold: float
    p_value: float
    with_canary: Array = dataclasses.field(repr=False, compare=False)
    without_canary: Array = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Audit:
    """The claim was rejected, or not, at `significance` over all canaries together (Bonferroni)."""

    fault: Fault
    claimed: TradeOff
    significance: float
    findings: tuple[Finding, ...]

    @property
    def is_caught(self) -> bool:
        """Whether any canary rejects at its share of the significance."""
        return self.worst.p_value <= self.significance / len(self.findings)

    @property
    def worst(self) -> Finding:
        """The canary with the smallest p-value."""
        return min(self.findings, key=lambda finding: finding.p_value)


def audit(
    fault: Fault,
    *,
    epsilon: float = 4.0,
    delta: float = 1e-5,
    seed: int | None = 0,
    trials: int = TRIALS,
    significance: float = SIGNIFICANCE,
) -> Audit:
    """Runs the learner with `fault` against three canaries and tests the curve of (ε, δ) that it
    claims to keep.

    `trials` independent runs in each world and for each canary, after PILOT ones that place the
    threshold.
    """
    checks.within(
        epsilon=(epsilon, EPSILON), trials=(trials, COUNT), significance=(significance, CHANCE)
    )
    mu = mu_of(epsilon, delta)
    claimed = TradeOff("gaussian", mu=mu)
    plan = HeadPlan(
        steps=STEPS,
        learning_rate=LEARNING_RATE,
        noise_multiplier=math.sqrt(STEPS) / mu,
        l2_clip_norm=1.0,
        n_private=N_ROWS,
        bias=True,
    )
    rows = _rows()
    findings = []
    for name, canary in canaries().items():
        stream = rng.stream(seed, "audit", name)
        with threads_for(0):
            worlds = [
                _scores(fault, rows, canary, plan, trials + PILOT, stream, is_in=is_in)
                for is_in in (True, False)
            ]
        findings.append(finding_of(name, worlds[0], worlds[1], claimed=claimed))
    return Audit(fault, claimed, significance, tuple(findings))


def finding_of(
    name: str, with_canary: Array, without_canary: Array, *, claimed: TradeOff, pilot: int = PILOT
) -> Finding:
    """The exact test on the scores behind the first `pilot` of each world, which place the
    threshold half way."""
    threshold = float((np.median(with_canary[:pilot]) + np.median(without_canary[:pilot])) / 2)
    counts = hypothesis_test.counts_of(
        with_canary[pilot:], without_canary[pilot:], threshold=threshold
    )
    return Finding(
        name,
        counts,
        threshold,
        hypothesis_test.p_value(counts, claimed),
        with_canary[pilot:],
        without_canary[pilot:],
    )


def canaries() -> dict[str, HeadRows]:
    """Three rows that an adversary would add: a huge one, an empty one (its gradient is all bias),
    an ordinary mislabelled one."""
    ordinary = _rows().z[:1]
    huge = torch.zeros_like(ordinary)
    huge[0, 0] = 1e3
    label = torch.tensor([N_CLASSES - 1])
    return {
        "huge row": HeadRows(huge, label),
        "empty row": HeadRows(torch.zeros_like(ordinary), label),
        "mislabelled row": HeadRows(ordinary, label),
    }


def releases(
    fault: Fault, rows: HeadRows, plan: HeadPlan, *, runs: int, stream: Stream, ledger: Ledger
) -> "torch.Tensor":
    """(T, runs, C, k + 1) float32: everything that `runs` independent runs of the faulty learner
    let out, step by step.

    The noise is drawn by the library's own mechanism on all runs at once; each run has its own
    coordinates.
    """
    noise = plan.noise_multiplier / 2 if fault is Fault.HALF_NOISE else plan.noise_multiplier
    mechanism = GaussianMechanism(noise, plan.l2_clip_norm, stream, ledger, label="trials")
    state = torch.zeros((runs, N_CLASSES, rows.z.shape[1] + 1))
    released = []
    for _ in range(plan.steps * (2 if fault is Fault.SPENT_TWICE else 1)):
        total = aggregate(fault, rows, state, plan)
        out = mechanism.release(total)
        if fault is Fault.BARE_BIAS:
            out = torch.cat([out[..., :-1], total[..., -1:]], dim=-1)
        released.append(out)
        state = state - plan.learning_rate * out.float() / plan.n_private
    return torch.stack(released)


def aggregate(
    fault: Fault, rows: HeadRows, state: "torch.Tensor", plan: HeadPlan
) -> "torch.Tensor":
    """What the learner sums before its noise."""
    match fault:
        case Fault.NO_CLIP:
            return plain_gradient(rows, state, plan)
        case Fault.BATCH_CLIP:
            mean = plain_gradient(rows, state, plan) / len(rows.y)
            norm = torch.linalg.vector_norm(mean, dim=(1, 2), keepdim=True)
            clipped: torch.Tensor = mean * (plan.l2_clip_norm / norm).clamp(max=1.0) * len(rows.y)
            return clipped
    return clipped_gradient(rows, state, plan)


def _scores(
    fault: Fault,
    rows: HeadRows,
    canary: HeadRows,
    plan: HeadPlan,
    runs: int,
    stream: Stream,
    *,
    is_in: bool,
) -> Array:
    both = HeadRows(torch.cat([rows.z, canary.z]), torch.cat([rows.y, canary.y])) if is_in else rows
    tape = ReleaseTape()
    released = releases(fault, both, plan, runs=runs, stream=stream, ledger=Ledger(tape))
    summed = iter(tape.values)
    return canary_scores(
        released,
        canary,
        plan,
        without=lambda state: aggregate(fault, rows, state, plan) if is_in else next(summed),
    )


def _rows() -> HeadRows:
    """Forty unit rows of three classes, the same for every audit: the claim is for any data."""
    generator = rng.stream(0, "rows of the sabotage audit")
    z = generator.standard_normal((N_ROWS, N_FEATURES))
    return HeadRows.of(z / np.linalg.norm(z, axis=1, keepdims=True), np.arange(N_ROWS) % N_CLASSES)


@dataclasses.dataclass(frozen=True)
class BlindSpot:
    """A bug, why trials and canaries miss it, and the check that does not."""

    title: str
    why: str
    caught_by: str


BLIND_SPOTS = tuple(BlindSpot(**fields) for fields in _WORDS["spots"])
