"""Generators against their closed forms."""

import itertools
import math

import numpy as np
import pytest

from pillar_core.data import load_dataset
from pillar_core.data.generators import gaussian_mixture

# Ratios of sample to true variance: χ²/n has standard deviation √(2/n); five of them with Gaussian
# rows.
FIVE_SIGMA = 5.0


def test_mixture_closed_forms_agree_with_linear_algebra():
    d, theta, sigma = 7, 0.6, 0.3
    data = load_dataset("gaussian_mixture", n=10, n_test=10, d=d, theta=theta, sigma=sigma)
    mu, nuisance = data.known["mu"], data.known["w_star"]
    moment = np.outer(mu, mu) + theta**2 * np.outer(nuisance, nuisance) + sigma**2 * np.eye(d)
    values, vectors = np.linalg.eigh(moment)
    values, vectors = values[::-1], vectors[:, ::-1]
    np.testing.assert_allclose(
        gaussian_mixture.eigenvalues(d, theta=theta, sigma=sigma), values, atol=1e-12
    )
    np.testing.assert_allclose(data.known["eigenvalues"], values, atol=1e-12)
    for k in range(1, d):
        projector = vectors[:, :k] @ vectors[:, :k].T
        assert math.isclose(
            gaussian_mixture.eigengap(k, theta=theta), values[k - 1] - values[k], abs_tol=1e-12
        )
        assert math.isclose(data.known["xi"][k], 1 - np.linalg.norm(projector @ mu), abs_tol=1e-12)


def test_mixture_margin_quantile_is_exact_and_deviations_follow_the_corollary():
    n, sigma = 200_000, 0.4
    data = load_dataset("gaussian_mixture", n=n, n_test=10, d=4, sigma=sigma, theta=0.9)
    margins = (2.0 * data.y_train - 1) * (data.x_train @ data.known["mu"])
    below = float((margins < data.known["gamma"]).mean())
    quantile = data.known["gamma_quantile"]
    assert abs(below - quantile) < FIVE_SIGMA * math.sqrt(quantile * (1 - quantile) / n)
    right = data.known["bayes_accuracy"]
    assert abs((margins > 0).mean() - right) < FIVE_SIGMA * math.sqrt(right * (1 - right) / n)
    data = load_dataset("gaussian_mixture", n=10, n_test=10, d=64)
    assert data.known["sigma"] == data.known["theta"] == 1 / 16


@pytest.mark.parametrize("d", [24, 29])
def test_spiked_basis_diagonalises_the_sample_covariance(d):
    n = 60_000
    data = load_dataset("spiked_features", n=n, n_test=100, d=d, C=4, seed=5)
    basis, values = data.known["basis"], data.known["eigenvalues"]
    np.testing.assert_allclose(basis.T @ basis, np.eye(d), atol=1e-5)
    rotated = np.cov((data.x_train @ basis).T)
    # Student noise with 4 degrees of freedom has no fourth moment: 15 % is wide for n = 60,000, and
    # a wrong decay or κ misses it by more.
    np.testing.assert_allclose(np.diag(rotated), values, rtol=0.15)
    correlation = rotated / np.sqrt(np.outer(values, values))
    assert np.abs(correlation - np.diag(np.diag(correlation))).max() < 0.1
    assert (np.diff(values) <= 0).all()


def test_spiked_rows_have_the_stated_means_sizes_spectrum_and_tails():
    data = load_dataset("spiked_features", n=60_000, n_test=100, d=24, C=4, seed=5)
    assert set(np.bincount(data.y_train)) == {15_000}
    means = np.stack([data.x_train[data.y_train == code].mean(axis=0) for code in range(4)])
    # Each coordinate's error has standard deviation √(variance/15,000), the variances summing to
    # about 1 over coordinates.
    assert np.linalg.norm(means - data.known["class_means"], axis=1).max() < FIVE_SIGMA * math.sqrt(
        1 / 15_000
    )
    assert np.linalg.norm(data.known["class_means"], axis=1).min() > 10 * math.sqrt(1 / 15_000)
    data = load_dataset("spiked_features", n=100, n_test=100, d=64, separation=0.0, decay=1.5)
    slopes = np.diff(np.log(data.known["eigenvalues"])) / np.diff(np.log(np.arange(1, 65)))
    np.testing.assert_allclose(slopes, -1.5, atol=1e-4)
    data = load_dataset("spiked_features", n=20_000, n_test=100, d=64, separation=0.0)
    along = data.x_train @ data.known["basis"][:, 40]
    standard = along / along.std()
    # P(|Student(4)/√2| > 4) = 0.0048 against 0.00006 for a normal: 96 rows expected against 1.3.
    assert 40 < (np.abs(standard) > 4).sum() < 200
    few, many = (load_dataset("spiked_features", n=n, n_test=100, d=16) for n in (100, 5_000))
    np.testing.assert_array_equal(few.x_test, many.x_test)


def test_linear_accuracy_on_spiked_features_rises_with_k_and_the_mixture_has_its_moment():
    data = load_dataset("spiked_features", C=10)
    z, z_test = data.x_train @ data.known["basis"], data.x_test @ data.known["basis"]
    means = np.stack([z[data.y_train == code].mean(axis=0) for code in range(10)])
    within = np.cov((z - means[data.y_train]).T)
    clean = []
    for k in (5, 10, 20, 40, 80, 160, 256):
        weights = np.linalg.solve(within[:k, :k], means[:, :k].T)
        clean.append(
            _accuracy(
                z_test[:, :k] @ weights - 0.5 * (means[:, :k].T * weights).sum(axis=0), data.y_test
            )
        )
    # 5,000 test rows: one standard error of an accuracy of 0.9 is 0.0042.
    assert 0.85 < clean[-1] < 0.93
    assert all(later > earlier - 0.0042 for earlier, later in itertools.pairwise(clean))
    assert clean[-1] > clean[2] + 0.05
    n, d, theta, sigma = 40_000, 12, 0.5, 0.2
    data = load_dataset("gaussian_mixture", n=n, n_test=10, d=d, theta=theta, sigma=sigma)
    mu, nuisance = data.known["mu"], data.known["w_star"]
    assert abs(mu @ nuisance) < 1e-12
    np.testing.assert_allclose(np.linalg.norm([mu, nuisance], axis=1), 1)
    signs = 2.0 * data.y_train - 1
    along_mu = signs * (data.x_train @ mu)
    tolerance = FIVE_SIGMA * math.sqrt(2 / n)
    assert abs(along_mu.mean() - 1) < FIVE_SIGMA * sigma / math.sqrt(n)
    assert abs(along_mu.var() / sigma**2 - 1) < tolerance
    assert abs((data.x_train @ nuisance).var() / (theta**2 + sigma**2) - 1) < tolerance
    rest = (
        data.x_train - np.outer(data.x_train @ mu, mu) - np.outer(data.x_train @ nuisance, nuisance)
    )
    assert abs((rest**2).sum() / (n * (d - 2) * sigma**2) - 1) < FIVE_SIGMA * math.sqrt(
        2 / (n * (d - 2))
    )


def _accuracy(scores: np.ndarray, y: np.ndarray) -> float:
    return float((scores.argmax(axis=1) == y).mean())
