"""Splits and the preprocessing that public rows decide."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pillar_core as pc
from pillar_core import rng
from pillar_core.errors import DataError, SettingError
from pillar_core.memo import Memo
from pillar_core.splits import (
    Transform,
    public_basis,
    split_features,
    unused_labels,
    view_of,
)
from pillar_core.splits import view as view_module
from pillar_core.types import FeatureSet, PublicUse
from users import is_noted, raises, refuses


def blobs(n=120, d=6, classes=3, seed=0):
    generator = rng.stream(seed, "split test")
    y = np.arange(n) % classes
    x = (generator.standard_normal((n, d)) + y[:, None]).astype(np.float32)
    return FeatureSet(x, y, x[:20] + 1, y[:20], tuple("abc"[:classes]))


@given(st.floats(0.01, 0.9), st.floats(0, 0.9), st.integers(0, 5))
def test_every_row_has_one_role(fraction, validation, seed):
    split = split_features(
        blobs(), public_fraction=fraction, validation_fraction=validation, seed=seed
    )
    roles = np.concatenate([split.private, split.validation])
    assert len(np.unique(roles)) == len(roles)
    assert len(roles) + len(split.public_x) == 120
    assert set(split.public_y) == {0, 1, 2}


def test_public_rows_have_one_source_and_are_exactly_as_many_by_class():
    with pytest.raises(SettingError, match="public_fraction and public_per_class"):
        split_features(blobs(), public_fraction=0.1, public_per_class=1)
    for bad in (0.0, 1.0, -0.1, float("nan")):
        raises(SettingError, "public_fraction", split_features, blobs(), public_fraction=bad)
    split = split_features(blobs(), public_per_class=4)
    np.testing.assert_array_equal(np.bincount(split.public_y), [4, 4, 4])
    refuses("class 'a' has 40 rows", split_features, blobs(), public_per_class=41)
    first, again, other = (
        split_features(blobs(), public_fraction=0.2, seed=seed) for seed in (0, 0, 1)
    )
    assert first.fingerprint == again.fingerprint != other.fingerprint


def test_other_public_sets_keep_labels_only_with_the_same_classes():
    own, other = blobs(), blobs(seed=1)
    reordered = FeatureSet(other.x_train, other.y_train, None, None, ("c", "b", "a"))
    split = split_features(own, public=reordered)
    np.testing.assert_array_equal(split.public_y, 2 - other.y_train)
    strangers = FeatureSet(other.x_train, other.y_train, None, None, ("x", "y", "z"))
    assert split_features(own, public=strangers).public_y is None
    with pytest.raises(DataError, match="needs labelled public rows"):
        view_of(split_features(own, public=strangers), PublicUse.LABELLED)
    with pytest.raises(DataError, match="public rows have 4 features and private rows 6"):
        split_features(own, public=blobs(d=4))


def test_duplicates_between_public_and_private_are_refused():
    own = blobs()
    with pytest.raises(DataError, match=r"bit by bit, private rows.*allow the overlap"):
        pc.split(own, public=FeatureSet(own.x_train[:3], own.y_train[:3], None, None, own.classes))
    assert len(pc.split(own, public=own, allow_overlap=True).public_x) == 120


def test_labels_of_other_names_are_said_to_be_unused_first():
    own = blobs()
    public = FeatureSet(own.x_train + 1, own.y_train % 2, None, None, ("0", "1"))
    named = dataclasses.replace(own, classes=tuple("abcdefghij"[: own.n_classes]))
    told = [
        note
        for note in pc.split(named, public=public).notes
        if note.startswith("The public set's labels are not used: ")
    ]
    assert "its classes are 0, 1, and the private ones a, b" in told[0]
    assert unused_labels(("b", "a"), ("a", "b")) == ""


@pytest.mark.parametrize(
    ("d", "count", "is_refused"), [(4, 2, False), (4, 20, True), (40, 1, True)]
)
def test_few_rows_of_few_numbers_are_equal_by_chance(d, count, is_refused):
    own, other = blobs(d=d), np.random.default_rng(1).normal(size=(100, d)).astype(np.float32)
    other[:count] = own.x_train[:count]
    public = FeatureSet(other, None, None, None, ())
    if is_refused:
        refuses("bit by bit, private rows", pc.split, own, public=public)
    else:
        assert is_noted(
            pc.split(own, public=public).notes, f"{count} of 100 public rows equal private ones"
        )


LEARNERS = (
    *(
        "dp_sgd",
        "pillar",
        "gep",
        "dp_pca",
        "pillar_one_shot",
        "dp_ls",
        "dp_fc",
        "adamix",
        "adamix_theory",
        "pda_dpmd",
        "dope_sgd",
        "ppgd",
    ),
    *("only_public", "prototypes"),
)


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("centre", [False, True])
@pytest.mark.parametrize("rows", [4, 60])
def test_the_basis_is_the_principal_subspace(standardise, centre, rows):
    x = blobs(n=rows).x_train
    basis = public_basis(x, standardise=standardise, centre=centre)
    prepared = x.astype(np.float64)
    if centre:
        prepared = prepared - prepared.mean(axis=0)
    if standardise:
        prepared = prepared / x.astype(np.float64).std(axis=0)
    _, singular, right = np.linalg.svd(prepared, full_matrices=False)
    rank = int((singular**2 > 1e-6 * singular[0] ** 2).sum())
    assert basis.rank == rank
    np.testing.assert_allclose(basis.eigenvalues, singular[:rank] ** 2 / rows, rtol=1e-4)
    for k in (1, rank):  # directions are free in sign: projectors are compared
        np.testing.assert_allclose(
            basis.vectors[:, :k] @ basis.vectors[:, :k].T, right[:k].T @ right[:k], atol=1e-4
        )
    refuses(f"at most {rank}", basis.transform, rank + 1, normalise=False)


def test_a_projection_needs_public_rows_that_differ():
    with pytest.raises(DataError, match="all equal"):
        public_basis(np.ones((5, 3), dtype=np.float32), standardise=True, centre=True)
    refuses("needs public rows", pc.run, "pillar", pc.split(blobs()), epsilon=1.0)
    with pytest.raises(DataError, match="standardise and centre need public rows"):
        pc.run("dp_sgd", pc.split(blobs()), epsilon=1.0, standardise=True)
    assert pc.run("dp_sgd", pc.split(blobs()), epsilon=1.0).settings["standardise"] is False
    split = split_features(blobs(), public_fraction=0.2)
    assert view_of(split, PublicUse.UNLABELLED).y_public is None
    assert view_of(split, PublicUse.LABELLED).y_public is not None


def test_folded_and_cached_transforms_equal_the_direct_ones():
    x = blobs().x_train
    basis = public_basis(x[:40], standardise=True, centre=True)
    z = basis.transform(3, normalise=True)(x)
    steps = ((x - basis.mean) / basis.scale) @ basis.vectors[:, :3]
    np.testing.assert_allclose(z, steps / np.linalg.norm(steps, axis=1, keepdims=True), atol=1e-5)
    split = split_features(blobs(), public_fraction=0.4)
    view = view_of(split, PublicUse.UNLABELLED)
    for k in (2, 5, 1):
        prepared = view.prepare(standardise=True, centre=True, normalise=True, k=k)
        np.testing.assert_allclose(
            prepared.z, prepared.transform(split.features.x_train[split.private]), atol=1e-6
        )


def test_private_rows_are_projected_on_more_directions_only_as_k_grows_and_to_the_same_bits(
    monkeypatch,
):
    split = split_features(blobs(), public_fraction=0.4)
    alone = {}
    for k in (1, 3, 2, 5):
        fresh = dataclasses.replace(view_of(split, PublicUse.UNLABELLED), memo=Memo())
        alone[k] = fresh.prepare(standardise=None, centre=None, normalise=False, k=k).z
    monkeypatch.setattr(view_module, "FIRST_WIDTH", 2)
    view, made = view_of(split, PublicUse.UNLABELLED), []
    project = Transform.rows
    monkeypatch.setattr(
        Transform,
        "rows",
        lambda self, x, indices: (
            (made.append(self.projection.shape[1]) if indices is not None else None),
            project(self, x, indices),
        )[1],
    )
    for k in (1, 3, 2, 5):
        prepared = view.prepare(standardise=None, centre=None, normalise=False, k=k)
        np.testing.assert_array_equal(prepared.z, alone[k])
    assert made == [2, 2, 2]  # of the rank, 6: directions 1 and 2, 3 and 4, 5 and 6


def test_rows_are_standardised_only_where_public_columns_have_units_of_their_own():
    generator = rng.stream(0, "units")
    y = np.arange(200) % 2
    x = (generator.standard_normal((200, 30)) + y[:, None]).astype(np.float32)
    for unit, expected in ((1.0, False), (30.0, True)):
        rows = x.copy()
        rows[:, 3] *= unit
        split = pc.split(FeatureSet(rows, y, rows[:20], y[:20], ("a", "b")), public_fraction=0.2)
        for method in LEARNERS:
            settings = pc.run(
                method, split, epsilon=None if method == "only_public" else 1.0
            ).settings
            assert (settings["standardise"], settings["centre"]) == (expected, True)
