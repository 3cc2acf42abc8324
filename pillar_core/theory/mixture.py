"""The Gaussian mixture with one noisy release: predicted error with and without projection, to put
beside measured ones.

Rows x = yμ + θuw* + σz in d dimensions, projected on k directions that hold μ (k = d: not
projected), scaled to unit norm. One full-batch step from zero releases Σ y·z + noise: its weights
are N·c·μ̂ + g/μ_G per coordinate, with c = E⟨μ, z/‖z‖⟩ and μ_G the Gaussian-DP parameter of (ε, δ).
In units of the noise the signal is s = μ_G·N·c, and a row is wrong with probability

    E[Φ(−(s + g₁)/√(θ²g₂² + σ²((s + g₁)² + g₂² + … + g_k²)))],   g standard normal,

for k = 1 simply Φ(s)·Φ(−1/σ) + Φ(−s)·Φ(1/σ). An error α needs s ≈ √k·σz/√(1 − σ²z²) with z = Φ⁻¹(1
− α): √d without projection, constant with k = 1.
"""

import math
from statistics import NormalDist

import numpy as np
from scipy.special import ndtr

from pillar_core.accounting import mu_of
from pillar_core.errors import BudgetError, SettingError
from pillar_core.numerics import smallest_passing

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
MOST_ROWS = 1e9


def unit_signal(*, k: int, theta: float, sigma: float, held: float = 1.0) -> float:
    """c = E⟨û, z/‖z‖⟩ for a row in k directions whose û holds a share `held` of μ (and, from k = 2
    on, w*).

    The row's other parts enter by their mean square.
    """
    _check(k, theta, sigma, held)
    rest = (theta**2 if k >= 2 else 0.0) + (k - 1) * sigma**2
    along = held + sigma * NODES
    return float(WEIGHTS @ (along / np.sqrt(along**2 + rest + 1e-300)))


def predicted_error(
    *,
    n_private: float,
    epsilon: float,
    k: int,
    theta: float,
    sigma: float,
    delta: float = 1e-5,
    held: float = 1.0,
) -> float:
    """Error in [0, 1] of the noisy release on new rows. held: ‖A_kᵀμ‖, 1 for directions known
    exactly.

    Raises SettingError: k, θ, σ, n_private or ε out of range.
    """
    if not n_private >= 1 or not epsilon > 0:
        raise SettingError(
            f"n_private must be at least 1 and epsilon above 0; got {n_private!r} and {epsilon!r}."
        )
    if math.isinf(epsilon):
        _check(k, theta, sigma, held)
        return NormalDist().cdf(-held / sigma)
    signal = (
        mu_of(epsilon, delta) * n_private * unit_signal(k=k, theta=theta, sigma=sigma, held=held)
    )
    return _error(signal, k, theta, sigma, held)


def rows_needed(
    *, error: float, epsilon: float, k: int, theta: float, sigma: float, delta: float = 1e-5
) -> float:
    """The fewest private rows (not rounded) at which `predicted_error` is at most `error`; ∞ where
    no number will do."""
    if not 0 < error < 1:
        raise SettingError(f"error must be in (0, 1); got {error!r}.")
    try:
        return smallest_passing(
            lambda n: (
                predicted_error(
                    n_private=n, epsilon=epsilon, k=k, theta=theta, sigma=sigma, delta=delta
                )
                <= error
            ),
            start=100.0,
            low=1.0,
            high=MOST_ROWS,
        )
    except BudgetError:
        return math.inf


def _error(signal: float, k: int, theta: float, sigma: float, held: float) -> float:
    if k == 1:
        right = float(ndtr(signal))
        return right * float(ndtr(-held / sigma)) + (1 - right) * float(ndtr(held / sigma))
    along = signal + NODES
    nuisance = theta**2 if k >= 2 else 0.0
    spread = np.sqrt(nuisance + sigma**2 * (along**2 + (k - 1)))
    return float(WEIGHTS @ ndtr(-held * along / np.maximum(spread, 1e-300)))


def _check(k: int, theta: float, sigma: float, held: float) -> None:
    if not k >= 1 or not 0 <= theta < 1 or not 0 < sigma <= 10 or not 0 < held <= 1:
        raise SettingError(
            "k must be at least 1, theta in [0, 1), sigma in (0, 10] and held in (0, 1]; got"
            f" {k!r}, {theta!r}, {sigma!r}, {held!r}."
        )
