"""PILLAR's sample sizes: Theorem 1, and Corollary 2 for the Gaussian mixture."""

import dataclasses
import math

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import ALPHA, BETA, EPSILON, GAMMA, GAP, LOSS, XI, D, Form, K, Numbers, Range, ratio, register

CROSS_ENTROPY_PRINTED = 2.0
CROSS_ENTROPY_LIPSCHITZ = 1.0 / math.log(2.0)
"""|d/ds log(1 + e^−s)/log 2| < 1/log 2 ≈ 1.4427 on the unit ball."""


def public_rows(*, beta: float, xi: float, gap: float, share: float = 2.0) -> float:
    """Equation 4: rows for which ‖ÂÂᵀ − AAᵀ‖_F ≤ (1 − ξ)/10 fails with probability at most β/`share`; ∞ for no gap."""
    return ratio(1600 * (1 + math.sqrt(math.log(share / beta) / 2)) ** 2, ((1 - xi) * gap) ** 2)


@dataclasses.dataclass(frozen=True)
class Theorem1Settings:
    """Inputs of Theorem 1."""

    k: int = setting(K)
    gamma: float = setting(GAMMA)
    xi: float = setting(XI)
    gap: float = setting(GAP)
    alpha: float = setting(ALPHA)
    beta: float = setting(BETA)
    epsilon: float = setting(EPSILON)
    loss: str = setting(LOSS)


def lipschitz(settings: Theorem1Settings, form: Form) -> float:
    """L of the loss: Table I's constant, or the exact one."""
    if settings.loss == "cross_entropy":
        return CROSS_ENTROPY_PRINTED if form is Form.PRINTED else CROSS_ENTROPY_LIPSCHITZ
    return ratio(1.0, 0.9 * settings.gamma * (1 - settings.xi))


def _theorem_1(s: Theorem1Settings) -> Numbers:
    printed, exact = lipschitz(s, Form.PRINTED), lipschitz(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return {
        "public rows": {"printed": public_rows(beta=s.beta, xi=s.xi, gap=s.gap)},
        "Lipschitz constant": {"printed": printed, "corrected": exact},
        "private rows": {"printed": printed * private, "corrected": exact * private + (exact / s.alpha) ** 2},
    }


def _theorem_1_ranges(s: Theorem1Settings) -> tuple[Range, ...]:
    return (
        Range("ε < 1/√k", s.epsilon, 0, 1 / math.sqrt(s.k)),
        Range("β < 1/4", s.beta, 0, 0.25),
        Range("α", s.alpha, 0, 1),
        Range("γ₀", s.gamma, 0, 1),
        Range("ξ₀", s.xi, 0, 1),
        Range("Δ_k", s.gap, 0, 1, high_open=False),
    )


@dataclasses.dataclass(frozen=True)
class Corollary2Settings:
    """Inputs of Corollary 2; θ and σ² as the paper reads them, so that the corrected form takes their square roots' scale."""

    d: int = setting(D, default=512)
    theta: float = setting(
        Param("theta", float, 0.005, "Spread θ along the nuisance direction.", low=0, low_open=True, high=1, high_open=True)
    )
    sigma: float = setting(
        Param("sigma", float, 0.005, "Spread σ of the noise in every direction (σ² in print).", low=0, low_open=True, high=1)
    )
    n_private: int = setting(Param("n_private", int, 10_000, "Labelled private rows.", low=1, high=10**9, unit="rows", log=True))
    alpha: float = setting(ALPHA)
    beta: float = setting(BETA)
    epsilon: float = setting(EPSILON)


def _corollary_2(s: Corollary2Settings) -> Numbers:
    reach = 4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta))
    radius = reach * (s.sigma + s.theta)
    gamma, ball = 1 - radius, 1 + radius
    private = ball / (s.alpha * s.epsilon)
    cosine = gamma / ball
    slope = ratio(1.0, 0.9 * cosine)
    normalised_gap = (1 - s.theta**2) / ball**2
    rows = ratio(ball**2 * math.log(2 / s.beta), (max(gamma, 0.0) * s.theta) ** 2)
    return {
        "margin": {"printed": gamma},
        "radius": {"printed": ball},
        "public rows": {"printed": rows, "corrected": public_rows(beta=s.beta, xi=0.0, gap=normalised_gap)},
        "private rows": {
            "printed": ratio(private * math.sqrt(2), gamma * (1 - 0.1 * gamma)),
            "corrected": slope / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
        },
        "private rows without projection": {"derived": slope * math.sqrt(s.d) / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2},
    }


def _corollary_2_ranges(s: Corollary2Settings) -> tuple[Range, ...]:
    radius = (4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta))) * (s.sigma + s.theta)
    return (
        Range("γ > 0", 1 - radius, 0, 1),
        Range("β < 1/4", s.beta, 0, 0.25),
        Range("θ = O(1/√d), taken as ≤ 1/√d", s.theta, 0, 1 / math.sqrt(s.d), high_open=False),
        Range("σ = O(1/√d), taken as ≤ 1/√d", s.sigma, 0, 1 / math.sqrt(s.d), high_open=False),
    )


register("pillar_theorem_1", Theorem1Settings, _theorem_1, ranges=_theorem_1_ranges)
register("pillar_corollary_2", Corollary2Settings, _corollary_2, ranges=_corollary_2_ranges)
