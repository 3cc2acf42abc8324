"""Every kernel that clips: its sum is that of rows differentiated and clipped one by one, no row
exceeds its clip norm, and one that overflows adds nothing."""

import itertools
import math

import numpy as np
import pytest
import torch

from contract.cases import per_row_gradients
from pillar_core import rng
from pillar_core.engine.gradient import clipped_sum, squared_lengths, within_unit_ball
from pillar_core.engine.halfspaces import clipped_joint_sum, hinge, logistic, ramp
from pillar_core.engine.mixed import clipped_difference_sum, head_residuals, preconditioned_sum
from pillar_core.methods.closed_form.pillar_kalman import Features, residual_sum
from pillar_core.methods.public_subspace.gep import AnchorBasis, embedded_sums

D, C = 8192, 3
SMALLEST_CLIP = 1e-6
"""The lower end of l2_clip_norm. Rows as in `underflowing` moved a sum by 25 clip norms of 1e-9 in
few dimensions, and in these by 3,300 of 1e-9 and by 3.3 of 1e-6."""


def plain(z, labels, weights, clip):
    return clipped_sum(z, squared_lengths(z), labels, weights[None], torch.tensor([clip]))[0]


def with_bias(z, labels, weights, clip):
    squares, clips = squared_lengths(z) + 1, torch.tensor([clip])
    wide = torch.nn.functional.pad(z, (0, 1), value=1.0)
    return clipped_sum(
        wide, squares, labels, torch.nn.functional.pad(weights, (0, 1))[None], clips
    )[0]


def reference_of(weights):
    return -torch.ones_like(weights) / weights.numel() ** 0.5


def difference(z, labels, weights, clip):
    reference, clips = reference_of(weights)[None], torch.tensor([clip])
    return clipped_difference_sum(z, squared_lengths(z), labels, weights[None], clips, reference)[0]


def scaling_of(weights):
    return torch.linspace(0.5, 1.5, weights.numel()).view_as(weights)


def preconditioned(z, labels, weights, clip):
    return preconditioned_sum(z, labels, weights, scaling_of(weights), l2_clip_norm=clip)


def kalman(z, labels, weights, clip):
    features = Features(z, np.zeros((1, z.shape[1])), z.shape[1], None)
    return -residual_sum(features, squared_lengths(z), labels, weights.T.numpy(), clip)


def embedded(z, labels, weights, clip):
    anchor = torch.zeros((1, z.shape[1]))
    anchor[0, 0] = 1.0
    basis = AnchorBasis(
        torch.tensor([[1.0], [0.0], [0.0]]), anchor, torch.ones((1, 1), dtype=torch.float64)
    )
    return embedded_sums(
        z,
        squared_lengths(z),
        (z @ anchor.T).double(),
        labels,
        weights,
        basis,
        embedding_clip=clip,
        residual_clip=clip,
    )


def embedding(*given):
    return embedded(*given)[0]


def residual_of_embedding(*given):
    return embedded(*given)[1]


def halfspaces(z, labels, weights, clip):
    signs = torch.tensor([[1.0], [-1.0], [-1.0]]).expand(-1, len(z))
    return clipped_joint_sum(
        z, squared_lengths(z), signs, weights[None] / 1e3, logistic(), torch.tensor([clip])
    )


OF_ROWS = {
    plain: lambda rows, weights: rows[..., :-1],
    with_bias: lambda rows, weights: rows,
    difference: lambda rows, weights: rows[..., :-1] - reference_of(weights),
    preconditioned: lambda rows, weights: rows[..., :-1] * scaling_of(weights),
    kalman: lambda rows, weights: rows[..., :-1],
}
"""What each clips of a row's gradient (C, d + 1), the bias last."""
KERNELS = [*OF_ROWS, embedding, residual_of_embedding, halfspaces]


def ordinary():
    """(z, labels, weights) of forty ordinary rows."""
    generator = rng.stream(0, "clipped sums")
    z, weights = (
        torch.from_numpy(generator.standard_normal((count, 6)).astype(np.float32))
        for count in (40, C)
    )
    return z, torch.from_numpy(generator.integers(C, size=40)), weights


