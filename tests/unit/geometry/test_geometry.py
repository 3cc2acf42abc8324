"""Spectrum, bases, ξ_k and margins against closed forms, brute force and bad input."""

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import geometry, rng
from pillar_core.data.generators import gaussian_mixture
from pillar_core.errors import Cancelled, DataError, SettingError
from pillar_core.ledger import Ledger, gaussian
from pillar_core.types import Provenance
from users import raises, refuses

SIGMA, THETA, D = 0.1, 0.5, 24


@pytest.fixture(scope="module")
def mixture():
    return pc.load_features(
        pc.load_dataset("gaussian_mixture", n=8000, n_test=10, d=D, sigma=SIGMA, theta=THETA)
    )


@pytest.fixture(scope="module")
def split(mixture):
    return pc.split(mixture, public_fraction=0.5)


def little(n=60, d=6, classes=3, seed=0):
    generator = pc_stream(seed)
    x = generator.standard_normal((n, d)).astype(np.float32)
    y = np.arange(n) % classes
    x[:, 0] += 3 * y
    return pc.features(x, y, classes=tuple("abcdefg"[:classes]))


def pc_stream(seed):
    return rng.stream(seed, "test geometry")


def test_pair_margins_are_the_cosines_before_and_after_the_projection():
    """On centred rows: all directions change nothing, and k directions give the cosine of the
    projected row and separator."""
    rows = geometry.rows_of(pc.split(little(n=90), public_fraction=0.3))
    pair = geometry.nearest_pair(rows)
    assert pair in {(0, 1), (1, 2)}
    separators, basis = geometry.separators(rows, [pair]), geometry.basis_of(rows)
    whole = geometry.pair_margins(rows, separators, basis, basis.rank)
    np.testing.assert_allclose(whole["whole"], whole["projected"], atol=1e-5)
    assert set(whole["class"]) == {rows.classes[label] for label in pair}
    table = geometry.pair_margins(rows, separators, basis, 2)
    w, offset, axes = (
        separators.weights[0],
        separators.offsets[0],
        basis.vectors[:, :2].astype(np.float64),
    )
    z = (rows.x[np.isin(rows.y, pair)] - rows.public.mean(axis=0)) @ axes
    side = (z @ (w @ axes) + offset) / np.linalg.norm(w @ axes)
    assert (np.sign(table["projected"]) == np.sign(side)).all()
    assert (table[["whole", "projected"]].abs() <= 1).all(axis=None)


def test_the_ratio_of_spreads_is_that_of_the_distribution_for_few_rows_too():
    """Means of variance 4 in each of 50 directions and rows of variance 1: 1/4, though three rows a
    class scatter means by a third."""
    generator = pc_stream(3)
    means, y = 2 * generator.standard_normal((400, 50)), np.repeat(np.arange(400), 3)
    rows = means[y] + generator.standard_normal((1200, 50))
    assert geometry.collapse_ratio(rows.astype(np.float32), y) == pytest.approx(0.25, rel=0.05)
    assert geometry.collapse_ratio(means[y].astype(np.float32), y) == pytest.approx(0, abs=1e-9)
    assert geometry.collapse_ratio(rows[y == 0], y[y == 0]) is None
    assert geometry.collapse_ratio(rows[::3], y[::3]) is None
    assert (
        geometry.collapse_ratio(np.array([[-1.0], [1], [-1], [1]]), np.array([0, 0, 1, 1]))
        == np.inf
    )


