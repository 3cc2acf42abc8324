"""Semi-private learning via low-dimensional structures: disjunctions (Theorems 1 and 2) and
halfspaces (Theorem 3)."""

import math

from pillar_core.theory.calculator import (
    CORRECTED,
    DERIVED,
    INF,
    PRINTED,
    Inputs,
    Range,
    Value,
    Values,
    count,
    rate,
    ratio,
    register,
)


def choice_rows(*, components: float, alpha: float, beta: float, epsilon: float) -> float:
    """Labelled rows after which choosing among 2^Z disjunctions with probability ∝ exp(−ε·errors/2)
    errs above α with probability at most β/2.

    With m rows, a hypothesis with more than αm/2 errors on the rows is drawn with probability at
    most 2^Z·exp(−εαm/4) (the true one makes none); one with true error above α has at most αm/2
    errors with probability at most exp(−αm/8) (Chernoff), over 2^Z. Each part gets β/4.
    """
    size = components * math.log(2) + math.log(4 / beta)
    return max(4 * size / (epsilon * alpha), 8 * size / alpha)


def graph_rows(*, d: int, p: float, beta: float) -> float:
    """log(2d²/β)/(−log(1 − p)): unlabelled rows that show every edge of probability ≥ p with
    probability 1 − β/2."""
    return math.log(2 * d**2 / beta) / -math.log1p(-p)


def connecting_rows(*, vertices: int, p: float, beta: float) -> float:
    """log(1 − (9·log(16/β) + 4)/(vertices − 1))/log(1 − p): rows of one label whose union connects
    its graph; ∞ where too few vertices."""
    needed = (9 * math.log(16 / beta) + 4) / (vertices - 1) if vertices > 1 else INF
    return math.log1p(-needed) / math.log1p(-p) if needed < 1 else INF


def _theorem_1(s: Inputs) -> Values:
    rows = (s.components + math.log(1 / s.beta)) / (s.alpha * s.epsilon)
    exact = choice_rows(components=s.components, alpha=s.alpha, beta=s.beta, epsilon=s.epsilon)
    return (
        count(
            "unlabelled rows",
            PRINTED,
            graph_rows(d=s.d, p=s.p, beta=s.beta),
            r"n_{unl} = \frac{\log(2d^2/\beta)}{-\log(1-p_{\min})}",
            note="constant from equation 4",
        ),
        rate(
            "private rows",
            PRINTED,
            rows,
            r"n_{lab} = O\Bigl(\frac{Z_{\max}+\mathrm{polylog}(1/\beta)}{\alpha\epsilon}\Bigr)",
            note="polylog taken as log(1/β)",
        ),
        count(
            "private rows",
            DERIVED,
            exact,
            (
                r"n_{lab} \ge \frac{Z\log "
                r"2+\log(4/\beta)}{\alpha}\max\Bigl(\frac{4}{\epsilon},\,8\Bigr)"
            ),
        ),
    )


def _theorem_2(s: Inputs) -> Values:
    floor = 8 * math.log(16 / s.beta)
    printed = max(connecting_rows(vertices=s.d, p=s.p, beta=s.beta), floor)
    corrected = max(4 * connecting_rows(vertices=min(s.k, s.d - s.k), p=s.p, beta=s.beta), floor)
    private = (1 + math.log(1 / s.beta)) / (s.alpha * s.epsilon)
    exact = choice_rows(components=2, alpha=s.alpha, beta=s.beta, epsilon=s.epsilon)
    return (
        count(
            "unlabelled rows",
            PRINTED,
            printed,
            (
                r"n_{unl} \ge "
                r"\max\Bigl\{\frac{\log\bigl(1-\frac{9\log(16/\beta)+4}{d-1}\bigr)}{\log(1-p)},\ "
                r"8\log\tfrac{16}{\beta}\Bigr\}"
            ),
        ),
        count(
            "unlabelled rows",
            CORRECTED,
            corrected,
            (
                r"n_{unl} \ge "
                r"\max\Bigl\{\frac{4\log\bigl(1-\frac{9\log(16/\beta)+4}{\min(k,d-k)-1}\bigr)}{"
                r"\log(1-p)},\ 8\log\tfrac{16}{\beta}\Bigr\}"
            ),
        ),
        rate(
            "private rows",
            PRINTED,
            private,
            r"n_{lab} \ge O\Bigl(\frac{1+\mathrm{polylog}(1/\beta)}{\alpha\epsilon}\Bigr)",
            note="polylog taken as log(1/β)",
        ),
        count(
            "private rows",
            DERIVED,
            exact,
            (
                r"n_{lab} \ge \frac{2\log "
                r"2+\log(4/\beta)}{\alpha}\max\Bigl(\frac{4}{\epsilon},\,8\Bigr)"
            ),
        ),
    )


