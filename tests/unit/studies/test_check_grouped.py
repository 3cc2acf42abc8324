"""Microbatches: what a row moves a sum of clipped means by, under each sampler and relation."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import pillar_core as pc
from costs import checked, said, upper

REPLACE = "replace_one"
GROUPED = """
optimizer = DPKerasSGDOptimizer(l2_norm_clip=1.0, noise_multiplier=1.1, num_microbatches=50)
model.fit(rows, labels, epochs=15, batch_size=250)
"""
GIVEN = {"n": 60_000, "delta": 1e-5}
SMALL = {"n": 100, "batch_size": 20, "epochs": 1, "delta": 1e-4}


def least_epsilon(sigma, probability, delta):
    """ε that one Poisson step with a mean in the ball of norm 1 costs at least: −1 without the row,
    +1 with it, or −1 and +1 by replacement."""
    grid = np.arange(-12.0, 12.0, 0.01)
    alone, present = (norm.pdf(grid, mean, sigma) for mean in (-1.0, 1.0))
    sampled = (1 - probability) * alone + probability * present

    def excess(epsilon):
        pairs = (sampled, alone), (alone, sampled)
        lost = [np.maximum(first - np.exp(epsilon) * second, 0.0).sum() for first, second in pairs]
        return 0.01 * max(lost) - delta

    return brentq(excess, 0.0, 20.0)


def test_a_row_replaced_in_its_place_moves_one_mean_within_the_ball():
    """158.4 was certified of shuffled batches, where one mean of norm 1 moves by 2."""
    check = checked(**GIVEN, script=GROUPED)
    assert upper(check, REPLACE) == pytest.approx(54.05, abs=0.01)
    assert upper(check) == pytest.approx(pc.epsilon(1.1 / 2, steps=15, delta=1e-5).upper)
    assert "microbatches the other rows form" in check.conditions[-1]
    assert "two clip norms" in said(check)
    alone = checked(**GIVEN, script=GROUPED.replace("50", "250", 1))
    assert not any("microbatches" in words for words in alone.conditions)


@pytest.mark.parametrize("sampler", ["shuffled", "random_allocation", "fixed_size"])
def test_only_batches_of_fixed_places_count_a_replaced_row_at_the_noise_itself(sampler):
    text = GROUPED.replace("250", "20").replace("50", "5").replace("epochs=15, ", "")
    found = checked(**SMALL, sampler=sampler, script=text)
    plain = checked(**SMALL, sampler=sampler, noise_multiplier=1.1)
    halved = checked(**SMALL, sampler=sampler, noise_multiplier=0.55)
    assert upper(found, REPLACE) == upper(plain, REPLACE)
    assert upper(found) == upper(halved) > upper(plain)


def test_a_poisson_sample_of_microbatches_costs_no_less_than_a_mean_that_a_row_turns_round():
    """The mean without the row may be −1, and with it +1. At the noise itself, one step at
    q = 0.01 would be stated to cost 0.15, and costs 2.2."""
    text = GROUPED.replace("250", "1").replace("50", "3").replace("epochs=15, ", "")
    given = {"n": 100, "batch_size": 1, "steps": 1, "delta": 1e-5, "sampler": "poisson"}
    check = checked(**given, script=text)
    least = least_epsilon(1.1, 0.01, 1e-5)
    assert least > 2.2
    assert upper(check) >= least - 2e-3
    assert upper(check, REPLACE) >= least - 2e-3
    for relation in check.epsilon:
        plain = checked(**given, noise_multiplier=1.1)
        assert upper(plain, relation) < least


def test_advice_names_only_what_costs_less():
    """“Draw each row by its own coin: ε ≤ 99.67” stood beside ε ≤ 99.67."""
    run = {"n": 10_000, "batch_size": 100, "steps": 1000, "delta": 1e-5, "sampler": "shuffled"}
    check = checked(**run, noise_multiplier=0.3)
    advice = [line for line in check.advice if "at the same noise" in line]
    for line in advice:
        assert float(line.partition("ε ≤ ")[2].split()[0]) < 0.99 * upper(check)
    assert ["own coin" in line for line in advice] == [True]
