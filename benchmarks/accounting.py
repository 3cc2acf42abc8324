"""Our accountant against dp-accounting's PLD, riskcal's and jax_privacy's, on one thread: `python
benchmarks/accounting.py`.

CPU seconds, medians of five, in one process. The papers' settings: q = 1024/45000, T = 1,000 and
6,000, ε = 0.1, 0.7 and 2 at δ = 1e-5. Their side is `calibrate_dp_mechanism` with `PLDAccountant`,
both as they come. The other two packages are no requirement: where one is not installed, a line
says so.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import TypeVar

from dp_accounting import dp_event, mechanism_calibration, pld
from dp_accounting.pld import privacy_loss_distribution

from pillar_core import accounting, ledger
from pillar_core.types import PrivacyBudget

Q, DELTA, REPEATS = 1024 / 45000, 1e-5, 5
FINE_INTERVAL = 1e-5
T = TypeVar("T")


def main() -> None:
    print(
        "calibration          σ ours    σ PLD   ratio  ours ms  warm ms   PLD ms  PLD/ours   ε at σ"
        " ours; by PLD on a grid of 1e-5"
    )
    for steps in (1000, 6000):
        for epsilon in (0.1, 0.7, 2.0):
            calibration(steps, epsilon)
    for name, theirs in (("riskcal", by_riskcal), ("jax_privacy", by_jax_privacy)):
        if importlib.util.find_spec(name) is None:
            print(f"{name} is not installed: no comparison with it")
            continue
        for steps in (1000, 6000):
            for epsilon in (0.1, 0.7, 2.0):
                beside(name, theirs, steps, epsilon)
    for relation in ("add_or_remove_one", "replace_one"):
        curve(relation)
        one_epsilon(relation)
    trade_off()
    for steps, epochs in ((44, 23), (44, 136), (10, 20), (100, 20), (1000, 5)):
        for epsilon in (0.1, 0.5, 0.7, 2.0, 8.0):
            allocation(steps, epochs, epsilon)


def allocation(steps: int, epochs: int, epsilon: float) -> None:
    """Noise of random allocation against Poisson samples at equal work: `epochs` passes of `steps`
    batches."""
    budget = PrivacyBudget(epsilon, DELTA)
    taken, ours = seconds(
        lambda: accounting.calibrate(
            lambda noise: ledger.repeat(ledger.allocation_pass(noise, steps), epochs), budget
        ),
        forget=True,
    )
    poisson = accounting.noise_multiplier(
        epsilon, delta=DELTA, sampling_probability=1 / steps, steps=steps * epochs
    )
    print(
        f"{epochs} passes of {steps}, ε = {epsilon:<4} σ allocated {ours:.4f}, Poisson"
        f" {poisson:.4f}: {ours / poisson:.3f}; {taken:.1f} s"
    )


def beside(name: str, theirs: Callable[[int, float], float], steps: int, epsilon: float) -> None:
    """Another package's calibration, both as it comes, beside ours; and ε at its noise by ours."""
    cold, sigma = seconds(
        lambda: accounting.noise_multiplier(
            epsilon, delta=DELTA, sampling_probability=Q, steps=steps
        ),
        forget=True,
    )
    slow, other = seconds(lambda: theirs(steps, epsilon), forget=False, repeats=1)
    found = accounting.epsilon_of_gaussian(other, delta=DELTA, sampling_probability=Q, steps=steps)
    print(
        f"{name}, T = {steps}, ε = {epsilon:<4} σ ours {sigma:.4f}, theirs {other:.4f}, where ε is"
        f" in [{found.lower:.5f}, {found.upper:.5f}]; {1e3 * cold:.1f} ms, {1e3 * slow:,.0f} ms:"
        f" {slow / cold:,.0f} ×"
    )


def by_riskcal(steps: int, epsilon: float) -> float:
    from riskcal import calibration as theirs
    from riskcal.calibration.dpsgd import create_dpsgd_epsilon_evaluator

    evaluator = create_dpsgd_epsilon_evaluator(sample_rate=Q, num_steps=steps, target_delta=DELTA)
    target = theirs.CalibrationTarget(kind="epsilon_delta", epsilon=epsilon, delta=DELTA)
    config = theirs.CalibrationConfig(param_min=0.5, param_max=100.0, increasing=False)
    return float(theirs.calibrate_parameter(evaluator, target, config).parameter_value)


