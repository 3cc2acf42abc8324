"""The perturbation lemmas under the theorems: how far estimated directions lie from the true ones."""

import dataclasses
import math

from pillar_core import checks
from pillar_core.theory.calculator import Inputs, Numbers, inputs_of, ratio, register

_INPUTS = inputs_of("pillar_lemma_4")
GAP, TAIL = _INPUTS["gap"], _INPUTS["beta"]
ROWS = dataclasses.replace(_INPUTS["n_public"], name="n", kind=float)


def projector_bound(*, n: float, gap: float, beta: float) -> float:
    """4(1 + √(β/2))/(Δ_k√n), exceeded by ‖AAᵀ − ÂÂᵀ‖_F with probability at most e^−β once n ≥ `fewest_rows`."""
    checks.within(n=(n, ROWS), gap=(gap, GAP), beta=(beta, TAIL))
    return ratio(4 * (1 + math.sqrt(beta / 2)), gap * math.sqrt(n))


def fewest_rows(*, gap: float, beta: float) -> float:
    """16(1 + √(β/2))²/Δ_k²: from here on the bound holds (it is then at most 1)."""
    checks.within(gap=(gap, GAP), beta=(beta, TAIL))
    return ratio(16 * (1 + math.sqrt(beta / 2)) ** 2, gap**2)


def moment_bound(*, n: float, beta: float) -> float:
    """2(1 + √(β/2))/√n, exceeded by ‖Σ̂ − Σ‖_F with probability at most e^−β, rows in the unit ball.

    Zwald & Blanchard 2005, Lemma 1 (bounded differences), the step under Lemma 4.
    """
    checks.within(n=(n, ROWS), beta=(beta, TAIL))
    return 2 * (1 + math.sqrt(beta / 2)) / math.sqrt(n)


def _lemma_4(s: Inputs) -> Numbers:
    return {
        "projector distance, at most": {"printed": projector_bound(n=s.n_public, gap=s.gap, beta=s.beta)},
        "fewest public rows": {"printed": fewest_rows(gap=s.gap, beta=s.beta)},
        "probability, at least": {"printed": 1 - math.exp(-s.beta)},
        "largest possible distance": {"derived": math.sqrt(2 * min(s.k, max(s.d - s.k, 0)))},
    }


def _lemma_5(s: Inputs) -> Numbers:
    return {"projector distance, at most": {"printed": ratio(2 * s.frobenius, s.gap) if s.frobenius else 0.0}}


register("pillar_lemma_4", _lemma_4, ends=lambda s: {"fewest": fewest_rows(gap=s.gap, beta=s.beta)})
register("pillar_lemma_5", _lemma_5, ends=lambda s: {"Δ_k/4": s.gap / 4})