@pytest.mark.parametrize("kernel", OF_ROWS)
@pytest.mark.parametrize("clip", [0.05, 0.8, 50.0])
def test_a_sum_is_that_of_rows_differentiated_and_clipped_one_by_one(kernel, clip):
    z, labels, weights = ordinary()
    longer = (
        torch.cat([z, torch.ones(40, 1)], 1),
        labels,
        torch.cat([weights, torch.zeros(C, 1)], 1),
    )
    gradients = OF_ROWS[kernel](per_row_gradients(*longer), weights)
    norms = gradients.flatten(1).norm(dim=1)
    expected = (gradients * (clip / norms).clamp(max=1.0)[:, None, None]).sum(0)
    total = kernel(z, labels, weights, clip).double()
    torch.testing.assert_close(total, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("steepness", [1.0, 1e20])
def test_a_row_that_overflows_adds_nothing(kernel, steepness):
    z, labels, weights = ordinary()
    z[1] = 1e38
    others = torch.arange(40) != 1
    total = kernel(z, labels, steepness * weights, 1.0)
    torch.testing.assert_close(total, kernel(z[others], labels[others], steepness * weights, 1.0))


def level(d=D):
    """Equal entries, whose float32 sum of squares always rounds the same way."""
    for value in np.linspace(0.5, 1.5, 40):
        yield torch.full((1, d), float(value), dtype=torch.float32), torch.zeros((C, d))


def underflowing(d=D):
    """A row of 1e15 whose residuals are near 2.6e-23: their squares are 0 in float32, their
    gradient's norm is 3e-6."""
    z, weights = torch.full((1, d), 1e15), torch.zeros((C, d))
    weights[0, 0] = 52.0e-15
    yield z, weights


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("clip", [1.0, SMALLEST_CLIP])
@pytest.mark.parametrize("rows", [level, underflowing])
def test_one_row_stays_within_its_clip_norm(kernel, clip, rows):
    """float32 `vector_norm` of level rows is up to 1.2e-5 too small at d = 8,192, more than the
    guard of 1e-6."""
    for z, weights in rows():
        total = kernel(z, torch.zeros(1, dtype=torch.int64), weights, clip)
        assert float(torch.linalg.vector_norm(total.double())) <= float(np.float32(clip)) * (
            1 + 1e-12
        )


def test_squared_lengths_are_rounded_once():
    for z, _ in level():
        exact = float(z.double().square().sum())
        assert abs(float(squared_lengths(z)[0]) / exact - 1) <= 2.0**-23


@pytest.mark.parametrize("value", [1e-45, 1e-23, 1.0, 1e15, 3e38])
def test_the_unit_ball_holds_any_finite_row(value):
    rows = torch.full((2, D), value, dtype=torch.float32)
    norms = torch.linalg.vector_norm(within_unit_ball(rows), dim=1)
    assert bool((norms <= 1).all() and (norms > 0).all())
    assert not within_unit_ball(torch.tensor([[np.inf, 0.0], [np.nan, 1.0]])).any()


def cancelling(width, length, norm):
    """(ten classes' weights of this norm, a row of this length on which their logits cancel but for
    rounding)."""
    generator = np.random.default_rng(1)
    weights = generator.standard_normal((10, width))
    weights[:, 0] = 0
    base = generator.standard_normal(width)
    base[0] = 0
    weights = 0.05 * weights + np.where(np.arange(10) % 2, 1, -1)[:, None] * base
    weights *= norm / np.linalg.norm(weights, axis=1, keepdims=True)
    row = np.sign(base) * np.where(np.arange(width) % 2, 1, -1) * generator.uniform(0.9, 1, width)
    row[0] = 0
    row -= np.linalg.pinv(weights) @ (weights @ row)
    return weights, row * length / np.linalg.norm(row)


def test_the_departure_of_a_row_turns_no_others_by_rounding():
    """Twelve equal rows whose logits are what rounding leaves: float32 products of eleven round
    otherwise, and all of them turned."""
    weights, row = cancelling(8192, 9.9e3, 62)
    rows, labels = (
        torch.from_numpy(np.repeat(row[None], 12, 0).astype(np.float32)),
        torch.zeros(12, dtype=torch.int64),
    )
    heads = torch.from_numpy(weights.astype(np.float32))[None]
    sums = [
        clipped_sum(rows[:n], squared_lengths(rows[:n]), labels[:n], heads, torch.tensor([1.0]))
        for n in (12, 11)
    ]
    assert torch.linalg.vector_norm(sums[0] - sums[1]) <= 1


CLIP = 0.3
"""Of the tests below: logits of long rows are rounding, which hangs on how many rows there are, and
what one row adds must not hang on it."""


@pytest.fixture
def two_threads():
    """They part the rows, and so decide which rows stand at an end."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("reference", [False, True, None])
@pytest.mark.parametrize("k", [40, 512])
def test_a_row_that_leaves_moves_long_rows_sums_by_one_clip_norm(two_threads, k, reference):
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


@pytest.mark.parametrize("kernel", [plain, kalman])
@pytest.mark.parametrize("length", [1e3, 1e6, 1e9, 1e20])
def test_a_row_that_leaves_moves_a_steep_heads_sum_by_one_clip_norm(two_threads, length, kernel):
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
    sums = [kernel(z[:n], labels[:n], weights[0], CLIP) for n in range(1, 13)]
    assert max(
        float((after - before).norm()) for before, after in itertools.pairwise(sums)
    ) <= CLIP * (1 + 1e-6)


@pytest.mark.parametrize("reference", [None, 0.0])
def test_a_longer_row_turns_no_others(two_threads, reference):
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
def test_a_row_that_leaves_turns_no_others_where_a_slope_jumps(two_threads, loss, kink):
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
