"""PILLAR's sample sizes: Theorem 1, and Corollary 2 for the Gaussian mixture."""

import math

from pillar_core.theory.calculator import Form, Inputs, Numbers, ratio, register

CROSS_ENTROPY_PRINTED = 2.0
CROSS_ENTROPY_LIPSCHITZ = 1.0 / math.log(2.0)
"""|d/ds log(1 + e^−s)/log 2| < 1/log 2 ≈ 1.4427 on the unit ball."""


def public_rows(*, beta: float, xi: float, gap: float, share: float = 2.0) -> float:
    """Equation 4: rows for which ‖ÂÂᵀ − AAᵀ‖_F ≤ (1 − ξ)/10 fails with probability at most β/`share`; ∞ for no gap."""
    return ratio(1600 * (1 + math.sqrt(math.log(share / beta) / 2)) ** 2, ((1 - xi) * gap) ** 2)


def lipschitz(settings: Inputs, form: Form) -> float:
    """L of the loss: Table I's constant, or the exact one."""
    if settings.loss == "cross_entropy":
        return CROSS_ENTROPY_PRINTED if form is Form.PRINTED else CROSS_ENTROPY_LIPSCHITZ
    return ratio(1.0, 0.9 * settings.gamma * (1 - settings.xi))


def _theorem_1(s: Inputs) -> Numbers:
    printed, exact = lipschitz(s, Form.PRINTED), lipschitz(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return {
        "public rows": {"printed": public_rows(beta=s.beta, xi=s.xi, gap=s.gap)},
        "Lipschitz constant": {"printed": printed, "corrected": exact},
        "private rows": {"printed": printed * private, "corrected": exact * private + (exact / s.alpha) ** 2},
    }


def _radius(s: Inputs) -> float:
    return float((4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta))) * (s.sigma + s.theta))


def _corollary_2(s: Inputs) -> Numbers:
    radius = _radius(s)
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


register("pillar_theorem_1", _theorem_1, ends=lambda s: {"1/√k": 1 / math.sqrt(s.k)})
register("pillar_corollary_2", _corollary_2, ends=lambda s: {"γ": 1 - _radius(s), "1/√d": 1 / math.sqrt(s.d)})
