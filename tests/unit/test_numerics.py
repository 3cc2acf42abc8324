"""Numbers as they are said: a limit is never said smaller than it is."""

import math
import tracemalloc

import numpy as np
import pytest

from pillar_core.engine import ridge
from pillar_core.errors import UnsupportedError
from pillar_core.methods.closed_form import dp_ls, pillar_kalman
from pillar_core.numerics import upwards
from pillar_core.screening import leep


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (1.0, "1"),
        (1.00004, "1.001"),
        (0.99996, "1"),
        (0.1234, "0.1234"),
        (0.0004, "0.0004"),
        (123456.7, "1.235e+05"),
        (0.0, "0"),
        (math.inf, "inf"),
    ],
)
def test_limits_are_said_in_four_digits_from_above(value, words):
    assert upwards(value) == words


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_no_limit_is_said_smaller_than_it_is(digits):
    for step in range(2_000):
        value = math.exp(-9 + step / 100)
        assert value <= float(upwards(value, digits)) <= value * (1 + 10.0 ** (1 - digits))


@pytest.mark.parametrize(
    "asked",
    [
        lambda x: dp_ls.second_moment(x, 9),
        lambda x: ridge.grouped_ridge(x, np.zeros(4, int), np.zeros(4, int), n_groups=1, n_classes=2, penalty=1.0),
        lambda x: leep.label_shares(x, np.arange(4) % 2, x),
        lambda x: pillar_kalman.labelled_start(x, np.arange(4) % 2, 2, 1.0),
    ],
)
def test_wide_rows_are_refused_where_they_would_fill_a_square(asked):
    """A file of 3 kB holds 40 rows of 30,000 features, and such a matrix of them takes 7.2 GB."""
    tracemalloc.start()
    with pytest.raises(UnsupportedError, match="a matrix of features by features, for at most 5,000; the rows have"):
        asked(np.ones((4, 30_000), np.float32))
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()
