"""Numbers as they are said: a limit is never said smaller than it is."""

import math

import pytest

from pillar_core.numerics import round_up


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *((1.0, "1"), (1.00004, "1.001"), (0.99996, "1"), (0.1234, "0.1234"), (0.0004, "0.0004"), (123456.7, "1.235e+05"), (0.0, "0")),
        (math.inf, "inf"),
    ],
)
def test_limits_are_said_in_four_digits_from_above(value, words):
    assert round_up(value) == words


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_no_limit_is_said_smaller_than_it_is(digits):
    for step in range(2_000):
        value = math.exp(-9 + step / 100)
        assert value <= float(round_up(value, digits)) <= value * (1 + 10.0 ** (1 - digits))
