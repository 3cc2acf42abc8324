"""Grouping by key: every position once, groups in the order of their first member."""

from hypothesis import given
from hypothesis import strategies as st

from pillar_core.grouping import grouped
from pillar_core.rng import Streams


@given(st.lists(st.one_of(st.none(), st.integers(0, 3), st.tuples(st.integers(0, 1)))))
def test_groups_are_the_positions_of_equal_keys_in_order(keys):
    groups = grouped(keys)
    assert sorted(position for group in groups for position in group) == list(range(len(keys)))
    assert [group[0] for group in groups] == sorted(group[0] for group in groups)
    assert all(group == sorted(group) and len({keys[p] for p in group}) == 1 for group in groups)
    assert len(groups) == len(set(keys))


def test_streams_of_one_seed_go_together_and_those_of_releases_never():
    streams = [Streams(1), Streams(None), Streams(1), Streams(None), Streams(0)]
    assert grouped(one.identity for one in streams) == [[0, 2], [1], [3], [4]]
