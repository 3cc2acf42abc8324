"""The learners with labelled public rows, against per-example gradients written out and closed
forms."""

import json
import math

import numpy as np
import pytest
import torch

import pillar_core as pc
from contract import checks
from contract.cases import case_for, per_row_gradients, small_split
from pillar_core import rng
from pillar_core.engine.logistic import descended_head, public_head
from pillar_core.engine.mixed import clipped_difference_sum, gradient_subspace
from pillar_core.errors import BudgetError, DataError, SettingError
from pillar_core.ledger import Ledger
from pillar_core.methods import METHODS
from pillar_core.methods.parts import mixed
from pillar_core.rng import Streams
from pillar_core.runs.run import largest_count, solve
from pillar_core.splits import split_features, view_of
from pillar_core.types import FeatureSet, PublicUse
from users import refuses

CLOSE = {"atol": 1e-4, "rtol": 1e-4}
"""Float32 sums of about a hundred terms of size one round by less than 1e-5; the guards lower
clipped rows by a few 1e-6."""


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("adamix", {}),
        ("adamix", {"k": 5}),
        ("dope_sgd", {}),
        ("pda_dpmd", {}),
        ("pillar_kalman_labelled", {}),
    ],
)
def test_steps_stay_bounded_where_the_public_rows_are_fitted(name, settings):
    """The clip norm follows the public gradients to 0; the rule's step along them, which nothing
    clips, must not grow as much."""
    for seed in (3, 7, 8):
        split = pc.split(
            pc.load_features(pc.load_dataset("breast_cancer")), public_fraction=0.1, seed=seed
        )
        record = pc.run(name, split, epsilon=1.0, seed=seed, **settings)
        assert record.accuracy > 0.8, seed
    rows = pc.load_features(pc.load_dataset("fashion_mnist_2k"))
    split = pc.split(rows, public_per_class=2, seed=1)
    start = pc.run("only_public", split, epsilon=8.0).accuracy
    assert pc.run(name, split, epsilon=8.0, seed=1, **settings).accuracy > start


def test_public_rows_that_are_all_equal_leave_the_private_steps():
    """Centred, they are zero and have no direction to bound a step by."""
    rows = small_split().features
    public = FeatureSet(np.ones((10, 8), np.float32), np.arange(10) % 3, None, None, rows.classes)
    split = pc.split(rows, public=public, allow_overlap=True)
    assert pc.run("pda_dpmd", split, epsilon=8.0, seed=1).accuracy > 1 / 3


def test_a_public_percentile_near_zero_is_no_clip_norm_in_any_unit_of_the_rows():
    """Few public rows are fitted to gradients near 0, which says nothing of private ones."""
    z, y, _ = rows_and_weights()
    z = 3.0 * z / z.norm(dim=1, keepdim=True)
    public = mixed.PublicRows(z, y, z.square().sum(1))
    settings = [METHODS["pda_dpmd"].settings()] * 3
    norms = torch.tensor([[1e-5], [1e-5], [2.0]]).expand(3, len(y))
    torch.testing.assert_close(
        public.clip_norms(norms, settings, [None, 0.02, None]),
        torch.tensor([3 * mixed.LEAST_PUBLIC_CLIP, 0.02, 2.0]),
    )


def rows_and_weights(n=40, d=6, classes=3, seed=1):
    generator = rng.stream(seed, "adamix test")
    z = generator.standard_normal((n, d)).astype(np.float32)
    weights = generator.standard_normal((1, classes, d)).astype(np.float32)
    return torch.from_numpy(z), torch.from_numpy(np.arange(n) % classes), torch.from_numpy(weights)


def clipped(gradients, clip):
    norms = gradients.flatten(1).norm(dim=1)
    return gradients * (clip / norms).clamp(max=1.0)[:, None, None]


