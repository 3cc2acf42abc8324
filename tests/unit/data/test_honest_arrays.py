"""Arrays as people hand them over: names in a npz, sparse matrices, tensors, frames."""

import io

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch

import pillar_core as pc
from pillar_core.data import load
from pillar_core.data.partition import without_drawn_test
from pillar_core.data.raw import Roles
from unit.image_files import npz, sizes
from users import is_noted, refuses

X = np.arange(60, dtype=np.float32).reshape(20, 3) / 7
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        *(
            ("x_train", "y_train"),
            ("X_train", "y_train"),
            ("X", "y"),
            ("x", "y"),
            ("features", "labels"),
            ("data", "target"),
        ),
        *(
            ("embeddings", "labels"),
            ("embeddings", None),
            ("arr_0", "arr_1"),
            ("train_x", "train_y"),
            ("images", "label"),
        ),
    ],
)
def test_the_names_that_people_give_are_known_and_said(rows, labels):
    content = npz(**{rows: X} | ({labels: Y} if labels else {}))
    features = without_drawn_test(load(content, filename="a.npz"))
    np.testing.assert_array_equal(np.sort(features.x_train, axis=0), X)
    assert (features.y_train is None) == (labels is None)
    assert rows == "x_train" or is_noted(features.notes, rows)


def test_names_that_are_not_certain_are_asked_for_with_shapes():
    features = load(npz(X_train=X, y_train=Y, X_test=X[:4], y_test=Y[:4]), filename="a.npz")
    assert len(features.x_test) == 4
    content = npz(X=X, features=X, names=Y)
    refuses(r"features \(20, 3\).*keys=…", load, content, filename="a.npz")
    chosen = load(content, Roles(keys=("features", "names")), filename="a.npz")
    assert (*sizes(chosen), chosen.classes) == (16, 4, ("0", "1"))
    assert load(content, Roles(keys=("X", None)), filename="a.npz").y_train is None
    refuses("holds no rows", load, content, Roles(keys=("rows", None)), filename="a.npz")


@pytest.mark.parametrize("kind", ["csr", "csc", "coo"])
def test_a_sparse_file_holds_rows(kind):
    sparse = scipy.sparse.random(20, 50, density=0.1, format=kind, random_state=0)
    scipy.sparse.save_npz(out := io.BytesIO(), sparse)
    features = load(out.getvalue(), filename="bag.npz")
    np.testing.assert_allclose(features.x_train, sparse.toarray(), rtol=1e-6)
    assert is_noted(features.notes, "labels")


@pytest.mark.parametrize(
    "rows",
    [
        *(
            scipy.sparse.csr_matrix(X),
            torch.tensor(X, requires_grad=True),
            torch.tensor(X).double(),
        ),
        *(
            pd.DataFrame(X, columns=["a", "b", "c"]),
            pd.DataFrame(X, columns=["a", "b", "c"]).convert_dtypes(),
            X.tolist(),
        ),
    ],
    ids=["sparse", "with gradient", "double", "frame", "nullable", "lists"],
)
def test_rows_of_any_library_are_numbers(rows):
    np.testing.assert_allclose(pc.features(rows, Y).x_train, X, rtol=1e-6)


def test_short_floats_and_dummies_are_numbers_and_words_are_not():
    np.testing.assert_allclose(
        pc.features(torch.tensor(X).bfloat16(), torch.tensor(Y)).x_train, X, rtol=0.01
    )
    frame = pd.get_dummies(pd.DataFrame({"age": range(20), "sex": ["f", "m"] * 10}))
    assert pc.features(frame, Y).x_train[1].tolist() == [1.0, 0.0, 1.0]
    gaps = pd.DataFrame(
        {
            "a": pd.array([1, None] * 10, dtype="Int64"),
            "b": pd.array([True, False] * 10, dtype="boolean"),
        }
    )
    refuses("row 1 is not finite in columns 0", pc.features, gaps, Y)
    refuses("load_features", pc.features, pd.DataFrame({"sex": ["f", "m"] * 10}), Y)
