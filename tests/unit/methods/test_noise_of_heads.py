"""What is said of the noise in a linear head's weights, against heads that were trained again."""

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import rng
from pillar_core.types import SemiPrivateSplit

ROW, CLASSES = np.array([[0.9, -0.4, 0.3, 0.2, -0.6, 0.1]]), 3


def rows_of_three() -> SemiPrivateSplit:
    draws = rng.stream(0, "three classes")
    y = draws.integers(0, CLASSES, 400)
    x = draws.standard_normal((400, 6)) + 0.7 * np.eye(6)[y]
    return pc.split(pc.features(x.astype(np.float32), y), public_fraction=0.25)


def ratio(method: str, seeds: int, **settings: object) -> float:
    """The variance over seeds of the noise in a row's score of a class, over what the law says; of
    an exact law a χ² of CLASSES · (seeds − 1) degrees of freedom, divided by their number."""
    split = rows_of_three()
    heads = [
        pc.run(method, split, epsilon=1.0, seed=seed, **settings).classifier
        for seed in range(seeds)
    ]
    scores = np.array([ROW[:, : len(head.weights)] @ head.weights for head in heads])
    (std,) = heads[0].noise_std(ROW[:, : len(heads[0].weights)])
    return float(scores.var(axis=0, ddof=1).mean() / std**2)


@pytest.mark.parametrize(("method", "settings"), [("dp_ls", {}), ("dp_raft", {"steps": 1})])
def test_the_noise_of_one_release_is_what_its_law_says(method, settings):
    # 447 degrees of freedom: 0.37 are 5.5 standard deviations, and (2/3)² and (3/2)² lie beyond.
    assert ratio(method, 150, **settings) == pytest.approx(1, abs=0.37)


@pytest.mark.parametrize("method", ["dp_raft", "pillar_kalman", "pillar_kalman_labelled", "adamix"])
def test_later_steps_leave_no_more_noise_than_is_said(method):
    assert ratio(method, 40) < 2  # 117 degrees of freedom, if no step took noise back


def test_a_rate_that_no_rule_chose_has_no_law_of_noise():
    record = pc.run("adamix", rows_of_three(), epsilon=1.0, learning_rate=0.1)
    assert record.classifier.noise_std is None
