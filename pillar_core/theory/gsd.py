"""Gradient subspace distance: how many examples its differentially private form needs (Theorem C.2, k = 1)."""

import math

from pillar_core.theory.calculator import INF, Form, Inputs, Numbers, register


def clipped_gap(s: Inputs, form: Form) -> float:
    """λ̃: the gap after clipping. In print an upper bound (plus), where the proof needs a lower one (minus)."""
    change = 2 * abs(s.clip**2 - 1) * s.squared_singular
    return float(s.top - s.second + (change if form is Form.PRINTED else -change))


def examples(s: Inputs, form: Form) -> float:
    """Equation 6 with the gap of one form; ∞ where that gap is not above 0."""
    gap = clipped_gap(s, form)
    if not gap > 0:
        return INF
    first = s.p * s.clip**2 / (s.epsilon * gap * (1 - math.sqrt(1 - s.closeness**2)))
    return float(first * (4 * math.log(1 / s.failure) / s.p + 2 * math.log(8 * s.top / (s.closeness**2 * gap))))


def _theorem_c2(s: Inputs) -> Numbers:
    return {
        "gap after clipping": {"printed": clipped_gap(s, Form.PRINTED), "corrected": clipped_gap(s, Form.CORRECTED)},
        "examples": {"printed": examples(s, Form.PRINTED), "corrected": examples(s, Form.CORRECTED)},
        "ε of the printed sampler": {"corrected": s.epsilon * s.clip**2},
    }


register("gsd_theorem_c2", _theorem_c2, ends=lambda s: {"λ̃": clipped_gap(s, Form.CORRECTED)})
