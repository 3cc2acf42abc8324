"""PILLAR's perturbation lemmas, and how many examples a private gradient subspace distance needs
(gsd, Theorem C.2, k = 1)."""

import dataclasses
import math

from pillar_core import checks
from pillar_core.theory.calculator import INF, Form, Inputs, Numbers, inputs_of, ratio, register


def clipped_gap(s: Inputs, form: Form) -> float:
    """λ̃: the gap after clipping. In print an upper bound (plus), where the proof needs a lower one
    (minus)."""
    change = 2 * abs(s.clip**2 - 1) * s.squared_singular
    return float(s.top - s.second + (change if form is Form.PRINTED else -change))


def examples(s: Inputs, form: Form) -> float:
    """Equation 6 with the gap of one form; ∞ where that gap is not above 0."""
    gap = clipped_gap(s, form)
    if not gap > 0:
        return INF
    first = s.p * s.clip**2 / (s.epsilon * gap * (1 - math.sqrt(1 - s.closeness**2)))
    return float(
        first
        * (4 * math.log(1 / s.failure) / s.p + 2 * math.log(8 * s.top / (s.closeness**2 * gap)))
    )


def _theorem_c2(s: Inputs) -> Numbers:
    return {
        "gap after clipping": {
            "printed": clipped_gap(s, Form.PRINTED),
            "corrected": clipped_gap(s, Form.CORRECTED),
        },
        "examples": {
            "printed": examples(s, Form.PRINTED),
            "corrected": examples(s, Form.CORRECTED),
        },
        "ε of the printed sampler": {"corrected": s.epsilon * s.clip**2},
    }


register("gsd_theorem_c2", _theorem_c2, ends=lambda s: {"λ̃": clipped_gap(s, Form.CORRECTED)})


_INPUTS = inputs_of("pillar_lemma_4")
GAP, TAIL = _INPUTS["gap"], _INPUTS["beta"]
ROWS = dataclasses.replace(_INPUTS["n_public"], name="n", kind=float)


def projector_bound(*, n: float, gap: float, beta: float) -> float:
    """4(1 + √(β/2))/(Δ_k√n), exceeded by ‖AAᵀ − ÂÂᵀ‖_F with probability at most e^−β once n ≥
    `fewest_rows`."""
    checks.within(n=(n, ROWS), gap=(gap, GAP), beta=(beta, TAIL))
    return ratio(4 * (1 + math.sqrt(beta / 2)), gap * math.sqrt(n))


def fewest_rows(*, gap: float, beta: float) -> float:
    """16(1 + √(β/2))²/Δ_k²: from here on the bound holds (it is then at most 1)."""
    checks.within(gap=(gap, GAP), beta=(beta, TAIL))
    return ratio(16 * (1 + math.sqrt(beta / 2)) ** 2, gap**2)


def _lemma_4(s: Inputs) -> Numbers:
    return {
        "projector distance, at most": {
            "printed": projector_bound(n=s.n_public, gap=s.gap, beta=s.beta)
        },
        "fewest public rows": {"printed": fewest_rows(gap=s.gap, beta=s.beta)},
        "probability, at least": {"printed": 1 - math.exp(-s.beta)},
        "largest possible distance": {"derived": math.sqrt(2 * min(s.k, max(s.d - s.k, 0)))},
    }


def _lemma_5(s: Inputs) -> Numbers:
    return {
        "projector distance, at most": {
            "printed": ratio(2 * s.frobenius, s.gap) if s.frobenius else 0.0
        }
    }


register("pillar_lemma_4", _lemma_4, ends=lambda s: {"fewest": fewest_rows(gap=s.gap, beta=s.beta)})
register("pillar_lemma_5", _lemma_5, ends=lambda s: {"Δ_k/4": s.gap / 4})
