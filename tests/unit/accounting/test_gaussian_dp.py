"""μ ↔ (ε, δ) against 60-digit arithmetic, and on the safe side."""

import math

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pillar_core.accounting import delta_of, epsilon_of_mu, mu_of


def exact_delta(epsilon: float, mu: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(mu)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


@given(mu=st.floats(1e-3, 30), share=st.floats(0, 12))
def test_delta_has_ten_digits(mu: float, share: float) -> None:
    epsilon = mu * mu / 2 + (share - 4) * mu
    exact = exact_delta(epsilon, mu)
    # log_ndtr is good to a few units; the difference of the two terms loses 1/μ² · (ε/μ) ≲ 1e5 of that for μ >= 1e-3 near ε = 0
    assert delta_of(epsilon, mu) == pytest.approx(float(exact), rel=1e-9)


@given(mu=st.floats(1e-3, 30), log_delta=st.floats(-27.6, -0.2))
def test_epsilon_is_rounded_up_and_tight(mu: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    epsilon = epsilon_of_mu(mu, delta)
    assert exact_delta(epsilon, mu) <= delta
    if epsilon > 0:
        assert exact_delta(epsilon * (1 - 1e-9), mu) > delta * (1 - 1e-9)


@given(epsilon=st.floats(1e-2, 50), log_delta=st.floats(-27.6, -0.2))
def test_mu_is_rounded_down_and_tight(epsilon: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    mu = mu_of(epsilon, delta)
    assert exact_delta(epsilon, mu) <= delta
    assert exact_delta(epsilon, mu * (1 + 1e-9)) > delta * (1 - 1e-9)


def test_ends() -> None:
    assert epsilon_of_mu(0.0, 1e-5) == 0
    assert epsilon_of_mu(math.inf, 1e-5) == math.inf
    assert mu_of(math.inf, 1e-5) == math.inf
    assert delta_of(1.0, 0.0) == 0
    assert delta_of(1.0, math.inf) == 1
    assert delta_of(math.inf, 2.0) == 0
    # total variation: δ(0) = 2Φ(μ/2) − 1, so ε is 0 from there on
    assert epsilon_of_mu(1.0, 0.39) == 0
    assert epsilon_of_mu(1.0, 0.38) > 0
