"""One-shot PILLAR: sensitivity under both relations, the formulas against brute force, and what
comes out without noise."""

import dataclasses
import math

import numpy as np
import pytest

import pillar_core as pc
from contract.cases import case_for, small_split
from contract.tapes import Recorder
from pillar_core import rng
from pillar_core.methods import METHODS
from pillar_core.methods.closed_form import pillar_one_shot as one_shot
from pillar_core.splits import view_of
from pillar_core.splits.transform import unit_rows
from pillar_core.types import PublicUse


@pytest.mark.parametrize("weight", [0.0, 0.2, 1.0, 3.0])
def test_the_sensitivities_are_reached_and_never_passed(weight):
    generator = rng.stream(0, "rows")
    add, replace = [], []
    for _ in range(30):
        rows = unit_rows(generator.standard_normal((2, 2)).astype(np.float32))
        rows = np.concatenate([rows, -rows[:1], np.zeros((1, 2), dtype=np.float32)])
        sums = [
            one_shot.class_sums(row[None], np.array([label]), n_classes=2, count_weight=weight)
            .double()
            .numpy()
            for row in rows
            for label in (0, 1)
        ]
        add.extend(np.linalg.norm(one) for one in sums)
        replace.extend(np.linalg.norm(one - other) for one in sums for other in sums)
    bound = one_shot.sensitivity(weight)
    assert bound * 0.999 <= max(add) <= bound
    assert (
        bound * one_shot.replace_one_factor(weight) * 0.999
        <= max(replace)
        <= bound * one_shot.replace_one_factor(weight)
    )


def test_equal_counts_give_the_printed_formulas():
    generator = rng.stream(1, "sums")
    classes, k, n, std = 4, 3, 50.0, 2.5
    sums, public = (
        n * generator.standard_normal((classes, k)),
        generator.standard_normal((30, k)) * [3, 2, 1],
    )
    weights, bias = one_shot.classifier_of(sums, np.full(classes, n), std=std, z_public=public)
    m = sums.T / n
    middle = m.mean(axis=1, keepdims=True)
    m = m - middle
    nu = std / n
    tau = np.maximum(0, classes / (classes - 1) * (m**2).mean(axis=1) - nu**2)
    s = (tau / (tau + nu**2))[:, None]
    variance = np.maximum(public.var(axis=0), public.var(axis=0).mean())
    w = np.maximum(
        variance - (classes - 1) / classes * tau, one_shot.SMALLEST_WITHIN_SHARE * variance
    )[:, None]
    v = w + s * nu**2
    wanted = s * m / v
    np.testing.assert_allclose(weights, wanted, rtol=1e-5)
    printed = (
        -0.5 * ((s * m) ** 2 / v).sum(axis=0)
        - 0.5 * np.log(v).sum(axis=0)
        - (middle * wanted).sum(axis=0)
        - math.log(classes)
    )
    np.testing.assert_allclose(bias, printed, rtol=1e-4, atol=1e-5)


def test_a_large_budget_reads_last_directions_without_trusting_their_small_public_variance():
    """143 public rows in 64 features, some nearly constant: accuracy was 0.52 to 0.79 here."""
    rows = pc.load_features(pc.load_dataset("digits"))
    for seed in (0, 1):
        split = pc.split(rows, public_fraction=0.1, seed=seed)
        assert pc.run("pillar_one_shot", split, epsilon=10.0, seed=seed).accuracy > 0.85


def test_the_signal_variance_is_unbiased_with_unequal_counts():
    generator = rng.stream(2, "moments")
    counts, tau, std, k = np.array([900.0, 300.0, 100.0, 50.0]), 0.04, 20.0, 40_000
    means = np.sqrt(tau) * generator.standard_normal(
        (k, 4)
    ) + std / counts * generator.standard_normal((k, 4))
    share = counts / counts.sum()
    centred = means - means @ share[:, None]
    precision = share**2 / (share**2).sum()
    noise = (std / counts) ** 2
    expected_noise = noise * (1 - 2 * share) + (share**2 * noise).sum()
    raw = (
        (centred**2 - expected_noise) @ precision / (precision @ (1 - 2 * share) + (share**2).sum())
    )
    # Mean of k estimates: 6 standard errors; counting classes alike instead is off by the noise of
    # the small ones.
    assert abs(raw.mean() - tau) <= 6 * raw.std() / math.sqrt(k)
    np.testing.assert_allclose(
        one_shot._between(centred, noise, share), np.maximum(0, raw), rtol=1e-9
    )


def test_counts_add_up_and_shrink_to_even_ones_as_noise_grows():
    def counts(noisy, std, n_classes=3):
        return one_shot.class_counts(noisy, std=std, n_private=1000, n_classes=n_classes)

    noisy = np.array([700.0, 250.0, 150.0])
    sure = counts(noisy, 0.0)
    np.testing.assert_allclose(sure, noisy - 100 / 3)
    np.testing.assert_allclose(counts(noisy, 1e6), 1000 / 3)
    assert 1000 / 3 < counts(noisy, 200.0)[0] < sure[0]
    np.testing.assert_allclose(counts(None, 0.0, n_classes=4), 250)
    assert counts(np.array([-50.0, 10.0, 1040.0]), 0.0).min() > 0


def test_sums_are_those_of_projected_unit_rows():
    view = view_of(small_split(), PublicUse.UNLABELLED)
    settings = one_shot.OneShotSettings(k=3, whitening=0.25, standardise=True)
    prepared = one_shot.project(settings, view)
    basis = view.basis(standardise=None, centre=None)
    x = (view.x[view.rows].astype(np.float64) - basis.mean) / basis.scale
    u = x @ basis.vectors[:, :3].astype(np.float64) * basis.eigenvalues[:3] ** -0.25
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    np.testing.assert_allclose(prepared.z, u, atol=1e-5)
    np.testing.assert_allclose(prepared.transform(view.x[view.rows]), u, atol=1e-5)
    sums = one_shot.class_sums(prepared.z, view.y, n_classes=3, count_weight=0.5).numpy()
    for label in range(3):
        own = view.y == label
        np.testing.assert_allclose(sums[label], [*u[own].sum(axis=0), 0.5 * own.sum()], atol=1e-3)


def test_without_noise_or_counts_it_separates_and_k_follows_the_noise():
    case = case_for(METHODS["pillar_one_shot"], count_weight=0.0)
    tape = Recorder()
    _, ledger = case.fit(case.view, tape)
    [call] = tape.calls
    assert call.shape == (3, 4)
    assert call.sensitivity == 1.0
    assert ledger.total_event == METHODS["dp_sgd"].cost(
        case_for(METHODS["dp_sgd"], steps=1).settings, case.view.facts
    )
    # Three clusters two to three standard deviations apart in 8 dimensions; chance is 1/3.
    record = pc.run("pillar_one_shot", small_split(n=600), epsilon=math.inf, k=4)
    assert record.accuracy > 0.8
    noisy = pc.run("pillar_one_shot", small_split(n=600), epsilon=0.001, k=4)
    assert noisy.accuracy < record.accuracy
    facts = dataclasses.replace(small_split().facts, n_private=10_000, n_public=5_000, d=2_000)
    settings = one_shot.OneShotSettings(noise_multiplier=31.0)
    plan = one_shot.resolve_hyperparameters(settings, facts)
    assert plan.settings.k == round(0.75 * (10_000 / 31.0) ** (2 / 3))
    assert (
        one_shot.resolve_hyperparameters(
            one_shot.OneShotSettings(noise_multiplier=0.0), facts
        ).settings.k
        == 2_000
    )
