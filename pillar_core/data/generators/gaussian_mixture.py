"""PILLAR's Example 1: two Gaussian classes on a line, one nuisance direction, and geometry known in
closed form.

A label y in {−1, 1} is uniform; a row is x = y·μ + θ·u·w* + σ·z with unit vectors μ ⊥ w*, u and z
standard normal. θ and σ are standard deviations: with the variances that the paper prints, the
noise has norm about 3.4 at d = 512 and there is no margin. The separating direction is μ (the
paper's w* is the nuisance). The second moment has eigenvalues 1 + σ² (along μ), θ² + σ² (along w*)
and σ² (d − 2 times), so with θ < 1:

    Δ_1 = 1 − θ²,   Δ_2 = θ²,   Δ_k = 0 beyond;   ξ_k = 0 for μ at every k ≥ 1;   y⟨μ, x⟩ ~ N(1,
    σ²).
"""

import dataclasses
import math
from statistics import NormalDist

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.params import declare
from pillar_core.types import Dataset

QUANTILE = 0.01


@dataclasses.dataclass(frozen=True)
class GaussianMixtureSettings:
    """Sizes, and the two standard deviations; Corollary 2's scale 1/(2√d) where None."""

    n: int = declare(10000, "Train rows.", low=4, high=1_000_000, unit="rows", log=True)
    n_test: int = declare(2000, "Test rows.", low=2, high=1_000_000, unit="rows", log=True)
    d: int = declare(512, "Dimension.", low=2, high=4096, unit="features", log=True)
    theta: float | None = declare(
        None,
        "Standard deviation along the nuisance direction.",
        low=0,
        high=1,
        high_open=True,
        none_means="1/(2√d), as in the paper",
    )
    sigma: float | None = declare(
        None,
        "Standard deviation of the isotropic noise.",
        low=0,
        low_open=True,
        high=10,
        none_means="1/(2√d), as in the paper",
    )

    @property
    def deviations(self) -> tuple[float, float]:
        """(θ, σ) with the rule filled in."""
        rule = 1 / (2 * math.sqrt(self.d))
        return rule if self.theta is None else self.theta, (
            rule if self.sigma is None else self.sigma
        )


def eigenvalues(d: int, *, theta: float, sigma: float) -> Array:
    """(d,) float64 eigenvalues of E[xxᵀ], largest first, for 0 ≤ θ < 1."""
    values = np.full(d, sigma**2)
    values[0] += 1.0
    values[1] += theta**2
    return values


def eigengap(k: int, *, theta: float) -> float:
    """Δ_k = λ_k − λ_{k+1} for k ≥ 1: 1 − θ², θ², then 0 (equation 36 gives k = 2)."""
    return {1: 1 - theta**2, 2: theta**2}.get(k, 0.0)


def distance_margin(*, sigma: float) -> float:
    """The γ that y⟨μ, x⟩ falls below with probability QUANTILE: 1 + σ·Φ⁻¹(QUANTILE), exact."""
    return 1 + sigma * NormalDist().inv_cdf(QUANTILE)


def bayes_accuracy(*, sigma: float) -> float:
    """Accuracy of the best classifier sign⟨μ, x⟩: Φ(1/σ)."""
    return NormalDist().cdf(1 / sigma)


def _read(settings: GaussianMixtureSettings, seed: int, download: bool) -> Dataset:
    theta, sigma = settings.deviations
    frame = rng.stream(seed, "gaussian_mixture", "directions").standard_normal((settings.d, 2))
    directions, _ = np.linalg.qr(frame)
    mu, nuisance = directions[:, 0], directions[:, 1]
    (x_train, y_train), (x_test, y_test) = (
        _rows(n, mu, nuisance, theta, sigma, rng.stream(seed, "gaussian_mixture", side))
        for side, n in (("train", settings.n), ("test", settings.n_test))
    )
    values = eigenvalues(settings.d, theta=theta, sigma=sigma)
    known = {
        "mu": mu,
        "w_star": nuisance,
        "theta": theta,
        "sigma": sigma,
        "basis": directions,
        "eigenvalues": values,
        "eigengap": {k: eigengap(k, theta=theta) for k in range(1, settings.d)},
        "xi": dict.fromkeys(range(1, settings.d + 1), 0.0),  # μ is the first eigenvector
        "gamma": distance_margin(sigma=sigma),
        "gamma_quantile": QUANTILE,
        "bayes_accuracy": bayes_accuracy(sigma=sigma),
    }
    return Dataset(
        "gaussian_mixture", x_train, y_train, x_test, y_test, classes=("-1", "1"), known=known
    )


def _rows(
    n: int, mu: Array, nuisance: Array, theta: float, sigma: float, generator: np.random.Generator
) -> tuple[Array, Array]:
    labels = generator.integers(0, 2, n)
    labels[:2] = (0, 1)
    x = generator.standard_normal((n, len(mu)), dtype=np.float32)
    x *= np.float32(sigma)
    coefficients = np.stack(
        [2.0 * labels - 1.0, theta * generator.standard_normal(n)], axis=1
    ).astype(np.float32)
    x += coefficients @ np.stack([mu, nuisance]).astype(np.float32)
    return x, labels


DATASETS.register(card_of("gaussian_mixture", _read, settings=GaussianMixtureSettings))
