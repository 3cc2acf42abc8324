"""Semi-private learning via low-dimensional structures: disjunctions (Theorems 1 and 2) and
halfspaces (Theorem 3)."""

import math

from pillar_core.theory.calculator import INF, Inputs, Numbers, ratio, register


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


def _theorem_1(s: Inputs) -> Numbers:
    rows = (s.components + math.log(1 / s.beta)) / (s.alpha * s.epsilon)
    exact = choice_rows(components=s.components, alpha=s.alpha, beta=s.beta, epsilon=s.epsilon)
    return {
        "unlabelled rows": {"printed": graph_rows(d=s.d, p=s.p, beta=s.beta)},
        "private rows": {"printed": rows, "derived": exact},
    }


def _theorem_2(s: Inputs) -> Numbers:
    floor = 8 * math.log(16 / s.beta)
    printed = max(connecting_rows(vertices=s.d, p=s.p, beta=s.beta), floor)
    corrected = max(4 * connecting_rows(vertices=min(s.k, s.d - s.k), p=s.p, beta=s.beta), floor)
    private = (1 + math.log(1 / s.beta)) / (s.alpha * s.epsilon)
    exact = choice_rows(components=2, alpha=s.alpha, beta=s.beta, epsilon=s.epsilon)
    return {
        "unlabelled rows": {"printed": printed, "corrected": corrected},
        "private rows": {"printed": private, "derived": exact},
    }


def _theorem_3(s: Inputs) -> Numbers:
    left_printed, left = (
        s.gamma - math.sqrt(s.eta / s.beta),
        s.gamma - 2 * math.sqrt(2 * s.eta / s.beta),
    )
    private = math.sqrt(s.k) / (s.alpha * s.epsilon)
    return {
        "margin left": {"printed": left_printed, "corrected": left},
        "unlabelled rows": {
            "printed": ratio(s.k * s.d, s.beta * s.gamma**2),
            "corrected": s.k * s.d / (s.beta * s.eta**2),
            "derived": 8 * s.k * (1 + math.sqrt(math.log(4 / s.beta) / 2)) ** 2 / s.eta**2,
        },
        "private rows": {
            "printed": ratio(private, left_printed),
            "corrected": ratio(private, left),
        },
    }


register("semi_private_theorem_1", _theorem_1)
register(
    "semi_private_theorem_2",
    _theorem_2,
    ends=lambda s: {
        "d − k": s.d - s.k,
        "4e^−(d−5)/9": 4 * math.exp(-(s.d - 5) / 9),
        "4/d": 4 / s.d,
    },
)
register(
    "semi_private_theorem_3",
    _theorem_3,
    ends=lambda s: {
        "√(η/β)": math.sqrt(s.eta / s.beta),
        "2√(2η/β)": 2 * math.sqrt(2 * s.eta / s.beta),
    },
)
