"""PILLAR's perturbation lemmas, and how many examples a private gradient subspace distance needs
(gsd, Theorem C.2, k = 1)."""

import dataclasses
import functools
import math

from pillar_core import checks
from pillar_core.arrays import Json
from pillar_core.theory.calculator import (
    CORRECTED,
    DERIVED,
    INF,
    PRINTED,
    Form,
    Inputs,
    Range,
    Value,
    Values,
    count,
    inputs_of,
    ratio,
    register,
)


def clipped_gap(s: Inputs, form: Form) -> float:
    """λ̃: the gap after clipping. In print an upper bound (plus), where the proof needs a lower one
    (minus)."""
    change = 2 * abs(s.clip**2 - 1) * s.squared_singular
    return float(s.top - s.second + (change if form is PRINTED else -change))


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


def _theorem_c2(s: Inputs) -> Values:
    return (
        Value(
            "gap after clipping",
            PRINTED,
            clipped_gap(s, PRINTED),
            r"\tilde\lambda = \lambda+2|c^2-1|\sigma_1^2",
        ),
        Value(
            "gap after clipping",
            CORRECTED,
            clipped_gap(s, CORRECTED),
            r"\tilde\lambda \ge \lambda-2|c^2-1|\sigma_1^2",
        ),
        *(
            count(
                "examples",
                form,
                examples(s, form),
                (
                    r"m > \frac{pc^2}{\epsilon\tilde\lambda(1-\sqrt{1-\rho^2})}\Bigl("
                    r"\frac{4\log(1/\eta)}{p}+2\log\frac{8\lambda_1}{\rho^2\tilde\lambda}\Bigr)"
                ),
            )
            for form in (PRINTED, CORRECTED)
        ),
        Value(
            "ε of the printed sampler",
            CORRECTED,
            s.epsilon * s.clip**2,
            r"\epsilon c^2",
            note="Theorem C.1 prints ε/c²",
        ),
    )


def _theorem_4_2(s: Inputs) -> Values:
    reach = (math.sqrt(2) * s.singular * s.gsd + s.next_singular) ** 2
    noise = math.sqrt(math.log(1 / s.delta)) / (s.n_private * s.epsilon)
    risk = functools.partial(Value, is_rate=True)
    return (
        Value(
            "steps",
            PRINTED,
            s.n_private * s.smoothness * s.epsilon / math.sqrt(s.p),
            r"T = \frac{n\beta\epsilon}{\sqrt p}",
        ),
        Value(
            "reconstruction error",
            PRINTED,
            reach,
            r"\bar d = (\sqrt2\,s_1\,\mathrm{GSD} + s_{k+1})^2",
            note="the same at every step",
        ),
        risk(
            "excess risk inside the subspace",
            PRINTED,
            math.sqrt(s.k) * noise,
            r"O\Bigl(\frac{\sqrt{k\log(1/\delta)}}{n\epsilon}\Bigr)",
        ),
        risk(
            "excess risk outside it",
            PRINTED,
            math.sqrt(s.p) * reach * noise,
            r"O\Bigl(\frac{\sqrt{p\log(1/\delta)}\,\bar d}{n\epsilon}\Bigr)",
        ),
        risk(
            "excess risk without public rows",
            DERIVED,
            math.sqrt(s.p) * noise,
            r"O\Bigl(\frac{\sqrt{p\log(1/\delta)}}{n\epsilon}\Bigr)",
        ),
    )


_MODEL_DIMENSION: dict[str, Json] = {
    "default": 30202,
    "help": "Model dimension p (of the sketch).",
    "range": "[2, 10_000_000]",
    "unit": "features",
    "log": True,
}
register(
    "gsd_theorem_4_2",
    _theorem_4_2,
    lambda s: (
        Range("k = 1", s.k, 1, 1, low_open=False, high_open=False),
        Range("T ≥ 1", s.n_private * s.smoothness * s.epsilon / math.sqrt(s.p), 1, low_open=False),
        Range("s_{k+1} ≤ s₁", s.next_singular, 0, s.singular, low_open=False, high_open=False),
    ),
    title="GSD, Theorem 4.2",
    source="Gu, Kamath & Wu, Choosing public datasets (GSD), Theorem 4.2, Lemma 4.1, equation 2",
    says="The excess risk of GEP grows with the gradient subspace distance of its public rows.",
    inputs="gsd singular next_singular k p n_private epsilon delta smoothness",
    k={"default": 1},
    p=_MODEL_DIMENSION,
    epsilon={"default": 2.0},
)
register(
    "gsd_theorem_c2",
    _theorem_c2,
    lambda s: (
        Range("λ₁ > λ₂", s.top, s.second),
        Range("λ̃ > 0", clipped_gap(s, CORRECTED), 0, form=CORRECTED),
        Range("c ≤ 1 (1-Lipschitz loss)", s.clip, 0, 1, high_open=False),
    ),
    title="GSD, Theorem C.2",
    source=(
        "Gu, Kamath & Wu, Choosing public datasets (GSD), Theorem C.2, Lemma E.2; Chaudhuri, "
        "Sarwate & Sinha 2013"
    ),
    says=(
        "With enough examples the private first direction is close to the true one, so the "
        "private distance is too."
    ),
    corrections=(
        (
            "The proof replaces the gap by an upper bound where a lower one is needed: λ̃ ≥ λ − "
            "2|c² − 1|σ₁²."
        ),
        "The printed sampler on rows clipped at c is ε·c²-differentially private, not ε/c².",
    ),
    inputs="p epsilon clip top second squared_singular closeness failure",
    p=_MODEL_DIMENSION,
    epsilon={"default": 1.0},
)


