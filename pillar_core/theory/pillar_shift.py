"""PILLAR's theorems under distribution shift: public rows at total variation η from the private ones."""

import math

from pillar_core.theory.calculator import Form, Inputs, Numbers, ratio, register
from pillar_core.theory.pillar_theorems import public_rows


def moment_shift(*, eta: float, radius: float, form: Form) -> float:
    """How far the second moments of rows at total variation η can be apart: 7η as printed, R²η in truth (operator norm)."""
    return 7 * eta if form is Form.PRINTED else radius**2 * eta


def margin_left(s: Inputs, form: Form) -> float:
    """ζ = γ(0.9(1 − ξ) − 2·shift/Δ): the margin that survives projection on the shifted public rows' directions."""
    shift = moment_shift(eta=s.eta, radius=s.radius, form=form)
    return float(s.gamma * (0.9 * (1 - s.xi) - (ratio(2 * shift, s.gap) if shift else 0.0)))


def _theorem_2(s: Inputs) -> Numbers:
    per_gap = ratio(s.eta, s.gap) if s.eta else 0.0
    inverse_printed = s.gamma * (1 - s.xi - 140 / 9 * per_gap)
    inverse = 0.9 * s.gamma * (1 - s.xi - 20 / 9 * s.radius**2 * per_gap)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return {
        "1/Lipschitz": {"printed": inverse_printed, "corrected": inverse},
        "private rows": {"printed": ratio(private, inverse_printed), "corrected": ratio(private, inverse)},
        "largest shift": {"printed": 9 * (1 - s.xi) * s.gap / 140, "corrected": 9 * (1 - s.xi) * s.gap / (20 * s.radius**2)},
    }


def _theorem_4(s: Inputs) -> Numbers:
    zeta_printed, zeta = margin_left(s, Form.PRINTED), margin_left(s, Form.CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    public_gap = s.gap - 2 * moment_shift(eta=s.eta, radius=s.radius, form=Form.CORRECTED)
    public = public_rows(beta=s.beta, xi=s.xi, gap=public_gap, share=4.0) if public_gap > 0 else math.inf
    return {
        "margin left": {"printed": zeta_printed, "corrected": zeta},
        "public rows": {"printed": ratio(math.log(2 / s.beta), (s.gamma * s.gap) ** 2), "corrected": public},
        "private rows": {"printed": ratio(private, zeta_printed), "corrected": ratio(private, zeta) + s.k / s.alpha},
    }


def _ends(s: Inputs) -> dict[str, float]:
    largest = 9 * (1 - s.xi) * s.gap
    return {"1/√k": 1 / math.sqrt(s.k), "printed shift": largest / 140, "largest shift": largest / (20 * s.radius**2)}


register("pillar_theorem_2", _theorem_2, ends=_ends)
register("pillar_theorem_4", _theorem_4, ends=_ends)
