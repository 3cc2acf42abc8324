"""GEP: bases, embeddings and residuals against brute force on the full gradients, and against the
official code's numbers."""

import json
import math

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract.cases import per_row_gradients, small_split
from contract.tapes import Recorder
from pillar_core import rng
from pillar_core.engine.mixed import head_residuals
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger, event_counts
from pillar_core.methods import METHODS
from pillar_core.methods.public_subspace.gep import AnchorBasis, embedded_sums, part_factors
from pillar_core.runs.run import solve
from pillar_core.subspace import anchor_coefficients, rank_one_gram

N, M, D, C, K = 60, 25, 7, 4, 5


def case():
    generator = rng.stream(1, "gep case")
    z, anchors = (
        torch.from_numpy(generator.standard_normal((rows, D)).astype(np.float32)) for rows in (N, M)
    )
    labels, drawn = (torch.from_numpy(generator.integers(C, size=rows)) for rows in (N, M))
    weights = torch.from_numpy(generator.standard_normal((C, D)).astype(np.float32))
    return z, labels, anchors, drawn, weights


def basis_of(anchors, drawn, weights, k=K):
    residuals = head_residuals(anchors, drawn, weights)
    coefficients = anchor_coefficients(
        rank_one_gram(residuals, (anchors.double() @ anchors.double().T).numpy()), k
    )
    return AnchorBasis(residuals, anchors, torch.from_numpy(coefficients)), coefficients


def test_the_basis_spans_the_anchors_top_directions_and_is_zero_past_their_rank():
    _, _, anchors, drawn, weights = case()
    gradients = per_row_gradients(anchors, drawn, weights).flatten(1).numpy()
    _, coefficients = basis_of(anchors, drawn, weights)
    v = gradients.T @ coefficients
    _, _, right = np.linalg.svd(gradients, full_matrices=False)
    # float32 residuals (6e-8) in gradients of norm about 4; the projector's error is that over the
    # relative eigengap, above 0.02.
    np.testing.assert_allclose(v @ v.T, right[:K].T @ right[:K], atol=1e-4)
    np.testing.assert_allclose(v.T @ v, np.eye(K), atol=1e-5)
    generator = rng.stream(0, "rank")
    g = generator.standard_normal((6, 2)) @ generator.standard_normal((2, 9))
    coefficients = anchor_coefficients(g @ g.T, 4)
    assert (coefficients[:, 2:] == 0).all()
    np.testing.assert_allclose(np.linalg.norm(g.T @ coefficients, axis=0), [1, 1, 0, 0], atol=1e-9)