def test_spectrum_xi_and_margins_of_the_mixture_are_the_closed_forms(split):
    table = geometry.spectrum(geometry.basis_of(geometry.rows_of(split)))
    truth = gaussian_mixture.eigenvalues(D, theta=THETA, sigma=SIGMA)
    # The relative error of a sample eigenvalue at n = 4,000, d = 24 is about √(2/n) + d/n = 0.028;
    # 0.1 is over three times that.
    np.testing.assert_allclose(table["eigenvalue"][:2], truth[:2], rtol=0.1)
    assert table["gap"][0] == pytest.approx(gaussian_mixture.eigengap(1, theta=THETA), rel=0.1)
    assert table["gap"][1] == pytest.approx(gaussian_mixture.eigengap(2, theta=THETA), rel=0.1)
    assert table["cumulative"].iloc[-1] == pytest.approx(1.0)
    np.testing.assert_allclose(
        table["tail"] + table["cumulative"] * table["eigenvalue"].sum(), table["eigenvalue"].sum()
    )
    table = pc.xi(split, [1, 2, D - 1])
    assert list(table.columns) == ["k", "class_a", "class_b", "xi"]
    # The sample direction misses μ by about σ²(d − 1)/(n·(1 − θ²)) ≪ 0.01; the SVM direction by its
    # few support rows.
    assert (table["xi"] < 0.05).all()
    nuisance = np.asarray(split.features.known["w_star"])[None]
    values = geometry.xi_of(nuisance, geometry.basis_of(geometry.rows_of(split)).vectors)[0]
    assert values[0] > 0.9
    assert values[1] < 0.01
    table = pc.margins(split, [1, D - 1], quantile=0.01)
    assert list(table.columns) == ["k", "class", "quantile", "cosine_margin", "distance_margin"]
    expected = gaussian_mixture.distance_margin(sigma=SIGMA)
    # A sample 1 % quantile of N(1, 0.1²) from 4,000 rows has standard deviation σ·√(q(1−q)/n)/φ(z)
    # = 0.006; five of them, and an SVM that tilts or shifts by as much.
    assert table["distance_margin"].to_numpy() == pytest.approx(expected, abs=0.05)
    in_line = table[table["k"] == 1]
    assert (in_line["cosine_margin"] > 0.9).all()


def test_xi_agrees_with_projecting_by_hand_and_falls_to_zero_in_a_full_basis():
    features = little()
    rows = geometry.rows_of(features)
    basis = geometry.basis_of(rows, kind="private_pca")
    separators = geometry.separators(rows, geometry.pairs_of(rows.classes))
    for k in (1, 3, 6):
        a = basis.vectors[:, :k].astype(np.float64)
        by_hand = 1 - np.linalg.norm((a @ a.T @ separators.weights.T), axis=0) / np.linalg.norm(
            separators.weights, axis=1
        )
        np.testing.assert_allclose(
            geometry.xi_of(separators.weights, basis.vectors)[:, k - 1], by_hand, atol=1e-6
        )
    table = pc.xi(features, 3)
    np.testing.assert_allclose(
        table["xi"], geometry.xi_of(separators.weights, basis.vectors)[:, 2], atol=1e-9
    )
    rows = geometry.rows_of(little())
    separators = geometry.separators(rows, geometry.pairs_of(rows.classes, "one_versus_rest"))
    for kind in ("random", "identity", "private_pca"):
        values = geometry.xi_of(separators.weights, geometry.basis_of(rows, kind=kind).vectors)
        assert (np.diff(values, axis=1) <= 1e-12).all()
        np.testing.assert_allclose(values[:, -1], 0.0, atol=1e-6)


def test_random_directions_hold_the_expected_share():
    """E‖A_kᵀw‖² = k/d for a uniformly random k-dimensional subspace."""
    rows = geometry.rows_of(little(d=40))
    w = np.eye(40)
    values = geometry.xi_of(w, geometry.basis_of(rows, kind="random", seed=3).vectors)
    shares = (1 - values) ** 2
    # Averaged over an orthonormal set of w it holds exactly: Σ_w ‖Aᵀw‖² = ‖A‖²_F = k.
    np.testing.assert_allclose(shares.mean(axis=0), np.arange(1, 41) / 40, rtol=1e-5)


