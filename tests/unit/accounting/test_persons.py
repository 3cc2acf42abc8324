"""ε for a person with several rows: against quadrature, against other placements of the rows, and
against what a row costs."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from costs import cost_of
from pillar_core import ledger
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.events import ExponentialMechanismEvent, PureEvent
from users import raises


def _sampled(noise, probability):
    return ledger.subsample(ledger.gaussian(noise), probability)


def _deltas(epsilon, moves, noise, others=None):
    """δ of one release in the plane, the larger of both directions: a chance and a place for each
    way in which rows may enter.

    others: those of the person who comes instead; None where nobody does.
    """
    reach = np.linspace(-10 if others is None else -16, 16, 1301) * noise
    present, absent = (
        sum(
            weight * np.outer(norm.pdf(reach, u, noise), norm.pdf(reach, v, noise))
            for weight, (u, v) in side
        )
        for side in (moves, others or [(1.0, (0.0, 0.0))])
    )
    cell = (reach[1] - reach[0]) ** 2
    return max(
        float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * cell)
        for a, b in ((present, absent), (absent, present))
    )


def _moves(places, probability):
    found = []
    for chosen in itertools.product([False, True], repeat=len(places)):
        weight = math.prod(probability if one else 1 - probability for one in chosen)
        found.append(
            (
                weight,
                tuple(
                    sum(place[axis] for place, one in zip(places, chosen, strict=True) if one)
                    for axis in (0, 1)
                ),
            )
        )
    return found


@pytest.mark.parametrize(
    ("noise", "probability", "rows"), [(1.0, 0.1, 2), (2.0, 0.3, 3), (1.0, 0.01, 4)]
)
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_one_release_agrees_with_quadrature_and_no_other_placement_is_worse(
    noise, probability, rows, delta
):
    found = cost_of(ledger.of_person(_sampled(noise, probability), rows), delta=delta)
    assert found.upper - found.lower <= 0.005 * found.upper
    together = _moves([(1.0, 0.0)] * rows, probability)
    # the midpoint rule of a smooth density with a kink is good to about the square of the cell:
    # 2e-4 of the noise, squared
    assert _deltas(found.upper, together, noise) <= delta * (1 + 1e-3)
    assert _deltas(found.lower, together, noise) >= delta * (1 - 1e-3)
    for angle in (0.5, math.pi / 2, math.pi):
        apart = [(1.0, 0.0)] * (rows - 1) + [(math.cos(angle), math.sin(angle))]
        assert _deltas(found.upper, _moves(apart, probability), noise) < delta


@pytest.mark.parametrize(
    ("noise", "probability", "rows"), [(1.0, 0.1, 1), (1.0, 0.1, 2), (2.0, 0.3, 3), (2.0, 0.9, 2)]
)
@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_a_replaced_persons_release_agrees_with_quadrature_and_no_other_two_persons_are_worse(
    noise, probability, rows, delta
):
    event = ledger.of_person(_sampled(noise, probability), rows)
    found = cost_of(event, delta=delta, relation="replace_one")
    assert found.upper - found.lower <= 0.005 * found.upper
    here, there = (_moves([(sign, 0.0)] * rows, probability) for sign in (1.0, -1.0))
    # cells of the plane are wider here: the midpoint rule is good to 6e-4
    assert _deltas(found.upper, here, noise, there) <= delta * (1 + 2e-3)
    assert _deltas(found.lower, here, noise, there) >= delta * (1 - 2e-3)
    for turned in (0.5, math.pi / 2):
        aside = [(-1.0, 0.0)] * (rows - 1) + [(-math.cos(turned), math.sin(turned))]
        assert _deltas(found.upper, here, noise, _moves(aside, probability)) < delta
    assert (
        _deltas(found.upper, here, noise, _moves([(-1.0, 0.0)] * (rows - 1), probability)) < delta
    )
    assert cost_of(event, delta=delta).upper < found.upper


def test_the_distribution_of_dp_accounting_confirms_many_steps():
    from dp_accounting.pld import privacy_loss_distribution

    rows, probability, noise, steps = 5, 0.01, 20.0, 1000
    chances = [
        math.comb(rows, k) * probability**k * (1 - probability) ** (rows - k)
        for k in range(rows + 1)
    ]
    one = privacy_loss_distribution.from_mixture_gaussian_mechanism(
        noise, list(range(rows + 1)), chances
    )
    found = cost_of(ledger.repeat(ledger.of_person(_sampled(noise, probability), rows), steps))
    theirs = one.self_compose(steps).get_epsilon_for_delta(1e-5)
    # theirs is rounded up to a grid of 1e-4 a step: an upper bound, within a thousandth here
    assert found.lower <= theirs
    assert found.upper == pytest.approx(theirs, rel=1e-3)


def test_walls_lie_where_their_loss_is_reached():
    from pillar_core.accounting.loss import OpposedPair, PersonPair

    settings = ((0.26, 0.0227, 4), (3.3, 1e-4, 30), (1e-3, 0.5, 100), (6.0, 0.01, 1))
    for pair in (kind(*setting) for kind in (PersonPair, OpposedPair) for setting in settings):
        walls = np.linspace(max(pair.range[0] + 1e-6, -60.0), 60.0, 2001)
        reached = pair._loss(pair._position(walls))[0]
        assert (
            np.abs(reached - walls).max() < 1e-11
        )  # what the accountant allows a release's masses
        p, q = pair.masses(walls)
        assert (p.sum(), q.sum()) == pytest.approx((1.0, 1.0), abs=1e-11)


def test_other_releases_cost_as_the_documents_say_and_more_rows_more():
    assert ledger.of_person(ledger.gaussian(6.0), 3) == ledger.gaussian(2.0)
    assert ledger.of_person(ledger.allocation_pass(6.0, 10), 3) == ledger.gaussian(2.0)
    assert ledger.of_person(ExponentialMechanismEvent(0.1, 0.2), 3) == ExponentialMechanismEvent(
        3 * 0.1, 3 * 0.2
    )
    pure = ledger.of_person(PureEvent(0.1, 0.2, 1e-6), 3)
    assert pure.epsilon_add_remove == pytest.approx(0.3)
    assert pure.delta == pytest.approx(1e-6 * (1 + math.exp(0.2) + math.exp(0.4)))
    assert ledger.of_person(ledger.subsample(PureEvent(0.1, 0.2), 0.5), 2) == PureEvent(0.2, 0.4)
    for fewer in (
        ExponentialMechanismEvent(0.2, 0.1),
        PureEvent(0.2, 0.1),
    ):  # of two persons, one may have more rows
        assert ledger.of_person(fewer, 3).epsilon_replace_one == 3 * 0.2
    assert ledger.of_person(ledger.gaussian(6.0, replace_one_factor=0.5), 3) == ledger.gaussian(
        2.0, replace_one_factor=1.0
    )
    run = ledger.compose(ledger.repeat(_sampled(2.0, 0.1), 7), ledger.gaussian(4.0))
    assert ledger.of_person(run, 1) is run
    assert sum(ledger.event_counts(ledger.of_person(run, 2)).values()) == 8
    assert math.isinf(cost_of(ledger.of_person(ledger.gaussian(0.0), 2)).upper)
    run = ledger.repeat(_sampled(3.0, 0.02), 200)
    found = [cost_of(ledger.of_person(run, rows)).upper for rows in (1, 2, 4)]
    assert found[0] < found[1] < found[2]
    one = cost_of(run, delta=1e-05 / (1 + math.exp(found[0] * 1.2))).upper
    assert one <= 1.2 * found[0]
    assert found[1] <= 2 * one


def test_what_has_no_proof_is_refused():
    sampled = ledger.of_person(_sampled(1.0, 0.1), 2)
    for name in ("rdp", "pld", "prv", "gdp", "basic"):
        with pytest.raises(UnsupportedError):
            cost_of(sampled, name)
    with pytest.raises(UnsupportedError, match="several rows"):
        ledger.of_person(ledger.best_of(ledger.gaussian(1.0), mean_trials=3, shape=1), 2)
    raises(SettingError, "at least 1", ledger.of_person, ledger.gaussian(1.0), 0)
