"""Poisson samples against the binomial law; a sampler at 2/3 or 3/2 of the probability must be
seen."""

import numpy as np
import pytest

from contract.checks import sampled
from pillar_core import rng
from pillar_core.errors import SettingError
from pillar_core.mechanisms import poisson_sample

LEVEL = 1e-8
DRAWS, ROWS = 3000, 40


def least_p(probability, drawn_at):
    """Of samples that are said to be drawn with this probability (`contract.checks.sampled`)."""
    stream = rng.stream(5, "sampling test")
    return min(
        sampled(
            [(probability, ROWS, poisson_sample(drawn_at, ROWS, stream)) for _ in range(DRAWS)]
        ).values()
    )


@pytest.mark.parametrize("probability", [0.05, 0.4])
def test_sizes_and_rows_follow_the_binomial_law(probability):
    assert least_p(probability, probability) > LEVEL


@pytest.mark.parametrize("scale", [2 / 3, 3 / 2])
def test_a_wrong_probability_is_seen(scale):
    assert least_p(0.3, 0.3 * scale) < LEVEL


def test_edges():
    stream = rng.stream(0, "edges")
    np.testing.assert_array_equal(poisson_sample(1.0, 5, stream), np.arange(5))
    assert len(poisson_sample(0.5, 0, stream)) == 0
    tiny = poisson_sample(1e-9, 10, stream)
    assert tiny.dtype == np.int64
    assert len(tiny) == 0
    for bad in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(SettingError, match="sampling_probability"):
            poisson_sample(bad, 5, stream)
