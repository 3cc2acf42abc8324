"""Exact draws: the rounded Gaussian against tapes of bits and 60-digit tails, samples and choices
against enumeration."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from scipy import stats
from scipy.special import ndtri

from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism, exact
from pillar_core.mechanisms.geometric import DENOMINATOR, GeometricMechanism
from pillar_core.rng import Streams, SystemStream, stream
from users import raises

BITS, WORD = 10, np.uint64(2**63)


def system(count):
    return SystemStream().words(count)


def seeded(count, generator=None):
    return (generator or stream(0, "words")).integers(0, 2**64, count, dtype=np.uint64)


def no_more(count):
    raise AssertionError("the prefix did not decide")


def tail(edge, std):
    """P(|X| ≥ edge), to sixty digits."""
    with mpmath.workdps(60):
        ratio = edge / std
        return mpmath.erfc(mpmath.mpf(ratio.numerator) / ratio.denominator / mpmath.sqrt(2))


@pytest.mark.parametrize(
    "std", [Fraction(1), Fraction(5, 2), Fraction(3), Fraction(2**24), Fraction(float(2**30) * 0.7)]
)
def test_tails_lie_between_their_ends(std):
    for share, bits in itertools.product((0, 0.3, 1, 2.5, 6, 11), (64, 127, 191)):
        j = int(share * std)
        low, high = exact.tail_ends(j, bits, std)
        with mpmath.workdps(90):
            true = tail(j + Fraction(1, 2), std) * mpmath.mpf(2) ** bits
            assert low <= true <= high, (j, bits)
        assert high - low <= 3


def law_of_prefixes(std, decided):
    """For each outcome, how many of all prefixes of BITS bits decide for it."""
    counts = dict[int, list[int]]()
    for prefix in range(2**BITS):
        try:
            counts.setdefault(decided(prefix, BITS), []).append(prefix)
        except AssertionError:
            counts.setdefault(-1, []).append(prefix)
    return counts


def law_is_that_of_rounding(std, decided):
    """Every prefix that decides lies within its outcome's interval of tails, and each edge leaves
    only the prefix around it open."""
    counts = law_of_prefixes(std, decided)
    opened = counts.pop(-1, [])
    for outcome, prefixes in counts.items():
        above = mpmath.mpf(1) if outcome == 0 else tail(outcome - Fraction(1, 2), std)
        below = tail(outcome + Fraction(1, 2), std)
        are_inside = (
            below * 2**BITS <= prefix and prefix + 1 <= above * 2**BITS for prefix in prefixes
        )
        assert all(are_inside), f"{outcome} is drawn for others' bits"
    edges = {int(tail(j + Fraction(1, 2), std) * 2**BITS) for j in range(40)}
    assert set(opened) <= edges | {0}, "bits are left open that decide"


@pytest.mark.parametrize("std", [Fraction(1), Fraction(2), Fraction(5, 2), Fraction(3)])
def test_an_enumerated_tape_of_bits_gives_the_law_of_rounding(std):
    law_is_that_of_rounding(std, lambda prefix, bits: exact.decide(prefix, bits, std, 0, no_more))
    law_is_that_of_rounding(
        std, lambda prefix, bits: exact.decide(prefix, bits, std, 7, no_more)
    )  # whatever the guess


def test_a_law_that_is_a_little_off_is_seen():
    """The twin: noise of a slightly larger deviation, or rounded down."""
    wider = Fraction(204, 100)
    for planted in (
        lambda prefix, bits: exact.decide(prefix, bits, wider, 0, no_more),
        lambda prefix, bits: max(exact.decide(prefix, bits, Fraction(2), 0, no_more) - 1, 0),
    ):
        raises(AssertionError, "others' bits", law_is_that_of_rounding, Fraction(2), planted)


def test_an_open_prefix_takes_further_bits_and_ndtri_is_better_than_asked():
    std = Fraction(2)
    edge = int(tail(Fraction(1, 2), std) * 2**BITS)
    drawn = [
        exact.decide(edge, BITS, std, 0, lambda _, word=word: np.array([word], dtype=np.uint64))
        for word in (0, 2**64 - 1)
    ]
    assert sorted(drawn) == [0, 1]
    assert drawn[0] == 1  # the smaller tail is further out
    assert (
        exact.decide(0, 63, std, 0, lambda _: np.array([2**63], dtype=np.uint64)) > 17
    )  # 2⁻⁶⁴ of the tail lies beyond 8.9 σ
    points = np.concatenate(
        [
            stream(2, "points").random(200) / 2,
            2.0 ** -np.arange(1, 62),
            0.5 - 2.0 ** -np.arange(2, 52),
        ]
    )
    with mpmath.workdps(40):
        for point, found in zip(points, ndtri(points), strict=True):
            if point == 0.5:
                continue
            true = mpmath.findroot(
                lambda x, point=point: mpmath.ncdf(x) - mpmath.mpf(float(point)), float(found)
            )
            assert abs(true - mpmath.mpf(float(found))) <= exact.ERROR / 4 * (1 + abs(true))


@pytest.mark.parametrize(
    ("std", "draws"), [(1.0, 300), (2.5, 300), (2.0**16, 300), (2.0**28 * 1.3, 300), (2.0**48, 100)]
)
def test_the_float_filter_and_whole_numbers_agree(std, draws, monkeypatch):
    words = np.concatenate(
        [seeded(draws), np.array([0, 1, 2, 2**63 - 1, 2**63, 2**64 - 1], dtype=np.uint64)]
    )

    def drawn():
        further = stream(1, "further")
        return exact.rounded_gaussian(
            std,
            (len(words),),
            lambda count: words if count == len(words) else seeded(count, further),
        )

    usual = drawn()
    monkeypatch.setattr(exact, "ERROR", np.inf)  # every draw is ambiguous
    np.testing.assert_array_equal(usual[:-6], drawn()[:-6])


def test_a_filter_that_trusts_too_much_is_seen(monkeypatch):
    """The twin: an ndtri that is off by 10⁻⁶, in which the filter trusts, gives other numbers."""
    words = seeded(300)
    usual = exact.rounded_gaussian(2.0**28, (300,), lambda count: words)
    monkeypatch.setattr("scipy.special.ndtri", lambda p: ndtri(p) * (1 + 1e-6))
    assert (usual != exact.rounded_gaussian(2.0**28, (300,), lambda count: words)).any()


@pytest.mark.parametrize("std", [0.7, 1.5, 2.0**26])
def test_the_noise_of_the_operating_system_has_the_law(std):
    bins = 64
    drawn = exact.rounded_gaussian(std, (100_000,), system)
    edges = (
        np.arange(-8, 9) - 0.5
        if std < 10
        else np.rint(std * stats.norm.ppf(np.arange(1, bins) / bins)) + 0.5
    )
    expected = np.diff(np.concatenate([[0], stats.norm.cdf(edges / std), [1]])) * len(drawn)
    counts = np.bincount(np.searchsorted(edges, drawn), minlength=len(expected))
    usual = expected > 50
    away = (counts[usual] - expected[usual]) ** 2 / expected[usual]
    assert stats.chi2.sf(away.sum(), usual.sum()) > 1e-10
    if std > 10:  # whole numbers show no grid of their own
        last = np.bincount(drawn % 64, minlength=64)
        assert stats.chi2.sf(((last - len(drawn) / 64) ** 2).sum() / (len(drawn) / 64), 63) > 1e-10


@pytest.mark.parametrize("std", [0.0, -1.0, 2.0**49, np.nan])
def test_noise_that_64_bits_do_not_hold_is_refused(std):
    raises(SettingError, "standard deviation", exact.rounded_gaussian, std, (1,), no_more)


def test_a_poisson_sample_takes_words_below_the_probability_and_uniform_choices_draw_again():
    edge = int(Fraction(0.3) * 2**64)
    words = np.array([0, edge - 1, edge, 2**64 - 1], dtype=np.uint64)
    np.testing.assert_array_equal(exact.poisson_sample(0.3, 4, lambda count: words), [0, 1])
    np.testing.assert_array_equal(exact.poisson_sample(1.0, 3, no_more), [0, 1, 2])
    assert len(exact.poisson_sample(2.0**-70, 4, lambda count: words)) == 0
    most = 2**64 // 3 * 3
    words = iter([np.array([most, most - 1, 4], dtype=np.uint64), np.array([7], dtype=np.uint64)])
    np.testing.assert_array_equal(exact.uniform_below(3, 3, lambda count: next(words)), [1, 2, 1])
    assert set(exact.uniform_below(2, 100, system)) == {0, 1}


@pytest.mark.parametrize("x", [0.0, 0.3, 0.5, 1.0, 2.7])
def test_coins_are_true_with_the_probability_of_an_exponential(x):
    count = 200_000
    heads = exact.coins(np.full(count, int(x * 2**64), dtype=object), system).mean()
    for other, is_right in ((x, True), (x + 0.2, False)):
        chance = np.exp(-other)
        assert (abs(heads - chance) <= 6.5 * np.sqrt(chance * (1 - chance) / count)) == is_right


def mechanism(noise=2.0, secret=None):
    return GaussianMechanism(noise, 0.5, secret or Streams(None).secret("noise"), Ledger())


def test_a_release_is_a_function_of_whole_numbers_and_a_seeded_count_is_none():
    total = torch.tensor([[5, -(2**40)], [0, 3]])
    units, one = 2**24, mechanism()
    released = one.release_integers(total, units)
    assert ((released * units / 0.5) % 1 == 0).all()
    assert one.ledger.noise_laws == {"exact"}
    assert mechanism(0.0).release_integers(total, units).equal(total.double() * 0.5 / units)
    for secret, law in ((Streams(None), "exact"), (Streams(1), "fast")):
        ledger = Ledger()
        GeometricMechanism(DENOMINATOR, secret.secret("counts"), ledger).release(
            np.zeros(2, dtype=np.int64)
        )
        assert ledger.noise_laws == {law}


@pytest.mark.parametrize(
    ("noise", "total", "secret", "units"),
    [
        (2.0, torch.tensor([0.5]), None, 2**24),  # no whole numbers
        (2.0, torch.tensor([1]), stream(0, "noise"), 2**24),  # a seed
        (2.0, torch.tensor([1]), None, 3 * 2**20),
        (2.0**-15, torch.tensor([1]), None, 2**24),  # below 2¹⁰ units
        (2.0**25, torch.tensor([1]), None, 2**24),  # above 2⁴⁸
    ],
)
def test_what_cannot_be_exact_is_refused_before_the_charge(noise, total, secret, units):
    one = mechanism(noise, secret)
    raises(SettingError, "exact", one.release_integers, total, units)
    assert not one.ledger.lines
