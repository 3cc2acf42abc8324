"""The performance boost, at its ends and in between."""

from __future__ import annotations

import math

import pytest

from pillar_core.errors import DataError
from pillar_core.metrics import performance_boost


def test_it_is_one_without_help_and_grows_with_it():
    assert performance_boost(0.4, 0.1, 0.4) == pytest.approx(1.0)
    assert performance_boost(0.4, 0.1, 0.2) == pytest.approx(3.0)
    assert performance_boost(0.4, 0.1, 0.5) == pytest.approx(0.75)
    assert performance_boost(0.4, 0.1, 0.1) == math.inf
    assert performance_boost(0.1, 0.1, 0.2) is None


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_errors_outside_their_range_are_refused(value):
    for place in range(3):
        errors = [0.3, 0.1, 0.2]
        errors[place] = value
        with pytest.raises(DataError, match="error_"):
            performance_boost(*errors)
