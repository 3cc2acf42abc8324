"""The closed-form engine against torch's own descent, and what a step is divided by and charged."""

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract.tapes import Recorder
from pillar_core import rng
from pillar_core.engine import Head, HeadPlan, clipped_sum, gradient, train, train_heads
from pillar_core.ledger import Ledger, event_counts
from pillar_core.rng import Streams
from pillar_core.splits import view
from pillar_core.splits.transform import LateRows


def rows():
    generator = rng.stream(0, "engine test")
    z = torch.from_numpy(generator.standard_normal((50, 7)).astype(np.float32))
    return z, torch.from_numpy(generator.integers(0, 4, 50))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_steps_without_noise_are_torchs_gradient_descent(momentum):
    z, y = rows()
    plan = HeadPlan(4, 0.1, 0.0, 1e6, 50, momentum=momentum)
    [(weights, bias)] = train_heads(
        z.numpy(), y.numpy(), [Head(plan, Streams(0), Ledger())], n_classes=4
    )
    layer = torch.nn.Linear(7, 4)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimiser = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=momentum)
    for _ in range(4):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(layer(z), y).backward()
        optimiser.step()
    np.testing.assert_allclose(weights, layer.weight.detach().T, atol=2e-5)
    np.testing.assert_allclose(bias, layer.bias.detach(), atol=2e-5)


def test_a_step_is_divided_by_the_public_size_and_charged():
    z, y = rows()
    heads, ledgers = [], [Ledger(), Ledger()]
    for ledger, nominal in zip(ledgers, (50, 100), strict=True):
        plan = HeadPlan(
            steps=1, learning_rate=1.0, noise_multiplier=0.0, l2_clip_norm=1.0, n_private=nominal
        )
        heads.append(Head(plan, Streams(0), ledger))
    (first, _), (second, _) = train_heads(z.numpy(), y.numpy(), heads, n_classes=4)
    np.testing.assert_allclose(first, 2 * second, rtol=1e-6)
    assert [sum(event_counts(ledger.total_event).values()) for ledger in ledgers] == [1, 1]


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
    whole = clipped_sum(z, z.square().sum(1), y, weights, clip)
    without = clipped_sum(z[1:], z[1:].square().sum(1), y[1:], weights, clip)
    assert float(torch.linalg.vector_norm(whole - without)) <= 1.0


def test_a_long_pass_over_rows_sums_the_same(monkeypatch):
    """In smaller parts: terms are exact in float64, and the logits of one kernel or another differ
    by a float32 rounding at most."""
    z = torch.sin(torch.arange(4096.0 * 64)).view(4096, 64)
    y = torch.arange(4096) % 10
    weights = torch.cos(torch.arange(640.0)).view(1, 10, 64)
    arguments = (z, gradient.squared_lengths(z), y, weights, torch.tensor([0.5]))
    rows, short = gradient.part_rows(z, 10), clipped_sum(*arguments)
    monkeypatch.setattr(gradient, "LONG_PASS", 0)
    assert gradient.part_rows(z, 10) < rows
    torch.testing.assert_close(clipped_sum(*arguments), short, rtol=0, atol=4096 * 2.0**-24)


def test_wide_batches_may_grow_from_step_to_step():
    """A place that numpy looks at takes no larger batch."""
    rows = gradient.SUM_FLOATS // 512
    z, y = np.full((4 * rows, 512), 0.01, np.float32), np.arange(4 * rows) % 2
    sizes = iter([rows + 1, 3 * rows, 2 * rows, 4 * rows])

    class Growing(Recorder):
        def choose(self, probability, n_rows, draw):
            return np.arange(next(sizes))

    plan = HeadPlan(
        4,
        learning_rate=1.0,
        noise_multiplier=1.0,
        l2_clip_norm=1.0,
        n_private=len(z),
        batch_size=rows,
    )
    train_heads(z, y, [Head(plan, Streams(0), Ledger(Growing()))], n_classes=2)
    assert next(sizes, None) is None


@pytest.mark.parametrize(("batch_size", "bias"), [(None, True), (None, False), (300, True)])
def test_a_batch_is_the_same_in_parts_and_whole(batch_size, bias, monkeypatch):
    generator = rng.stream(0, "rows in parts")
    z, y = generator.standard_normal((500, 300), dtype=np.float32), generator.integers(0, 5, 500)
    plan = HeadPlan(3, 0.1, 0.0, 1.0, 500, batch_size=batch_size, bias=bias)

    def weights():
        return train_heads(z, y, [Head(plan, Streams(0), Ledger())], n_classes=5)[0]

    whole = weights()
    monkeypatch.setattr(train, "CHUNK_FLOATS", 0)
    monkeypatch.setattr(train, "MOST_WIDE", 0)
    monkeypatch.setattr(train, "LEAST_WIDE", 0)
    assert train.wide_rows_at_once(torch.zeros((1, 5, 300))) == 32
    for parts, at_once in zip(weights(), whole, strict=True):
        np.testing.assert_allclose(parts, at_once, rtol=0, atol=1e-6)


def test_a_release_needs_no_rows_whole(monkeypatch):
    split = pc.split(pc.load_dataset("spiked_features", n=500, d=20, C=3), public_fraction=0.1)
    monkeypatch.setattr(view, "MOST_KEPT", 0)

    def refuse(_rows):
        raise AssertionError("all rows at once")

    monkeypatch.setattr(LateRows, "whole", property(refuse))
    pc.run("pillar", split, epsilon=1.0, seed=None)
    with pytest.raises(AssertionError, match="all rows"):
        pc.run("pillar", split, epsilon=1.0, seed=0)
