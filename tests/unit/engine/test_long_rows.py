"""Logits of long rows: rounding hangs on how many rows there are, so what one row adds must not
hang on rounding."""

import itertools
import math

import numpy as np
import pytest
import torch

from pillar_core.engine.gradient import clipped_sum, squared_lengths
from pillar_core.engine.halfspaces import clipped_joint_sum, hinge, ramp
from pillar_core.engine.mixed import clipped_difference_sum, head_residuals
from pillar_core.methods.closed_form.pillar_kalman import Features, residual_sum

CLIP = 0.3


@pytest.fixture(autouse=True)
def two_threads():
    """They part the rows, and so decide which rows stand at an end."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("reference", [False, True, None])
@pytest.mark.parametrize("k", [40, 512])
def test_a_row_that_leaves_moves_long_rows_sums_by_one_clip_norm(k, reference):
    """3,000 rows of norm 1e8 at right angles to the weights: their logits were pure rounding, and
    one row less, or a zero row in front, turned others: the sum moved by up to 2 clip norms more
    than one row may move it."""
    generator = torch.Generator().manual_seed(3000)
    weights = torch.randn(1, 10, k, generator=generator)
    within = torch.linalg.qr(weights[0].T.double())[0]
    away = torch.randn(k, dtype=torch.float64, generator=generator)
    away -= within @ (within.T @ away)
    z = (1e8 * away / away.norm()).float().repeat(3000, 1)

    def total(rows):
        labels, clip = torch.zeros(len(rows), dtype=torch.int64), torch.tensor([CLIP])
        if reference is None:
            residuals, norms = (
                head_residuals(rows, labels, weights[0]),
                torch.linalg.vector_norm(rows, dim=1, dtype=torch.float64),
            )
            factors = CLIP / (
                torch.linalg.vector_norm(residuals, dim=0, dtype=torch.float64) * norms
            ).clamp(min=CLIP)
            return (residuals * factors) @ rows.double()
        if reference:
            return clipped_difference_sum(
                rows, squared_lengths(rows), labels, weights, clip, torch.zeros_like(weights)
            )
        return clipped_sum(rows, squared_lengths(rows), labels, weights, clip)

    every = total(z)
    # Logits of rows of norm 1e4 are off by about 1e-2 in float32, and few rows stand where another
    # kernel takes them.
    assert float((total(torch.cat([torch.zeros(1, k), z])) - every).norm()) <= 0.01 * CLIP
    assert float((total(z[1:]) - every).norm()) <= 1.01 * CLIP


def kalman_sum(z, labels, weights):
    features = Features(z, np.zeros((1, z.shape[1])), z.shape[1], None)
    return residual_sum(features, squared_lengths(z), labels, weights[0].T.numpy(), CLIP)


def plain_sum(z, labels, weights):
    return clipped_sum(z, squared_lengths(z), labels, weights, torch.tensor([CLIP]))


@pytest.mark.parametrize("kernel", [plain_sum, kalman_sum])
@pytest.mark.parametrize("length", [1e3, 1e6, 1e9, 1e20])
def test_a_row_that_leaves_moves_a_steep_heads_sum_by_one_clip_norm(length, kernel):
    """Weights along directions that no row has, as a small ridge makes them: every logit was
    rounding, and one row turned others."""
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(60, 60, dtype=torch.float64, generator=generator))[0]
    z = torch.nn.functional.normalize(
        torch.randn(12, 6, dtype=torch.float64, generator=generator) @ basis[:6]
    ).float()
    weights = (
        length * torch.randn(1, 10, 54, dtype=torch.float64, generator=generator) @ basis[6:]
    ).float()
    labels = torch.arange(12) % 10
    sums = [kernel(z[:n], labels[:n], weights) for n in range(1, 13)]
    assert max(
        float((after - before).norm()) for before, after in itertools.pairwise(sums)
    ) <= CLIP * (1 + 1e-6)


@pytest.mark.parametrize("reference", [None, 0.0])
def test_a_longer_row_turns_no_others(reference):
    """Sums of products that climb to 32 and fall lose what is below half of their last bit, in all
    of 15,000 equal rows. Whether the longest row is twice as long decided whether products were
    float64: that one row moved the sum by two clip norms.
    """
    products = torch.zeros(1024, dtype=torch.float64)
    products[:509], products[509:1020] = (
        32896.625 * 2.0**-19,
        -32766.875 * 2.0**-19,
    )  # a sum in [16, 32) keeps no eighths of 2⁻¹⁹
    weights = (torch.stack([products, -products]) * 32).float()[None]
    assert 63 < float(weights[0, 0].norm()) < 64
    rows = torch.full((15_000, 1024), 1 / 32)
    clip = torch.tensor([0.75])

    def total(part):
        labels = torch.ones(len(part), dtype=torch.int64)
        if reference is None:
            return clipped_sum(part, squared_lengths(part), labels, weights, clip)
        return clipped_difference_sum(
            part, squared_lengths(part), labels, weights, clip, torch.full_like(weights, reference)
        )

    before = total(rows)
    rows[0] = 0
    without = total(rows)
    rows[0] = 2 / 32
    assert float((before - without).norm()) <= 0.75 * 1.001
    assert float((total(rows) - without).norm()) <= 0.75 * 1.001


@pytest.mark.parametrize(
    ("loss", "kink"), [(ramp(0.3), 0.3), (hinge(2.0), 0.5)], ids=["ramp", "hinge"]
)
def test_a_row_that_leaves_turns_no_others_where_a_slope_jumps(loss, kink):
    """Equal rows at the jump: in float32 the margins' last bit hung on how many rows there are, and
    one row less moved the sum by 3,000 clip norms. Margins hit the jump to 1e-8 by chance alone,
    and that chance in each step was no part of δ.
    """
    generator = torch.Generator().manual_seed(0)
    for _ in range(12):
        weights = torch.nn.functional.normalize(torch.randn(1, 1, 10, generator=generator), dim=-1)
        along, row = (
            weights[0, 0].double(),
            torch.randn(10, dtype=torch.float64, generator=generator),
        )
        across = torch.nn.functional.normalize(row - along * (row @ along), dim=0)
        z = (kink * along + math.sqrt(1 - kink**2) * across).float()
        for n in (100, 1000, 3000):
            rows, signs, clip = z.repeat(n, 1), torch.ones(1, n), torch.tensor([1.0])
            every = clipped_joint_sum(rows, squared_lengths(rows), signs, weights, loss, clip)
            fewer = clipped_joint_sum(
                rows[1:], squared_lengths(rows[1:]), signs[:, 1:], weights, loss, clip
            )
            assert float((every - fewer).norm()) <= 1.0
