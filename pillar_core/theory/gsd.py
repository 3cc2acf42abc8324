"""Gradient subspace distance: how many examples its differentially private form needs (Theorem C.2, k = 1)."""

import dataclasses
import math

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import EPSILON, INF, D, Form, Numbers, Range, register

TOP = Param("top", float, 0.5, "Largest eigenvalue λ₁ of the mean gradient moment.", low=0, low_open=True, high=1e6, log=True)
SECOND = Param("second", float, 0.1, "Second eigenvalue λ₂.", low=0, high=1e6, log=True)
CLIP = Param("clip", float, 1.0, "Clip norm c of a gradient.", low=0, low_open=True, high=1e3, log=True)
SINGULAR = Param(
    "squared_singular", float, 0.5, "σ₁², the largest squared singular value of the gradients.", low=0, low_open=True, high=1e9, log=True
)
CLOSENESS = Param("closeness", float, 0.5, "How close, ρ, the private distance shall be.", low=0, low_open=True, high=1, high_open=True)
FAILURE = Param("failure", float, 0.1, "Chance η that it is not.", low=0, low_open=True, high=1, high_open=True, log=True)


@dataclasses.dataclass(frozen=True)
class TheoremC2Settings:
    """Inputs of Theorem C.2."""

    p: int = setting(D, name="p", default=30_202, help="Model dimension p (of the sketch).")
    epsilon: float = setting(EPSILON, default=1.0)
    clip: float = setting(CLIP)
    top: float = setting(TOP)
    second: float = setting(SECOND)
    squared_singular: float = setting(SINGULAR)
    closeness: float = setting(CLOSENESS)
    failure: float = setting(FAILURE)


def clipped_gap(s: TheoremC2Settings, form: Form) -> float:
    """λ̃: the gap after clipping. In print an upper bound (plus), where the proof needs a lower one (minus)."""
    change = 2 * abs(s.clip**2 - 1) * s.squared_singular
    return s.top - s.second + (change if form is Form.PRINTED else -change)


def examples(s: TheoremC2Settings, form: Form) -> float:
    """Equation 6 with the gap of one form; ∞ where that gap is not above 0."""
    gap = clipped_gap(s, form)
    if not gap > 0:
        return INF
    first = s.p * s.clip**2 / (s.epsilon * gap * (1 - math.sqrt(1 - s.closeness**2)))
    return first * (4 * math.log(1 / s.failure) / s.p + 2 * math.log(8 * s.top / (s.closeness**2 * gap)))


def _theorem_c2(s: TheoremC2Settings) -> Numbers:
    return {
        "gap after clipping": {"printed": clipped_gap(s, Form.PRINTED), "corrected": clipped_gap(s, Form.CORRECTED)},
        "examples": {"printed": examples(s, Form.PRINTED), "corrected": examples(s, Form.CORRECTED)},
        "ε of the printed sampler": {"corrected": s.epsilon * s.clip**2},
    }


register(
    "gsd_theorem_c2",
    TheoremC2Settings,
    _theorem_c2,
    ranges=lambda s: (
        Range("λ₁ > λ₂", s.top, s.second),
        Range("λ̃ > 0", clipped_gap(s, Form.CORRECTED), 0, form=Form.CORRECTED),
        Range("c ≤ 1 (1-Lipschitz loss)", s.clip, 0, 1, high_open=False),
    ),
)
