"""The score of `class_signal` subtracts the right noise; tests/contract/test_private_answers.py
holds its release."""

import numpy as np
import pytest

from pillar_core.rng import stream
from pillar_core.screening import class_signal
from pillar_core.types import FeatureSet

N, D, CLASSES = 60, 12, 3


def public(seed=0, shift=0.0):
    return FeatureSet(
        (shift + stream(seed, "public rows").standard_normal((40, D))).astype(np.float32),
    )


@pytest.mark.parametrize(("scale", "is_accepted"), [(1.0, True), (2 / 3, False), (1.5, False)])
def test_the_subtracted_noise_is_the_noise(scale, is_accepted):
    """Without private rows the mean signal over releases is 0 where the right noise is subtracted:
    the wrong scale is rejected."""
    one = class_signal.Candidate.of(
        class_signal.unit(public().x_train, class_signal.public_centre([public().x_train]))
    )
    generator, std = stream(1, "null"), 0.5
    sums = std * generator.standard_normal((2000, D, CLASSES))
    release = class_signal.ClassSums(sums[0], std, N)
    values = class_signal.signal(release, one, sums, noise_std=scale * std)
    # Six standard errors of the mean of 2,000 draws; the wrong scales are 80 away.
    assert (abs(values.mean()) < 6 * values.std() / np.sqrt(len(values))) == is_accepted
