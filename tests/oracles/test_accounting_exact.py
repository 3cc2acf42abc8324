"""Our accountant against exact values: integrals and sums written here from the definitions, without any lattice.

δ₁(ε), the divergence of one release at any real ε, is the difference of two normal tails. Two releases are an integral of
it over the other one's loss. The integrand is all but kinked where that loss reaches log(1 − q), which costs the trapezoid
rule its spectral accuracy: 401, 801, 1,601, 6,401 and 100,001 points gave ε = 0.62015, 0.620032, 0.620037, 0.62003447 and
0.62003448 at σ = 0.8, q = 0.02, so 6,401 leave less than 1e-6.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, special, stats

from pillar_core import accounting, events, ledger
from pillar_core.accounting.loss import GaussianPair
from pillar_core.accounting.pillar import direction_bounds
from pillar_core.arrays import Array

ADD, REPLACE = "add_or_remove_one", "replace_one"
QUADRATURE = 1e-6


class SampledGaussian:
    """One Poisson-sampled Gaussian release in the noise's own coordinate x, for a direction."""

    def __init__(self, sigma: float, q: float, direction: str) -> None:
        self.sigma, self.q, self.direction = sigma, q, direction
        self.p_centre = {"remove": 1.0, "add": 0.0, "replace": 1.0}[direction]
        self.q_centre = {"remove": 0.0, "add": 1.0, "replace": -1.0}[direction]

    def density(self, x: Array, centre: float) -> Array:
        return (1 - self.q) * stats.norm.pdf(x, 0, self.sigma) + self.q * stats.norm.pdf(x, centre, self.sigma)

    def beyond(self, x: Array, centre: float, side: float) -> Array:
        """Mass right (side 1) or left (side −1) of x."""
        return (1 - self.q) * special.ndtr(-side * x / self.sigma) + self.q * special.ndtr(-side * (x - centre) / self.sigma)

    def log_mixture(self, x: Array, centre: float) -> Array:
        return np.logaddexp(math.log1p(-self.q), math.log(self.q) + (2 * x * centre - centre**2) / (2 * self.sigma**2))

    def loss(self, x: Array) -> Array:
        return self.log_mixture(x, self.p_centre) - self.log_mixture(x, self.q_centre)

    def delta_one(self, epsilon: Array) -> Array:
        """sup_S P(S) − e^ε Q(S): S is the half-line where the loss, monotone in x, exceeds ε; its end by bisection."""
        rising = self.direction != "add"
        low, high = np.full(epsilon.shape, -80 * self.sigma), np.full(epsilon.shape, 80 * self.sigma)
        for _ in range(70):
            middle = (low + high) / 2
            right = (self.loss(middle) < epsilon) == rising
            low, high = np.where(right, middle, low), np.where(right, high, middle)
        side = 1.0 if rising else -1.0
        p = self.beyond(low, self.p_centre, side)
        q = self.beyond(low, self.q_centre, side)
        return np.maximum(p - np.exp(epsilon) * q, np.maximum(0.0, 1 - np.exp(epsilon)))

    def delta(self, epsilon: float, times: int) -> float:
        if times == 1:
            return float(self.delta_one(np.array([epsilon]))[0])
        x = np.linspace(-13 * self.sigma - 1, 13 * self.sigma + 1, 6401)
        weight = self.density(x, self.p_centre) * (x[1] - x[0])
        return float(weight @ self.delta_one(epsilon - self.loss(x)))


def exact_epsilon(delta_at: Callable[[float], float], delta: float) -> float:
    if delta_at(0.0) <= delta:
        return 0.0
    return float(optimize.brentq(lambda epsilon: delta_at(epsilon) - delta, 0.0, 60.0, xtol=1e-12, rtol=1e-12))


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("relation", "directions"), [(ADD, ("remove", "add")), (REPLACE, ("replace",))])
@pytest.mark.parametrize(("sigma", "q", "delta"), [(1.0, 0.05, 1e-5), (0.6, 0.3, 1e-3), (2.0, 0.5, 1e-6), (0.8, 0.02, 1e-4)])
def test_few_sampled_gaussians_bracket_the_integral(
    sigma: float, q: float, delta: float, relation: str, directions: tuple[str, ...], times: int
) -> None:
    exact = max(exact_epsilon(lambda e, d=d: SampledGaussian(sigma, q, d).delta(e, times), delta) for d in directions)
    bounds = accounting.epsilon_of_gaussian(sigma, sampling_probability=q, steps=times, delta=delta, relation=relation, accountant="pillar")
    assert bounds.lower <= exact * (1 + QUADRATURE)
    assert exact <= bounds.upper * (1 + QUADRATURE)
    # the accountant refines until its ends are within 0.4 %, or gives up after three lattices
    assert bounds.upper <= exact * 1.005
    assert bounds.lower >= exact * 0.98


@pytest.mark.parametrize("times", [1, 7, 400, 100_000])
@pytest.mark.parametrize("mu_total", [0.03, 0.5, 3.0, 8.0])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-12])
def test_full_gaussians_on_the_lattice_meet_the_closed_form(times: int, mu_total: float, delta: float) -> None:
    lower, _, upper = direction_bounds(((GaussianPair(mu_total / math.sqrt(times)), times),), delta, known=0.0)
    exact = accounting.epsilon_of_mu(mu_total, delta)
    assert lower <= exact * (1 + 1e-10)
    assert exact * (1 - 1e-10) <= upper
    assert upper <= exact * (1 + 1e-3)
    assert lower >= exact * (1 - 1e-2)


