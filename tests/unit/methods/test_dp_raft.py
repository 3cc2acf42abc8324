"""DP-RAFT: momentum's path length, its rule for the step size, and the two learners' relation to
each other."""

import math

import numpy as np
import pytest

import pillar_core as pc
from contract.cases import classifier_of, small_split
from pillar_core.methods.parts.rules import effective_steps
from pillar_core.splits import split_features
from users import refuses


@pytest.mark.parametrize(("steps", "momentum"), [(1, 0.9), (7, 0.5), (20, 0.9), (5, 0.0)])
def test_effective_steps_are_the_path_length_of_unit_gradients(steps, momentum):
    position = velocity = 0.0
    for _ in range(steps):
        velocity = momentum * velocity + 1.0
        position += velocity
    assert effective_steps(steps, momentum) == pytest.approx(position)


def test_momentum_and_k_are_those_of_plain_descent_and_of_pillar():
    split = small_split()
    raft = pc.run("dp_raft_pillar", split, epsilon=1.0, k=4)
    plain = pc.run("pillar", split, epsilon=1.0, k=4, bias=False)
    assert raft.settings["steps"] == plain.settings["steps"]
    path_length = raft.settings["learning_rate"] * effective_steps(raft.settings["steps"], 0.9)
    assert path_length == pytest.approx(plain.settings["learning_rate"] * plain.settings["steps"])
    changes = {"epsilon": 1.0, "k": 4, "steps": 5, "learning_rate": 0.3}
    one, other = (classifier_of(name, split, **changes) for name in ("dp_raft", "dp_raft_pillar"))
    x = split.features.x_test
    np.testing.assert_array_equal(one.scores(x), other.scores(x))
    assert pc.run("dp_raft", split, epsilon=1.0).classifier.weights.shape[0] == split.features.d


def test_without_public_rows_it_runs_on_all_features_and_refuses_a_projection():
    split = split_features(small_split().features)
    assert math.isfinite(pc.run("dp_raft", split, epsilon=1.0).accuracy)
    refuses("public rows", pc.run, "dp_raft", split, epsilon=1.0, k=4)
    refuses("public rows", pc.run, "dp_raft_pillar", split, epsilon=1.0)
