"""The attack on low bits reads float64 noise, and finds nothing in exact noise."""

import pytest
from scipy import stats

from pillar_core.auditing import low_bits
from pillar_core.auditing.low_bits import attack_low_bits
from pillar_core.mechanisms import GaussianMechanism


def test_low_bits_of_floating_point_show_the_sum_and_exact_noise_leaves_the_attack_at_chance():
    assert attack_low_bits(is_exact=False).correct >= 180
    attacked = attack_low_bits(is_exact=True)
    assert stats.binomtest(attacked.correct, attacked.trials, 0.5).pvalue > 1e-8


def test_the_same_attack_succeeds_on_exact_sums_with_noise_that_is_not_rounded(monkeypatch):
    """The twin: nothing but the noise differs."""
    floats = lambda self, total, units: self.release(total.double() / units)  # noqa: E731
    monkeypatch.setattr(GaussianMechanism, "release_integers", floats)
    assert attack_low_bits(is_exact=True).correct >= 180


def test_a_float32_release_hides_them():
    """Chance there proves nothing about the noise."""
    usual = low_bits.distance_from_grid

    def of_float32(noise):
        return usual(noise.float().double())

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(low_bits, "distance_from_grid", of_float32)
        attacked = attack_low_bits(is_exact=False)
    assert stats.binomtest(attacked.correct, attacked.trials, 0.5).pvalue > 1e-8