@pytest.mark.parametrize("times", [1, 10, 300])
@pytest.mark.parametrize("each", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-9])
def test_pure_releases_compose_as_binomials(times: int, each: float, delta: float) -> None:
    """Randomised response composed: δ(ε) = Σ_j C(k, j) s^k e^{jε₀} (1 − e^{ε − (2j − k)ε₀})₊ (Kairouz, Oh & Viswanath 2015)."""
    heads = np.arange(times + 1)
    mass = stats.binom.pmf(heads, times, special.expit(each))
    losses = (2 * heads - times) * each

    def delta_at(epsilon: float) -> float:
        return float((mass * -np.expm1(np.minimum(epsilon - losses, 0))).sum())

    exact = exact_epsilon(delta_at, delta) if times * each < 59 else None
    event = ledger.repeat(events.PureEvent(each, each), times)
    bounds = accounting.epsilon(event, delta=delta, relation=REPLACE, accountant="pillar")
    assert bounds.upper <= times * each * (1 + 1e-12)
    if exact is not None:
        assert bounds.lower <= exact * (1 + 1e-9)
        assert exact <= bounds.upper * (1 + 1e-9)
        assert bounds.upper <= exact * 1.005
        assert bounds.lower >= exact * 0.98


def test_one_laplace_release_has_its_closed_form() -> None:
    """δ(ε) = 1 − e^{(ε − ε₀)/2} for 0 <= ε <= ε₀ = 1/scale."""
    for epsilon_zero, delta in ((0.5, 1e-2), (3.0, 1e-5), (1.0, 1e-9)):
        bounds = accounting.epsilon(events.LaplaceDpEvent(1 / epsilon_zero), delta=delta, relation=ADD, accountant="pillar")
        exact = epsilon_zero + 2 * math.log1p(-delta)
        assert bounds.lower <= exact * (1 + 1e-12)
        assert exact * (1 - 1e-12) <= bounds.upper <= exact * 1.002
        replaced = accounting.epsilon(events.LaplaceDpEvent(2 / epsilon_zero), delta=delta, relation=REPLACE, accountant="pillar")
        assert replaced == bounds


def test_a_gaussian_beside_a_pure_release_is_a_mixture_of_two_shifts() -> None:
    """δ(ε) = Σ± P(±ε₀) δ_μ(ε ∓ ε₀), the inner divergence closed at every real ε."""
    mu, pure, delta = 0.7, 0.4, 1e-6
    high = float(special.expit(pure))
    exact = exact_epsilon(lambda e: high * accounting.delta_of(e - pure, mu) + (1 - high) * accounting.delta_of(e + pure, mu), delta)
    event = ledger.compose(ledger.gaussian(1 / mu), events.PureEvent(pure, pure))
    bounds = accounting.epsilon(event, delta=delta, relation=ADD)
    assert bounds.lower <= exact * (1 + 1e-9)
    assert exact * (1 - 1e-9) <= bounds.upper <= exact * 1.002


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_sampled_pure_release_has_the_amplified_epsilon(relation: str) -> None:
    """Add/remove: log(1 + q(e^ε − 1)) is exact for δ = 0 (Li, Qardaji & Su 2012). Replace-one keeps ε and scales δ by q."""
    q, pure, delta = 0.1, 1.0, 1e-9
    event = ledger.subsample(events.PureEvent(pure, pure), q)
    bounds = accounting.epsilon(event, delta=delta, relation=relation)
    exact = {ADD: math.log1p(q * math.expm1(pure)), REPLACE: pure + math.log1p(-delta / (q * special.expit(pure)))}[relation]
    # at δ = 1e-9 the crossing lies within δ/P(ε₀) of the largest loss
    assert exact * (1 - 1e-7) <= bounds.upper <= exact * 1.002


@pytest.mark.parametrize("q", [0.05, 0.5])
@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3, 4.0])
def test_opposite_rows_are_the_worst_replacement(q: float, alpha: float) -> None:
    """H_α of ((1−q)N(0) + qN(v), (1−q)N(0) + qN(w)) over |v|, |w| <= 1 is largest at w = −v, by quadrature in the plane."""
    sigma = 0.9
    axis = np.linspace(-7, 7, 401)
    x, y = np.meshgrid(axis, axis)
    cell = (axis[1] - axis[0]) ** 2

    def divergence(v: tuple[float, float], w: tuple[float, float]) -> float:
        def law(c: tuple[float, float]) -> Array:
            bump = np.exp(-((x - c[0]) ** 2 + (y - c[1]) ** 2) / (2 * sigma**2))
            return (1 - q) * np.exp(-(x**2 + y**2) / (2 * sigma**2)) + q * bump

        return float(np.maximum(law(v) - alpha * law(w), 0).sum()) * cell / (2 * math.pi * sigma**2)

    worst = divergence((1.0, 0.0), (-1.0, 0.0))
    generator = np.random.default_rng(7)
    for _ in range(25):
        radii, angles = generator.uniform(0, 1, 2) ** 0.3, generator.uniform(0, 2 * math.pi, 2)
        v, w = ((r * math.cos(t), r * math.sin(t)) for r, t in zip(radii, angles, strict=True))
        # the integrand's kink costs the rule a few cells' worth, 1e-5 of the mass
        assert divergence(v, w) <= worst + 1e-5
    assert divergence((1.0, 0.0), (1.0, 0.0)) == pytest.approx(max(0.0, 1 - alpha), abs=1e-5)
