"""Why PILLAR Kalman works: the tables say what the run did, and follow the theory where it is
exact."""

import dataclasses

import numpy as np
import pytest

import pillar_core as pc
from contract.cases import small_split
from pillar_core.studies import one_training
from pillar_core.types import RunSpec


def reasons(epsilon, **settings):
    split = small_split(n=1200, d=12)
    found = one_training.reasons(RunSpec.of("pillar_kalman", epsilon=epsilon, **settings), split)
    assert found is not None
    return split, found


def test_the_tables_are_of_the_run_itself_and_expect_the_noise_and_more():
    split, found = reasons(0.5)
    record = pc.run("pillar_kalman", split, epsilon=0.5)
    assert found.accuracies[1] == record.accuracy
    np.testing.assert_array_equal(
        found.distilled["after"], np.linalg.norm(record.classifier.weights, axis=1)
    )
    assert list(found.prior["direction"]) == list(range(1, record.settings["k"] + 1))
    undistilled = pc.run(
        "pillar_kalman", split, epsilon=0.5, distillation=0.0
    )  # with noise of its own
    assert not np.array_equal(
        found.distilled["before"], np.linalg.norm(undistilled.classifier.weights, axis=1)
    )
    _, found = reasons(0.5)
    assert (found.prior["expected"] > found.prior["noise"]).all()
    one = pc.run("pillar_kalman", small_split(n=1200, d=12), epsilon=0.5)
    rest = 1 - 0.05  # what the check leaves, at its dearest
    std = one.settings["noise_multiplier"] / np.sqrt(0.3 * rest) * np.sqrt(2 / 3)
    assert found.prior["noise"].iloc[0] == pytest.approx(std**2)
    assert any(
        note.startswith(f"Effective dimension {found.effective:.1f} of ") for note in one.notes
    )


def test_less_noise_is_believed_further_and_without_distillation_the_head_stays():
    believed = {epsilon: reasons(epsilon, k=10)[1] for epsilon in (0.2, 2.0, np.inf)}
    assert believed[0.2].effective < believed[2.0].effective < believed[np.inf].effective <= 10
    for found in believed.values():
        assert (found.believed["all"] >= found.believed["first"]).all()
        assert found.believed[["first", "all"]].stack().between(0, 1).all()
    _, found = reasons(1.0, distillation=0.0)
    np.testing.assert_array_equal(found.distilled["before"], found.distilled["after"])
    split = small_split(n=3000, d=60)
    far = np.random.default_rng(0).standard_normal((400, 60)).astype(np.float32)
    other = dataclasses.replace(split, public_x=far, public_y=None)
    assert one_training.reasons(RunSpec.of("pillar_kalman", epsilon=0.5, k=10), other) is None
