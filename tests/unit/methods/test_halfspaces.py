"""Noisy halfspaces against gradients and losses written out, and the printed algorithm against
another accountant."""

import math

import numpy as np
import pytest
import torch
from dp_accounting import NeighboringRelation as TheirRelation
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant

import pillar_core as pc
from contract import checks
from contract.cases import case_for
from pillar_core import rng
from pillar_core.engine import halfspaces
from pillar_core.errors import SettingError
from pillar_core.events import ExponentialMechanismEvent, NonPrivateDpEvent, PureEvent
from pillar_core.ledger import Ledger, event_counts
from pillar_core.mechanisms.printed_noisy_sgd import PrintedNoisySgd, printed_event
from pillar_core.methods import METHODS
from pillar_core.rng import Streams
from pillar_core.runs.run import solve
from pillar_core.splits import split_features
from pillar_core.types import FeatureSet

LOSSES = {
    "logistic": halfspaces.logistic(),
    "hinge": halfspaces.hinge(4.0),
    "ramp": halfspaces.ramp(0.3),
}
MARGINS = torch.linspace(-1, 1, 20_001, dtype=torch.float64)


@pytest.mark.parametrize("name", list(LOSSES))
def test_slopes_are_derivatives_and_constants_are_bounds(name):
    loss = LOSSES[name]
    values = loss.value(MARGINS)
    step = float(MARGINS[1] - MARGINS[0])
    differences = (values[1:] - values[:-1]) / step
    slopes = loss.slope((MARGINS[1:] + MARGINS[:-1]) / 2) * loss.lipschitz
    kinks = (differences - slopes).abs() > 1e-3
    assert int(kinks.sum()) <= 2
    assert float(loss.slope(MARGINS).abs().max()) <= 1
    spread = float(values.max() - values.min())
    assert spread <= loss.spread * (1 + 1e-12)
    assert spread >= 0.99 * loss.spread


def test_the_logistic_loss_lies_where_the_pitfalls_say():
    values = LOSSES["logistic"].value(torch.tensor([1.0, -1.0], dtype=torch.float64))
    assert values.tolist() == pytest.approx([0.452, 1.895], abs=5e-4)


def rows(n=30, k=5, classes=3):
    generator = rng.stream(2, "halfspaces")
    z = generator.standard_normal((n, k))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    weights = generator.standard_normal((2, classes, k))
    return (
        z.astype(np.float32),
        np.arange(n) % classes,
        torch.from_numpy(weights.astype(np.float32)),
    )


@pytest.mark.parametrize("name", list(LOSSES))
def test_joint_sums_equal_per_row_gradients(name):
    z, y, weights = rows()
    loss, signs = LOSSES[name], halfspaces.targets(y, 3)
    clips = torch.tensor([0.8, 5.0])
    ours = halfspaces.clipped_joint_sum(
        torch.from_numpy(z), torch.ones(len(z)), signs, weights, loss, clips
    )
    for head in range(2):
        expected = torch.zeros((3, 5), dtype=torch.float64)
        for row, sign in zip(torch.from_numpy(z).double(), signs.T.double(), strict=True):
            w = weights[head].double().requires_grad_(True)
            (loss.value(sign * (w @ row)).sum() / loss.lipschitz).backward()
            expected += w.grad * min(1.0, float(clips[head]) / max(float(w.grad.norm()), 1e-12))
        torch.testing.assert_close(ours[head].double(), expected, atol=1e-4, rtol=1e-4)


def test_summed_losses_are_means_over_problems_and_two_classes_are_one():
    z, y, weights = rows()
    inside = halfspaces.into_ball(weights)
    assert float(inside.norm(dim=-1).max()) <= 1 + 1e-6
    ours = halfspaces.losses(z, y, inside, LOSSES["logistic"], n_classes=3)
    margins = np.einsum("mpk,nk->mpn", inside.numpy(), z) * halfspaces.targets(y, 3).numpy()
    np.testing.assert_allclose(ours, np.log2(1 + np.exp(-margins)).mean(1).sum(-1), rtol=1e-5)
    y = np.array([0, 1, 1])
    assert halfspaces.targets(y, 2).tolist() == [[-1, 1, 1]]
    weights = halfspaces.class_weights(np.array([[1.0, 2.0]]))
    np.testing.assert_array_equal(weights, [[-1, 1], [-2, 2]])


