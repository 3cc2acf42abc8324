"""DP-PCA: the second moment and its sensitivity, the directions, and how the budget is shared."""

import math

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract.cases import small_split
from pillar_core import accounting, rng
from pillar_core.engine import exact
from pillar_core.errors import BudgetError
from pillar_core.events import GaussianRelease
from pillar_core.ledger import event_counts
from pillar_core.methods import METHODS
from pillar_core.methods.baselines.dp_pca import second_moment, top_directions
from pillar_core.splits import Transform, view_of
from pillar_core.types import PublicUse

SETTINGS = {"k": 3, "steps": 4}


def test_the_moment_is_that_of_clipped_rows_and_directions_its_top_eigenvectors():
    view = view_of(small_split(), PublicUse.NONE)
    x = view.x[view.rows].astype(np.float64)
    for normalise in (True, False):
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        rows = x / norms if normalise else x / np.maximum(norms, 1)
        moment = second_moment(view, Transform(normalise=normalise)).numpy() / exact.SUM_UNITS
        np.testing.assert_allclose(
            moment, rows.T @ rows, rtol=2e-3, atol=5e-3
        )  # rows lie 6e-4 inside the unit ball on purpose
    generator = rng.stream(0, "moment")
    g = generator.standard_normal((6, 6))
    moment = torch.from_numpy(
        (g @ np.diag([5, 4, 3, 2, 1, 0.5]) @ g.T + 0.1 * generator.standard_normal((6, 6))).astype(
            np.float32
        )
    )
    v = top_directions(moment, 2)
    symmetric = ((moment + moment.T) / 2).double().numpy()
    _, vectors = np.linalg.eigh(symmetric)
    np.testing.assert_allclose(v @ v.T, vectors[:, -2:] @ vectors[:, -2:].T, atol=1e-4)
    assert v[:, 0] @ symmetric @ v[:, 0] > v[:, 1] @ symmetric @ v[:, 1]


@pytest.mark.parametrize("share", [0.01, 0.25, 0.5])
@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_the_share_buys_what_it_says_and_both_compose_to_the_budget(share, relation):
    record = pc.run(
        "dp_pca", small_split(), epsilon=1.0, share=share, relation=relation, **SETTINGS
    )
    settings = METHODS["dp_pca"].settings(**record.settings)
    [moment] = [
        event
        for event in event_counts(METHODS["dp_pca"].cost(settings, record.facts))
        if isinstance(event, GaussianRelease)
    ]
    alone = accounting.epsilon(moment, delta=1e-5, relation=relation).upper
    assert share * 0.999 <= alone <= share
    assert 0.999 <= record.guarantee.epsilon.upper <= 1.0


def test_without_a_budget_the_share_is_of_the_whole_mu_and_a_dearer_moment_is_refused():
    facts = small_split().facts
    learner = METHODS["dp_pca"]
    settings = learner.resolve_schedule(
        learner.settings(noise_multiplier=2.0, share=0.6, **SETTINGS), facts, None
    ).settings
    descent = math.sqrt(4) / 2.0
    moment = 1 / settings.pca_noise_multiplier
    assert moment / math.hypot(moment, descent) == pytest.approx(0.6)
    with pytest.raises(BudgetError, match="epsilon of at least"):
        pc.run("dp_pca", small_split(), epsilon=0.1, pca_noise_multiplier=1.0, **SETTINGS)


def test_no_noise_finds_the_rows_own_components():
    split = small_split(n=400)
    record = pc.run("dp_pca", split, epsilon=math.inf, standardise=False, centre=False, **SETTINGS)
    x = split.features.x_train[split.private].astype(np.float64)
    rows = x / np.linalg.norm(x, axis=1, keepdims=True)
    _, vectors = np.linalg.eigh(rows.T @ rows)
    projection = record.classifier.transform.projection
    np.testing.assert_allclose(
        projection @ projection.T, vectors[:, -3:] @ vectors[:, -3:].T, atol=1e-3
    )