def test_projected_margins_agree_with_brute_force():
    rows = geometry.rows_of(little())
    basis = geometry.basis_of(rows, kind="private_pca")
    separators = geometry.separators(rows, geometry.pairs_of(rows.classes))
    inside = geometry.coordinates(rows, basis)
    table = geometry.projected_margins(inside, separators, basis, [2, 5], quantile=0.1)
    x = rows.space()(rows.x).astype(np.float64)
    for k in (2, 5):
        a = basis.vectors[:, :k].astype(np.float64)
        for place, (first, second) in enumerate(separators.pairs):
            part = (rows.y == first) | (rows.y == second)
            signs = np.where(rows.y[part] == first, 1, -1)
            w = a.T @ separators.weights[place]
            distances = signs * (x[part] @ a @ w + separators.offsets[place]) / np.linalg.norm(w)
            offset, squares = (
                abs(separators.offsets[place]) / np.linalg.norm(w),
                np.square(x[part] @ a).sum(axis=1),
            )
            constant = np.sqrt(offset * np.sqrt(squares.mean()))
            longer = np.column_stack([x[part] @ a, np.full(part.sum(), constant)])
            normal = np.append(
                w / np.linalg.norm(w), separators.offsets[place] / np.linalg.norm(w) / constant
            )
            cosines = (
                signs * (longer @ normal) / np.linalg.norm(longer, axis=1) / np.linalg.norm(normal)
            )
            line = table[table["k"] == k].iloc[place]
            assert line["distance_margin"] == pytest.approx(
                np.sort(distances)[int(0.1 * len(distances))], abs=1e-5
            )
            assert line["cosine_margin"] == pytest.approx(
                np.sort(cosines)[int(0.1 * len(cosines))], abs=1e-5
            )
            assert np.abs(cosines).max() <= 1
    lowest = geometry.smallest(table)
    assert lowest["distance_margin"].to_list() == pytest.approx(
        [table[table["k"] == k]["distance_margin"].min() for k in (2, 5)]
    )


def test_the_margin_at_a_quantile_is_reached_by_that_share_and_shown_where_negative():
    values = np.arange(100.0)
    assert geometry.margin_at(values, 0.01) == 1.0
    assert geometry.margin_at(values, 0.0) == 0.0
    for quantile in (0.013, 0.04, 0.5, 0.999):
        margin = geometry.margin_at(values, quantile)
        assert (values >= margin).mean() >= 1 - quantile
        assert (values > margin).mean() < 1 - quantile
    generator = pc_stream(1)
    mixed = pc.features(generator.standard_normal((80, 3)).astype(np.float32), np.arange(80) % 2)
    assert (pc.margins(mixed, 2)["distance_margin"] < 0).all()
    features = little()
    x = np.concatenate([features.x_train, np.full((1, 6), 9.0, dtype=np.float32)])
    lonely = pc.features(x, np.append(features.y_train, 3), classes=tuple("abcd"))
    table = pc.xi(lonely, 2, classes=["a", "d"])
    assert len(table) == 1
    assert 0 <= table["xi"].iloc[0] <= 1


@pytest.mark.parametrize("k", [0, 7, 1.5, True, [], [2, 99], np.nan])
def test_k_out_of_range_is_refused(k):
    raises(SettingError, "k must be", pc.xi, little(), k)


@pytest.mark.parametrize("classes", [["a"], ["a", "a"], ["a", "nobody"], "all", [0, 9]])
def test_unknown_classes_are_refused(classes):
    raises(SettingError, "classes", pc.xi, little(), 2, classes=classes)


def test_rows_without_labels_or_with_one_class_are_refused():
    features = little()
    refuses("labels", pc.xi, pc.features(features.x_train, None), 2)
    raises(SettingError, "FeatureSet", pc.xi, features.x_train, 2)
    with pytest.raises(DataError, match="no rows"):
        geometry.separators_of(
            features.x_train, features.y_train * 0, [(0, 1)], classes=features.classes
        )


def test_the_basis_comes_from_public_rows_and_says_so(split):
    rows = geometry.rows_of(split)
    public = geometry.basis_of(rows)
    assert public.provenance is Provenance.PUBLIC
    assert geometry.basis_of(rows, kind="private_pca").provenance is Provenance.NON_PRIVATE
    moved = pc.split(
        pc.features(-5 * split.features.x_train, split.features.y_train),
        public=pc.features(split.public_x, None),
    )
    other = geometry.basis_of(geometry.rows_of(moved))
    np.testing.assert_array_equal(public.vectors, other.vectors)
    fewer = geometry.basis_of(rows, n_public=10)
    assert fewer.rank <= 9
    raises(SettingError, "n_public", geometry.basis_of, rows, n_public=1)
    refuses("public_pca needs public rows", geometry.basis_of, geometry.rows_of(split.features))
    raises(SettingError, "kind", geometry.basis_of, rows, kind="magic")


