"""What must hold for every setting: more noise, fewer steps, smaller samples or a larger δ never
cost more.

The true ε is monotone, and each answer is a pair of ends around it, so comparisons are between one
end of each. The upper ends themselves follow to 2 %: the accountant stops refining when its ends
are within 0.4 % or after its third lattice, where 2 % is the widest gap seen over 600 random
settings with ε above 1e-4.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costs import cost_of, cost_of_steps, noise_of_steps
from pillar_core import events, ledger
from pillar_core.types import NeighboringRelation

SLACK, FLOOR = 0.02, 1e-4
RELATIONS = st.sampled_from(list(NeighboringRelation))
SIGMAS = st.floats(0.4, 60).map(lambda value: float(f"{value:.3g}"))
PROBABILITIES = st.floats(math.log(1e-4), 0.0).map(lambda value: float(f"{math.exp(value):.3g}"))
STEPS = st.integers(0, 100).map(lambda power: round(10 ** (power / 20)))
DELTAS = st.floats(math.log(1e-12), math.log(0.05)).map(math.exp)
FACTORS = st.sampled_from([1.0, 1.01, 1.3, 4.0])
RUNS = settings(max_examples=30, derandomize=True)


def ours(sigma, q, steps, delta, relation):
    return cost_of_steps(sigma, q, steps, delta=delta, relation=relation, accountant="pillar")


def assert_at_most(cheaper, dearer):
    assert cheaper.lower <= dearer.upper * (1 + 1e-9) + 1e-12
    assert cheaper.upper <= dearer.upper * (1 + SLACK) + FLOOR


@RUNS
@given(sigma=SIGMAS, q=PROBABILITIES, steps=STEPS, delta=DELTAS, relation=RELATIONS, factor=FACTORS)
def test_monotone_in_every_argument(sigma, q, steps, delta, relation, factor):
    base = ours(sigma, q, steps, delta, relation)
    assert 0 <= base.lower <= base.estimate <= base.upper < math.inf
    assert base.upper - base.lower <= SLACK * base.upper + FLOOR
    assert_at_most(ours(sigma * factor, q, steps, delta, relation), base)
    assert_at_most(ours(sigma, q / factor, steps, delta, relation), base)
    assert_at_most(ours(sigma, q, max(1, round(steps / factor)), delta, relation), base)
    assert_at_most(ours(sigma, q, steps, min(delta * factor, 0.9), relation), base)


@RUNS
@given(sigma=SIGMAS, q=PROBABILITIES, steps=STEPS, delta=DELTAS, relation=RELATIONS)
def test_sampling_never_hurts_and_the_whole_sample_is_the_analytic_gaussian(
    sigma, q, steps, delta, relation
):
    full = cost_of_steps(
        sigma, steps=steps, delta=delta, relation=relation, accountant="analytic_gaussian"
    )
    assert ours(sigma, 1.0, steps, delta, relation) == full
    assert ours(sigma, q, steps, delta, relation).upper <= full.upper
    # continuous at q = 1, as long as no loss comes near log(1/(1 − q)) = 20.7
    nearly = ours(sigma, 1 - 1e-9, steps, delta, relation)
    assert nearly.lower <= full.upper * (1 + 1e-6)
    if 0.01 < full.upper < 10:
        assert nearly.upper >= full.lower * (1 - SLACK)


@RUNS
@given(sigma=SIGMAS, q=PROBABILITIES, steps=STEPS, delta=DELTAS)
def test_replacement_costs_between_once_and_a_group_of_two(sigma, q, steps, delta):
    """Replacing is removing, then adding: ε_replace(δ') <= 2ε at δ' = (1 + e^ε)·δ; and removal is
    replacement by an empty row."""
    once = ours(sigma, q, steps, delta, NeighboringRelation.ADD_OR_REMOVE_ONE)
    replaced = ours(sigma, q, steps, delta, NeighboringRelation.REPLACE_ONE)
    assert once.lower <= replaced.upper * (1 + 1e-9) + 1e-12
    group_delta = delta * (1 + math.exp(once.upper)) if once.upper < 100 else math.inf
    if group_delta < 0.5:
        group = ours(sigma, q, steps, group_delta, NeighboringRelation.REPLACE_ONE)
        assert group.lower <= 2 * once.upper * (1 + 1e-9) + 1e-12


@st.composite
def small_events(draw):
    kind = draw(
        st.sampled_from(
            [
                "gaussian",
                "sampled",
                "laplace",
                "pure",
                "exponential",
                "sampled pure",
                "sampled laplace",
            ]
        )
    )
    count = draw(st.integers(1, 30))
    pure = draw(st.floats(0.01, 0.6))
    event = {
        "gaussian": ledger.gaussian(
            draw(st.floats(3, 50)),
            replace_one_factor=draw(st.sampled_from([1.0, math.sqrt(2), 2.0])),
        ),
        "sampled": ledger.subsample(
            ledger.gaussian(draw(st.floats(0.7, 10))), draw(st.floats(0.001, 0.9))
        ),
        "laplace": events.LaplaceDpEvent(1 / pure),
        "pure": events.PureEvent(pure, 2 * pure, draw(st.sampled_from([0.0, 1e-9]))),
        "exponential": events.ExponentialMechanismEvent(pure, 2 * pure),
        "sampled pure": ledger.subsample(
            events.PureEvent(pure, 2 * pure), draw(st.floats(0.01, 0.9))
        ),
        "sampled laplace": ledger.subsample(
            events.LaplaceDpEvent(1 / pure), draw(st.floats(0.01, 0.9))
        ),
    }[kind]
    return ledger.repeat(event, count)


@RUNS
@given(
    first=small_events(),
    second=small_events(),
    delta=st.sampled_from([1e-4, 1e-6]),
    relation=RELATIONS,
)
def test_composition_costs_at_least_each_part_and_at_most_their_sum(first, second, delta, relation):
    def cost(event, at):
        return cost_of(event, "pillar", delta=at, relation=relation)

    both = cost(ledger.compose(first, second), delta)
    assert both.upper < math.inf
    assert both.upper - both.lower <= SLACK * both.upper + FLOOR
    for part in (first, second):
        assert cost(part, delta).lower <= both.upper * (1 + 1e-9)
    parts = cost(first, delta / 2).upper + cost(second, delta / 2).upper
    assert both.lower <= parts * (1 + 1e-9)
    assert both.upper <= parts * (1 + SLACK) + FLOOR
    assert both == cost(ledger.compose(second, first), delta)


@pytest.mark.parametrize("relation", list(NeighboringRelation))
@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_the_promised_range_has_close_ends(delta, relation):
    """q from 1e-4 to 1, up to 1e5 steps; σ such that ε runs from hundredths to tens."""
    runs = [
        (1e-4, 100_000, 0.6),
        (1e-4, 1, 0.5),
        (1e-3, 100_000, 5.0),
        (0.02, 100_000, 100.0),
        (0.5, 10, 0.5),
        (0.9, 1000, 300.0),
    ]
    for q, steps, sigma in runs:
        found = ours(sigma, q, steps, delta, relation)
        assert found.upper < math.inf
        assert found.upper - found.lower <= SLACK * found.upper + FLOOR


@pytest.mark.parametrize("noise_multiplier", [1e-6, 1e-3, 0.01])
@pytest.mark.parametrize("steps", [1, 100])
def test_hardly_any_noise_gives_a_huge_bound_and_no_error(noise_multiplier, steps):
    sampled, full = (cost_of_steps(noise_multiplier, q, steps, delta=1e-5) for q in (0.02, 1.0))
    assert 100 < sampled.upper <= full.upper * (1 + 1e-9) < math.inf


def test_enormous_budgets_are_met():
    noise = noise_of_steps(1e9, 0.02, 1000, delta=0.1)
    assert cost_of_steps(noise, 0.02, 1000, delta=0.1).upper <= 1e9