def _theorem_3(s: Inputs) -> Values:
    left_printed = s.gamma - math.sqrt(s.eta / s.beta)
    left = s.gamma - 2 * math.sqrt(2 * s.eta / s.beta)
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return (
        Value("margin left", PRINTED, left_printed, r"\gamma' = \gamma-\sqrt{\eta/\beta}"),
        Value("margin left", CORRECTED, left, r"\gamma' = \gamma-2\sqrt{2\eta/\beta}"),
        rate(
            "unlabelled rows",
            PRINTED,
            ratio(s.k * s.d, s.beta * s.gamma**2),
            r"n_{unl} = O\Bigl(\frac{kd}{\beta\gamma^2}\Bigr)",
        ),
        rate(
            "unlabelled rows",
            CORRECTED,
            s.k * s.d / (s.beta * s.eta**2),
            r"n_{unl} = O\Bigl(\frac{kd}{\beta\eta^2}\Bigr)",
        ),
        count(
            "unlabelled rows",
            DERIVED,
            8 * s.k * (1 + math.sqrt(math.log(4 / s.beta) / 2)) ** 2 / s.eta**2,
            r"n_{unl} \ge \frac{8k\,\bigl(1+\sqrt{\log(4/\beta)/2}\bigr)^2}{\eta^2}",
            note="Zwald and Blanchard instead of the union bound; free of d",
        ),
        rate(
            "private rows",
            PRINTED,
            ratio(private, left_printed),
            r"n_{lab} = O\Bigl(\frac{\sqrt k}{\alpha\epsilon\,\gamma'}\Bigr)",
        ),
        rate(
            "private rows",
            CORRECTED,
            ratio(private, left),
            r"n_{lab} = O\Bigl(\frac{\sqrt k}{\alpha\epsilon\,\gamma'}\Bigr)",
        ),
    )


register(
    "semi_private_theorem_1",
    _theorem_1,
    lambda s: (
        Range("α", s.alpha, 0, 1),
        Range("β", s.beta, 0, 1),
        Range("Z ≤ d", s.components, 0, s.d, high_open=False),
    ),
    title="Semi-private learning, Theorem 1 (disjunctions)",
    source=(
        "Hu, Pinto, Sanyal & Yang, Semi-private learning via low dimensional structures, Theorem 1"
    ),
    says=(
        "Unlabelled rows join variables that are active together; only one bit per component "
        "is left to learn in private."
    ),
    corrections=(
        (
            "The labelled constant is left open in print; the derived one follows from Chernoff "
            "and the exponential mechanism's tail."
        ),
    ),
    inputs="d p components alpha beta epsilon",
    d={"default": 40},
    epsilon={"default": 1.0},
)
register(
    "semi_private_theorem_2",
    _theorem_2,
    lambda s: (
        Range("k > 35", s.k, 35),
        Range("d > 35", s.d, 35),
        Range("d − k > 35", s.d - s.k, 35, form=CORRECTED),
        Range("β in (4e^−(d−5)/9, 4/d)", s.beta, 4 * math.exp(-(s.d - 5) / 9), 4 / s.d),
        Range("α", s.alpha, 0, 1),
    ),
    title="Semi-private learning, Theorem 2 (random graphs)",
    source="Hu, Pinto, Sanyal & Yang, Theorem 2, Lemma 2",
    says=(
        "Where rows are random graphs, a few of them connect each side, and two bits are "
        "left to learn."
    ),
    corrections=(
        (
            "Each side's graph has k or d − k vertices, so min(k, d − k) − 1 replaces the "
            "printed d − 1; the inverse relation to d goes."
        ),
        (
            "Only a quarter of the rows is sure to have each label (equation 8), which "
            "multiplies the rows by 4."
        ),
    ),
    inputs="d k p alpha beta epsilon",
    d={"default": 200},
    k={"default": 100},
    beta={"default": 0.01},
    epsilon={"default": 1.0},
)
register(
    "semi_private_theorem_3",
    _theorem_3,
    lambda s: (
        Range("γ > √(η/β)", s.gamma, math.sqrt(s.eta / s.beta)),
        Range("γ > 2√(2η/β)", s.gamma, 2 * math.sqrt(2 * s.eta / s.beta), form=CORRECTED),
        Range("k ≤ d", s.k, 0, s.d, high_open=False),
    ),
    title="Semi-private learning, Theorem 3 (halfspaces)",
    source="Hu, Pinto, Sanyal & Yang, Theorem 3, appendix C",
    says=(
        "If k directions hold all but η of the energy, projecting costs √(η/β) of the margin "
        "and private rows grow like √k."
    ),
    corrections=(
        "n_unl needs η² where γ² is printed (the proof's last step).",
        (
            "The union bound over “dk matrices” is invalid, there are infinitely many; Zwald and "
            "Blanchard's bound gives the derived form."
        ),
        "The ramp loss is not convex; the private step's analysis needs convexity.",
    ),
    inputs="d k gamma eta alpha beta epsilon",
    eta={
        "help": "Energy η = Σ_{i>k} λ_i beyond k directions, rows in the unit ball.",
        "range": "(0.0, 1.0]",
        "log": True,
    },
)
