"""PILLAR Kalman: what its releases are worth and move by, its formulas against brute force, and
what comes out."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract.cases import case_for, small_split
from contract.tapes import Recorder
from pillar_core import rng
from pillar_core.errors import DataError
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.methods.closed_form import pillar_kalman as kalman
from pillar_core.splits import view_of
from pillar_core.types import FeatureSet, PublicFacts, PublicUse

LEARNER = METHODS["pillar_kalman"]


def mean_accuracy(name, split, seeds, **settings):
    return np.mean([pc.run(name, split, seed=seed, **settings).accuracy for seed in range(seeds)])


@pytest.mark.parametrize(("steps", "share"), [(1, 0.3), (2, 0.3), (10, 0.3), (10, 0.9)])
def test_the_releases_add_up_to_the_noise_of_the_whole(steps, share):
    found = kalman.noise_multipliers(
        kalman.KalmanSettings(steps=steps, first_share=share, noise_multiplier=7.0)
    )
    assert len(found) == steps
    assert sum(1 / sigma**2 for sigma in found) == pytest.approx(1 / 7.0**2, rel=1e-12)
    assert steps == 1 or found[0] ** -2 * 49 == pytest.approx(share)


def test_the_check_is_as_exact_as_it_has_to_be_and_never_dear():
    facts = dataclasses.replace(small_split().facts, n_private=5_000, n_public=500)
    for noise, wanted in ((10.0, 2 * (10 / 150) ** 2), (1e4, 0.05), (0.0, 0.0)):
        settings = kalman.KalmanSettings(steps=10, noise_multiplier=noise)
        share = kalman.check_share(settings, facts)
        assert share == pytest.approx(wanted)
        later = kalman.noise_multipliers(settings, share)
        assert sum(noise**2 / sigma**2 for sigma in later if noise) + share == pytest.approx(
            1.0 if noise else 0.0
        )
    assert (
        kalman.check_share(
            kalman.KalmanSettings(noise_multiplier=10.0), dataclasses.replace(facts, n_public=19)
        )
        == 0
    )


def test_a_row_moves_the_check_by_one_at_most():
    """Rows within the public directions come to 1; a squared norm that came out too small does not
    go beyond it."""
    generator = rng.stream(6, "spread")
    rows = generator.standard_normal((50, 4)).astype(np.float32)
    squares = (rows.astype(np.float64) ** 2).sum(axis=1)
    sums = np.array(
        [
            kalman.spread_sum(row[None], square[None])
            for row, square in zip(rows, squares, strict=True)
        ]
    )
    p = rows / np.sqrt(squares)[:, None]
    np.testing.assert_allclose(sums, np.column_stack([p, np.ones(50)]) / math.sqrt(2), atol=1e-6)
    assert 1 - 1e-9 < np.linalg.norm(sums, axis=1).max() < 1
    np.testing.assert_allclose(
        kalman.spread_sum(rows, 4 * squares)[-1], 50 / 4 / math.sqrt(2), rtol=1e-6
    )
    for factor in (0.5, 1e-20, 1e-40):
        assert np.linalg.norm(kalman.spread_sum(rows[:1], factor * squares[:1])) <= 1
    hostile = np.array([[np.nan] * 4, [np.inf] * 4, [0.0] * 4, [1e15] * 4], dtype=np.float32)
    assert not kalman.spread_sum(hostile[:3], np.array([np.nan, np.inf, 0.0])).any()
    assert np.linalg.norm(kalman.spread_sum(hostile[3:], np.array([4e30]))) <= 1


def apart(*, elsewhere, n=3000, d=240, classes=4):
    """Four classes in 12 directions; public rows are of the same kind, or have 12 directions of
    their own, or none at all."""
    generator = rng.stream(7, "apart")
    own, other = (np.linalg.qr(generator.standard_normal((d, 12)))[0] for _ in range(2))
    centres = 2 * generator.standard_normal((classes, 12))
    y = np.arange(n) % classes

    def rows(directions, labels):
        inner = centres[labels] + 3 * generator.standard_normal((len(labels), 12))
        return (
            inner @ directions.T + 0.3 * generator.standard_normal((len(labels), d)) + 1
        ).astype(np.float32)

    public = {
        name: lambda basis=basis: rows(basis, y[:400])
        for name, basis in (("", own), ("directions", other))
    }
    public["noise"] = lambda: generator.standard_normal((400, d))
    names = tuple("abcd")
    data = FeatureSet(rows(own, y), y, rows(own, y[:1000]), y[:1000], names)
    return pc.split(
        data,
        public=FeatureSet(
            public[elsewhere]().astype(np.float32), None, data.x_test, data.y_test, names
        ),
    )


@pytest.mark.parametrize("elsewhere", ["", "directions", "noise"])
def test_public_rows_from_elsewhere_are_found_out_and_left_aside(elsewhere):
    split = apart(elsewhere=elsewhere)
    runs = [pc.run("pillar_kalman", split, epsilon=0.2, seed=seed) for seed in range(3)]
    assert all((kalman.ELSEWHERE in run.notes) == bool(elsewhere) for run in runs)
    unchecked, plain = (
        mean_accuracy(name, split, 3, epsilon=0.2, **settings)
        for name, settings in (
            ("pillar_kalman", {"check": False}),
            ("dp_sgd", {"centre": False, "standardise": False}),
        )
    )
    ours = np.mean([run.accuracy for run in runs])
    assert ours > plain - 0.01, (ours, unchecked, plain)
    assert elsewhere != "directions" or ours > unchecked + 0.02, (ours, unchecked, plain)


def test_a_large_budget_without_useful_public_rows_reaches_the_learners_without_them():
    split = apart(elsewhere="noise")
    ours, *rivals = (
        mean_accuracy(name, split, 3, epsilon=5.0)
        for name in ("pillar_kalman", "dp_raft", "dp_sgd")
    )
    assert ours > max(rivals) - 0.01, (ours, rivals)


@pytest.mark.parametrize("n_classes", [2, 3, 1000])
def test_no_row_is_clipped_at_the_start_and_later_ones_in_proportion(n_classes):
    first, *later = kalman.clip_norms(kalman.KalmanSettings(steps=10), n_classes)
    assert first == pytest.approx(np.linalg.norm(np.eye(n_classes)[0] - 1 / n_classes))
    assert later == pytest.approx([0.4 / first] * 9)


def test_a_row_is_shortened_by_its_first_k_numbers_and_one_that_is_no_number_counts_as_zeros():
    rows = np.array(
        [
            [3.0, 4.0, 5.0],
            [0.3, 0.4, 1.0],
            [0.0, 0.0, 7.0],
            [np.nan, 1.0, 1.0],
            [np.inf, 1.0, 1.0],
            [1e200, 0.0, 1.0],
        ]
    )
    found = kalman.shorten_rows(rows, 2, 1.0)
    np.testing.assert_allclose(found[:2], [[0.6, 0.8, 1.0], [0.3, 0.4, 1.0]])
    assert not found[2:].any(), "no norm: nothing in any column, whatever lies beyond the first K"
    view = view_of(small_split(), PublicUse.UNLABELLED)
    x = view.x.copy()
    x[view.rows[0]] = np.nan
    settings = kalman.KalmanSettings(k=3, noise_multiplier=1.0)
    clean = kalman.features_of(settings, view).private
    found, zero = (
        kalman.features_of(settings, dataclasses.replace(view, x=rows, memo=Memo())).private
        for rows in (x, np.nan_to_num(x))
    )
    assert torch.equal(found, zero)
    assert torch.equal(found[1:], clean[1:])
    assert found.norm(dim=1).max() <= 1 + 2.0**-22


def test_features_are_whitened_public_coordinates_and_the_prior_is_the_likeliest_variance():
    view = view_of(small_split(d=8), PublicUse.UNLABELLED)
    basis = view.basis(standardise=None, centre=True)
    features = kalman.features_of(kalman.KalmanSettings(k=3, noise_multiplier=1.0), view)
    z = (
        ((view.x[view.rows].astype(np.float64) - basis.mean) / basis.scale)
        @ basis.vectors[:, :3]
        * basis.eigenvalues[:3] ** -0.125
    )
    public = (
        ((view.x_public.astype(np.float64) - basis.mean) / basis.scale)
        @ basis.vectors
        * basis.eigenvalues**-0.125
    )
    floor = np.quantile(np.linalg.norm(public[:, :3], axis=1), 0.01)
    np.testing.assert_allclose(
        features.private, z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), floor), atol=1e-5
    )
    assert features.public.shape == (len(view.x_public), basis.rank)
    np.testing.assert_allclose(
        features.public,
        public / np.maximum(np.linalg.norm(public[:, :3], axis=1), floor)[:, None],
        atol=1e-5,
    )
    assert features.private.norm(dim=1).max() <= 1 + 2.0**-22
    generator = rng.stream(1, "prior")
    curvature, std, tau = generator.uniform(50, 500, 400), 30.0, 2.0
    spread = np.sqrt(tau**2 * curvature**2 + curvature + std**2)
    evidence = spread[:, None] * generator.standard_normal((400, 7))
    evidence -= evidence.mean(axis=1, keepdims=True)
    # 400·6 squares: the variance is known to √(2/2400) = 3 %, far below half a grid step of 19 %.
    assert 1 / kalman.prior_precision(evidence, curvature, std) == pytest.approx(tau**2, rel=0.2)
    # Noise alone, whose variance is about the mean of h²: what the grid takes for signal is within
    # three times 3 % of that.
    silent = np.sqrt(curvature + 9e4)[:, None] * generator.standard_normal((400, 7))
    assert (
        kalman.prior_precision(silent - silent.mean(axis=1, keepdims=True), curvature, 300.0) >= 8.0
    )


def test_the_curvature_is_the_slope_of_the_expected_sum_and_distillation_moves_to_the_ridge_fit():
    """Without a clip it is the mean diagonal of the cross-entropy's Hessian, here by differences; a
    clip takes its expected share."""
    generator = rng.stream(2, "curvature")
    u, head, n = generator.standard_normal((30, 4)), generator.standard_normal((4, 3)), 1000
    features = kalman.Features(torch.zeros(0), u, 4, None)
    step, slopes = 1e-6, np.zeros((4, 3))
    for j, c in np.ndindex(4, 3):
        moved = head.copy()
        moved[j, c] += step
        slopes[j, c] = (
            n
            * (u[:, j] * (kalman.softmax(u @ moved) - kalman.softmax(u @ head))[:, c]).mean()
            / step
        )
    np.testing.assert_allclose(
        kalman.expected_curvature(features, head, 10.0, n), slopes.sum(axis=1) / 2, rtol=1e-4
    )
    p = kalman.softmax(u @ head)
    passed = [
        sum(q[c] * min(1.0, 0.4 / np.linalg.norm(np.eye(3)[c] - q)) for c in range(3)) for q in p
    ]
    wanted = n * np.mean(u**2 * ((p * (1 - p)).sum(axis=1) / 2 * passed)[:, None], axis=0)
    np.testing.assert_allclose(kalman.expected_curvature(features, head, 0.4, n), wanted, rtol=1e-9)
    generator = rng.stream(3, "distil")
    public, head = generator.standard_normal((50, 6)), 0.1 * generator.standard_normal((6, 3))
    head -= head.mean(axis=1, keepdims=True)
    steep = 100 * head
    assert np.array_equal(kalman.distil(steep, public, 0.3, 0.8), steep), (
        "a softmax that no linear fit explains is left alone"
    )
    assert np.array_equal(kalman.distil(head, public, 0.0, 0.8), head)
    assert not np.array_equal(kalman.distil(steep, public, 0.3, 0.0), steep), "unless it need not"
    whole = kalman.distil(head, public, 1.0, 0.8)
    logits, shares = public @ head, kalman.softmax(public @ head)
    fitted = np.linalg.solve(
        public.T @ public + 0.2 * np.eye(6), public.T @ (shares - shares.mean(axis=0))
    )
    np.testing.assert_allclose(
        whole,
        fitted * (logits * (public @ fitted)).sum() / ((public @ fitted) ** 2).sum(),
        rtol=1e-9,
    )
    np.testing.assert_allclose(
        kalman.distil(head, public, 0.3, 0.8), 0.7 * head + 0.3 * whole, rtol=1e-9
    )
    assert not kalman.distil(np.zeros((6, 3)), public, 0.3, 0.8).any(), "an empty head stays empty"


def test_the_head_needs_no_fit_where_few_of_many_directions_have_shown_that_rows_are_alike():
    """Many classes: no linear fit explains their softmax. Where K is near d, all rows lie in the
    public directions, so the check says nothing."""
    noisy = kalman.KalmanSettings(noise_multiplier=5.0)
    facts = PublicFacts(n_private=900, n_public=100, d=100, n_classes=50)
    assert kalman.least_fit(noisy, facts, 37) == 0.0
    for settings, rows, k in (
        (noisy, facts, 38),
        (dataclasses.replace(noisy, check=False), facts, 10),
        (dataclasses.replace(noisy, noise_multiplier=0.0), facts, 10),
        (noisy, dataclasses.replace(facts, n_public=19), 10),
    ):
        assert kalman.least_fit(settings, rows, k) == 0.8, (settings, rows, k)


def test_labels_of_public_rows_help():
    """Three clusters, two or three deviations apart, 120 private rows, ε = 0.05: these say little
    by themselves."""
    split = small_split()
    with_labels, without = (
        mean_accuracy(name, split, 5, epsilon=0.05)
        for name in ("pillar_kalman_labelled", "pillar_kalman")
    )
    assert with_labels > without + 0.1


@pytest.mark.parametrize("per_class", [1, 20])
def test_with_labels_it_begins_at_the_public_rows_head_and_moves_as_far_as_the_noise_allows(
    per_class,
):
    split = pc.split(pc.load_dataset("digits"), public_per_class=per_class)
    start = pc.run("only_public", split).accuracy
    weak, strong = (
        mean_accuracy("pillar_kalman_labelled", split, 3, epsilon=epsilon)
        for epsilon in (0.01, 3.0)
    )
    assert weak > start - 0.03
    assert strong > max(0.9, start)


def test_neither_order_nor_parts_nor_another_draw_of_the_noise_change_a_call(monkeypatch):
    case = case_for(LEARNER)
    view, turned = case.view, np.argsort(rng.stream(4, "order").random(len(case.view.y)))
    other = dataclasses.replace(view, rows=view.rows[turned], y=view.y[turned], memo=Memo())
    one, two = (case.fit(each)[0].classifier.weights for each in (view, other))
    np.testing.assert_allclose(one, two, rtol=1e-4, atol=1e-5)  # logits in float32, sums in float64
    tapes = [Recorder(), Recorder()]
    for seed, tape in enumerate(tapes):
        case.fit(case.view, tape, seed=seed)
    assert tapes[0].calls == tapes[1].calls
    assert [call.sensitivity for call in tapes[0].calls] == [
        1.0,
        *kalman.clip_norms(case.settings, 3),
    ]
    whole = case.fit(case.view)[0].classifier.weights
    monkeypatch.setattr(kalman, "LOGITS_AT_ONCE", 20)
    parts = case.fit(dataclasses.replace(case.view, memo=Memo()))[0].classifier.weights
    np.testing.assert_allclose(parts, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("steps", "k"), [(1, 4), (10, 1), (10, None)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_edges_give_finite_heads(steps, k, n_classes):
    split = small_split(n_classes=n_classes)
    for epsilon in (0.01, 1.0, math.inf):
        record = pc.run("pillar_kalman", split, epsilon=epsilon, steps=steps, k=k)
        assert np.isfinite(record.classifier.weights).all()
    assert record.settings["k"] == (k or 8), "without noise k is the rank"
    assert record.accuracy > (0.8 if k != 1 else 1 / n_classes)


def test_k_follows_the_noise_and_the_classes():
    facts = dataclasses.replace(
        small_split().facts, n_private=10_000, n_public=5_000, d=2_000, n_classes=80
    )
    plan = kalman.resolve_hyperparameters(kalman.KalmanSettings(noise_multiplier=31.0), facts)
    assert plan.settings.k == round(0.5 * (10_000 / 31.0) ** (2 / 3))
    for noise, k in ((1e-320, 2_000), (0.0, 2_000), (1e9, 10)):
        assert (
            kalman.resolve_hyperparameters(
                kalman.KalmanSettings(steps=10, noise_multiplier=noise), facts
            ).settings.k
            == k
        )
    with pytest.raises(DataError, match="at most 2000"):
        kalman.resolve_hyperparameters(kalman.KalmanSettings(k=2_001, noise_multiplier=1.0), facts)

    def dimension(epsilon):
        (note,) = (
            note
            for note in pc.run("pillar_kalman", apart(elsewhere=""), epsilon=epsilon).notes
            if note.startswith("Effective")
        )
        return float(note.split()[2])

    assert 0 < dimension(0.05) < dimension(5.0) < 240


def test_on_real_rows_it_is_not_below_pillar_where_noise_is_large():
    """Digits, ε = 0.3: over three splits with three draws each 85.5 percent against the 80.2 of
    standardised rows clipped at 1, which PILLAR had by default; one point is asked for on one
    split. PILLAR's own rules of now, 85.7 there, are not beaten.
    """
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.2)
    learners = {"pillar_kalman": {}, "pillar": {"l2_clip_norm": 1.0, "standardise": True}}
    ours, pillar = (
        mean_accuracy(name, split, 4, epsilon=0.3, **settings)
        for name, settings in learners.items()
    )
    assert ours > pillar + 0.01
