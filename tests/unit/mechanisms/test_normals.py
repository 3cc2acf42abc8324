"""Normals of uniforms."""

import numpy as np

from pillar_core.rng import polar_normals


def test_normals_are_those_of_box_and_muller():
    """A radius of √(−2 log u), at an angle of 2πv: no uniform from above 0 up to 1 gives
    infinity."""
    uniforms = np.array([[1.0, np.exp(-0.5), 2.0**-53], [0.3, 0.25, 0.5]])
    wanted = [0, 0, -np.sqrt(106 * np.log(2)), 0, 1]
    np.testing.assert_allclose(polar_normals(uniforms, (5,)), wanted, atol=1e-14)
