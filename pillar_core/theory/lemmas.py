"""The perturbation lemmas under the theorems: how far estimated directions lie from the true ones."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import CALCULATORS, GAP, Calculator, D, Form, K, Range, Value, ratio

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


def _lemma_4(s: Lemma4Settings) -> tuple[Value, ...]:
    latex = r"\|A_kA_k^\top-\hat A_k\hat A_k^\top\|_F \le \frac{4\,(1+\sqrt{\beta/2})}{\Delta_k\sqrt n}"
    trivial = math.sqrt(2 * min(s.k, max(s.d - s.k, 0)))
    return (
        Value("projector distance, at most", Form.PRINTED, projector_bound(n=s.n_public, gap=s.gap, beta=s.beta), latex),
        Value(
            "fewest public rows",
            Form.PRINTED,
            fewest_rows(gap=s.gap, beta=s.beta),
            r"n \ge \frac{16\,(1+\sqrt{\beta/2})^2}{\Delta_k^2}",
            "rows",
        ),
        Value("probability, at least", Form.PRINTED, 1 - math.exp(-s.beta), r"1-e^{-\beta}"),
        Value("largest possible distance", Form.DERIVED, trivial, r"\sqrt{2\min(k,\,d-k)}", note="no two subspaces are further apart"),
    )


def _lemma_5(s: Lemma5Settings) -> tuple[Value, ...]:
    distance = ratio(2 * s.frobenius, s.gap) if s.frobenius else 0.0
    return (
        Value(
            "projector distance, at most", Form.PRINTED, distance, r"\|P_k(A)-P_k(A+B)\|_F \le \frac{2\,\|B\|_F}{\lambda_k-\lambda_{k+1}}"
        ),
    )


CALCULATORS.register(
    Calculator(
        name="pillar_lemma_4",
        title="PILLAR, Lemma 4 (estimated directions)",
        source="PILLAR, Lemma 4; Zwald & Blanchard 2005, Theorem 4",
        says="Directions estimated from n public rows lie within 4(1 + √(β/2))/(Δ_k√n) of the true ones.",
        settings=Lemma4Settings,
        compute=_lemma_4,
        ranges=lambda s: (
            Range("n ≥ 16(1 + √(β/2))²/Δ_k²", float(s.n_public), fewest_rows(gap=s.gap, beta=s.beta), low_open=False),
            Range("β in the lemma", s.beta, 0, math.inf),
            Range("k ≤ d", float(s.k), 0, float(s.d), high_open=False),
        ),
        corrections=("The lemma's β is an exponent: it holds with probability 1 − e^−β for any β > 0, though the text has β in (0, 1).",),
    )
)
CALCULATORS.register(
    Calculator(
        name="pillar_lemma_5",
        title="PILLAR, Lemma 5 (perturbed directions)",
        source="PILLAR, Lemma 5; Zwald & Blanchard 2005, Theorem 3",
        says="A matrix moved by B turns its top k directions by at most 2‖B‖_F/Δ_k.",
        settings=Lemma5Settings,
        compute=_lemma_5,
        ranges=lambda s: (Range("‖B‖_F < Δ_k/4", s.frobenius, 0, s.gap / 4, low_open=False),),
        corrections=("Equation 22 uses it with the operator norm; that form is Davis and Kahan's, and Lemma 5's is the Frobenius one.",),
    )
)
