"""Contract 6: an ideal attacker at the ledger's gate does not reject the trade-off curve that a
learner's cost claims.

The attacker of differential privacy knows everything but whether the canary is there: all other
rows, their part of each sample, every release. The likelihood ratio of the releases in the two
worlds is computed exactly, release by release, from the values before noise in both worlds, which a
replay of the same releases on the other world gives; a release on a sample is a mixture over
whether the canary is in it, a pass of random allocation one over the step that it enters. A log
ratio above 0 says "with". Both error counts are binomial and the test is exact.
"""

import math
from typing import Any

import numpy as np
import torch

from contract.checks import Case, neighbours
from contract.tapes import Neighbour, Recorder, distance
from pillar_core import accounting
from pillar_core.auditing import hypothesis_test
from pillar_core.ledger import Call, DpEvent
from pillar_core.splits import View

TRIALS, MANY = 40, 300
"""For every learner, and where half of the noise must be seen."""
SIGNIFICANCE = 1e-6
"""A claim of μ = √3 at half its noise is rejected by MANY trials: an excess of 275 ± 5 hits where
232 would do."""
FIRST_SEED = {True: 10_000, False: 20_000}
SMALLEST_PROBABILITY = 1e-300


def is_not_rejected(case: Case) -> None:
    """6. Trials with the hardest canary and without do not reject the declared cost's trade-off
    curve."""
    counts = alarms(case, trials=TRIALS)
    p = p_value(counts, case.method.cost(case.settings, case.view.facts))
    assert p > SIGNIFICANCE, f"the claim is rejected: {counts}; p = {p:.1g}"


def alarms(case: Case, *, trials: int) -> hypothesis_test.Counts:
    """How often the attacker says that the hardest canary is there, in trials with it and
    without."""
    world, place = hardest(case)
    hits, false_alarms = (
        sum(
            ratio > 0
            for ratio in log_ratios(case, world, place, has_canary=is_there, trials=trials)
        )
        for is_there in (True, False)
    )
    return hypothesis_test.Counts(hits, false_alarms, trials)


def p_value(counts: hypothesis_test.Counts, cost: DpEvent) -> float:
    """How likely such counts are under the trade-off curve of a cost."""
    return hypothesis_test.p_value(counts, accounting.trade_off(cost, relation="add_or_remove_one"))


def hardest(case: Case) -> tuple[View, int]:
    """The data set with the added row that moves the first fit's releases most in units of their
    noise, and that row's place."""
    tape = Recorder()
    case.fit(case.view, tape)
    found = []
    for name, view, _, position_of, forced in neighbours(case.view):
        if not name.startswith("add") or forced is None:
            continue
        other = Neighbour(tape, position_of=position_of, forced=forced)
        case.fit(view, other)
        moved = [
            sum(shift**2 for shift in distance(a, b, call.kind))
            / max(call.noise_std, SMALLEST_PROBABILITY) ** 2
            for call, a, b in zip(tape.calls, tape.values, other.values, strict=True)
        ]
        found.append((sum(moved), len(found), view, forced))
    _, _, view, place = max(found)
    return view, place


def log_ratios(
    case: Case, world: View, place: int, *, has_canary: bool, trials: int
) -> list[float]:
    """log P(releases | canary) − log P(releases | no canary), of each run in the world with the
    canary or without."""
    n, seeds = len(case.view.y), range(FIRST_SEED[has_canary], FIRST_SEED[has_canary] + trials)
    to_world = np.arange(n) + (np.arange(n) >= place)
    to_without = np.insert(np.arange(n), place, -1)
    tapes = [Recorder() for _ in seeds]
    case.fit_each(world if has_canary else case.view, tapes, seeds)
    inside: list[Recorder] = list(tapes)
    if not has_canary or any(probability < 1 for probability, _, _ in tapes[0].samples):
        inside = [
            Neighbour(tape, position_of=np.arange(n + 1) if has_canary else to_world, forced=place)
            for tape in tapes
        ]
        case.fit_each(world, inside, seeds)
    outside: list[Recorder] = list(tapes)
    if has_canary:
        outside = [Neighbour(tape, position_of=to_without, forced=None) for tape in tapes]
        case.fit_each(case.view, outside, seeds)
    return [_log_ratio(case, *worlds) for worlds in zip(tapes, inside, outside, strict=True)]


def _log_ratio(case: Case, tape: Recorder, inside: Recorder, outside: Recorder) -> float:
    steps = zip(tape.calls, tape.released, inside.values, outside.values, strict=True)
    ratios = [
        (call, _log_density(call, released, here) - _log_density(call, released, away))
        for call, released, here, away in steps
    ]
    if getattr(case.settings, "sampling", "") == "random_allocation":
        length = round(1 / tape.calls[0].sampling_probability)
        return math.fsum(
            _pass([ratio for _, ratio in ratios[start : start + length]], length)
            for start in range(0, len(ratios), length)
        )
    return math.fsum(_step(ratio, call.sampling_probability) for call, ratio in ratios)


def _step(ratio: float, q: float) -> float:
    """The log ratio of one release, mixed over whether the canary is in its sample."""
    return ratio if q == 1 else float(np.logaddexp(math.log1p(-q), math.log(q) + ratio))


def _pass(ratios: list[float], length: int) -> float:
    """The log ratio of a pass of random allocation, mixed over the canary's step; steps that were
    not taken say nothing."""
    return float(np.logaddexp.reduce([*ratios, *[0.0] * (length - len(ratios))])) - math.log(length)


def _log_density(call: Call, released: Any, value: Any) -> float:
    """log density of `released` around `value`, up to what both worlds share."""
    match call.kind:
        case "gaussian":
            return _gaussian(released, value, call.noise_std)
        case "gaussian_joint":
            parts = zip(released, value, call.detail, strict=True)
            return sum(_gaussian(one, own, part[1]) for one, own, part in parts)
        case "exponential":
            tilted = np.atleast_2d(np.asarray(value, dtype=np.float64) / call.noise_std)
            chosen = np.take_along_axis(tilted, np.reshape(released, (-1, 1)), axis=1)
            return float(chosen.sum() - np.logaddexp.reduce(tilted, axis=1).sum())
    raise AssertionError(f"the audit has no law for {call.kind}: add it to tests/contract/audit.py")


def _gaussian(released: Any, value: Any, std: float) -> float:
    away = torch.as_tensor(released).double() - torch.as_tensor(value).double()
    return -float(away.square().sum()) / (2 * std**2) if std > 0 else 0.0
