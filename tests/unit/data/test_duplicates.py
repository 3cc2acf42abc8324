"""Exact duplicates against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from pillar_core.data import duplicates
from pillar_core.errors import DataError

SMALL = arrays.arrays(np.float32, st.tuples(st.integers(0, 8), st.just(3)), elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.5]))


def _brute(x_a: np.ndarray, x_b: np.ndarray) -> list[list[int]]:
    pairs = []
    for row, values in enumerate(x_a):
        equal = [other for other, candidate in enumerate(x_b) if (candidate == values).all()]
        pairs += [[row, equal[0]]] if equal else []
    return pairs


@given(SMALL, SMALL)
def test_agrees_with_brute_force(x_a: np.ndarray, x_b: np.ndarray) -> None:
    found = duplicates(x_a, x_b)
    assert found.dtype == np.int64
    assert found.shape == (len(found), 2)
    assert found.tolist() == _brute(x_a, x_b)


def test_finds_planted_rows_among_many_and_no_nearly_equal_ones() -> None:
    generator = np.random.Generator(np.random.PCG64(0))
    x_a, x_b = (generator.standard_normal((n, 33), dtype=np.float32) for n in (9_000, 5_000))
    x_b[4_321], x_b[17] = x_a[8_765], x_a[2]
    assert duplicates(x_a, x_b).tolist() == [[2, 17], [8_765, 4_321]]
    row = np.ones((1, 4), dtype=np.float32)
    near = row.copy()
    near[0, 3] = np.nextafter(np.float32(1), np.float32(2))
    assert len(duplicates(row, near)) == 0


@pytest.mark.parametrize("other", [np.zeros((2, 4)), np.zeros(3)])
def test_other_widths_are_refused(other: np.ndarray) -> None:
    with pytest.raises(DataError, match="equal width"):
        duplicates(np.zeros((2, 3)), other)