def binary_split(n=400, seed=0):
    generator = rng.stream(seed, "binary")
    mean = generator.standard_normal(10)
    y = np.arange(n) % 2
    x = ((2 * y[:, None] - 1) * mean + generator.standard_normal((n, 10))).astype(np.float32)
    return split_features(
        FeatureSet(x[: n // 2], y[: n // 2], x[n // 2 :], y[n // 2 :], ("no", "yes")),
        public_fraction=0.2,
    )


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_runs_and_choice_share_the_budget(relation):
    one = solve("pillar_noisy_sgd", binary_split(), epsilon=1.0, relation=relation)
    assert one.guarantee.epsilon.upper <= 1.0
    choice = [
        event for event in event_counts(one.cost) if isinstance(event, ExponentialMechanismEvent)
    ]
    assert [
        event.epsilon_add_remove if relation == "add_or_remove_one" else event.epsilon_replace_one
        for event in choice
    ] == [0.5]
    assert one.settings.steps * 3 == max(event_counts(one.cost).values())


def test_without_a_budget_the_choice_must_be_given():
    with pytest.raises(SettingError, match="choice_epsilon"):
        pc.run("pillar_noisy_sgd", binary_split(), noise_multiplier=1.0)


def test_the_choice_prefers_the_better_run():
    """Over six seeds of very noisy runs, an eager choice beats a blind one on the rows that it
    scores by."""
    accuracies = []
    for choice_epsilon in (1e6, 1e-6):
        case = case_for(
            METHODS["pillar_noisy_sgd"], noise_multiplier=30.0, choice_epsilon=choice_epsilon
        )
        x, y = checks.private_rows(case.view)
        accuracies.append(
            np.mean(
                [
                    (case.fit(case.view, seed=seed)[0].classifier.predict(x) == y).mean()
                    for seed in range(6)
                ]
            )
        )
    assert accuracies[0] > accuracies[1]


def printed_case(**changes):
    return pc.run(
        "pillar_noisy_sgd",
        binary_split(n=80),
        epsilon=2.0,
        preset="paper",
        failure_probability=0.5,
        **changes,
    )


def test_the_printed_algorithm_runs_on_few_rows_within_its_budget_and_says_what_many_take():
    record = printed_case()
    assert record.guarantee.epsilon.upper <= 2.0
    assert record.settings["steps"] == 32**2
    assert printed_case().accuracy == record.accuracy
    assert len(record.guarantee.events) == 2
    generator = rng.stream(0, "many")
    x = generator.standard_normal((5000, 4)).astype(np.float32)
    split = split_features(
        FeatureSet(x, np.arange(5000) % 2, None, None, ("a", "b")), public_fraction=0.1
    )
    with pytest.raises(SettingError, match="single-row steps"):
        pc.run("pillar_noisy_sgd", split, epsilon=1.0, preset="paper")


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_the_printed_noise_satisfies_another_accountant(epsilon):
    """n² draws of one row among n, replace-one sensitivity 2L·n against σ: dp-accounting's RDP
    bound stays below the printed ε."""
    n, delta = 100, 1e-5
    noise_multiplier = math.sqrt(32 * math.log(n / delta) * math.log(1 / delta)) / epsilon
    event = printed_event(noise_multiplier, n_private=n, delta=delta)
    assert isinstance(event, PureEvent)
    assert event.epsilon_replace_one == pytest.approx(epsilon)
    accountant = RdpAccountant(neighboring_relation=TheirRelation.REPLACE_ONE)
    step = dp_event.SampledWithoutReplacementDpEvent(
        n, 1, dp_event.GaussianDpEvent(noise_multiplier / 2)
    )
    accountant.compose(step, n * n)
    assert accountant.get_epsilon(delta) <= epsilon


def test_printed_steps_follow_the_printed_rule_and_charge_nothing_beyond_its_range():
    """Without noise to speak of, two slots (four steps) written out by hand."""
    z, signs = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0])
    loss = halfspaces.hinge(2.0)

    def slope(margin):
        return float(loss.slope(torch.tensor(margin)))

    streams = Streams(4)
    mechanism = PrintedNoisySgd(
        1e-9, 2, 1e-5, streams.secret("noise"), streams.secret("draws"), Ledger()
    )
    ours = mechanism.run(z, signs, slope, 2.0)
    noise, draws = Streams(4).secret("noise"), Streams(4).secret("draws")
    w = noise.standard_normal(2)
    w /= max(np.linalg.norm(w), 1.0)
    slots = (draws.random(3) * 2).astype(int)
    for t, slot in enumerate(slots, start=1):
        w = w - 4.0 * slope(signs[slot] * z[slot] @ w) * signs[slot] * z[slot] / math.sqrt(t * 16)
        w /= max(np.linalg.norm(w), 1.0)
    np.testing.assert_allclose(ours, w, atol=1e-6)
    # σ of the printed formula at ε = 9 and 12, δ = 1e-5, n = 1,000: the range ends at
    # 2√(2·log(2/δ)) = 9.88.
    at = {
        epsilon: math.sqrt(32 * math.log(1e8) * math.log(1e5)) / epsilon for epsilon in (9.0, 12.0)
    }
    assert isinstance(printed_event(at[9.0], n_private=1000, delta=1e-5), PureEvent)
    assert printed_event(at[12.0], n_private=1000, delta=1e-5) == NonPrivateDpEvent()
