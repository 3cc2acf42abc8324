"""The parts of our accountant: loss masses, the two moves onto the lattice, the two ways to sum a
tail, the drift bound."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from pillar_core.accounting.composition import (
    ROUNDING,
    FourierTail,
    LatticeTail,
    Spectrum,
    compose,
    infinite_mass,
)
from pillar_core.accounting.lattice import Law, cells, merge, slip, spread
from pillar_core.accounting.loss import (
    AtomPair,
    CoinPair,
    GaussianPair,
    LaplacePair,
    OpposedPair,
    Pair,
    RemovalPair,
    SwappedPair,
    _randomised_response,
)

PAIRS: dict[str, Pair] = {
    "gaussian": GaussianPair(0.3),
    "laplace": LaplacePair(0.8),
    "atoms": _randomised_response(0.7, 0.0, 1.0, revealed=False)[0],
    "sampled atoms": _randomised_response(0.7, 1e-3, 0.2, revealed=False)[1],
    "removal": RemovalPair(GaussianPair(0.9), 0.05),
    "removal, tiny q": RemovalPair(GaussianPair(2.0), 1e-4),
    "addition": SwappedPair(RemovalPair(GaussianPair(0.9), 0.05)),
    "opposed": OpposedPair(0.9, 0.05),
    "opposed, low noise": OpposedPair(6.0, 0.01),
    "opposed persons": OpposedPair(0.9, 0.05, 3),
    "sampled laplace": RemovalPair(LaplacePair(1.5), 0.1),
    "told coin": CoinPair(LaplacePair(1.5), 0.1),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_masses_are_two_laws_whose_ratio_lies_in_the_interval(pair):
    edges = np.unique(pair.grid(500, 1e-12))
    edges = np.append(edges, edges[-1] + 1e-6)
    p, q = pair.masses(edges)
    # both laws sum to 1 but for infinite losses, to rounding of 500 terms
    assert p.sum() + pair.infinite == pytest.approx(1, abs=1e-12)
    assert q.sum() <= 1 + 1e-12
    inside = (p[1:-1] > 1e-200) & (q[1:-1] > 1e-200)
    losses = np.log(p[1:-1][inside]) - np.log(q[1:-1][inside])
    # a wall's own rounding moves a loss by a few units of its size; masses near 1e-14 of the law
    # lose digits in the tail only
    slack = 1e-10 * (1 + np.abs(losses))
    assert np.all(edges[:-1][inside] - slack <= losses)
    assert np.all(losses <= edges[1:][inside] + slack)
    assert np.all(losses >= pair.range[0] - 1e-9)
    assert np.all(losses <= pair.range[1] + 1e-9)


@pytest.mark.parametrize(("sigma", "q"), [(1.0, 0.05), (0.5, 1e-4), (20.0, 0.02276), (4.0, 0.9)])
def test_masses_have_the_digits_that_the_certificate_counts_on(sigma, q):
    """Masses and losses of occupied cells against 50-digit arithmetic, at the finest grid that the
    accountant uses."""
    pair = RemovalPair(GaussianPair(1 / sigma), q)
    h = float(np.ptp(pair.grid(16384, 1e-16))) / 16384
    found = cells(pair, 1, h=h, points=16384, tail=1e-16)
    picked = np.linspace(0, len(found.p) - 1, 60).astype(int)
    with mpmath.workdps(50):
        for i in picked:
            a, b = (_position(int(found.walls[k]) * h, sigma, q) for k in (i, i + 1))
            exact_q = (
                mpmath.ncdf(b / sigma) - mpmath.ncdf(a / sigma)
                if a < 0
                else mpmath.ncdf(-a / sigma) - mpmath.ncdf(-b / sigma)
            )
            shifted = mpmath.ncdf((b - 1) / sigma) - mpmath.ncdf((a - 1) / sigma)
            if a > 1:
                shifted = mpmath.ncdf((1 - a) / sigma) - mpmath.ncdf((1 - b) / sigma)
            exact_p = (1 - q) * exact_q + q * shifted
            if exact_p < 1e-18:
                continue
            loss_error = abs(
                mpmath.log(exact_p / exact_q) - (math.log(found.p[i]) - math.log(found.q[i]))
            )
            assert float(loss_error) < ROUNDING / 2
            assert abs(found.p[i] / exact_p - 1) < ROUNDING / 2


def _position(loss, sigma, q):
    inside = (mpmath.exp(mpmath.mpf(loss)) - 1 + mpmath.mpf(q)) / mpmath.mpf(q)
    return (
        mpmath.mpf("-inf")
        if inside <= 0
        else mpmath.mpf(sigma) ** 2 * mpmath.log(inside) + mpmath.mpf("0.5")
    )


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
def test_a_spread_worsens_and_a_merge_improves_every_divergence(pair):
    tail = 1e-10
    fine = np.unique(pair.grid(20001, tail))
    fine = np.append(fine, fine[-1] + 1e-9)
    p, q = pair.masses(fine)
    h = max(float(np.ptp(fine)) / 25, 1e-3)
    found = cells(pair, 1, h=h, points=400, tail=tail)
    worse, better = spread(found, h), merge(found, h)
    assert float(worse.mass.sum()) + worse.infinite == pytest.approx(1, abs=1e-12)
    losses = (better.index + better.offset) * h + better.errors
    for epsilon in np.linspace(-1.0, pair.range[1] if math.isfinite(pair.range[1]) else 4.0, 23):
        # the fine partition itself lies below the true divergence, by less than its own interval's
        # share
        exact = float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) + pair.infinite
        upper = worse.infinite + float(
            (worse.mass * np.maximum(-np.expm1(np.minimum(epsilon - worse.index * h, 0)), 0)).sum()
        )
        lower = better.infinite + float(
            (better.mass * np.maximum(-np.expm1(np.minimum(epsilon - losses, 0)), 0)).sum()
        )
        assert upper >= exact - 1e-13
        assert lower <= exact + 2e-4 * exact + 2 * tail


def test_a_spread_keeps_both_laws():
    """Masses under P and, through e^−L, under Q: nothing appears or disappears but the cut
    tails."""
    pair = GaussianPair(0.5)
    found = cells(pair, 1, h=0.1, points=300, tail=1e-14)
    law = spread(found, 0.1)
    assert float(law.mass.sum()) == pytest.approx(1, abs=1e-12)
    assert float(law.mass @ np.exp(-law.index * 0.1)) == pytest.approx(1, abs=1e-11)
    # a spread over steps of h adds about h²/6 to the variance of the loss
    mean = float(law.mass @ law.index) * 0.1
    variance = float(law.mass @ (law.index * 0.1 - mean) ** 2)
    assert variance == pytest.approx(0.25 + 0.1**2 / 6, rel=1e-2)


def test_two_ways_to_sum_a_tail_agree_with_plain_addition():
    generator = np.random.default_rng(3)
    size, h, theta, start = 512, 0.02, 3.0, -100
    mass = stats.norm.pdf(np.arange(size), 220, 40)
    mass = mass / mass.sum()
    folded = np.roll(mass, start % size)
    transform = np.fft.rfft(folded)
    frequency = np.arange(size // 2 + 1)
    coefficient = transform * np.where((frequency > 0) & (frequency < size // 2), 2.0, 1.0)
    spectrum = Spectrum(size, frequency, coefficient, np.zeros(len(frequency)), 0.0)
    fourier = FourierTail(spectrum, h, theta)
    lattice = LatticeTail(spectrum, h=h, theta=theta, start=start)
    for first in generator.integers(start, start + size, 20):
        gap, terms = float(generator.uniform(0, h)), int(start + size - first)
        y = gap + np.arange(terms) * h
        exact = float((mass[first - start :] * np.exp(-theta * y) * -np.expm1(-y)).sum())
        for value, error in (
            fourier.at(int(first), gap, terms),
            lattice.at(int(first), gap, terms),
        ):
            # the transform here has no error of its own in `spectrum`; a few hundred roundings of a
            # sum below 1
            assert value == pytest.approx(exact, abs=1e-15, rel=1e-10)
            assert abs(value - exact) <= error + 1e-15


def test_folding_is_bounded_by_what_lies_outside_the_window():
    """A window that is too small gives bounds that are far apart, not wrong."""
    found = cells(GaussianPair(0.2), 100, h=0.02, points=2000, tail=1e-14)
    law = spread(found, 0.02)
    wide = compose([law], h=0.02, theta=2.0, start=-1000, size=4096)
    narrow = compose([law], h=0.02, theta=2.0, start=100, size=256)
    assert narrow.above > 1e-3
    for epsilon in (3.0, 5.0, 7.0):
        assert narrow.log_delta(epsilon, is_upper=False) <= wide.log_delta(epsilon, is_upper=True)
        assert wide.log_delta(epsilon, is_upper=False) <= narrow.log_delta(epsilon, is_upper=True)
        assert (
            wide.log_delta(epsilon, is_upper=True) - wide.log_delta(epsilon, is_upper=False) < 1e-6
        )


@pytest.mark.parametrize("steps", [1, 30, 2000])
def test_slip_bounds_the_fall_of_the_summed_errors(steps):
    """Against the exact law of the sum of coin flips: P(Σ < −slip) <= chance, and slip is not
    absurdly large."""
    law = Law(np.array([0, 1]), np.array([0.5, 0.5]), steps, 0.0, 0.0, np.array([-0.01, 0.01]))
    for log_chance in (-5.0, -20.0):
        bound = slip([law], log_chance)
        heads = np.arange(steps + 1)
        fallen = stats.binom.pmf(heads, steps, 0.5)[
            (2 * heads - steps) * 0.01 < -bound - 1e-12
        ].sum()
        assert fallen <= math.exp(log_chance)
        # Chernoff's exponent for coins is at most that of a normal law
        assert bound <= 0.01 * min(steps, math.sqrt(-2 * log_chance * steps)) * 1.1


def test_no_error_no_slip_and_infinite_masses_compose():
    exact = Law(np.array([0]), np.array([1.0]), 10, 0.0, 0.0, np.array([0.0]))
    assert slip([exact], -20.0) == 0
    assert infinite_mass([(0.1, 2), (0.5, 1)]) == pytest.approx(1 - 0.81 * 0.5, rel=1e-15)
    assert infinite_mass([(1e-20, 3)]) == pytest.approx(3e-20, rel=1e-15)
    assert infinite_mass([(1.0, 1), (0.1, 1)]) == 1
    assert infinite_mass([]) == 0
    pair, mirrored = _randomised_response(1.0, 1e-3, 1.0, revealed=False)
    assert isinstance(pair, AtomPair)
    assert pair.infinite == mirrored.infinite == 1e-3
    sampled, added = _randomised_response(1.0, 1e-3, 0.1, revealed=False)
    # removing a sampled row hides it with probability 1 − q; adding one leaves every outcome
    # possible
    assert sampled.infinite == pytest.approx(1e-4, rel=1e-15)
    assert added.infinite == 0
