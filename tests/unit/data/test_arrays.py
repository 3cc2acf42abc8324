"""The user's arrays: what is accepted, how labels are mapped, and what each kind of bad input is
told."""

from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pillar_core.data import features
from pillar_core.errors import DataError
from users import is_noted, refuses

X = np.arange(12, dtype=np.float64).reshape(6, 2)
Y = np.array([0, 1, 2, 0, 1, 2])


def test_features_are_float32_contiguous_and_labelled_or_not():
    table = features(np.asfortranarray(X), Y, X[:2], Y[:2], ["a", "b", "c"])
    assert table.x_train.dtype == np.float32
    assert table.x_train.flags.c_contiguous
    assert table.y_train.dtype == np.int64
    assert (table.classes, table.d, table.n_classes) == (("a", "b", "c"), 2, 3)
    np.testing.assert_array_equal(table.y_test, [0, 1])
    assert table.notes == ()
    table = features(X, None)
    assert table.y_train is None
    assert table.classes == ()
    tested = features(X, None, X, Y)
    assert tested.y_train is None
    np.testing.assert_array_equal(tested.y_test, Y)


def test_words_are_mapped_in_sorted_order_or_the_declared_one_and_bytes_are_text():
    table = features(
        X, ["pear", "apple", "fig", "fig", "pear", "apple"], X[:2], np.array(["fig", "pear"])
    )
    assert table.classes == ("apple", "fig", "pear")
    np.testing.assert_array_equal(table.y_train, [2, 0, 1, 1, 2, 0])
    np.testing.assert_array_equal(table.y_test, [1, 2])
    assert is_noted(table.notes, "apple → 0, fig → 1, pear → 2")
    table = features(X[:3], ["b", "a", "b"], classes=["b", "a", "z"])
    np.testing.assert_array_equal(table.y_train, [0, 1, 0])
    assert is_noted(table.notes, "No train row has the class z")
    assert features(X[:3], [0, 1, 0], classes=["ä".encode(), b"\xff"]).classes == ("ä", "\ufffd")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([5.0, 7, 7, 5, 9, 9], ("5", "7", "9")),
        ([[3], [3], [4], [4], [4], [3]], ("3", "4")),
    ],
)
def test_other_numbers_are_mapped_and_said_so(labels, classes):
    table = features(X, labels)
    assert table.classes == classes
    assert is_noted(table.notes, "sorted order")
    np.testing.assert_array_equal(
        [classes[code] for code in table.y_train], [str(int(value)) for value in np.ravel(labels)]
    )


def test_bad_rows_are_named_or_counted_with_all_other_problems():
    bad = X.copy()
    bad[1, 0], bad[4, 1], bad[5] = np.nan, np.inf, 1e300
    with pytest.raises(DataError) as caught:
        features(bad, Y)
    assert "row 1 is not finite in columns 0" in str(caught.value)
    assert "row 4 is not finite in columns 1" in str(caught.value)
    assert "row 5 is not finite in columns 0, 1" in str(caught.value)
    refuses("5000 rows that are not finite", features, np.full((5000, 2), np.nan), None)
    bad = X.copy()
    bad[0, 0] = np.nan
    with pytest.raises(DataError) as caught:
        features(bad, Y[:3], X[:, :1], None)
    assert len(str(caught.value).splitlines()) == 3


BAD: dict[str, tuple[tuple[Any, ...], str]] = {
    "vector": ((X[:, 0], Y), r"two dimensions, .* got shape \(6,\)"),
    "images": ((np.zeros((6, 4, 4)), Y), "load_images"),
    "empty": ((np.zeros((0, 3)), []), "at least one row"),
    "words": ((X.astype(str), Y), "must hold numbers"),
    "complex": ((X.astype(complex), Y), "must hold numbers"),
    "ragged objects": ((np.array([[1, None]] * 6, dtype=object), Y), "must hold numbers"),
    "one class": ((X, np.zeros(6)), "at least two classes"),
    "one class of two declared": (
        (X, np.zeros(6, int), None, None, ["a", "b"]),
        "at least two classes",
    ),
    "fractions": ((X, Y + 0.5), "rows 0, 1"),
    "infinite label": ((X, [0, 1, np.inf, 0, 1, 0]), "rows 2"),
    "missing label": ((X, [0, 1, np.nan, 0, 1, 0]), "no label in rows 2"),
    "missing word": (
        (X, np.array(["a", None, "b", "a", "b", ""], dtype=object)),
        "no label in rows 1, 5",
    ),
    "hundreds of digits": ((X, [10**400, 1] * 3), "whole numbers or words"),
    "mixed labels": ((X, np.array(["a", 1, "b", "a", "b", 2], dtype=object)), "not both"),
    "one-hot": ((X, np.eye(6)), "one label per row"),
    "too few labels": ((X, Y[:4]), "each of the 6 rows of x_train; got 4"),
    "width": ((X, Y, X[:, :1], Y), "as many columns as x_train, 2; got 1"),
    "test labels only": ((X, Y, None, Y), "without x_test"),
    "too few test labels": ((X, Y, X, Y[:1]), "each of the 6 rows of x_test; got 1"),
    "unknown test label": ((X, Y, X, [0, 1, 2, 0, 3, 9]), r"3, 9 \(rows 4, 5\)"),
    "test labels of another kind": ((X, Y, X[:2], ["a", "b"]), r"a, b \(rows 0, 1\)"),
    "beyond declared": ((X, Y, None, None, ["a", "b"]), "got 2"),
    "repeated classes": ((X, Y, None, None, ["a", "b", "a"]), "differ from each other"),
    "undeclared word": ((X, ["a", "b", "q"] * 2, None, None, ["a", "b"]), "got q"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays_are_refused_with_the_reason(case):
    arguments, message = BAD[case]
    refuses(message, features, *arguments)


@given(
    st.lists(st.integers(-5, 5) | st.sampled_from([10**6, 2**40]), min_size=2, max_size=30)
    | st.lists(
        st.text(min_size=1, max_size=5).filter(lambda word: "\0" not in word),
        min_size=2,
        max_size=30,
    )
)
def test_labels_survive_the_mapping_in_their_order(labels):
    hypothesis.assume(len(set(labels)) > 1)
    table = features(np.zeros((len(labels), 1)), labels)
    assert [table.classes[code] for code in table.y_train] == list(map(str, labels))
    assert table.classes == tuple(map(str, sorted(set(labels))))