@pytest.mark.parametrize(
    ("embedding_clip", "residual_clip"), [(1.0, 0.2), (0.3, 1.5), (100.0, 100.0)]
)
def test_sums_are_those_of_per_row_gradients(embedding_clip, residual_clip):
    z, labels, anchors, drawn, weights = case()
    basis, coefficients = basis_of(anchors, drawn, weights)
    embedding, residual = embedded_sums(
        z,
        z.square().sum(1),
        (z @ anchors.T).double(),
        labels,
        weights,
        basis,
        embedding_clip=embedding_clip,
        residual_clip=residual_clip,
    )
    gradients, of_anchors = (
        per_row_gradients(*rows, weights).flatten(1).numpy()
        for rows in ((z, labels), (anchors, drawn))
    )
    v = of_anchors.T @ coefficients
    inside = gradients @ v
    outside = gradients - inside @ v.T
    wanted_inside = inside * np.minimum(1, embedding_clip / np.linalg.norm(inside, axis=1))[:, None]
    wanted_outside = (
        outside * np.minimum(1, residual_clip / np.linalg.norm(outside, axis=1))[:, None]
    )
    np.testing.assert_allclose(embedding.numpy(), wanted_inside.sum(0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(
        residual.numpy().ravel(), wanted_outside.sum(0), atol=0.02 * min(residual_clip, 6) + 1e-3
    )


def test_a_row_almost_wholly_in_the_basis_moves_the_residual_by_no_more_than_its_clip_norm():
    """Its residual is what is left of two norms: in float32 it left with twice the clip norm, ε ≤ 1
    stated and 2.15 true."""
    d, share = 16_384, 6e-4
    generator = np.random.default_rng(693425)
    amplitudes = 1 + 0.02 * generator.standard_normal(d)
    top = np.abs(amplitudes) / np.linalg.norm(amplitudes)
    flat = top * np.where(np.arange(d) < 6275, 1, -1)
    flat -= (flat @ top) * top
    flat /= np.linalg.norm(flat)
    away = generator.standard_normal(d)
    away -= (away @ top) * top + (away @ flat) * flat
    public = np.stack([top + sign * 1.02e-3 * flat for sign in (-1, 1, -1, 1)]).astype(np.float32)
    row = math.sqrt(1 - share) * flat + math.sqrt(share) * away / np.linalg.norm(away)
    x = np.concatenate([generator.standard_normal((20, d)), row[None]]).astype(np.float32)
    tape = Recorder()
    for n in (21, 20):
        split = pc.split(
            pc.features(x[:n], np.arange(n) % 2, classes=["a", "b"]),
            public=pc.features(public, None),
        )
        settings = {
            "k": 2,
            "anchors": 4,
            "steps": 1,
            "learning_rate": 1.0,
            "l2_clip_norm": 0.1,
            "residual_clip_ratio": 0.01,
        }
        solved = solve(
            "gep", split, epsilon=1.0, seed=0, standardise=False, centre=False, **settings
        )
        solved.method.train(solved.settings, solved.view, solved.streams(0), Ledger(tape))
    (embedding, residual), (embedding_without, residual_without) = tape.values
    assert torch.linalg.vector_norm(embedding - embedding_without) <= 0.1
    assert torch.linalg.vector_norm(residual - residual_without) <= 0.1 * 0.01


def test_two_releases_a_step_are_charged_as_one_at_the_right_noise():
    record = pc.run("gep", small_split(), epsilon=2.0, steps=5, k=4, embedding_share=0.3)
    assert record.guarantee.epsilon.upper <= 2.0
    settings = METHODS["gep"].settings(noise_multiplier=3.0, steps=5, k=4, embedding_share=0.3)
    [(event, times)] = event_counts(METHODS["gep"].cost(settings, record.facts)).items()
    assert times == 5
    assert event.noise_multiplier == pytest.approx(3.0, rel=1e-12)
    first, second = 3.0 / math.sqrt(0.3), 3.0 / math.sqrt(0.7)
    assert 1 / first**2 + 1 / second**2 == pytest.approx(1 / event.noise_multiplier**2, rel=1e-12)


def test_more_directions_than_anchors_and_a_diverging_training_are_refused():
    with pytest.raises(DataError, match="k must be at most 10, the anchors"):
        pc.run("gep", small_split(), epsilon=1.0, k=11, anchors=10)
    with pytest.raises(DataError, match="Training diverged: lower the learning rate"):
        pc.run("gep", small_split(), epsilon=1.0, learning_rate=1e300)


def test_the_official_basis_and_clipped_means(shared):
    oracle = json.loads((shared / "oracles" / "gep_step.json").read_text())
    public, private = np.array(oracle["pub"]), np.array(oracle["priv"])
    [converged] = [one for one in oracle["cases"] if one["power_iter"] == 50]
    v = public.T @ anchor_coefficients(public @ public.T, len(oracle["L0"][0]))
    np.testing.assert_allclose(v @ v.T, np.array(converged["projector"]), atol=1e-6)
    inside = private @ v
    outside = private - inside @ v.T
    np.testing.assert_allclose(
        np.linalg.norm(inside, axis=1), converged["raw_embedding_norms"], rtol=1e-6
    )
    np.testing.assert_allclose(
        np.linalg.norm(outside, axis=1), converged["raw_residual_norms"], rtol=1e-6
    )
    clips = torch.tensor([oracle["clip0"], oracle["clip1"]], dtype=torch.float32)
    squared = torch.from_numpy((private**2).sum(1)).float()
    inner, outer = (
        factor.double().numpy()[:, None]
        for factor in part_factors(torch.from_numpy(inside).float(), squared, clips)
    )
    # A residual's norm is raised by up to 1e-6 · ‖g‖²/‖res‖²/2: here at most 37/2 · 1e-6, so 2e-5
    # of residuals clipped to 0.7.
    np.testing.assert_allclose(
        (outer * outside).mean(0), converged["avg_clipped_residual"], atol=1.5e-5
    )
    both = (inner * inside @ v.T + outer * outside).mean(0)
    np.testing.assert_allclose(both, converged["noiseless_reconstruction"], atol=1.5e-5)
