"""The exponential mechanism: its law, its charge, and what it refuses."""

import math

import numpy as np
import pytest
from scipy import stats

from costs import cost_of
from pillar_core import events, rng
from pillar_core.errors import SettingError
from pillar_core.events import ExponentialMechanismEvent
from pillar_core.ledger import Ledger, event_counts
from pillar_core.mechanisms import ExponentialMechanism, exponential
from pillar_core.types import NeighboringRelation

SCORES = np.array([0, 3, 1, -2])


@pytest.mark.parametrize("seed", [0, None])
def test_the_law_of_a_tuple_is_the_softmax_of_tilted_scores(seed):
    """Chi-square over all nine tuples of two choices, each expected 50 times or more; two thirds or
    three halves of the scale are seen."""
    scores, draws, counts = np.array([[0, 2, 4], [3, 0, 1]]), 4000, np.zeros((3, 3))
    mechanism = ExponentialMechanism(1.0, 2, rng.Streams(seed).secret("choices"), Ledger())
    chosen = mechanism.choose_each(np.tile(scores, (draws, 1))).reshape(draws, 2)
    np.add.at(counts, tuple(chosen.T), 1)
    for scale, right in ((1.0, True), (2 / 3, False), (3 / 2, False)):
        law = np.exp(scale * (scores[0][:, None] + scores[1][None, :]) / 2)
        assert (
            stats.chisquare(counts.ravel(), (draws * law / law.sum()).ravel()).pvalue > 1e-9
        ) == right


def test_the_charge_is_pure_and_twice_under_replace_one_and_none_without_noise():
    ledger = Ledger()
    ExponentialMechanism(0.5, 2, rng.stream(0, "one"), ledger).choose(SCORES)
    assert ledger.total_event == ExponentialMechanismEvent(0.5, 1.0) == exponential(0.5)
    for relation, epsilon in (
        (NeighboringRelation.ADD_OR_REMOVE_ONE, 0.5),
        (NeighboringRelation.REPLACE_ONE, 1.0),
    ):
        assert cost_of(ledger.total_event, delta=1e-09, relation=relation).upper == pytest.approx(
            epsilon, rel=1e-3
        )
    ledger = Ledger()
    assert ExponentialMechanism(math.inf, 1, rng.stream(0, "one"), ledger).choose(SCORES) == 1
    assert list(event_counts(ledger.total_event)) == [events.NonPrivateDpEvent()]
    ledger = Ledger()
    with pytest.raises(SettingError, match="int64"):
        ExponentialMechanism(1.0, 1, rng.stream(0, "one"), ledger).choose(SCORES / 2)
    assert not ledger.lines
    far = np.tile([2**62, 2**62 - 100_000, -(2**62)], (200, 1))
    assert (
        not ExponentialMechanism(1.0, 1, rng.stream(0, "choices"), Ledger()).choose_each(far).any()
    )


@pytest.mark.parametrize(
    ("epsilon", "score_range"),
    [(0.0, 1), (-1.0, 1), (math.nan, 1), (1.0, 0), (1.0, 1.5), (1.0, math.nan), (1.0, math.inf)],
)
def test_bad_numbers_are_refused(epsilon, score_range):
    with pytest.raises(SettingError, match=r"epsilon .* score_range"):
        ExponentialMechanism(epsilon, score_range, rng.stream(0, "one"), Ledger())
