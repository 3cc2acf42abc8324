"""PILLAR's sample sizes (Theorem 1; Corollary 2, the Gaussian mixture), also with public rows at
total variation η from private ones."""

import math

from pillar_core.theory.calculator import Form, Inputs, Numbers, ratio, register

CROSS_ENTROPY_PRINTED = 2.0
CROSS_ENTROPY_LIPSCHITZ = 1.0 / math.log(2.0)
"""|d/ds log(1 + e^−s)/log 2| < 1/log 2 ≈ 1.4427 on the unit ball."""


def public_rows(*, beta: float, xi: float, gap: float, share: float = 2.0) -> float:
    """Equation 4: rows for which ‖ÂÂᵀ − AAᵀ‖_F ≤ (1 − ξ)/10 fails with probability at most
    β/`share`; ∞ for no gap."""
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
        "private rows": {
            "printed": printed * private,
            "corrected": exact * private + (exact / s.alpha) ** 2,
        },
    }


def _radius(s: Inputs) -> float:
    return float(
        (4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta)))
        * (s.sigma + s.theta)
    )


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
        "public rows": {
            "printed": rows,
            "corrected": public_rows(beta=s.beta, xi=0.0, gap=normalised_gap),
        },
        "private rows": {
            "printed": ratio(private * math.sqrt(2), gamma * (1 - 0.1 * gamma)),
            "corrected": slope / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
        },
        "private rows without projection": {
            "derived": slope * math.sqrt(s.d) / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2
        },
    }


register("pillar_theorem_1", _theorem_1, ends=lambda s: {"1/√k": 1 / math.sqrt(s.k)})
register(
    "pillar_corollary_2",
    _corollary_2,
    ends=lambda s: {"γ": 1 - _radius(s), "1/√d": 1 / math.sqrt(s.d)},
)


def moment_shift(*, eta: float, radius: float, form: Form) -> float:
    """How far the second moments of rows at total variation η can be apart: 7η as printed, R²η in
    truth (operator norm)."""
    return 7 * eta if form is Form.PRINTED else radius**2 * eta


def margin_left(s: Inputs, form: Form) -> float:
    """ζ = γ(0.9(1 − ξ) − 2·shift/Δ): the margin that survives projection on the shifted public
    rows' directions."""
    shift = moment_shift(eta=s.eta, radius=s.radius, form=form)
    return float(s.gamma * (0.9 * (1 - s.xi) - (ratio(2 * shift, s.gap) if shift else 0.0)))


def _theorem_2(s: Inputs) -> Numbers:
    per_gap = ratio(s.eta, s.gap) if s.eta else 0.0
    inverse_printed = s.gamma * (1 - s.xi - 140 / 9 * per_gap)
    inverse = 0.9 * s.gamma * (1 - s.xi - 20 / 9 * s.radius**2 * per_gap)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return {
        "1/Lipschitz": {"printed": inverse_printed, "corrected": inverse},
        "private rows": {
            "printed": ratio(private, inverse_printed),
            "corrected": ratio(private, inverse),
        },
        "largest shift": {
            "printed": 9 * (1 - s.xi) * s.gap / 140,
            "corrected": 9 * (1 - s.xi) * s.gap / (20 * s.radius**2),
        },
    }


def _theorem_4(s: Inputs) -> Numbers:
    zeta_printed, zeta = margin_left(s, Form.PRINTED), margin_left(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    public_gap = s.gap - 2 * moment_shift(eta=s.eta, radius=s.radius, form=Form.CORRECTED)
    public = (
        public_rows(beta=s.beta, xi=s.xi, gap=public_gap, share=4.0) if public_gap > 0 else math.inf
    )
    return {
        "margin left": {"printed": zeta_printed, "corrected": zeta},
        "public rows": {
            "printed": ratio(math.log(2 / s.beta), (s.gamma * s.gap) ** 2),
            "corrected": public,
        },
        "private rows": {
            "printed": ratio(private, zeta_printed),
            "corrected": ratio(private, zeta) + s.k / s.alpha,
        },
    }


def _ends(s: Inputs) -> dict[str, float]:
    largest = 9 * (1 - s.xi) * s.gap
    return {
        "1/√k": 1 / math.sqrt(s.k),
        "printed shift": largest / 140,
        "largest shift": largest / (20 * s.radius**2),
    }


register("pillar_theorem_2", _theorem_2, ends=_ends)
register("pillar_theorem_4", _theorem_4, ends=_ends)
