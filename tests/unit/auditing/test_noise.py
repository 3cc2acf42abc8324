"""Tests of noise: independent normals pass; every wrong scale, law and dependence is seen at the
size that the contract draws."""

import numpy as np
import pytest

from pillar_core import rng
from pillar_core.auditing import noise

RUNS, STEPS, PLACES = 64, 3, 13
"""2,496 numbers: the fewest that a contract test looks at."""
ALPHA = 1e-9


def fresh(seed=0):
    return rng.stream(seed, "noise tests").standard_normal((RUNS, STEPS, PLACES))


FAULTS = {
    "two thirds": lambda z: z * 2 / 3,
    "three halves": lambda z: z * 3 / 2,
    "uniform": lambda z: rng.stream(1, "uniform").uniform(-(3**0.5), 3**0.5, z.shape),
    "Laplace": lambda z: rng.stream(1, "Laplace").laplace(0.0, 2**-0.5, z.shape),
    "cut at two": lambda z: np.clip(z, -2.0, 2.0) / 0.9595,
    "same in every step": lambda z: np.broadcast_to(z[:, :1], z.shape),
    "turned in every other step": lambda z: z[:, :1] * np.array([1.0, -1.0, 1.0])[None, :, None],
    "half of it from the step before": lambda z: np.concatenate(
        [z[:, :1], (z[:, 1:] + z[:, :-1]) / 2**0.5], axis=1
    ),
    "same in every place": lambda z: np.broadcast_to(z[:, :, :1], z.shape),
    "the second half of places mirrors the first": lambda z: np.concatenate(
        [z[:, :, :7], z[:, :, :6][:, :, ::-1]], axis=2
    ),
    "far places in another order": lambda z: np.concatenate(
        [z[:, :, :7], z[:, :, [3, 5, 0, 6, 1, 2]]], axis=2
    ),
    "same in every run": lambda z: np.broadcast_to(z[:1], z.shape),
    "two runs alike": lambda z: np.concatenate([z[:-1], z[:1]]),
    "one place without": lambda z: z * (np.arange(PLACES) > 0),
}


@pytest.mark.parametrize("seed", range(5))
def test_independent_normals_pass(seed):
    assert min(noise.p_values(list(fresh(seed))).values()) > ALPHA


@pytest.mark.parametrize("name", list(FAULTS))
def test_wrong_noise_is_seen(name):
    assert min(noise.p_values(list(FAULTS[name](fresh()))).values()) < ALPHA


def test_p_values_are_uniform_at_most():
    """Of 1,000 draws no test has p ≤ 0.01 in more than 35: a binomial number is larger with
    probability 1e-10."""
    found = [noise.p_values(list(fresh(seed))) for seed in range(1000)]
    for name in found[0]:
        assert sum(one[name] <= 0.01 for one in found) <= 35, name


def test_exact_noise_of_an_audits_own_releases_counts_as_drawn_once():
    """On a grid some numbers are equal by chance: without it two of forty audits rejected an honest
    learner."""
    rounded = [
        [np.round(part * 2**24) / 2**24 for part in run]
        for run in np.random.default_rng(0).standard_normal((40, 10, 1000))
    ]
    assert noise.p_values(rounded)["used twice"] < 1e-8
    assert min(noise.p_values(rounded, grid=2.0**-24).values()) > ALPHA
    rounded[3][4] = rounded[2][4]
    assert noise.p_values(rounded, grid=2.0**-24)["used twice"] < 1e-8