def test_rows_close_to_the_reference_stay_within_the_clip_norm_in_few_and_many_dimensions():
    for d, classes, steepness in ((6, 3, 1.0), (2048, 10, 0.02)):
        z, y, weights = rows_and_weights(n=1, d=d, classes=classes)
        z, weights = z / z.norm(), weights * steepness
        gradient = per_row_gradients(z, y, weights[0])[0]
        for share in (1e-1, 1e-2, 1e-3, 1e-4):
            reference = (gradient * (1 + share)).float()[None]
            moved = clipped_difference_sum(
                z, z.square().sum(1), y, weights, torch.tensor([1e-3]), reference
            )
            assert float(moved.norm()) <= 1e-3
            if share >= 1e-2:
                exact = (gradient - reference[0].double()).flatten()
                assert float(torch.cosine_similarity(moved[0].double().flatten(), exact, 0)) > 0.9


def test_the_subspace_holds_the_public_gradient_then_public_directions():
    generator = rng.stream(3, "subspace")
    gradient = torch.from_numpy(generator.standard_normal((4, 12)))
    gradient -= gradient.mean(0)
    directions = torch.linalg.qr(torch.from_numpy(generator.standard_normal((12, 8))))[0].float()
    basis = gradient_subspace(gradient.float(), directions, 5).double()
    torch.testing.assert_close(
        basis.T @ basis, torch.eye(5, dtype=torch.float64), atol=1e-6, rtol=0
    )
    torch.testing.assert_close(gradient @ basis @ basis.T, gradient, atol=1e-5, rtol=0)
    kept = directions[:, :2].double()
    torch.testing.assert_close(basis @ basis.T @ kept, kept, atol=1e-5, rtol=0)
    left = torch.linalg.svd(gradient.T)[0][:, :2]
    narrow = gradient_subspace(gradient.float(), directions, 2).double()
    torch.testing.assert_close(narrow @ narrow.T, left @ left.T, atol=1e-5, rtol=0)
    many = gradient_subspace(
        gradient.T.float(), torch.eye(4), 3
    ).double()  # more classes than features: no matrix of classes by classes
    torch.testing.assert_close(many @ many.T @ gradient, gradient, atol=1e-5, rtol=0)


def gradients_at(view, head):
    """(public rows', private rows') gradients at a head (d, C), by row."""
    prepared = view.prepare(standardise=None, centre=None, normalise=True)
    sides = (prepared.z_public, view.y_public), (prepared.z, view.y)
    return [per_row_gradients(*map(torch.from_numpy, rows), head.T) for rows in sides]


def one_step(name, **settings):
    """(start, weights after one step without noise, public and private gradients by row at the
    start, view, settings) of a learner on the small split."""
    method = METHODS[name]
    view = view_of(small_split(), PublicUse.LABELLED)
    own = method.settings(steps=1, noise_multiplier=0.0, **settings)
    case = case_for(method, **{field: getattr(own, field) for field in own.__dataclass_fields__})
    result = method.train(case.settings, case.view, Streams(0), Ledger())
    z_public = view.prepare(standardise=None, centre=None, normalise=True).z_public
    head = public_head(z_public, view.y_public, n_classes=3, weight_decay=1e-4)
    start = torch.from_numpy(head).double()
    after = torch.from_numpy(result.classifier.weights).double()
    return start.T, after.T, *gradients_at(view, start), view, case.settings


def test_one_adamix_step_equals_the_paper_written_out_and_ngd_is_it_without_switches():
    start, after, public, private, view, settings = one_step(
        "adamix", learning_rate=0.01, k=4, weight_decay=0.5
    )
    assert settings.k == 4
    tau = max(float(np.quantile(public.flatten(1).norm(dim=1).numpy(), 0.9)), 0.1)
    directions = torch.from_numpy(view.basis(standardise=None, centre=None).vectors)
    basis = gradient_subspace(public.sum(0).float(), directions, 4).double()
    projected = clipped(private, tau).sum(0) @ basis @ basis.T
    expected = start - 0.01 * (public.sum(0) + projected + 0.5 * start)
    torch.testing.assert_close(after, expected, **CLOSE)
    start, after, public, private, *_ = one_step(
        "adamix", learning_rate=0.01, projection=False, adaptive_clip=False, l2_clip_norm=0.7
    )
    expected = start - 0.01 * (public.sum(0) + clipped(private, 0.7).sum(0))
    torch.testing.assert_close(after, expected, **CLOSE)


