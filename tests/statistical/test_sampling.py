"""Poisson samples against the binomial law; a sampler at 2/3 or 3/2 of the probability must be
seen."""

import numpy as np
import pytest
from scipy import stats

from pillar_core import rng
from pillar_core.errors import SettingError
from pillar_core.mechanisms import poisson_sample

LEVEL = 1e-8
DRAWS, ROWS = 3000, 40


def p_values(probability: float, drawn_at: float) -> tuple[float, float]:
    """p-values of the sizes against Binomial(ROWS, q), and of the inclusion counts of rows against
    Binomial(DRAWS, q)."""
    stream = rng.stream(5, "sampling test")
    samples = [poisson_sample(drawn_at, ROWS, stream) for _ in range(DRAWS)]
    sizes = np.bincount([len(sample) for sample in samples], minlength=ROWS + 1)
    expected = DRAWS * stats.binom.pmf(np.arange(ROWS + 1), ROWS, probability)
    keep = expected >= 5
    observed = np.append(sizes[keep], sizes[~keep].sum())
    wanted = np.append(expected[keep], expected[~keep].sum())
    keep = wanted > 0
    sizes_p = stats.chisquare(observed[keep], wanted[keep]).pvalue
    counts = np.bincount(np.concatenate(samples), minlength=ROWS)
    z = (counts - DRAWS * probability) / np.sqrt(DRAWS * probability * (1 - probability))
    return float(sizes_p), float(stats.chi2.sf(np.sum(z**2), ROWS))


@pytest.mark.parametrize("probability", [0.05, 0.4])
def test_sizes_and_rows_follow_the_binomial_law(probability):
    assert min(p_values(probability, probability)) > LEVEL


@pytest.mark.parametrize("scale", [2 / 3, 3 / 2])
def test_a_wrong_probability_is_seen(scale):
    assert max(p_values(0.3, 0.3 * scale)) < LEVEL


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