_LEMMA_4: dict[str, Json] = {
    "n_public": {"default": 5000, "help": "Public rows n.", "range": "[1, 10_000_000_000]"},
    "beta": {
        "default": 3.0,
        "help": "β of the lemma: it fails with probability e^−β.",
        "range": "(0.0, 1000.0]",
        "log": False,
    },
}
_INPUTS = inputs_of("gap n_public beta", _LEMMA_4)
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


def _lemma_4(s: Inputs) -> Values:
    return (
        Value(
            "projector distance, at most",
            PRINTED,
            projector_bound(n=s.n_public, gap=s.gap, beta=s.beta),
            (
                r"\|A_kA_k^\top-\hat A_k\hat A_k^\top\|_F \le "
                r"\frac{4\,(1+\sqrt{\beta/2})}{\Delta_k\sqrt n}"
            ),
        ),
        count(
            "fewest public rows",
            PRINTED,
            fewest_rows(gap=s.gap, beta=s.beta),
            r"n \ge \frac{16\,(1+\sqrt{\beta/2})^2}{\Delta_k^2}",
        ),
        Value("probability, at least", PRINTED, 1 - math.exp(-s.beta), r"1-e^{-\beta}"),
        Value(
            "largest possible distance",
            DERIVED,
            math.sqrt(2 * min(s.k, max(s.d - s.k, 0))),
            r"\sqrt{2\min(k,\,d-k)}",
            note="no two subspaces are further apart",
        ),
    )


def _lemma_5(s: Inputs) -> Values:
    return (
        Value(
            "projector distance, at most",
            PRINTED,
            ratio(2 * s.frobenius, s.gap) if s.frobenius else 0.0,
            r"\|P_k(A)-P_k(A+B)\|_F \le \frac{2\,\|B\|_F}{\lambda_k-\lambda_{k+1}}",
        ),
    )


register(
    "pillar_lemma_4",
    _lemma_4,
    lambda s: (
        Range(
            "n ≥ 16(1 + √(β/2))²/Δ_k²",
            s.n_public,
            fewest_rows(gap=s.gap, beta=s.beta),
            low_open=False,
        ),
        Range("β in the lemma", s.beta, 0),
        Range("k ≤ d", s.k, 0, s.d, high_open=False),
    ),
    title="PILLAR, Lemma 4 (estimated directions)",
    source="PILLAR, Lemma 4; Zwald & Blanchard 2005, Theorem 4",
    says=(
        "Directions estimated from n public rows lie within 4(1 + √(β/2))/(Δ_k√n) of the true ones."
    ),
    corrections=(
        (
            "The lemma's β is an exponent: it holds with probability 1 − e^−β for any β > 0, "
            "though the text has β in (0, 1)."
        ),
    ),
    inputs="k d gap n_public beta",
    **_LEMMA_4,
)
register(
    "pillar_lemma_5",
    _lemma_5,
    lambda s: (Range("‖B‖_F < Δ_k/4", s.frobenius, 0, s.gap / 4, low_open=False),),
    title="PILLAR, Lemma 5 (perturbed directions)",
    source="PILLAR, Lemma 5; Zwald & Blanchard 2005, Theorem 3",
    says="A matrix moved by B turns its top k directions by at most 2‖B‖_F/Δ_k.",
    corrections=(
        (
            "Equation 22 uses it with the operator norm; that form is Davis and Kahan's, and "
            "Lemma 5's is the Frobenius one."
        ),
    ),
    inputs="gap frobenius",
)
