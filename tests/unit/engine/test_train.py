"""The closed-form engine against per-example gradients, written out and by Opacus."""

import warnings

import numpy as np
import pytest
import torch

from pillar_core import rng
from pillar_core.engine import Head, HeadPlan, clipped_sum, train_heads
from pillar_core.ledger import Ledger, event_counts
from pillar_core.rng import Streams


def rows(n=64, k=7, classes=4, seed=0):
    generator = rng.stream(seed, "engine test")
    z = torch.from_numpy(generator.standard_normal((n, k)).astype(np.float32))
    y = torch.from_numpy(generator.integers(0, classes, n))
    weights = torch.from_numpy(generator.standard_normal((2, classes, k)).astype(np.float32))
    bias = torch.from_numpy(generator.standard_normal((2, classes)).astype(np.float32))
    return z, y, weights, bias


def brute_force(z, y, weights, bias, clip):
    """Per-example gradients by automatic differentiation, in float64, clipped and summed one by
    one."""
    sums = [
        torch.zeros_like(weights, dtype=torch.float64),
        torch.zeros(len(weights), dtype=torch.float64),
    ]
    for row, label in zip(z.double(), y, strict=True):
        w = weights.double().clone().requires_grad_()
        b = (
            torch.zeros(len(weights), dtype=torch.float64)
            if bias is None
            else bias.double().clone()
        )
        b.requires_grad_(bias is not None)
        torch.nn.functional.cross_entropy((w @ row + b)[None], label[None]).backward()
        parts = [w.grad, b.grad if bias is not None else torch.zeros_like(b)]
        norm = torch.sqrt(sum(part.square().sum() for part in parts))
        for position, part in enumerate(parts):
            sums[position] += part * min(1.0, clip / float(norm))
    return sums


@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize("clip", [0.05, 0.8, 50.0])
def test_clipped_sum_is_the_sum_of_clipped_gradients(with_bias, clip):
    z, y, weights, bias = rows()
    clips = torch.tensor([clip, 2 * clip])
    total, bias_total = clipped_sum(
        z, z.square().sum(1), y, weights, bias if with_bias else None, clips
    )
    for head in range(2):
        expected, expected_bias = brute_force(
            z, y, weights[head], bias[head] if with_bias else None, float(clips[head])
        )
        scale = float(expected.abs().max())
        np.testing.assert_allclose(total[head].double(), expected, atol=1e-5 * scale)
        if with_bias:
            np.testing.assert_allclose(bias_total[head].double(), expected_bias, atol=1e-5 * scale)


def test_no_row_exceeds_the_clip_norm_and_rows_that_overflow_contribute_nothing():
    z, y, weights, bias = rows(n=500)
    clip = torch.tensor([0.3, 0.3])
    for row in range(len(z)):
        one = slice(row, row + 1)
        total, bias_total = clipped_sum(z[one], z[one].square().sum(1), y[one], weights, bias, clip)
        norms = torch.sqrt(
            total.double().square().sum((1, 2)) + bias_total.double().square().sum(1)
        )
        assert bool((norms <= clip.double()).all())
    z, y, weights, bias = rows(n=3)
    z[1] = 1e38
    total, bias_total = clipped_sum(
        z, z.square().sum(1), y, weights, bias, torch.tensor([1.0, 1.0])
    )
    keep = torch.tensor([0, 2])
    expected, _ = clipped_sum(
        z[keep], z[keep].square().sum(1), y[keep], weights, bias, torch.tensor([1.0, 1.0])
    )
    assert bool(torch.isfinite(total).all() and torch.isfinite(bias_total).all())
    torch.testing.assert_close(total, expected)