def test_dope_sgd_adds_the_public_mean_once_and_mirror_descent_starts_with_private_gradients_alone():
    for name in ("dope_sgd", "pda_dpmd"):
        start, after, public, private, view, _ = one_step(name, learning_rate=0.5, l2_clip_norm=0.6)
        mean = public.mean(0) * (name == "dope_sgd")
        step = mean + clipped(private - mean, 0.6).sum(0) / view.facts.n_private
        torch.testing.assert_close(after, start - 0.5 * step, **CLOSE)


def test_ppgd_returns_to_the_private_model_as_reuse_grows():
    heads = {
        reuse: case.method.train(case.settings, case.view, Streams(0), Ledger()).classifier.weights
        for reuse in (1e-4, 1e4)
        for case in [case_for(METHODS["ppgd"], noise_multiplier=5.0, reuse=reuse)]
    }
    case = case_for(METHODS["ppgd"])
    prepared = case.view.prepare(standardise=None, centre=None, normalise=True)
    public = public_head(prepared.z_public, case.view.y_public, n_classes=3, weight_decay=1e-4)
    away = {reuse: float(np.linalg.norm(weights - public)) for reuse, weights in heads.items()}
    assert away[1e4] > 3 * away[1e-4]


@pytest.mark.parametrize("is_towards", [False, True])
def test_the_public_head_of_few_wide_rows_is_found_in_their_span(is_towards, monkeypatch):
    generator = rng.stream(5, "wide rows")
    z, y = generator.standard_normal((12, 40)).astype(np.float32), np.arange(12) % 3
    towards = generator.standard_normal((40, 3)).astype(np.float32) if is_towards else None
    heads = []
    for wide in (8192, 20):
        monkeypatch.setattr("pillar_core.engine.logistic.WIDE", wide)
        heads.append(public_head(z, y, n_classes=3, weight_decay=0.1, towards=towards))
    assert np.abs(heads[0] - heads[1]).max() <= 1e-5
    assert heads[1].dtype == np.float32


def test_the_public_head_is_a_minimum_and_only_public_reads_no_private_row():
    view = view_of(small_split(), PublicUse.LABELLED)
    prepared = view.prepare(standardise=None, centre=None, normalise=True)
    best = torch.from_numpy(
        public_head(prepared.z_public, view.y_public, n_classes=3, weight_decay=0.1)
    ).double()
    gradients = gradients_at(view, best)[0].mean(0)
    torch.testing.assert_close(gradients, -0.1 * best.T, atol=1e-5, rtol=1e-4)
    slow = descended_head(
        prepared.z_public,
        view.y_public,
        n_classes=3,
        learning_rate=1.0,
        steps=400,
        weight_decay=0.1,
    )
    torch.testing.assert_close(torch.from_numpy(slow).double(), best, atol=1e-4, rtol=1e-3)
    case = case_for(METHODS["only_public"])
    checks.replays(case)
    checks.declared_is_spent(case)
    record = pc.run("only_public", small_split())
    assert record.guarantee.epsilon.upper == 0
    assert record.accuracy > 0.8


@pytest.mark.parametrize("limit", [0, 1, 2, 27, 28, 1000])
def test_the_largest_count_that_fits(limit):
    assert largest_count(lambda count: count <= limit, ceiling=1000) == limit
    assert largest_count(lambda count: True, ceiling=limit) == limit


def test_the_paper_preset_refuses_what_no_step_fits():
    with pytest.raises(BudgetError, match=r"noise_multiplier of at least 30\.75"):
        solve("adamix", small_split(), epsilon=0.1, preset="paper")
    with pytest.raises(BudgetError, match="infinite"):
        solve("adamix", small_split(), epsilon=math.inf, preset="paper")
    with pytest.raises(SettingError, match="not both"):
        solve("adamix", small_split(), epsilon=1.0, preset="paper", steps=5)
    own = solve("adamix", small_split(), preset="paper", steps=5)
    assert own.settings.steps == 5


