"""AdaDPS: preconditioned norms and clipped sums against brute force, and what the scaling may
depend on."""

import dataclasses

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract.cases import case_for, classifier_of, per_row_gradients, small_split
from pillar_core import rng
from pillar_core.engine.mixed import (
    gradient_second_moment,
)
from pillar_core.errors import DataError
from pillar_core.methods import METHODS
from pillar_core.methods.public_gradients.adadps import AdaDpsSettings, public_scaling
from pillar_core.splits import split_features

N, D, C = 40, 6, 3


def case():
    generator = rng.stream(2, "adadps case")
    z = torch.from_numpy(generator.standard_normal((N, D)).astype(np.float32))
    labels = torch.from_numpy(generator.integers(C, size=N))
    weights, root = (
        torch.from_numpy(generator.standard_normal((C, D)).astype(np.float32)) for _ in range(2)
    )
    return z, labels, weights, root.abs() + 0.1


def test_the_second_moment_is_of_minibatch_means_and_a_large_conditioner_is_dp_sgd():
    z, labels, weights, _ = case()
    rows = per_row_gradients(z, labels, weights)
    wanted = torch.stack(
        [rows[start : start + 16].mean(0).square() for start in range(0, N, 16)]
    ).mean(0)
    np.testing.assert_allclose(
        gradient_second_moment(z, labels, weights, batch_size=16).numpy(),
        wanted.numpy(),
        rtol=1e-4,
        atol=1e-7,
    )
    z, labels, weights, _ = case()
    rows = per_row_gradients(z, labels, weights).flatten(1)
    for conditioner, least in ((None, 1.05), (1e-5, 1.5)):
        root = public_scaling(AdaDpsSettings(conditioner=conditioner), z, labels, weights)
        scaled = (root.flatten() * rows).square().sum(1).mean()
        assert float(scaled) == pytest.approx(float(rows.square().sum(1).mean()), rel=1e-4)
        assert float(root.max() / root.min()) > least
    flat = public_scaling(AdaDpsSettings(conditioner=1e6), z, labels, weights)
    np.testing.assert_allclose(flat.numpy(), 1.0, atol=1e-4)
    changes = {"noise_multiplier": 1.0, "steps": 3, "learning_rate": 0.5}
    split = small_split()
    own = classifier_of("adadps", split, conditioner=1e6, **changes)
    plain = classifier_of("dp_sgd", split, bias=False, batch_size=None, **changes)
    x = split.features.x_test
    np.testing.assert_allclose(own.scores(x), plain.scores(x), atol=1e-4)


def test_a_refresh_of_several_steps_keeps_the_scaling_and_unlabelled_rows_are_refused():
    case_of = case_for(METHODS["adadps"], steps=2)
    often, _ = case_of.fit(case_of.view)
    seldom, _ = dataclasses.replace(
        case_of, settings=dataclasses.replace(case_of.settings, refresh=2)
    ).fit(case_of.view)
    assert not np.array_equal(often.classifier.weights, seldom.classifier.weights)
    features = small_split().features
    other = dataclasses.replace(features, y_train=None)
    with pytest.raises(DataError, match="labelled public rows"):
        pc.run("adadps", split_features(features, public=other), epsilon=1.0)
