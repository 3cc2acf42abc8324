"""Any finite row comes out of a transform finite, and of unit norm where that is asked for."""

import numpy as np
import pytest

from pillar_core import rng
from pillar_core.splits import Transform
from pillar_core.splits.transform import LateRows, unit_rows

SMALLEST = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = float(np.finfo(np.float32).max)


@pytest.mark.parametrize("k", [40, 500])
@pytest.mark.parametrize("value", [SMALLEST, 1e-30, 2.6e-23, 1.0, 1e30, LARGEST])
def test_any_finite_row_gets_unit_norm(value, k):
    """2.6e-23 squared is 0 in float32 and 3e-23 squared is not: norms taken there left such a row
    4.4 (k = 40) and 15.6 (k = 500) long."""
    row = np.full((1, k), value, dtype=np.float32)
    row[0, 0] = max(3e-23, value)
    assert np.linalg.norm(unit_rows(row).astype(np.float64)) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("unit", [1e-40, 1e-25, 1.0, 1e20])
@pytest.mark.parametrize("value", [SMALLEST, 1e15, LARGEST, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("normalise", [False, True])
def test_any_row_becomes_finite(unit, value, projected, normalise):
    """1e15 over a standard deviation of 1e-25 is beyond float32: the row became NaN. A sum that NaN
    enters would be none, and its presence certain."""
    scale = np.full(6, unit, dtype=np.float32)
    projection = (
        np.linalg.qr(np.arange(18.0).reshape(6, 3) % 7)[0].astype(np.float32) if projected else None
    )
    row = np.array([[value, -value, value, -value, 0, value]], dtype=np.float32)
    z = Transform(scale / 3, scale, projection, normalise)(row).astype(np.float64)
    assert np.isfinite(z).all()
    assert np.linalg.norm(z) <= (1 + 1e-6 if normalise else 1e16)


@pytest.mark.parametrize(("d", "k"), [(64, 10), (512, 40)])
@pytest.mark.parametrize("n", [333, 4200])
def test_a_row_is_mapped_alike_whatever_other_rows_there_are(d, k, n):
    """In float32 a zero row put in front turned up to 721 of 5,000 rows at right angles to the
    projection, whose unit rows were pure rounding: the sum of 333 unit rows moved by 9.5, where one
    row may move it by 1 (d = 512, k = 40; 12.6 of 1,535 rows at d = 1,280).
    """
    generator = rng.stream(0, "rows at right angles")
    projection = np.linalg.qr(generator.standard_normal((d, k)))[0].astype(np.float32)
    away = generator.standard_normal(d)
    away -= projection @ (projection.T @ away)
    x = np.tile((1e3 * away).astype(np.float32), (n, 1))
    moment = {"mean": x[0] / np.float32(3), "scale": np.full(d, 0.7, dtype=np.float32)}
    for transform in (
        Transform(None, None, projection, True),
        Transform(**moment, projection=projection, normalise=True),
    ):
        z, front = transform(x), transform(np.concatenate([np.zeros((1, d), dtype=np.float32), x]))
        np.testing.assert_array_equal(front[1:], z)
        np.testing.assert_array_equal(transform(x[1:]), z[1:])
        assert len(np.unique(z, axis=0)) == 1


@pytest.mark.parametrize("indices", [None, np.arange(1, 3000, 2)])
def test_rows_made_late_are_those_made_at_once(indices):
    generator = rng.stream(0, "late rows")
    x = generator.standard_normal((3000, 64)).astype(np.float32)
    directions = np.linalg.qr(generator.standard_normal((64, 10)))[0].astype(np.float32)
    late = LateRows(Transform(projection=directions, normalise=True), x, indices)
    assert late.shape == late.whole.shape
    for part in (slice(0, 7), slice(7, 1000), slice(1000, 9999)):
        np.testing.assert_array_equal(late[part], late.whole[part])
