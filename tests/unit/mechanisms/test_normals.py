"""Normals of uniforms, and which streams make theirs so."""

import numpy as np

from pillar_core.rng import MANY, Streams, exact_words, polar_normals


def test_normals_are_those_of_box_and_muller():
    """A radius of √(−2 log u), at an angle of 2πv: no uniform from above 0 up to 1 gives
    infinity."""
    uniforms = np.array([[1.0, np.exp(-0.5), 2.0**-53], [0.3, 0.25, 0.5]])
    wanted = [0, 0, -np.sqrt(106 * np.log(2)), 0, 1]
    np.testing.assert_allclose(polar_normals(uniforms, (5,)), wanted, atol=1e-14)


def test_only_seeded_draws_of_many_numbers_are_other_ones():
    """Shipped records draw fewer, so theirs stay; each way repeats itself."""
    few, plain, many, again = (
        Streams(0).secret("noise", draws=draws).standard_normal((2, 3))
        for draws in (MANY - 1, 0, MANY, MANY)
    )
    np.testing.assert_array_equal(few, plain)
    np.testing.assert_array_equal(many, again)
    assert (many != few).all()
    assert exact_words(Streams(None).secret("noise", draws=MANY)) is not None