def test_the_sum_equals_opacus_per_sample_gradients_clipped_and_summed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.grad_sample import GradSampleModule

    z, y, weights, bias = rows(n=200, k=30, classes=10)
    layer = torch.nn.Linear(30, 10)
    with torch.no_grad():
        layer.weight.copy_(weights[0])
        layer.bias.copy_(bias[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus' hooks warn about their own use of torch
        module = GradSampleModule(layer, loss_reduction="sum")
        torch.nn.functional.cross_entropy(module(z), y, reduction="sum").backward()
    per_row = [layer.weight.grad_sample, layer.bias.grad_sample]
    norms = torch.sqrt(sum(part.flatten(1).square().sum(1) for part in per_row))
    factors = (1.0 / norms).clamp(max=1.0)
    expected = [torch.einsum("n,n...->...", factors, part) for part in per_row]
    total, bias_total = clipped_sum(
        z, z.square().sum(1), y, weights[:1], bias[:1], torch.tensor([1.0])
    )
    scale = float(expected[0].abs().max())
    torch.testing.assert_close(total[0].float(), expected[0], rtol=0, atol=1e-5 * scale)
    torch.testing.assert_close(bias_total[0].float(), expected[1], rtol=0, atol=1e-5 * scale)


def test_a_step_is_gradient_descent_by_the_public_size_and_every_one_is_charged():
    z, y, _, _ = rows(n=50)
    plan = HeadPlan(
        steps=3, learning_rate=0.5, noise_multiplier=0.0, l2_clip_norm=1e6, n_private=50
    )
    (weights, bias), *_ = train_heads(
        z.numpy(), y.numpy(), [Head(plan, Streams(0), Ledger())], n_classes=4
    )
    layer = torch.nn.Linear(7, 4)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.5)
    for _ in range(3):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(z), y).backward()
        optimiser.step()
    np.testing.assert_allclose(weights, layer.weight.detach().T, atol=2e-5)
    np.testing.assert_allclose(bias, layer.bias.detach(), atol=2e-5)
    z, y, _, _ = rows(n=50)
    heads, ledgers = [], [Ledger(), Ledger()]
    for ledger, nominal in zip(ledgers, (50, 100), strict=True):
        plan = HeadPlan(
            steps=1, learning_rate=1.0, noise_multiplier=0.0, l2_clip_norm=1.0, n_private=nominal
        )
        heads.append(Head(plan, Streams(0), ledger))
    (first, _), (second, _) = train_heads(z.numpy(), y.numpy(), heads, n_classes=4)
    np.testing.assert_allclose(first, 2 * second, rtol=1e-6)
    assert [sum(event_counts(ledger.total_event).values()) for ledger in ledgers] == [1, 1]


def test_momentum_accumulates_released_gradients():
    z, y, _, _ = rows(n=50)
    base = {
        "learning_rate": 0.1,
        "noise_multiplier": 0.0,
        "l2_clip_norm": 1e6,
        "n_private": 50,
        "steps": 4,
    }
    heads = [
        Head(HeadPlan(**base, momentum=momentum), Streams(0), Ledger()) for momentum in (0.0, 0.9)
    ]
    (slow, _), (fast, _) = train_heads(z.numpy(), y.numpy(), heads, n_classes=4)
    layer = torch.nn.Linear(7, 4)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
    for _ in range(4):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(z), y).backward()
        optimiser.step()
    np.testing.assert_allclose(fast, layer.weight.detach().T, atol=2e-5)
    assert np.linalg.norm(fast) > np.linalg.norm(slow)


@pytest.mark.parametrize("classes", [2, 10])
def test_one_ordinary_row_moves_a_long_sum_by_no_more_than_the_clip_norm(classes):
    """Rows that a float32 accumulator at 2¹² would absorb: one row fewer in front, and every one of
    them would count."""
    large, small = 4096, 45_000
    scale = 0.9
    z = torch.zeros((large + small, 2))
    z[:large, 0] = scale
    z[large:, 0] = -scale * 2.0**-12
    y = torch.zeros(len(z), dtype=torch.int64)
    weights = torch.zeros((1, classes, 2))
    clip = torch.tensor([1.0])
    whole, _ = clipped_sum(z, z.square().sum(1), y, weights, None, clip)
    without, _ = clipped_sum(z[1:], z[1:].square().sum(1), y[1:], weights, None, clip)
    assert float(torch.linalg.vector_norm(whole - without)) <= 1.0


def test_a_row_without_a_finite_norm_adds_nothing_to_any_kernel():
    from pillar_core.engine.mixed import clipped_difference_sum, preconditioned_sum

    z, y, weights, _ = rows(n=6)
    z[2] = 1e30
    squared = z.square().sum(1)
    heavy = weights * 1e20
    total = clipped_difference_sum(
        z, squared, y, heavy, torch.tensor([1.0, 1.0]), torch.ones_like(weights)
    )
    assert bool(torch.isfinite(total).all())
    assert bool(
        torch.isfinite(
            preconditioned_sum(z, y, heavy[0], torch.full_like(heavy[0], 1e10), l2_clip_norm=1.0)
        ).all()
    )
