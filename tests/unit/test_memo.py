"""Memos, numbers as they are said, and groups of equal keys."""

import math
import pickle
import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pillar_core as pc
from pillar_core.grouping import grouped
from pillar_core.memo import Memo
from pillar_core.numerics import number_words, round_up
from pillar_core.rng import Streams
from users import raises


def test_an_entry_is_made_once_by_many_threads_and_others_do_not_wait():
    memo, made, gate = Memo(), [], threading.Event()

    def slow():
        made.append(1)
        gate.wait(5)
        return "slow"

    threads = [threading.Thread(target=lambda: memo.get("a", slow)) for _ in range(4)]
    for thread in threads:
        thread.start()
    while not made:
        time.sleep(0.001)
    # while "a" is being made, "b" is free
    assert memo.get("b", lambda: "quick") == "quick"
    assert memo.peek("a", "nothing") == "nothing"
    gate.set()
    for thread in threads:
        thread.join()
    assert made == [1]
    assert memo.get("a", lambda: "other") == "slow"


def test_a_split_travels_to_another_process_without_what_it_remembers(split):
    """A lock of its memory stopped joblib, multiprocessing and a file of a paid choice."""
    split.memo.get("kept here", lambda: "value")
    copy = pickle.loads(pickle.dumps(split))
    assert copy.memo.peek("kept here") is None
    records = [pc.run("pillar", each, epsilon=1.0, k=5) for each in (split, copy)]
    assert np.array_equal(*(record.classifier.weights for record in records))


def test_the_least_recently_used_entry_leaves_first_and_a_failure_is_not_kept():
    memo = Memo(slots=2)
    for key in ("a", "b"):
        memo.get(key, lambda: 1)
    assert memo.peek("a") == 1, "a look is a use"
    memo.get("c", lambda: 1)
    assert (memo.peek("a"), memo.peek("b"), memo.peek("c")) == (1, None, 1)
    memo.clear()
    assert memo.peek("a") is None
    memo = Memo()

    def fails():
        raise ValueError("no")

    raises(ValueError, "no", memo.get, "a", fails)
    assert memo.peek("a") is None
    assert memo.get("a", lambda: memo.get("b", lambda: 2) + 1) == 3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        *(
            (1.0, "1"),
            (1.00004, "1.001"),
            (0.99996, "1"),
            (0.1234, "0.1234"),
            (0.0004, "0.0004"),
            (123456.7, "1.235 × 10⁵"),
            (0.0, "0"),
        ),
        (math.inf, "inf"),
    ],
)
def test_limits_are_said_in_four_digits_from_above(value, words):
    assert round_up(value) == words


def test_small_numbers_are_written_with_powers_of_ten():
    written = {
        0.0: "0",
        0.0001: "0.0001",
        1e-5: "10⁻⁵",
        2.5e-7: "2.5 × 10⁻⁷",
        1.2345678e-12: "1.23457 × 10⁻¹²",
    }
    assert {value: number_words(value) for value in written} == written


@pytest.mark.parametrize("digits", [3, 4, 6])
def test_no_limit_is_said_smaller_than_it_is(digits):
    for step in range(1_500):
        value = math.exp(-9 + step / 100)
        assert value <= float(round_up(value, digits)) <= value * (1 + 10.0 ** (1 - digits))


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
