"""What `print` shows of data: names, shapes and counts; never a row, a label or a private
number."""

import dataclasses

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.types import Dataset, FeatureSet, Provenance

ROW, LABEL = 0.123456, 987_654_321


def dataset() -> Dataset:
    x = np.full((30, 4), ROW, dtype=np.float32)
    y = np.full(30, LABEL)
    return Dataset(
        "clinic", x, y, x[:6], None, ("ill", "well"), stored_rows=("key",), known={"mean": ROW}
    )


def features() -> FeatureSet:
    x = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    x[:, 0] = ROW
    return FeatureSet(
        x,
        np.arange(40) % 2,
        x[:5],
        np.arange(5) % 2,
        ("ill", "well"),
        name="clinic",
        backbone="resnet50",
    )


@pytest.mark.parametrize("show", [str, repr])
def test_a_data_set_shows_names_and_shapes(show):
    text = show(dataset())
    assert str(ROW) not in text
    assert str(LABEL) not in text
    for word in (
        "Dataset",
        "clinic",
        "(30, 4) float32",
        "(6, 4)",
        "2 classes",
        "labelled",
        "unlabelled",
    ):
        assert word in text


@pytest.mark.parametrize("show", [str, repr])
def test_features_and_split_show_shapes_and_counts(show):
    text = show(features())
    assert all(
        word in text
        for word in ("FeatureSet", "clinic", "resnet50", "(40, 4) float32", "(5, 4)", "2 classes")
    )
    split = pc.split(features(), public_fraction=0.25, validation_fraction=0.1)
    about = show(split)
    assert all(
        word in about
        for word in (
            "clinic",
            f"{len(split.private)} private",
            f"{len(split.public_x)} public",
            "3 validation",
        )
    )
    assert str(ROW) not in text + about
    assert "array" not in text + about
    assert "[" not in text + about


@pytest.mark.parametrize("show", [str, repr])
def test_a_record_shows_what_was_promised_and_measured(split, show):
    record = pc.run("pillar", split, epsilon=1.0, k=8)
    text = show(dataclasses.replace(record, diagnostics={"clipped": (ROW, Provenance.NON_PRIVATE)}))
    assert all(
        word in text
        for word in ("pillar", "ε ≤", f"{record.accuracy:.3f}", f"{len(split.private)} private")
    )
    assert str(ROW) not in text
