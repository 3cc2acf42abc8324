"""A newcomer's optimiser: DP-Adam in ten lines, as private as DP-SGD, with the batched grid; and a
step that cheats is refused."""

import dataclasses

import numpy as np
import pytest
import torch

from contract import checks
from contract.cases import case_for
from pillar_core.engine import Head, HeadPlan, per_head, train_heads
from pillar_core.ledger import Ledger, event_counts
from pillar_core.methods import METHODS
from pillar_core.methods.parts import descent
from pillar_core.rng import Streams


def adam(settings, together, state):
    """Adam (Kingma & Ba 2015, Algorithm 1) on noisy mean gradients: post-processing of what DP-SGD
    releases."""
    plans = [descent.plan_of(one, together.view.facts) for one in settings]
    rates, rows = (
        per_head([getattr(plan, name) for plan in plans], state)
        for name in ("learning_rate", "expected_rows")
    )
    first, second = torch.zeros_like(state), torch.zeros_like(state)

    def step(number, state, noisy_sum):
        gradient = noisy_sum(state) / rows
        first.lerp_(gradient, 0.1)
        second.lerp_(gradient.square(), 0.001)
        return state - rates * (first / (1 - 0.9 ** (number + 1))) / (
            (second / (1 - 0.999 ** (number + 1))).sqrt() + 1e-8
        )

    return step


def dp_adam(optimiser=adam):
    fit_many = descent.fit_many_with(
        descent.all_features, descent.PREPROCESSING, optimiser=optimiser
    )
    return dataclasses.replace(METHODS["dp_sgd"], name="dp_adam", fit_many=fit_many)


@pytest.mark.parametrize("sampled", [False, True])
def test_it_keeps_the_contract(sampled):
    checks.keeps_the_contract(case_for(dp_adam(), sampled=sampled))


def test_without_noise_it_is_adam():
    case = case_for(dp_adam(), noise_multiplier=0.0, l2_clip_norm=1e6, steps=5, learning_rate=0.05)
    result, _ = case.fit(case.view)
    prepared = descent.all_features(case.settings, case.view, Streams(0))
    layer = torch.nn.Linear(prepared.z.shape[1], case.view.facts.n_classes, bias=False)
    torch.nn.init.zeros_(layer.weight)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(5):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(
            layer(torch.from_numpy(prepared.z)), torch.from_numpy(case.view.y)
        ).backward()
        optimiser.step()
    # Where a gradient is near zero, float32 rounding decides how much of a step is taken: a tenth
    # of one step of 0.05 is allowed.
    np.testing.assert_allclose(
        result.classifier.weights, layer.weight.detach().numpy().T, atol=5e-3
    )


def test_a_step_that_looks_twice_spends_more_than_was_declared():
    def greedy(settings, together, state):
        return lambda number, state, noisy_sum: state - (noisy_sum(state) + noisy_sum(state)) / 1000

    with pytest.raises(AssertionError):
        checks.declared_is_spent(case_for(dp_adam(greedy)))


@pytest.mark.parametrize("batch_size", [None, 10])
def test_every_noisy_sum_is_charged(batch_size):
    z, y = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)).numpy(), np.arange(50) % 2
    plan, ledger = HeadPlan(4, 0.1, 1.0, 1.0, 50, batch_size=batch_size), Ledger()

    def every_other(positions, state):
        return lambda number, state, noisy_sum: state - noisy_sum(state) if number % 2 else state

    train_heads(z, y, [Head(plan, Streams(0), ledger)], n_classes=2, optimiser=every_other)
    assert sum(event_counts(ledger.total_event).values()) == 2
