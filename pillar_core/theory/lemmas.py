"""The perturbation lemmas under the theorems: how far estimated directions lie from the true ones."""

import dataclasses
import math
from typing import Annotated

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import GAP, D, K, Numbers, Range, ratio, register

N_PUBLIC = Param("n_public", int, 5_000, "Public rows n.", low=1, high=10**10, unit="rows", log=True)
ROWS = dataclasses.replace(N_PUBLIC, name="n", kind=float)
TAIL = Param("beta", float, 3.0, "β of the lemma: it fails with probability e^−β.", low=0, low_open=True, high=1e3)
NORM = Param("frobenius", float, 0.01, "Frobenius norm of the perturbation B.", low=0, high=1e6, log=True)


@dataclasses.dataclass(frozen=True)
class Lemma4Settings:
    """Inputs of Lemma 4."""

    k: int = setting(K)
    d: int = setting(D)
    gap: float = setting(GAP)
    n_public: int = setting(N_PUBLIC)
    beta: float = setting(TAIL)


@dataclasses.dataclass(frozen=True)
class Lemma5Settings:
    """Inputs of Lemma 5."""

    gap: float = setting(GAP)
    frobenius: float = setting(NORM)


def projector_bound(*, n: Annotated[float, ROWS], gap: Annotated[float, GAP], beta: Annotated[float, TAIL]) -> float:
    """4(1 + √(β/2))/(Δ_k√n), exceeded by ‖AAᵀ − ÂÂᵀ‖_F with probability at most e^−β once n ≥ `fewest_rows`."""
    return ratio(4 * (1 + math.sqrt(beta / 2)), gap * math.sqrt(n))


def fewest_rows(*, gap: Annotated[float, GAP], beta: Annotated[float, TAIL]) -> float:
    """16(1 + √(β/2))²/Δ_k²: from here on the bound holds (it is then at most 1)."""
    return ratio(16 * (1 + math.sqrt(beta / 2)) ** 2, gap**2)


def moment_bound(*, n: Annotated[float, ROWS], beta: Annotated[float, TAIL]) -> float:
    """2(1 + √(β/2))/√n, exceeded by ‖Σ̂ − Σ‖_F with probability at most e^−β, rows in the unit ball.

    Zwald & Blanchard 2005, Lemma 1 (bounded differences), the step under Lemma 4.
    """
    return 2 * (1 + math.sqrt(beta / 2)) / math.sqrt(n)


def _lemma_4(s: Lemma4Settings) -> Numbers:
    return {
        "projector distance, at most": {"printed": projector_bound(n=s.n_public, gap=s.gap, beta=s.beta)},
        "fewest public rows": {"printed": fewest_rows(gap=s.gap, beta=s.beta)},
        "probability, at least": {"printed": 1 - math.exp(-s.beta)},
        "largest possible distance": {"derived": math.sqrt(2 * min(s.k, max(s.d - s.k, 0)))},
    }


def _lemma_5(s: Lemma5Settings) -> Numbers:
    return {"projector distance, at most": {"printed": ratio(2 * s.frobenius, s.gap) if s.frobenius else 0.0}}


register(
    "pillar_lemma_4",
    Lemma4Settings,
    _lemma_4,
    ranges=lambda s: (
        Range("n ≥ 16(1 + √(β/2))²/Δ_k²", float(s.n_public), fewest_rows(gap=s.gap, beta=s.beta), low_open=False),
        Range("β in the lemma", s.beta, 0, math.inf),
        Range("k ≤ d", float(s.k), 0, float(s.d), high_open=False),
    ),
)
register(
    "pillar_lemma_5",
    Lemma5Settings,
    _lemma_5,
    ranges=lambda s: (Range("‖B‖_F < Δ_k/4", s.frobenius, 0, s.gap / 4, low_open=False),),
)
