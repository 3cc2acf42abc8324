"""PILLAR's sample sizes (Theorem 1; Corollary 2, the Gaussian mixture), also with public rows at
total variation η from private ones."""

import math

from pillar_core.theory.calculator import (
    CORRECTED,
    DERIVED,
    PRINTED,
    Form,
    Inputs,
    Range,
    Value,
    Values,
    count,
    rate,
    ratio,
    register,
)

PRIVATE_ROWS = r"n^L = \tilde O\Bigl(\frac{L_\ell\sqrt{k}}{\alpha\,\epsilon}\Bigr)"
CROSS_ENTROPY_PRINTED = 2.0
CROSS_ENTROPY_LIPSCHITZ = 1.0 / math.log(2.0)
"""|d/ds log(1 + e^−s)/log 2| < 1/log 2 ≈ 1.4427 on the unit ball."""


def small_epsilon(s: Inputs) -> Range:
    """The budgets that Theorem 1 speaks of."""
    return Range("ε < 1/√k", s.epsilon, 0, 1 / math.sqrt(s.k))


def small_beta(s: Inputs) -> Range:
    """The chances of failure that it speaks of."""
    return Range("β < 1/4", s.beta, 0, 0.25)


def public_rows(*, beta: float, xi: float, gap: float, share: float = 2.0) -> float:
    """Equation 4: rows for which ‖ÂÂᵀ − AAᵀ‖_F ≤ (1 − ξ)/10 fails with probability at most
    β/`share`; ∞ for no gap."""
    return ratio(1600 * (1 + math.sqrt(math.log(share / beta) / 2)) ** 2, ((1 - xi) * gap) ** 2)


def lipschitz(settings: Inputs, form: Form) -> float:
    """L of the loss: Table I's constant, or the exact one."""
    if settings.loss == "cross_entropy":
        return CROSS_ENTROPY_PRINTED if form is PRINTED else CROSS_ENTROPY_LIPSCHITZ
    return ratio(1.0, 0.9 * settings.gamma * (1 - settings.xi))


def _equation_4(s: Inputs, form: Form, note: str) -> Value:
    return count(
        "public rows",
        form,
        public_rows(beta=s.beta, xi=s.xi, gap=s.gap),
        r"n^U \ge \frac{1600\,\bigl(1+\sqrt{\log(2/\beta)/2}\bigr)^2}{(1-\xi_0)^2\,\Delta_k^2}",
        note=note,
    )


