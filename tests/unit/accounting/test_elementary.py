"""What an accountant reads from an event: one canonical form, the factor of the relation, nothing
accepted that is not a number."""

import math

import pytest

from costs import ADD, REPLACE
from pillar_core import events, ledger
from pillar_core.accounting import Kind, Release, read
from pillar_core.errors import SettingError
from users import raises


def test_equal_spending_reads_equal_however_it_is_written():
    step = ledger.subsample(ledger.gaussian(2.0), 0.1)
    flat = ledger.compose(*[step] * 6, ledger.gaussian(3.0), ledger.gaussian(4.0))
    six = events.SelfComposedDpEvent(events.SelfComposedDpEvent(step, 3), 2)
    nested = events.ComposedDpEvent([ledger.gaussian(2.4), six, events.NoOpDpEvent()])
    # 1/3² + 1/4² = 1/2.4²
    assert read(flat, ADD).gaussian_mu == pytest.approx(read(nested, ADD).gaussian_mu, rel=1e-15)
    assert [release for release in read(flat, ADD).releases if not release.is_full_gaussian] == [
        Release(Kind.GAUSSIAN, 0.5, 6, 0.1)
    ]
    reordered = ledger.compose(ledger.gaussian(4.0), *[step] * 6, ledger.gaussian(3.0))
    assert read(reordered, ADD).key == read(flat, ADD).key
    assert read(reordered, ADD).key != read(reordered, REPLACE).key


@pytest.mark.parametrize(
    ("event", "add", "replace"),
    [
        (ledger.gaussian(4.0), 0.25, 0.5),
        (ledger.gaussian(4.0, replace_one_factor=math.sqrt(2)), 0.25, math.sqrt(2) / 4),
        (ledger.gaussian(4.0, replace_one_factor=1.0), 0.25, 0.25),
        (events.LaplaceDpEvent(4.0), 0.25, 0.5),
        (events.ExponentialMechanismEvent(0.3, 0.6), 0.3, 0.6),
        (events.PureEvent(0.3, 0.5, 1e-7), 0.3, 0.5),
        # under Poisson sampling the Gaussian's loss is one row's norm: the pair itself knows the
        # relation
        (ledger.subsample(ledger.gaussian(4.0), 0.1), 0.25, 0.25),
    ],
)
def test_each_relation_takes_the_sensitivity_that_the_event_records(event, add, replace):
    assert read(event, ADD).releases[0].loss == pytest.approx(add, rel=1e-15)
    assert read(event, REPLACE).releases[0].loss == pytest.approx(replace, rel=1e-15)


def test_joint_infinite_and_sampled_releases_are_read_as_what_they_are():
    pair = events.ComposedDpEvent([events.GaussianDpEvent(3.0), events.GaussianDpEvent(4.0)])
    (release,) = read(events.PoissonSampledDpEvent(0.1, pair), ADD).releases
    assert release.loss == pytest.approx(1 / 2.4, rel=1e-15)
    assert release.count == 1
    assert read(events.PoissonSampledDpEvent(1.0, ledger.gaussian(2.0)), ADD) == read(
        ledger.gaussian(2.0), ADD
    )
    assert read(events.PoissonSampledDpEvent(0.0, ledger.gaussian(2.0)), ADD).is_empty
    assert read(events.PoissonSampledDpEvent(0.5, events.NoOpDpEvent()), ADD).is_empty
    assert read(events.SelfComposedDpEvent(ledger.gaussian(2.0), 0), ADD).is_empty
    assert read(events.GaussianDpEvent(math.inf), ADD).is_empty


@pytest.mark.parametrize(
    "event",
    [
        events.NonPrivateDpEvent(),
        events.GaussianDpEvent(0.0),
        events.PoissonSampledDpEvent(0.5, events.GaussianDpEvent(0.0)),
        events.PoissonSampledDpEvent(0.5, events.NonPrivateDpEvent()),
        events.LaplaceDpEvent(0.0),
        events.PureEvent(math.inf, math.inf),
        events.PureEvent(0.1, 0.1, 1.0),
    ],
)
def test_release_without_noise_is_not_private(event):
    assert read(event, ADD).is_non_private


@pytest.mark.parametrize(
    "event",
    [
        events.GaussianDpEvent(math.nan),
        events.GaussianDpEvent(-1.0),
        events.LaplaceDpEvent(math.nan),
        events.GaussianRelease(1.0, math.nan),
        events.ExponentialMechanismEvent(math.nan, 1.0),
        events.PureEvent(0.1, 0.1, math.nan),
        events.PoissonSampledDpEvent(math.nan, events.GaussianDpEvent(1.0)),
        events.PoissonSampledDpEvent(1.5, events.GaussianDpEvent(1.0)),
        events.PoissonSampledDpEvent(0.5, events.GaussianDpEvent(math.nan)),
        events.SelfComposedDpEvent(events.GaussianDpEvent(1.0), -1),
    ],
)
def test_numbers_out_of_range_are_refused(event):
    with pytest.raises(SettingError):
        read(event, ADD)


def test_unknown_events_are_kept_apart_with_their_counts():
    unknown = events.RepeatAndSelectDpEvent(ledger.gaussian(2.0), 10.0, 1.0)
    known = read(events.ComposedDpEvent([unknown, ledger.gaussian(2.0), unknown]), ADD)
    assert known.unsupported == ((unknown, 2),)
    assert known.gaussian_mu == 0.5
    two_of_one_sample = events.PoissonSampledDpEvent(
        0.1, events.ComposedDpEvent([ledger.gaussian(2.0), events.LaplaceDpEvent(1.0)])
    )
    assert len(read(two_of_one_sample, ADD).unsupported) == 1


def test_what_is_composed_may_hold_compositions_and_lists_and_must_be_events():
    """A sample of two releases, or the best of runs with two, had no hash: `unhashable type:
    'list'`."""
    first, second = ledger.gaussian(1.0), ledger.gaussian(2.0)
    both = ledger.compose(first, second)
    for nested in (ledger.subsample(both, 0.1), ledger.best_of(both, mean_trials=3.0, shape=1.0)):
        assert ledger.event_counts(ledger.compose(nested, first, nested)) == {nested: 2, first: 1}
    assert ledger.compose([first, (second, first)], second) == ledger.compose(
        first, second, first, second
    )
    for wrong in (3, "gaussian", None, 1.0):
        raises(SettingError, "must be events", ledger.compose, first, wrong)
