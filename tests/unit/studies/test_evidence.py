"""Evidence on registered learners, and what choosing settings costs."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import torch

import pillar_core as pc
from pillar_core import rng
from pillar_core.accounting import TradeOff
from pillar_core.accounting.rdp import rate_of
from pillar_core.auditing import Finding, Rows, trajectory
from pillar_core.auditing.hypothesis_test import Counts
from pillar_core.errors import DataError, LedgerError, SettingError, UnsupportedError
from pillar_core.runs.run import solve
from pillar_core.studies import tuning
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence import one_run, verdict
from pillar_core.studies.evidence.attacks import Attack, CanaryAudit, rates_under
from pillar_core.studies.evidence.one_run import OneRunAudit
from pillar_core.types import RunSpec
from users import raises


@pytest.fixture(scope="module")
def split():
    return pc.split(pc.load_dataset("digits"), public_fraction=0.3)


def test_a_model_without_privacy_leaks_more_than_a_private_one(split):
    attacks = {
        epsilon: evidence.shadow_attacks(
            RunSpec.of("noisy_gd", epsilon=epsilon), split, count=24, targets=16, pool=400
        )
        for epsilon in (0.5, math.inf)
    }
    leaky, private = attacks[math.inf][0], attacks[0.5][0]
    # 6,400 scores a world pair: the AUC's standard error is below 0.0075.
    assert abs(private.auc - 0.5) < 0.05
    assert leaky.auc > private.auc + 0.05
    assert {attack.name for attack in attacks[0.5]} == {
        "LiRA, online",
        "LiRA, offline",
        "LiRA, pooled over rows",
        "loss threshold",
        "all steps, other rows known",
    }
    assert attacks[math.inf][-1].auc == 1.0  # who knows all else is sure where no noise hides a row


def test_the_loss_attack_and_stated_losses_are_of_the_rows(split):
    attack = evidence.loss_attack(pc.run("pillar", split, epsilon=1.0), split)
    assert (len(attack.members), len(attack.others)) == (
        split.facts.n_private,
        len(split.features.y_test),
    )
    rates = attack.rates()
    assert (rates["low"] <= rates["true_positive_rate"]).all()
    assert attack.roc()["false_positive_rate"].is_monotonic_increasing
    losses = one_run.individuals(RunSpec.of("noisy_gd", epsilon=2.0), split)
    assert losses.stated_epsilon <= 2.0
    assert losses.table["mu"].max() <= losses.stated_mu * (1 + 1e-6)
    assert losses.table["epsilon"].median() < losses.stated_epsilon
    assert list(losses.table["row"]) == list(split.private)


@pytest.mark.parametrize(
    "settings",
    [{}, {"k": 12}, {"k": 12, "adaptive_clip": False, "l2_clip_norm": 0.3}, {"projection": False}],
)
def test_adamix_rows_realise_what_its_projection_keeps(split, settings):
    losses = one_run.individuals(RunSpec.of("adamix", epsilon=2.0, steps=5, **settings), split)
    one = solve("adamix", split, epsilon=2.0, steps=5, **settings)
    assert losses.stated_mu == pytest.approx(math.sqrt(5) / one.settings.noise_multiplier)
    assert losses.table["mu"].max() <= losses.stated_mu * (1 + 1e-6)
    whole = one_run.individuals(
        RunSpec.of("adamix", epsilon=2.0, steps=5, **(settings | {"projection": False})), split
    )
    is_projected = settings.get("k") is not None
    # the first steps start from the same public head, so the same gradients are kept in part or
    # whole
    assert (losses.table["mu"].mean() < 0.9 * whole.table["mu"].mean()) == is_projected


def test_a_kept_norm_is_that_of_the_gradient_written_out():
    draws = rng.stream(0, "rows")
    rows = Rows.of(draws.standard_normal((9, 6)), np.arange(9) % 3)
    state = torch.from_numpy(draws.standard_normal((3, 6))).float()
    basis = torch.from_numpy(np.linalg.qr(draws.standard_normal((6, 2)))[0]).float()
    for clip, directions in ((0.4, basis), (50.0, basis), (0.4, None)):
        expected = []
        for z, label in zip(rows.z, rows.y, strict=True):
            residual = torch.softmax(state @ z, dim=0) - torch.nn.functional.one_hot(label, 3)
            gradient = torch.outer(residual, z)
            gradient = gradient * min(1.0, clip / float(gradient.norm()))
            expected.append(
                float((gradient if directions is None else gradient @ directions).norm())
            )
        norms = trajectory.kept_norms(rows, state, clip=clip, basis=directions)
        np.testing.assert_allclose(norms.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("method", "asked", "said"),
    [
        ("pillar_one_shot", {"epsilon": 1.0}, "descent"),
        ("dp_sgd", {"epsilon": 1.0, "batch_size": 100}, "full batches"),
        # what was told stayed that of a row removed, half of what is stated
        ("noisy_gd", {"epsilon": 1.0, "relation": "replace_one"}, "added or removed"),
        ("dp_sgd", {"epsilon": math.inf}, "lower ε"),
    ],
)
def test_learners_whose_steps_cannot_be_had_again_are_refused(split, method, asked, said):
    raises(UnsupportedError, said, one_run.individuals, RunSpec.of(method, **asked), split)


GRID = [{"learning_rate": rate, "steps": 5} for rate in (0.01, 5.0)]


def test_the_drawn_number_of_trials_follows_its_law():
    """20,000 draws: the mean within 6.5 standard errors of the declared one."""
    secret = rng.stream(0, "law")
    draws = np.array([tuning._trials(6.0, secret) for _ in range(20_000)])
    assert abs(draws.mean() - 6.0) < 6.5 * draws.std() / math.sqrt(len(draws))
    gamma = math.exp(-rate_of(6.0, tuning.SHAPE))
    least = (1 - gamma) / -math.log(gamma)
    # The share of the smallest count is binomial: 6.5 standard errors.
    assert abs((draws == 1).mean() - least) < 6.5 * math.sqrt(least / len(draws))


def test_random_stopping_stays_within_the_budget_and_costs_accuracy_of_each_trial(split):
    tuned = tuning.tune(RunSpec.of("noisy_gd", epsilon=2.0), split, GRID, mean_trials=4.0)
    assert tuned.guarantee.epsilon.upper <= 2.0
    assert tuned.trial_epsilon < 2.0
    assert tuned.record.guarantee.epsilon == tuned.guarantee.epsilon
    assert tuning.LOSERS in tuned.record.guarantee.assumptions


def test_more_trials_than_were_drawn_give_no_guarantee(split, monkeypatch):
    monkeypatch.setattr(tuning, "range", lambda count: list(range(2 * count)), raising=False)
    with pytest.raises(LedgerError, match="another number of trials"):
        tuning.tune(RunSpec.of("noisy_gd", epsilon=2.0), split, GRID, mean_trials=3.0)


def test_more_trials_cost_more_and_tuning_needs_labels_and_candidates(split):
    each = [tuning.trial_epsilon(2.0, delta=1e-5, mean_trials=mean) for mean in (2.0, 20.0)]
    assert 2.0 > each[0] > each[1] > 0
    bare = dataclasses.replace(split, public_y=None)
    sampled = [{"batch_size": 100, "steps": 5, "learning_rate": 1.0}]
    for method, rows, grid, error, said in (
        ("noisy_gd", bare, GRID, DataError, "public labelled"),
        ("noisy_gd", split, [], SettingError, "at least one"),
        ("dp_sgd", split, sampled, UnsupportedError, "no full-batch Gaussian run"),
    ):
        raises(error, said, tuning.tune, RunSpec.of(method, epsilon=1.0), rows, grid)


ONE = OneRunAudit(200, 50, 25, (0.0, 0.0), (0.1, 0.2), 1.0, 1.3)
CEILING = TradeOff("gaussian", mu=0.08898)
NO_RATES = pd.DataFrame(
    columns=["false_positive_rate", "true_positive_rate", "low", "high", "allowed", "allowed_high"]
)


def attack(found):
    """Finds so many of 2,000 members at 1 % false alarms, counted on 2,000 others."""
    others = rng.stream(0, "others").random(2000)
    threshold = np.sort(others)[-20]
    return Attack("a", np.where(np.arange(2000) < found, 2.0, threshold / 2), others)


def test_no_claim_is_cleared_before_trials_ran_and_the_ceiling_is_read_at_the_named_rate():
    many = CanaryAudit(
        Finding("canary", Counts(3, 2, 100), 0.0, 0.4, np.zeros(1), np.zeros(1)),
        CEILING,
        1.0,
        2.0,
        0.0,
        0.05,
        0.5,
        0.5,
    )
    assert verdict.sentence(ONE, None, NO_RATES).startswith(
        "**ε ≤ 1 is not yet audited by trials.**"
    )
    assert verdict.sentence(ONE, many, NO_RATES).startswith(
        "**No attack or audit here contradicts ε ≤ 1.**"
    )
    assert "from ε ≈ 1.3 on it can" in verdict.sentence(ONE, None, NO_RATES)
    assert "from ε" not in verdict.sentence(
        dataclasses.replace(ONE, claimed_epsilon=2.0), None, NO_RATES
    )
    loud = dataclasses.replace(ONE, certified=(1.5, 0.0))
    assert verdict.sentence(loud, None, NO_RATES).startswith("**An audit refutes ε ≤ 1**")
    rates = {found: rates_under([attack(found)], CEILING) for found in (24, 28, 80)}
    said = {found: verdict.attack(table) for found, table in rates.items()}
    assert all("the guarantee allows 1.26 %" in words for words in said.values()), said
    assert "finds 1.40 % of the members at 1 % false alarms (95 %: 0.93 to 2.02 %)" in said[28]
    assert [words.partition("1.26 %")[2][:14] for words in said.values()] == [
        ".",
        ", and chance e",
        ", and chance d",
    ]
