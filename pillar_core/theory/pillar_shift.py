"""PILLAR's theorems under distribution shift: public rows at total variation η from the private ones."""

from __future__ import annotations

import dataclasses
import math

from pillar_core.params import setting
from pillar_core.theory.calculator import (
    ALPHA,
    BETA,
    CALCULATORS,
    EPSILON,
    ETA,
    GAMMA,
    GAP,
    RADIUS,
    XI,
    Calculator,
    Form,
    K,
    Range,
    Value,
    ratio,
)
from pillar_core.theory.pillar_theorems import public_rows


@dataclasses.dataclass(frozen=True)
class ShiftSettings:
    """Inputs of Theorems 2 and 4."""

    k: int = setting(K)
    gamma: float = setting(GAMMA)
    xi: float = setting(XI)
    gap: float = setting(GAP)
    eta: float = setting(ETA)
    radius: float = setting(RADIUS)
    alpha: float = setting(ALPHA)
    beta: float = setting(BETA)
    epsilon: float = setting(EPSILON)


def moment_shift(*, eta: float, radius: float, form: Form) -> float:
    """How far the second moments of rows at total variation η can be apart: 7η as printed, R²η in truth (operator norm)."""
    return 7 * eta if form is Form.PRINTED else radius**2 * eta


def margin_left(s: ShiftSettings, form: Form) -> float:
    """ζ = γ(0.9(1 − ξ) − 2·shift/Δ): the margin that survives projection on the shifted public rows' directions."""
    shift = moment_shift(eta=s.eta, radius=s.radius, form=form)
    return s.gamma * (0.9 * (1 - s.xi) - ratio(2 * shift, s.gap)) if shift else s.gamma * 0.9 * (1 - s.xi)


def _theorem_2(s: ShiftSettings) -> tuple[Value, ...]:
    per_gap = ratio(s.eta, s.gap) if s.eta else 0.0
    inverse_printed = s.gamma * (1 - s.xi - 140 / 9 * per_gap)
    inverse = 0.9 * s.gamma * (1 - s.xi - 20 / 9 * s.radius**2 * per_gap)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    latex = r"n^L = \tilde O\Bigl(\frac{L_\ell\sqrt{k}}{\alpha\,\epsilon}\Bigr)"
    return (
        Value("1/Lipschitz", Form.PRINTED, inverse_printed, r"1/L_\ell = \gamma_0\bigl(1-\xi_0-\tfrac{140\,\eta}{9\,\Delta_k}\bigr)"),
        Value("1/Lipschitz", Form.CORRECTED, inverse, r"1/L_\ell = 0.9\,\gamma_0\bigl(1-\xi_0-\tfrac{20\,R^2\eta}{9\,\Delta_k}\bigr)"),
        Value("private rows", Form.PRINTED, ratio(private, inverse_printed), latex, "rows", True),
        Value("private rows", Form.CORRECTED, ratio(private, inverse), latex, "rows", True),
        Value("largest shift", Form.PRINTED, 9 * (1 - s.xi) * s.gap / 140, r"\eta < \tfrac{9(1-\xi_0)\Delta_k}{140}"),
        Value("largest shift", Form.CORRECTED, 9 * (1 - s.xi) * s.gap / (20 * s.radius**2), r"\eta < \tfrac{9(1-\xi_0)\Delta_k}{20R^2}"),
    )


def _theorem_4(s: ShiftSettings) -> tuple[Value, ...]:
    zeta_printed, zeta = margin_left(s, Form.PRINTED), margin_left(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    public_gap = s.gap - 2 * moment_shift(eta=s.eta, radius=s.radius, form=Form.CORRECTED)
    public = public_rows(beta=s.beta, xi=s.xi, gap=public_gap, share=4.0) if public_gap > 0 else math.inf
    return (
        Value("margin left", Form.PRINTED, zeta_printed, r"\zeta = \gamma_0\bigl(0.9(1-\xi_0)-\tfrac{14\,\eta}{\Delta_k}\bigr)"),
        Value("margin left", Form.CORRECTED, zeta, r"\zeta = \gamma_0\bigl(0.9(1-\xi_0)-\tfrac{2R^2\eta}{\Delta_k}\bigr)"),
        Value(
            "public rows",
            Form.PRINTED,
            ratio(math.log(2 / s.beta), (s.gamma * s.gap) ** 2),
            r"n^U = O\Bigl(\frac{\log(2/\beta)}{(\gamma_0\Delta_k)^2}\Bigr)",
            "rows",
            True,
        ),
        Value(
            "public rows",
            Form.CORRECTED,
            public,
            r"n^U \ge \frac{1600\,\bigl(1+\sqrt{\log(4/\beta)/2}\bigr)^2}{(1-\xi_0)^2\,(\Delta_k-2R^2\eta)^2}",
            "rows",
        ),
        Value(
            "private rows",
            Form.PRINTED,
            ratio(private, zeta_printed),
            r"n^L = \tilde O\Bigl(\frac{\sqrt{k}}{\alpha\epsilon\zeta}\Bigr)",
            "rows",
            True,
        ),
        Value(
            "private rows",
            Form.CORRECTED,
            ratio(private, zeta) + s.k / s.alpha,
            r"n^L = \tilde O\Bigl(\frac{\sqrt{k}}{\alpha\epsilon\zeta} + \frac{k}{\alpha}\Bigr)",
            "rows",
            True,
        ),
    )


def _shift_ranges(s: ShiftSettings) -> tuple[Range, ...]:
    largest = 9 * (1 - s.xi) * s.gap
    return (
        Range("ε < 1/√k", s.epsilon, 0, 1 / math.sqrt(s.k)),
        Range("β < 1/4", s.beta, 0, 0.25),
        Range("γ₀", s.gamma, 0, 1),
        Range("ξ₀", s.xi, 0, 1, low_open=False),
        Range("η < 9(1 − ξ₀)Δ_k/140", s.eta, 0, largest / 140, low_open=False),
        Range("η < 9(1 − ξ₀)Δ_k/(20R²)", s.eta, 0, largest / (20 * s.radius**2), low_open=False, form=Form.CORRECTED),
    )


CALCULATORS.register(
    Calculator(
        name="pillar_theorem_2",
        title="PILLAR, Theorem 2 (shift, informal)",
        source="PILLAR, Theorem 2",
        says="Public rows that differ a little from the private ones still do: the margin shrinks with η/Δ_k.",
        settings=ShiftSettings,
        compute=_theorem_2,
        ranges=_shift_ranges,
        corrections=(
            "Lemma 6's 7η is η for moments on the unit ball (R²η about a public mean), so 140/9 becomes (20/9)R².",
            "Theorem 4's own 0.9 is missing in the informal statement.",
        ),
    )
)
CALCULATORS.register(
    Calculator(
        name="pillar_theorem_4",
        title="PILLAR, Theorem 4 (shift, formal)",
        source="PILLAR, appendix A-D, Theorem 4, Lemmas 4 to 7",
        says="The same with every step: what margin is left, and how many public and private rows that takes.",
        settings=ShiftSettings,
        compute=_theorem_4,
        ranges=_shift_ranges,
        corrections=(
            "The printed n^U has γ₀Δ_k where the proof (equation 24) needs (1 − ξ₀) times the public rows' gap, at least Δ_k − 2R²η.",
            "7η becomes R²η (Lemma 6).",
            "The proof's last step needs k/α rows for generalisation; the theorem leaves them out.",
        ),
    )
)
