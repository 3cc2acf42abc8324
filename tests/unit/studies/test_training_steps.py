"""A training seen step by step is the training: the heads are the trained ones, sums and noise add
up to what was released."""

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.errors import UnsupportedError
from pillar_core.studies.one_training import training_steps
from pillar_core.types import FeatureSet, RunSpec


def seen(split, *, k=20, epsilon=1.0):
    return training_steps(RunSpec.of("pillar", epsilon=epsilon, seed=0, k=k), split)


def test_steps_are_those_that_a_run_takes(split):
    found, record = seen(split), pc.run("pillar", split, epsilon=1.0, seed=0, k=20)
    assert np.array_equal(found.heads[-1], record.classifier.weights[:2].T)
    assert len(found.heads) == len(found.pushes) == record.settings["steps"]
    found = seen(split)
    for _, rows in found.opened.groupby("step"):
        of = rows.set_index("what")
        assert of.loc["the same, clipped", "length"] == pytest.approx(
            min(0.4, of.loc["one row's push", "length"]), rel=1e-4
        )
        parts = of.loc[["sum over all rows", "noise"], ["first", "second"]].sum()
        assert parts.to_numpy() == pytest.approx(
            of.loc["sum with noise: released", ["first", "second"]].to_numpy(dtype=float), rel=1e-6
        )
    few, many, private = (
        seen(split, **asked).pushes["noise"].mean()
        for asked in ({"k": 5}, {"k": 50}, {"k": 5, "epsilon": 0.1})
    )
    assert many / few == pytest.approx(
        np.sqrt(10), rel=0.15
    )  # the length of 10 times as many numbers, 50 of them at least
    assert private > 3 * few
    with pytest.raises(UnsupportedError, match="full batches"):
        training_steps(RunSpec.of("pillar", epsilon=1.0, seed=0, batch_size=64), split)


def test_a_class_without_private_rows_is_not_the_one_that_is_shown():
    """With two classes both heads are pushed alike, and the first one has no row to open."""
    generator = np.random.default_rng(0)
    public = FeatureSet(generator.standard_normal((50, 8)).astype(np.float32))
    rows = FeatureSet(
        generator.standard_normal((90, 8)).astype(np.float32),
        np.ones(90, dtype=np.int64),
        None,
        None,
        ("none", "all"),
    )
    assert (
        training_steps(RunSpec.of("pillar", epsilon=1.0), pc.split(rows, public=public)).pushed
        == "all"
    )
