"""Membership scores against brute force, closed forms and scikit-learn; LiRA against normal
densities; individual privacy by hand."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm
from sklearn.metrics import log_loss

from pillar_core import rng
from pillar_core.auditing import (
    HeadRows,
    ReleaseTape,
    Rows,
    canary_scores,
    individual_mu,
    lira,
    membership,
    trajectory,
)
from pillar_core.engine import Head, HeadPlan, train_heads
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.ledger import Ledger
from pillar_core.rng import Streams
from users import raises

FEW = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


@given(FEW, FEW)
def test_auc_is_the_share_of_pairs_in_order(members, others):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in members for b in others]
    # Sums of halves below 2^53 are exact; one division.
    assert membership.auc(np.array(members), np.array(others)) == pytest.approx(
        np.mean(pairs), abs=1e-12
    )


def test_clopper_pearson_is_the_beta_quantile():
    rate = membership.clopper_pearson(7, 30)
    assert (rate.low, rate.high) == pytest.approx(
        (beta.ppf(0.025, 7, 24), beta.ppf(0.975, 8, 23)), rel=1e-9
    )
    assert membership.clopper_pearson(0, 5).low == 0.0
    assert membership.clopper_pearson(5, 5).high == 1.0


def test_a_band_holds_the_whole_true_curve_as_often_as_it_says():
    """Normal scores one apart: the true ROC is Φ(1 + Φ⁻¹(x)). Scored four times a row, the same
    scores give a wider band."""
    grid = np.linspace(0.001, 0.999, 500)
    truth, inside, widths = norm.cdf(1 + norm.ppf(grid)), [], []
    for draw in (rng.stream(seed, "band") for seed in range(300)):
        members, others = 1 + draw.standard_normal(900), draw.standard_normal(1000)
        rates, low, high = membership.roc_band(members, others)
        below = low[np.maximum(np.searchsorted(rates, grid, side="right") - 1, 0)] * (
            grid >= rates[0]
        )
        above = high[np.minimum(np.searchsorted(rates, grid), len(rates) - 1)]
        inside.append((below <= truth).all() and (truth <= above).all())
        widths.append((above - below).mean())
    assert np.mean(inside) >= 0.86  # of 300 at 95 %: fewer with probability 7e-10
    assert max(widths) < 0.25  # a band that holds everything says nothing
    wider = membership.roc_band(members, others, repeats=4)
    assert wider[2].mean() > high.mean()
    assert [len(membership.roc_band(members, others[:count])[0]) for count in (19, 40)] == [1, 9]


def test_losses_and_low_rates_never_flag_more_than_allowed():
    scores = rng.stream(2, "scores").standard_normal((9, 4))
    y = np.arange(9) % 4
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert membership.log_losses(scores, y).mean() == pytest.approx(log_loss(y, shares), rel=1e-12)
    own = shares[np.arange(9), y]
    found = lira.confidences(torch.eye(4)[None], HeadRows.of(scores, y), bias=False)[0]
    assert found == pytest.approx(
        np.log(own / (1 - own)), abs=1e-5
    )  # float32 scores of size below 4
    others, members = np.arange(100.0), np.array([98.5, 99.5, 97.0, 50.0])
    assert membership.tpr_at_fpr(members, others, false_positive_rate=0.01).value == 0.5
    assert membership.tpr_at_fpr(members, others, false_positive_rate=0.0).value == 0.25
    with pytest.raises(SettingError):
        membership.tpr_at_fpr(members, others, false_positive_rate=math.nan)


def test_lira_is_the_ratio_of_normal_densities_and_pooled_needs_few_shadow_models():
    generator = rng.stream(3, "lira")
    included = np.repeat([[True], [False]], 40, axis=0).repeat(3, axis=1)
    shadows = generator.standard_normal((80, 3)) + 2.0 * included
    target = np.array([2.0, 0.0, 1.0])
    inside, outside = shadows[included].reshape(40, 3), shadows[~included].reshape(40, 3)
    wanted = norm.logpdf(target, inside.mean(0), inside.std(0, ddof=1)) - norm.logpdf(
        target, outside.mean(0), outside.std(0, ddof=1)
    )
    assert lira.online(target, shadows, included) == pytest.approx(wanted, rel=1e-9)
    assert lira.offline(target, shadows, included) == pytest.approx(
        (target - outside.mean(0)) / outside.std(0, ddof=1), rel=1e-9
    )
    with pytest.raises(DataError):
        lira.online(target, shadows, np.ones_like(included))
    # Where hard rows move more, eight models come near the ideal likelihood ratio; one by one,
    # rows' own moments do not.
    generator, n = rng.stream(5, "pooled"), 4000
    hardness = generator.random(n)
    shift, spread = 0.2 + hardness, 0.5 + hardness
    included = np.concatenate([half := generator.random((4, n)) < 0.5, ~half])
    shadows = -4 * hardness + shift * included + spread * generator.standard_normal((8, n))
    is_member = generator.random(n) < 0.5
    target = -4 * hardness + shift * is_member + spread * generator.standard_normal(n)
    ideal = (target + 4 * hardness - shift / 2) * shift / spread**2

    def reached(scores):
        return membership.auc(scores[is_member], scores[~is_member])

    few = reached(lira.pooled(target, shadows, included))
    # 2,000 scores a side: the standard error of either AUC is below 0.01, of their difference far
    # below, the rows being the same
    assert few > reached(lira.online(target, shadows, included)) + 0.02
    assert few > reached(ideal) - 0.02
    with pytest.raises(DataError):
        lira.pooled(target, shadows, np.ones_like(included))


PLAN = HeadPlan(
    steps=3,
    learning_rate=0.7,
    noise_multiplier=2.0,
    l2_clip_norm=0.5,
    n_private=20,
    momentum=0.3,
    bias=True,
    weight_decay=0.1,
)


def test_of_one_noisy_sum_all_steps_are_as_strong_as_the_gaussian_curve_allows():
    """Orthogonal rows whose gradients are all clipped: normal scores, independent, one σ apart."""
    plan = dataclasses.replace(PLAN, steps=1, momentum=0.0, bias=False, noise_multiplier=1.0)
    rows, stream = Rows.of(np.eye(400), np.arange(400) % 2), rng.stream(7, "one noisy sum")
    included = lira.halves(40, 400, stream)
    _, ratios = lira.train_shadows(rows, included, plan, n_classes=2, stream=stream)
    # 8,000 scores a side: 6 standard errors; with noise a quarter larger alarms lie 13 away
    for chosen, share in ((included, 0.5), (~included, norm.sf(1.0))):
        away = (ratios[chosen] > 0.5).mean() - share
        assert abs(away) < 6 * math.sqrt(share * (1 - share) / 8000)


def trained(plan=PLAN):
    """Rows, the tape of one real training run (T, C, k + 1), and its weights and bias."""
    z, y = rng.stream(4, "rows").standard_normal((20, 5)).astype(np.float32), np.arange(20) % 3
    tape = ReleaseTape()
    [head] = train_heads(z, y, [Head(plan, Streams(1), Ledger(tape))], n_classes=3)
    return Rows.of(z, y), torch.stack(tape.released), head


def test_the_trajectory_of_a_real_run_is_found_again_and_poisson_runs_are_refused():
    rows, released, (weights, bias) = trained()
    final = trajectory.states(released[:, None], PLAN)[-1][0]
    # float32 sums in another order: a few units in the last place of numbers near 1
    np.testing.assert_allclose(final[:, :5].T, weights, atol=1e-5)
    np.testing.assert_allclose(final[:, 5], bias, atol=1e-5)
    sampled = dataclasses.replace(PLAN, batch_size=5)
    raises(UnsupportedError, "full batches", individual_mu, released, rows, sampled)


def test_individual_mu_is_the_root_of_summed_squares_by_autograd():
    rows, released, _ = trained()
    squares = np.zeros(20)
    for state in trajectory.states(released[:, None], PLAN)[:-1]:
        for i in range(20):
            leaf = state[0].clone().requires_grad_(True)
            logits = leaf[:, :5] @ rows.z[i] + leaf[:, 5]
            torch.nn.functional.cross_entropy(logits[None], rows.y[i : i + 1]).backward()
            squares[i] += min(float(leaf.grad.norm()), 0.5) ** 2
    # float32 gradients: relative error below 1e-5
    np.testing.assert_allclose(
        individual_mu(released, rows, PLAN), np.sqrt(squares) / (2.0 * 0.5), rtol=1e-4
    )


def test_canary_scores_are_standard_normal_without_the_canary_and_shifted_by_mu_with_it():
    plan = HeadPlan(
        steps=4, learning_rate=1e-3, noise_multiplier=2.0, l2_clip_norm=1.0, n_private=20, bias=True
    )
    z, y = rng.stream(5, "rows").standard_normal((20, 5)).astype(np.float32), np.arange(20) % 3
    rows, canary = Rows.of(z, y), Rows.of(np.full((1, 5), 100.0), np.array([2]))
    both = np.concatenate([z, canary.z.numpy()]), np.concatenate([y, [2]])
    scores = []
    for seed, (x, labels) in enumerate(((z, y), both)):
        tapes = [ReleaseTape() for _ in range(400)]
        heads = [
            Head(plan, Streams(1000 * seed + run), Ledger(tape)) for run, tape in enumerate(tapes)
        ]
        train_heads(x, labels, heads, n_classes=3)
        released = torch.stack([torch.stack(tape.released) for tape in tapes], dim=1)
        scores.append(
            canary_scores(
                released,
                canary,
                plan,
                without=lambda state: trajectory.clipped_gradient(rows, state, plan),
            )
        )
    # 400 normals: 6 standard errors of the mean are 0.3, 6.5 of the standard deviation 0.23; μ =
    # √4/2 = 1.
    assert abs(scores[0].mean()) < 0.3
    assert abs(scores[1].mean() - 1.0) < 0.3
    assert all(abs(values.std() - 1.0) < 0.23 for values in scores)