def _theorem_1(s: Inputs) -> Values:
    printed, exact = lipschitz(s, PRINTED), lipschitz(s, CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return (
        _equation_4(s, PRINTED, "constant from equation 4"),
        Value(
            "Lipschitz constant",
            PRINTED,
            printed,
            r"L_\ell = 2 \;\text{or}\; \tfrac{1}{0.9\,\gamma_0(1-\xi_0)}",
        ),
        Value(
            "Lipschitz constant",
            CORRECTED,
            exact,
            r"L_\ell = \tfrac{1}{\log 2} \;\text{or}\; \tfrac{1}{0.9\,\gamma_0(1-\xi_0)}",
        ),
        rate(
            "private rows",
            PRINTED,
            printed * private,
            PRIVATE_ROWS,
        ),
        rate(
            "private rows",
            CORRECTED,
            exact * private + (exact / s.alpha) ** 2,
            (
                r"n^L = \tilde O\Bigl(\frac{L_\ell\sqrt{k}}{\alpha\,\epsilon} + "
                r"\frac{L_\ell^2}{\alpha^2}\Bigr)"
            ),
        ),
    )


def _radius(s: Inputs) -> float:
    return float(
        (4 * math.sqrt(s.d) + 2 * math.sqrt(math.log(4 * s.n_private / s.beta)))
        * (s.sigma + s.theta)
    )


def _corollary_2(s: Inputs) -> Values:
    radius = _radius(s)
    gamma, ball = 1 - radius, 1 + radius
    private = ball / (s.alpha * s.epsilon)
    cosine = gamma / ball
    slope = ratio(1.0, 0.9 * cosine)
    normalised_gap = (1 - s.theta**2) / ball**2
    rows = ratio(ball**2 * math.log(2 / s.beta), (max(gamma, 0.0) * s.theta) ** 2)
    return (
        Value(
            "margin",
            PRINTED,
            gamma,
            r"\gamma = 1-\bigl(4\sqrt d+2\sqrt{\log(4n^L/\beta)}\bigr)(\sigma^2+\theta)",
        ),
        Value(
            "radius",
            PRINTED,
            ball,
            r"M = 1+\bigl(4\sqrt d+2\sqrt{\log(4n^L/\beta)}\bigr)(\sigma^2+\theta)",
        ),
        rate(
            "public rows",
            PRINTED,
            rows,
            r"n^U = O\Bigl(\frac{M^2\log(2/\beta)}{\gamma^2\theta^2}\Bigr)",
        ),
        count(
            "public rows",
            CORRECTED,
            public_rows(beta=s.beta, xi=0.0, gap=normalised_gap),
            (
                r"n^U \ge \frac{1600\,(1+\sqrt{\log(2/\beta)/2})^2M^4}{(1-\theta^2)^2}\quad(k=1,\ "
                r"\xi_1=0)"
            ),
        ),
        rate(
            "private rows",
            PRINTED,
            ratio(private * math.sqrt(2), gamma * (1 - 0.1 * gamma)),
            r"n^L = \tilde O\Bigl(\frac{M\sqrt k}{\alpha\epsilon\gamma(1-0.1\gamma)}\Bigr),\ k=2",
        ),
        rate(
            "private rows",
            CORRECTED,
            slope / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
            (
                r"n^L = \tilde O\Bigl(\frac{L}{\alpha\epsilon}+\frac{L^2}{\alpha^2}\Bigr),\ "
                r"L=\frac{M}{0.9\,\gamma},\ k=1"
            ),
        ),
        rate(
            "private rows without projection",
            DERIVED,
            slope * math.sqrt(s.d) / (s.alpha * s.epsilon) + (slope / s.alpha) ** 2,
            r"n^L = \tilde O\Bigl(\frac{L\sqrt d}{\alpha\epsilon}+\frac{L^2}{\alpha^2}\Bigr)",
        ),
    )


register(
    "pillar_theorem_1",
    _theorem_1,
    lambda s: (
        small_epsilon(s),
        small_beta(s),
        Range("α", s.alpha, 0, 1),
        Range("γ₀", s.gamma, 0, 1),
        Range("ξ₀", s.xi, 0, 1),
        Range("Δ_k", s.gap, 0, 1, high_open=False),
    ),
    title="PILLAR, Theorem 1",
    source="Pinto, Hu, Yang & Sanyal, PILLAR, Theorem 1, Lemma 2, equation 4, Table I",
    says=(
        "With a margin γ₀ that k directions keep up to a share ξ₀, the private rows needed "
        "grow like √k, not √d."
    ),
    corrections=(
        (
            "Generalisation needs L²/α² further rows (Rademacher complexity L/√n; the proof "
            "prints L/n). Theorem 1 drops them."
        ),
        "Table I gives cross-entropy the constant 2; log(1 + e^−s)/log 2 has 1/log 2 = 1.4427.",
    ),
    inputs="k gamma xi gap alpha beta epsilon loss",
)


def _proposition_3(s: Inputs) -> Values:
    margin, left = max(s.gamma, 0.0), max(s.gamma * (1 - s.xi), 0.0)
    return (
        rate(
            "public rows",
            PRINTED,
            ratio(math.log(2 / s.beta), (margin * s.gap) ** 2),
            r"n^U = O\Bigl(\frac{\log(2/\beta)}{(\gamma_0\Delta_k)^2}\Bigr)",
        ),
        _equation_4(s, CORRECTED, "equation 4"),
        rate(
            "labelled rows",
            PRINTED,
            ratio(1.0, left * s.alpha**2),
            r"\tilde O\Bigl(\frac{1}{\zeta\,\alpha^2}\Bigr),\ \zeta=\gamma_0(1-\xi_0)",
        ),
        rate(
            "labelled rows",
            CORRECTED,
            ratio(1.0, (left * s.alpha) ** 2),
            r"\tilde O\Bigl(\frac{1}{\zeta^2\alpha^2}\Bigr),\ \zeta=\gamma_0(1-\xi_0)",
        ),
    )


register(
    "pillar_proposition_3",
    _proposition_3,
    lambda s: (
        Range("α < 1/4", s.alpha, 0, 0.25),
        small_beta(s),
        Range("γ₀", s.gamma, 0, 1),
        Range("ξ₀", s.xi, 0, 1),
        Range("Δ_k", s.gap, 0, 1, high_open=False),
    ),
    title="PILLAR, Proposition 3 (no privacy)",
    source="PILLAR, section III-C, Proposition 3",
    says="Without privacy the labelled rows needed depend on the margin, and not on k or d.",
    corrections=(
        (
            "The scaled hinge has Lipschitz constant 1/(0.9 ζ), so uniform convergence (L/√n) needs"
            " 1/(ζ²α²) rows; one ζ is missing in print."
        ),
        "The projector's error hangs on (1 − ξ₀)Δ_k (equation 4); γ₀Δ_k is printed.",
    ),
    inputs="gamma xi gap alpha beta",
)
register(
    "pillar_corollary_2",
    _corollary_2,
    lambda s: (
        Range("γ > 0", 1 - _radius(s), 0, 1),
        small_beta(s),
        Range("θ = O(1/√d), taken as ≤ 1/√d", s.theta, 0, 1 / math.sqrt(s.d), high_open=False),
        Range("σ = O(1/√d), taken as ≤ 1/√d", s.sigma, 0, 1 / math.sqrt(s.d), high_open=False),
    ),
    title="PILLAR, Corollary 2 (Gaussian mixture)",
    source="PILLAR, appendix A-E, Example 1 and Corollary 2",
    says="For two Gaussian classes on a line the private rows needed fall from O(√d) to O(1).",
    corrections=(
        (
            "θ and σ are read as standard deviations: with σ² a variance the noise has norm σ√d "
            "and there is no margin."
        ),
        (
            "The separating direction is μ, the first eigenvector: k = 1, ξ₁ = 0, Δ₁ = 1 − θ². "
            "The paper's w* is the nuisance."
        ),
        (
            "Rows divided by M have a second moment divided by M², so Δ₁ is (1 − θ²)/M² (θ/M in "
            "print)."
        ),
    ),
    inputs="d theta sigma n_private alpha beta epsilon",
    d={"default": 512},
)


def moment_shift(*, eta: float, radius: float, form: Form) -> float:
    """How far the second moments of rows at total variation η can be apart: 7η as printed, R²η in
    truth (operator norm)."""
    return 7 * eta if form is PRINTED else radius**2 * eta


def margin_left(s: Inputs, form: Form) -> float:
    """ζ = γ(0.9(1 − ξ) − 2·shift/Δ): the margin that survives projection on the shifted public
    rows' directions."""
    shift = moment_shift(eta=s.eta, radius=s.radius, form=form)
    return float(s.gamma * (0.9 * (1 - s.xi) - (ratio(2 * shift, s.gap) if shift else 0.0)))


def _theorem_2(s: Inputs) -> Values:
    per_gap = ratio(s.eta, s.gap) if s.eta else 0.0
    inverse_printed = s.gamma * (1 - s.xi - 140 / 9 * per_gap)
    inverse = 0.9 * s.gamma * (1 - s.xi - 20 / 9 * s.radius**2 * per_gap)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return (
        Value(
            "1/Lipschitz",
            PRINTED,
            inverse_printed,
            r"1/L_\ell = \gamma_0\bigl(1-\xi_0-\tfrac{140\,\eta}{9\,\Delta_k}\bigr)",
        ),
        Value(
            "1/Lipschitz",
            CORRECTED,
            inverse,
            r"1/L_\ell = 0.9\,\gamma_0\bigl(1-\xi_0-\tfrac{20\,R^2\eta}{9\,\Delta_k}\bigr)",
        ),
        *(
            rate("private rows", form, ratio(private, margin), PRIVATE_ROWS)
            for form, margin in ((PRINTED, inverse_printed), (CORRECTED, inverse))
        ),
        Value(
            "largest shift",
            PRINTED,
            largest_shift(s, PRINTED),
            r"\eta < \tfrac{9(1-\xi_0)\Delta_k}{140}",
        ),
        Value(
            "largest shift",
            CORRECTED,
            largest_shift(s, CORRECTED),
            r"\eta < \tfrac{9(1-\xi_0)\Delta_k}{20R^2}",
        ),
    )


def _theorem_4(s: Inputs) -> Values:
    zeta_printed, zeta = margin_left(s, PRINTED), margin_left(s, CORRECTED)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    public_gap = s.gap - 2 * moment_shift(eta=s.eta, radius=s.radius, form=CORRECTED)
    public = (
        public_rows(beta=s.beta, xi=s.xi, gap=public_gap, share=4.0) if public_gap > 0 else math.inf
    )
    return (
        Value(
            "margin left",
            PRINTED,
            zeta_printed,
            r"\zeta = \gamma_0\bigl(0.9(1-\xi_0)-\tfrac{14\,\eta}{\Delta_k}\bigr)",
        ),
        Value(
            "margin left",
            CORRECTED,
            zeta,
            r"\zeta = \gamma_0\bigl(0.9(1-\xi_0)-\tfrac{2R^2\eta}{\Delta_k}\bigr)",
        ),
        rate(
            "public rows",
            PRINTED,
            ratio(math.log(2 / s.beta), (s.gamma * s.gap) ** 2),
            r"n^U = O\Bigl(\frac{\log(2/\beta)}{(\gamma_0\Delta_k)^2}\Bigr)",
        ),
        count(
            "public rows",
            CORRECTED,
            public,
            (
                r"n^U \ge "
                r"\frac{1600\,\bigl(1+\sqrt{\log(4/\beta)/2}\bigr)^2}{(1-\xi_0)^2\,(\Delta_k-2R^2"
                r"\eta)^2}"
            ),
        ),
        rate(
            "private rows",
            PRINTED,
            ratio(private, zeta_printed),
            r"n^L = \tilde O\Bigl(\frac{\sqrt{k}}{\alpha\epsilon\zeta}\Bigr)",
        ),
        rate(
            "private rows",
            CORRECTED,
            ratio(private, zeta) + s.k / s.alpha,
            r"n^L = \tilde O\Bigl(\frac{\sqrt{k}}{\alpha\epsilon\zeta} + \frac{k}{\alpha}\Bigr)",
        ),
    )


def largest_shift(s: Inputs, form: Form) -> float:
    """The η up to which the margin survives."""
    return float(9 * (1 - s.xi) * s.gap / (140 if form is PRINTED else 20 * s.radius**2))


def _shift_ranges(s: Inputs) -> tuple[Range, ...]:
    return (
        small_epsilon(s),
        small_beta(s),
        Range("γ₀", s.gamma, 0, 1),
        Range("ξ₀", s.xi, 0, 1, low_open=False),
        Range("η < 9(1 − ξ₀)Δ_k/140", s.eta, 0, largest_shift(s, PRINTED), low_open=False),
        Range(
            "η < 9(1 − ξ₀)Δ_k/(20R²)",
            s.eta,
            0,
            largest_shift(s, CORRECTED),
            low_open=False,
            form=CORRECTED,
        ),
    )


register(
    "pillar_theorem_2",
    _theorem_2,
    _shift_ranges,
    title="PILLAR, Theorem 2 (shift, informal)",
    source="PILLAR, Theorem 2",
    says=(
        "Public rows that differ a little from the private ones still do: the margin shrinks "
        "with η/Δ_k."
    ),
    corrections=(
        (
            "Lemma 6's 7η is η for moments on the unit ball (R²η about a public mean), so 140/9 "
            "becomes (20/9)R²."
        ),
        "Theorem 4's own 0.9 is missing in the informal statement.",
    ),
    inputs="k gamma xi gap eta radius alpha beta epsilon",
)
register(
    "pillar_theorem_4",
    _theorem_4,
    _shift_ranges,
    title="PILLAR, Theorem 4 (shift, formal)",
    source="PILLAR, appendix A-D, Theorem 4, Lemmas 4 to 7",
    says=(
        "The same with every step: what margin is left, and how many public and private rows "
        "that takes."
    ),
    corrections=(
        (
            "The printed n^U has γ₀Δ_k where the proof (equation 24) needs (1 − ξ₀) times the "
            "public rows' gap, at least Δ_k − 2R²η."
        ),
        "7η becomes R²η (Lemma 6).",
        "The proof's last step needs k/α rows for generalisation; the theorem leaves them out.",
    ),
    inputs="k gamma xi gap eta radius alpha beta epsilon",
)