def test_a_noised_basis_charges_one_release_and_finds_the_signal_when_noise_is_small(split):
    rows, ledger = geometry.rows_of(split), Ledger()
    basis = geometry.basis_of(rows, kind="dp_pca", noise_multiplier=2.0, ledger=ledger)
    assert ledger.total_event == gaussian(2.0, replace_one_factor=2**0.5)
    assert basis.provenance is Provenance.PRIVATE
    assert basis.eigenvalues is None
    mu = np.asarray(split.features.known["mu"])[None]
    assert geometry.xi_of(mu, basis.vectors)[0, 0] < 0.05
    drowned = geometry.basis_of(rows, kind="dp_pca", noise_multiplier=1e6)
    assert geometry.xi_of(mu, drowned.vectors)[0, 0] > 0.2
    raises(SettingError, "noise_multiplier", geometry.basis_of, rows, kind="dp_pca")


def test_stops_between_separators_and_the_best_k():
    rows = geometry.rows_of(little())
    with pytest.raises(Cancelled):
        geometry.separators(rows, geometry.pairs_of(rows.classes), cancelled=lambda: True)
    table = pd.DataFrame(
        {"epsilon": [1.0] * 6, "k": [1, 1, 2, 2, 4, 4], "accuracy": [0.1, 0.3, 0.5, 0.7, 0.6, 0.6]}
    )
    assert geometry.best_k(table)[["k", "accuracy", "low", "high"]].to_numpy().tolist() == [
        [2, pytest.approx(0.6), 2, 4]
    ]
    assert geometry.best_k(table, within=0.45)["low"].to_list() == [1]


def test_the_job_and_the_direct_call_agree(own_cache):
    from pillar_core.jobs.kinds import geometry as jobs_geometry
    from pillar_core.studies import geometry as named

    spec = named.payload("digits", public_fraction=0.2)
    rows = named.rows_of_payload(spec)
    assert jobs_geometry.cached_separators(spec) is None
    small = {**spec, "classes": [0, 1, 2]}
    for task in jobs_geometry.split_separators(small):
        jobs_geometry.run_separators(task, lambda *_: None, lambda: False)
    separators = named.cached_separators(small, rows)
    direct = geometry.separators(rows, geometry.pairs_of(rows.classes, [0, 1, 2]))
    assert separators.pairs == direct.pairs
    np.testing.assert_array_equal(separators.weights, direct.weights)
    assert named.cached_separators({**small, "regularisation": 2.0}, rows) is None


def test_predicted_curves_lose_to_projection_less_and_to_noise_more_as_k_grows(split):
    rows = geometry.rows_of(split)
    basis = geometry.basis_of(rows)
    moments = geometry.class_moments(geometry.coordinates(rows, basis))
    table = geometry.predicted(moments, [1, 2, 4, 8, 16, 23], [0.05, 1.0, np.inf], n_private=200)
    np.testing.assert_allclose(
        table["accuracy"] + table["lost_to_projection"] + table["lost_to_noise"], 1.0
    )
    assert (table["lost_to_noise"] >= 0).all()
    noisy = table[table["epsilon"] == 0.05]
    assert noisy["lost_to_noise"].is_monotonic_increasing
    assert (table[np.isinf(table["epsilon"])]["lost_to_noise"] == 0).all()
    # With θ and σ small against the means, one direction holds everything: Φ(1/σ) is 1 to many
    # digits.
    assert table[np.isinf(table["epsilon"])]["accuracy"].min() > 0.999
    assert geometry.best_k(noisy)["k"].iloc[0] == 1
    for bad in ({"ks": [99]}, {"epsilons": [0.0]}, {"n_private": 0}):
        with pytest.raises(SettingError):
            geometry.predicted(moments, **{"ks": [1], "epsilons": [1.0], "n_private": 10, **bad})


