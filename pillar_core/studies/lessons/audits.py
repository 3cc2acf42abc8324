"""What the lesson on auditing measures: attacks on PILLAR, trained on small real images of clothes. Non-private experiments."""

import functools
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pandas as pd

from pillar_core import accounting
from pillar_core.accounting import TradeOff
from pillar_core.arrays import Array
from pillar_core.auditing import hypothesis_test
from pillar_core.auditing.fault_injection import finding_of
from pillar_core.rng import stream
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence.one_run import one_run_audit
from pillar_core.studies.lessons.digits import DELTA
from pillar_core.studies.lessons.public import split_of
from pillar_core.types import RunSpec

SIGNIFICANCE, PILOT, K, STEPS = 0.01, 50, 10, 2
"""Few steps keep hundreds of trainings within a second; a claim holds for any number."""
SHADOWS, GROUPS = 32, 2000


def attack_rates(epsilons: Sequence[float]) -> pd.DataFrame:
    """LiRA shown a member and an outsider: epsilon, right (how often it picks the member), limit (the most that ε allows)."""
    by_epsilon = [
        evidence.shadow_attacks(RunSpec("pillar", epsilon=epsilon, settings={"k": K}), split_of(0), count=SHADOWS) for epsilon in epsilons
    ]
    allowed = [NormalDist().cdf(accounting.mu_of(epsilon, DELTA) / 2**0.5) for epsilon in epsilons]
    return pd.DataFrame({"epsilon": epsilons, "right": [max(attack.auc for attack in attacks) for attacks in by_epsilon], "limit": allowed})


def audit_bounds(trials: Sequence[int], *, epsilon: float) -> pd.DataFrame:
    """What trainings with a canary, and as many without, prove of PILLAR: trials, certified (ε, 99 % lower bound), limit (claimed)."""
    worlds = _scores(epsilon, max(trials))
    return pd.DataFrame({"trials": trials, "certified": [_certified_epsilon(worlds, count, epsilon) for count in trials], "limit": epsilon})


def bounds_of_less_noise(shares: Sequence[float], *, epsilon: float, trials: int) -> pd.DataFrame:
    """The same proof where only a share of the noise is added: share, certified (ε, 99 % lower bound), limit (claimed)."""
    mu = accounting.mu_of(epsilon, DELTA)
    true = [accounting.epsilon_of_mu(mu / share, DELTA) for share in shares]
    return pd.DataFrame(
        {
            "share": shares,
            "certified": [_certified_epsilon(_scores(epsilon_spent, trials), trials, epsilon_spent) for epsilon_spent in true],
            "limit": epsilon,
        }
    )


def certified_once(epsilons: Sequence[float], *, canaries: int) -> pd.DataFrame:
    """What one training with many canaries proves: epsilon, certified (ε, 95 % lower bound), limit (the truth)."""
    audits = [one_run_audit(RunSpec("pillar", epsilon=epsilon, settings={"k": K}), split_of(0), canaries=canaries) for epsilon in epsilons]
    return pd.DataFrame({"epsilon": epsilons, "certified": [max(audit.certified) for audit in audits], "limit": epsilons})


def audit_power(epsilons: Sequence[float], *, claimed: float, trials: int) -> pd.DataFrame:
    """The chance that an ideal attacker's audit refutes the claim: epsilon (truly spent), power in [0, 1]."""
    curve = TradeOff("gaussian", mu=accounting.mu_of(claimed, DELTA))
    true = [accounting.mu_of(epsilon, DELTA) for epsilon in epsilons]
    power = [hypothesis_test.power(curve, true_mu=mu, trials=trials, significance=SIGNIFICANCE) for mu in true]
    return pd.DataFrame({"epsilon": epsilons, "power": power})


def guesses_from_releases(counts: Sequence[int], *, epsilon: float, trials: int) -> pd.DataFrame:
    """Guesses about the canary from so many models: releases, right (share of guesses, half by luck), limit (the most allowed)."""
    worlds = _scores(epsilon, trials)
    middle = (worlds[0][:PILOT].mean() + worlds[1][:PILOT].mean()) / 2
    mu, draw, rows = accounting.mu_of(epsilon, DELTA), stream(0, "lesson", "repeated"), []
    for count in counts:
        means = [scores[draw.integers(PILOT, len(scores), (GROUPS, count))].mean(axis=1) for scores in worlds]
        right = ((means[0] > middle).mean() + (means[1] <= middle).mean()) / 2
        rows.append((count, right, NormalDist().cdf(mu * count**0.5 / 2)))
    return pd.DataFrame(rows, columns=["releases", "right", "limit"])


def _certified_epsilon(worlds: Sequence[Array], trials: int, epsilon: float) -> float:
    """The lower bound on ε from the first trials of both worlds, after a pilot that places the threshold."""
    with_canary, without = (scores[: PILOT + trials] for scores in worlds)
    claimed = TradeOff("gaussian", mu=accounting.mu_of(epsilon, DELTA))
    counts = finding_of("mislabelled image", with_canary, without, claimed=claimed, pilot=PILOT).counts
    return hypothesis_test.epsilon_lower_bound(counts, delta=DELTA, significance=SIGNIFICANCE)


@functools.lru_cache(maxsize=16)
def _scores(epsilon: float, trials: int) -> tuple[Array, ...]:
    """The canary's scores of PILOT and `trials` trainings with it, and of as many without."""
    solved = evidence.descent_run(RunSpec("pillar", epsilon=epsilon, settings={"k": K, "steps": STEPS}), split_of(0))
    return tuple(map(np.asarray, evidence.canary_worlds(solved, runs=PILOT + trials, seed=0)))
