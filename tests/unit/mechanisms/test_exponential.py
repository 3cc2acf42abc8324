"""The exponential mechanism: its law, its charge, and what it refuses."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from scipy import stats

from contract import checks
from contract.cases import case_for
from contract.tapes import distance
from costs import cost_of
from pillar_core import events, rng
from pillar_core.engine import LinearClassifier
from pillar_core.errors import SettingError
from pillar_core.events import ExponentialMechanismEvent
from pillar_core.ledger import Ledger, event_counts
from pillar_core.mechanisms import ExponentialMechanism, exponential
from pillar_core.methods import METHODS
from pillar_core.splits import Transform
from pillar_core.types import NeighboringRelation, TrainResult

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


def choosing_case(*, score_range, tilt=1.0):
    """A learner that picks a class by twice their counts, in which a row's contributions spread by
    2, at ε = 1."""

    def fit(settings, view, streams, ledger):
        _, y = checks.private_rows(view)
        counts = np.bincount(y, minlength=view.facts.n_classes) * 2
        mechanism = Tilted(1.0, score_range, streams.secret("choice"), ledger, tilt=tilt)
        weights = np.zeros((view.facts.d, view.facts.n_classes), dtype=np.float32)
        weights[:, mechanism.choose(counts)] += 1
        return TrainResult(
            LinearClassifier(Transform(), weights, np.zeros(view.facts.n_classes, dtype=np.float32))
        )

    case = case_for(METHODS["dp_sgd"])
    method = dataclasses.replace(
        case.method, fit=fit, fit_many=None, cost=lambda settings, facts: exponential(1.0)
    )
    return dataclasses.replace(case, method=method, view=uneven(case.view))


def uneven(view):
    """The view with two rows of the last class fewer, so that the choice is neither certain nor
    even."""
    x, y = checks.private_rows(view)
    gone = np.flatnonzero(y == view.facts.n_classes - 1)[:2]
    return checks.with_rows(view, np.delete(x, gone, axis=0), np.delete(y, gone))


@dataclasses.dataclass(frozen=True)
class Tilted(ExponentialMechanism):
    """A mechanism that draws at another tilt than it was charged for."""

    tilt: float = 1.0

    def _draw(self, scores, scale):
        return super()._draw(scores, scale / self.tilt)


def test_the_contract_passes_a_sound_choice_and_sees_a_small_range_and_one_that_is_too_sure_by_the_spread_of_scores():
    checks.keeps_the_contract(choosing_case(score_range=2))
    with pytest.raises(AssertionError, match="exponential moved"):
        checks.is_within_sensitivity(choosing_case(score_range=1))
    with pytest.raises(AssertionError, match="another rate"):
        checks.noise_is_as_charged(choosing_case(score_range=2, tilt=1.02))
    assert distance(np.zeros(3), np.array([1.0, 1.0, 1.0]), "exponential") == [0.0]
    assert distance(np.zeros(3), np.array([1.0, 0.0, -1.0]), "exponential") == [2.0]
    assert distance(torch.zeros(2), torch.ones(2)) == [pytest.approx(math.sqrt(2))]