def test_steps_of_the_paper_preset_agree_with_the_oracle(shared):
    oracle = json.loads((shared / "oracles" / "gdp_pdp_adamix.json").read_text())
    for row in oracle["adamix_T"]:
        if row["T_max"]:
            one = solve(
                "adamix", small_split(), epsilon=row["eps"], delta=row["delta"], preset="paper"
            )
            assert (one.settings.noise_multiplier, one.settings.steps) == (20.0, row["T_max"])
            assert one.guarantee.epsilon.upper == pytest.approx(row["eps_at_T"], rel=1e-6)


def text_split():
    made = small_split()
    text = np.stack(
        [made.features.x_train[made.features.y_train == label].mean(0) for label in range(3)]
    ).astype(np.float32)
    return split_features(made.features, public_fraction=0.25, text_embeddings=text)


def test_training_starts_from_class_names_where_asked():
    record = pc.run(
        "adamix",
        text_split(),
        epsilon=1e-3,
        initialisation="text",
        standardise=False,
        centre=False,
        steps=1,
    )
    assert record.accuracy > 0.8
    with pytest.raises(SettingError, match="centre"):
        pc.run("adamix", text_split(), epsilon=1.0, initialisation="text")
    with pytest.raises(DataError, match="text_embeddings"):
        pc.run("adamix", small_split(), epsilon=1.0, initialisation="text", centre=False)


def test_bad_input_is_refused():
    labelled = FeatureSet(*wide_rows(), ("a", "b", "c"))
    with pytest.raises(SettingError, match="at most 8"):
        pc.run("adamix", split_features(labelled, public_per_class=3), epsilon=1.0, k=9)
    unlabelled = split_features(
        labelled, public=FeatureSet(wide_rows()[0], None, None, None, ("a", "b", "c"))
    )
    for name in ("adamix", "ppgd", "pda_dpmd", "dope_sgd", "only_public"):
        refuses("label", pc.run, name, unlabelled, epsilon=1.0)


def wide_rows():
    generator = rng.stream(5, "wide")
    x = generator.standard_normal((60, 20)).astype(np.float32)
    return x, np.arange(60) % 3, None, None


@pytest.mark.parametrize("name", ["adamix", "ppgd", "pda_dpmd", "dope_sgd"])
def test_private_rows_help_at_a_large_budget(name):
    generator = rng.stream(7, "clusters")
    means = generator.standard_normal((4, 30))
    y = np.arange(1200) % 4
    x = (means[y] + 2.0 * generator.standard_normal((1200, 30))).astype(np.float32)
    split = split_features(
        FeatureSet(x[:800], y[:800], x[800:], y[800:], tuple("abcd")), public_per_class=2
    )
    public = pc.run("only_public", split).accuracy
    assert pc.run(name, split, epsilon=50.0).accuracy > public + 0.05


def test_the_theory_version_follows_algorithm_3_and_theorem_3():
    case = case_for(
        METHODS["adamix_theory"],
        noise_multiplier=0.0,
        steps=3,
        regularisation=7.0,
        radius=2.0,
        strong_convexity=0.5,
    )
    result = case.method.train(case.settings, case.view, Streams(0), Ledger())

    def into_ball(w):
        return w * min(1.0, 2.0 / float(w.norm()))

    w = torch.zeros((3, 8), dtype=torch.float64)
    order = Streams(0).public("one pass").permutation(len(case.view.y_public))
    for t, row in enumerate(order, start=1):
        w = into_ball(w - 2 / (0.5 * (t + 1)) * gradients_at(case.view, w.T)[0][row])
    reference, average = w, torch.zeros_like(w)
    for t in range(1, 4):
        average = average + 2 * t / (3 * 4) * w
        total = sum(side.sum(0) for side in gradients_at(case.view, w.T))
        w = into_ball(w - 2 / (7.0 * (t + 1)) * (total + 7.0 * (w - reference)))
    torch.testing.assert_close(
        torch.from_numpy(result.classifier.weights.T).double(), average, **CLOSE
    )
    assert not torch.allclose(reference, average, atol=1e-2)
    one = solve("adamix_theory", small_split(), epsilon=0.1)
    rho = pc.accounting.mu_of(0.1, 1e-5) ** 2 / 2
    parameters, distance = 8 * 3, 200.0
    assert one.settings.regularisation >= math.sqrt(2 * parameters * 2 / (rho * distance**2)) * (
        1 - 1e-6
    )