def test_the_noise_free_prediction_is_the_gaussian_error_for_two_classes():
    """Two classes at ±δ/2 with unit variance in one direction: accuracy Φ(δ/2)."""
    from scipy.stats import norm

    moments = geometry.ClassMoments(
        np.array([[-1.2], [1.2]]), np.ones(1), np.array([1.0 + 1.44]), np.array([0.5, 0.5])
    )
    table = geometry.predicted(moments, [1], [np.inf], n_private=100)
    # Gauss–Hermite with 15 nodes integrates Φ(a + bx) to better than 1e-4.
    assert table["accuracy"].iloc[0] == pytest.approx(norm.cdf(1.2), abs=1e-4)


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_small_class_drowns_first(share):
    """The two-class case by hand: t_a = ½Δ²/√(Δ²(w + ν_a²) + 2ν_a²w + ν_a⁴), accuracy Σ s_a Φ(t_a),
    ν_a = R/(μNs_a)."""
    from scipy.stats import norm

    shares, radius, mu_n = (
        np.array([share, 1 - share]),
        1.0 + 1.44,
        pc.accounting.mu_of(0.5, 1e-5) * 60,
    )
    moments = geometry.ClassMoments(
        np.array([[-1.2], [1.2]]), np.ones(1), np.array([radius]), shares
    )
    noise = radius / (mu_n * shares) ** 2
    gaps = 0.5 * 2.4**2 / np.sqrt(2.4**2 * (1 + noise) + 2 * noise + noise**2)
    table = geometry.predicted(moments, [1], [0.5], n_private=60)
    assert table["accuracy"].iloc[0] == pytest.approx(float(shares @ norm.cdf(gaps)), abs=1e-4)


@pytest.mark.slow
def test_real_features_are_almost_low_rank(shared):
    """PILLAR's Fig. 3 on real features: ξ falls with k, public directions beat random ones by
    far."""
    features = pc.load_features(shared / "data/features/fashion_mnist.npz")
    split = pc.split(features, public_fraction=0.1)
    rows = geometry.thinned(geometry.rows_of(split), 150)
    separators = geometry.separators(rows, geometry.pairs_of(rows.classes, range(4)))
    public = geometry.xi_of(separators.weights, geometry.basis_of(rows).vectors).mean(axis=0)
    chance = geometry.xi_of(
        separators.weights, geometry.basis_of(rows, kind="random").vectors
    ).mean(axis=0)
    assert public[39] < 0.45
    assert chance[39] > 0.75
    assert public[199] < 0.3


def test_weights_made_from_uploaded_rows_leave_with_them(own_cache):
    from pillar_core import store
    from pillar_core.data import uploads
    from pillar_core.jobs.kinds import geometry as jobs_geometry
    from pillar_core.studies import geometry as named

    mine, other = _two_uploads()
    keys = {name: [] for name in (mine, other)}
    for name, found in keys.items():
        spec = named.payload(name, public_fraction=0.3, classes=[0, 1, 2], rows_per_class=20)
        task = named.separator_tasks(spec, named.rows_of_payload(spec))[0]
        found.append(("arrays", jobs_geometry.run_separators(task, lambda *_: None, lambda: False)))
    assert uploads.forget(mine) == 3, "the job's weights, the rows, their card"
    assert not any(store.default().has(*key) for key in keys[mine])
    assert all(store.default().has(*key) for key in keys[other])


def _two_uploads():
    from pillar_core.data import uploads

    data = pc.load_features(pc.load_dataset("digits"))
    parts = (slice(0, 300), slice(300, 600))
    return [
        uploads.keep(pc.features(data.x_train[part], data.y_train[part], classes=data.classes))
        for part in parts
    ]


@pytest.mark.parametrize("kind", ["random", "identity"])
def test_of_wide_rows_a_drawn_basis_has_fewer_directions(kind):
    """All directions of 100,000 features take 80 GB."""
    x = pc_stream(0).standard_normal((40, 100_000)).astype(np.float32)
    rows = geometry.rows_of(pc.split(pc.features(x, np.arange(40) % 2), public_fraction=0.5))
    vectors = geometry.basis_of(rows, kind=kind).vectors
    assert vectors.shape == (100_000, 2**23 // 100_000)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-4)


def test_compatibility_is_the_share_of_rows_at_least_gamma_away_on_either_side():
    margins = np.array([-0.5, -0.2, 0.1, 0.2, 0.7])
    assert geometry.compatibility(margins, 0.2) == 0.8
    assert geometry.compatibility(margins, 0.0) == 1.0
    for gamma, rows in ((1.1, margins), (np.nan, margins), (0.1, margins[:0])):
        with pytest.raises((SettingError, DataError)):
            geometry.compatibility(rows, gamma)
