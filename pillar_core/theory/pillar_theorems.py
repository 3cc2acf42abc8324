"""PILLAR's sample sizes: Theorem 1, and Corollary 2 for the Gaussian mixture."""

from __future__ import annotations

import dataclasses
import math

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import (
    ALPHA,
    BETA,
    CALCULATORS,
    EPSILON,
    GAMMA,
    GAP,
    LOSS,
    XI,
    Calculator,
    D,
    Form,
    K,
    Range,
    Value,
    ratio,
)

CROSS_ENTROPY_PRINTED = 2.0
CROSS_ENTROPY_LIPSCHITZ = 1.0 / math.log(2.0)
"""|d/ds log(1 + e^−s)/log 2| < 1/log 2 ≈ 1.4427 on the unit ball."""
PUBLIC_LATEX = r"n^U \ge \frac{1600\,\bigl(1+\sqrt{\log(2/\beta)/2}\bigr)^2}{(1-\xi_0)^2\,\Delta_k^2}"


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


def _theorem_1(s: Theorem1Settings) -> tuple[Value, ...]:
    printed, exact = lipschitz(s, Form.PRINTED), lipschitz(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return (
        Value(
            "public rows", Form.PRINTED, public_rows(beta=s.beta, xi=s.xi, gap=s.gap), PUBLIC_LATEX, "rows", note="constant from equation 4"
        ),
        Value("Lipschitz constant", Form.PRINTED, printed, r"L_\ell = 2 \;\text{or}\; \tfrac{1}{0.9\,\gamma_0(1-\xi_0)}"),
        Value("Lipschitz constant", Form.CORRECTED, exact, r"L_\ell = \tfrac{1}{\log 2} \;\text{or}\; \tfrac{1}{0.9\,\gamma_0(1-\xi_0)}"),
        Value(
            "private rows",
            Form.PRINTED,
            printed * private,
            r"n^L = \tilde O\Bigl(\frac{L_\ell\sqrt{k}}{\alpha\,\epsilon}\Bigr)",
            "rows",
            True,
        ),
        Value(
            "private rows",
            Form.CORRECTED,
            exact * private + (exact / s.alpha) ** 2,
            r"n^L = \tilde O\Bigl(\frac{L_\ell\sqrt{k}}{\alpha\,\epsilon} + \frac{L_\ell^2}{\alpha^2}\Bigr)",
            "rows",
            True,
        ),
    )


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


def _corollary_2(s: Corollary2Settings) -> tuple[Value, ...]:
    reach = 4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta))
    radius = reach * (s.sigma + s.theta)
    gamma, ball = 1 - radius, 1 + radius
    private = ball / (s.alpha * s.epsilon)
    cosine = gamma / ball
    slope = ratio(1.0, 0.9 * cosine)
    normalised_gap = (1 - s.theta**2) / ball**2
    return (
        Value("margin", Form.PRINTED, gamma, r"\gamma = 1-\bigl(4\sqrt d+2\sqrt{\log(4n^L/\beta)}\bigr)(\sigma^2+\theta)"),
        Value("radius", Form.PRINTED, ball, r"M = 1+\bigl(4\sqrt d+2\sqrt{\log(4n^L/\beta)}\bigr)(\sigma^2+\theta)"),
        Value(
            "public rows",
            Form.PRINTED,
            ratio(ball**2 * math.log(2 / s.beta), (max(gamma, 0.0) * s.theta) ** 2),
            r"n^U = O\Bigl(\frac{M^2\log(2/\beta)}{\gamma^2\theta^2}\Bigr)",
            "rows",
            True,
        ),
        Value(
            "public rows",
            Form.CORRECTED,
            public_rows(beta=s.beta, xi=0.0, gap=normalised_gap),
            r"n^U \ge \frac{1600\,(1+\sqrt{\log(2/\beta)/2})^2M^4}{(1-\theta^2)^2}\quad(k=1,\ \xi_1=0)",
            "rows",
        ),
        Value(
            "private rows",
            Form.PRINTED,
            ratio(private * math.sqrt(2), gamma * (1 - 0.1 * gamma)),
            r"n^L = \tilde O\Bigl(\frac{M\sqrt k}{\alpha\epsilon\gamma(1-0.1\gamma)}\Bigr),\ k=2",
            "rows",
            True,
        ),
        Value(
            "private rows",
            Form.CORRECTED,
            slope / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
            r"n^L = \tilde O\Bigl(\frac{L}{\alpha\epsilon}+\frac{L^2}{\alpha^2}\Bigr),\ L=\frac{M}{0.9\,\gamma},\ k=1",
            "rows",
            True,
        ),
        Value(
            "private rows without projection",
            Form.DERIVED,
            slope * math.sqrt(s.d) / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
            r"n^L = \tilde O\Bigl(\frac{L\sqrt d}{\alpha\epsilon}+\frac{L^2}{\alpha^2}\Bigr)",
            "rows",
            True,
        ),
    )


def _corollary_2_ranges(s: Corollary2Settings) -> tuple[Range, ...]:
    radius = (4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta))) * (s.sigma + s.theta)
    return (
        Range("γ > 0", 1 - radius, 0, 1),
        Range("β < 1/4", s.beta, 0, 0.25),
        Range("θ = O(1/√d), taken as ≤ 1/√d", s.theta, 0, 1 / math.sqrt(s.d), high_open=False),
        Range("σ = O(1/√d), taken as ≤ 1/√d", s.sigma, 0, 1 / math.sqrt(s.d), high_open=False),
    )


CALCULATORS.register(
    Calculator(
        name="pillar_theorem_1",
        title="PILLAR, Theorem 1",
        source="Pinto, Hu, Yang & Sanyal, PILLAR, Theorem 1, Lemma 2, equation 4, Table I",
        says="With a margin γ₀ that k directions keep up to ξ₀, the private rows needed grow like √k, not √d.",
        settings=Theorem1Settings,
        compute=_theorem_1,
        ranges=_theorem_1_ranges,
        corrections=(
            "Generalisation needs L²/α² further rows (Rademacher complexity L/√n; the proof prints L/n). Theorem 1 drops them.",
            "Table I gives cross-entropy the constant 2; log(1 + e^−s)/log 2 has 1/log 2 = 1.4427.",
        ),
    )
)
CALCULATORS.register(
    Calculator(
        name="pillar_corollary_2",
        title="PILLAR, Corollary 2 (Gaussian mixture)",
        source="PILLAR, appendix A-E, Example 1 and Corollary 2",
        says="For two Gaussian classes on a line the private rows needed fall from O(√d) to O(1).",
        settings=Corollary2Settings,
        compute=_corollary_2,
        ranges=_corollary_2_ranges,
        corrections=(
            "θ and σ are read as standard deviations: with σ² a variance the noise has norm σ√d and there is no margin.",
            "The separating direction is μ, the first eigenvector: k = 1, ξ₁ = 0, Δ₁ = 1 − θ². The paper's w* is the nuisance.",
            "Rows divided by M have a second moment divided by M², so Δ₁ is (1 − θ²)/M² (θ/M in print).",
        ),
    )
)