def by_jax_privacy(steps: int, epsilon: float) -> float:
    from jax_privacy import accounting as theirs

    accountant = theirs.DpsgdTrainingAccountant(dp_accountant_config=theirs.PldAccountantConfig())
    return float(
        theirs.calibrate_noise_multiplier(
            target_epsilon=epsilon,
            accountant=accountant,
            batch_sizes=1024,
            num_updates=steps,
            num_samples=45_000,
            target_delta=DELTA,
        )
    )


def calibration(steps: int, epsilon: float) -> None:
    def ours() -> float:
        return accounting.noise_multiplier(
            epsilon, delta=DELTA, sampling_probability=Q, steps=steps
        )

    def theirs() -> float:
        def make(noise: float) -> object:
            return dp_event.SelfComposedDpEvent(
                dp_event.PoissonSampledDpEvent(Q, dp_event.GaussianDpEvent(noise)), steps
            )

        return float(
            mechanism_calibration.calibrate_dp_mechanism(pld.PLDAccountant, make, epsilon, DELTA)
        )

    cold, sigma = seconds(ours, forget=True)
    warm, _ = seconds(ours, forget=False)
    slow, other = seconds(theirs, forget=False)
    found = accounting.epsilon_of_gaussian(sigma, delta=DELTA, sampling_probability=Q, steps=steps)
    one = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=Q, value_discretization_interval=FINE_INTERVAL
    )
    fine = one.self_compose(steps).get_epsilon_for_delta(DELTA)
    print(
        f"T = {steps}, ε = {epsilon:<4} {sigma:9.4f} {other:8.4f} {sigma / other:7.4f}"
        f" {1e3 * cold:8.1f} {1e3 * warm:8.2f} {1e3 * slow:8.0f} {slow / cold:7.0f} ×  "
        f" [{found.lower:.6f}, {found.upper:.6f}]; {fine:.6f}"
    )


def curve(relation: str) -> None:
    """ε after each of 100 step counts."""
    counts = range(60, 6001, 60)
    taken, _ = seconds(
        lambda: accounting.epsilon_against_steps(
            9.16, steps=counts, sampling_probability=Q, delta=DELTA, relation=relation
        ),
        forget=True,
    )
    print(f"curve of 100 step counts, {relation}: {taken:.2f} s")


def one_epsilon(relation: str) -> None:
    """One ε where the loss is light-tailed (the papers'), and where a few rare losses decide it."""
    for sigma, q, steps in ((9.16, Q, 6000), (0.8, 0.001, 1000), (0.5, 1e-4, 100_000)):
        taken, found = seconds(
            lambda s=sigma, p=q, t=steps: accounting.epsilon_of_gaussian(
                s,
                sampling_probability=p,
                steps=t,
                delta=DELTA,
                relation=relation,
                accountant="pillar",
            ),
            forget=True,
        )
        print(
            f"ε, {relation}, σ = {sigma}, q = {q:.3g}, T = {steps}: {1e3 * taken:.1f} ms,"
            f" [{found.lower:.5f}, {found.upper:.5f}]"
        )


def trade_off() -> None:
    event = accounting.gaussian_run(9.16, sampling_probability=Q, steps=6000)
    taken, found = seconds(lambda: accounting.trade_off(event), forget=True)
    print(f"trade-off curve from {len(found.deltas)} pairs: {taken:.2f} s")


def seconds(run: Callable[[], T], *, forget: bool, repeats: int = REPEATS) -> tuple[float, T]:
    """Median CPU seconds of `run`, and its last result; with `forget`, every repeat starts with an
    empty memory."""
    times = []
    for _ in range(repeats):
        if forget:
            accounting.ANSWERS.clear()
        began = time.process_time()
        result = run()
        times.append(time.process_time() - began)
    return statistics.median(times), result


if __name__ == "__main__":
    main()
