"""AdaMix: what noisy gradient descent costs from a public start (Theorem 3), and what public rows
buy (Theorem 4)."""

import math

from pillar_core.theory.calculator import CORRECTED, PRINTED, Inputs, Range, Value, Values, register


def best_regularisation(*, d: int, lipschitz: float, rho: float, distance: float) -> float:
    """λ = √(2dL²/(ρ‖w* − w_ref‖²)), where dL²/(λρ) + λ‖w* − w_ref‖²/2 is smallest."""
    return math.sqrt(2 * d * lipschitz**2 / (rho * distance**2))


def excess_bound(
    *, d: int, n: int, rho: float, lipschitz: float, distance: float, ball: float, steps: int
) -> float:
    """The corrected bound on the mean excess empirical risk at the best λ."""
    strength = best_regularisation(d=d, lipschitz=lipschitz, rho=rho, distance=distance)
    optimisation = 2 * (n * lipschitz + 2 * strength * ball) ** 2 / (strength * steps * n)
    return optimisation + 2 * math.sqrt(d) * lipschitz * distance / (math.sqrt(2 * rho) * n)


def _theorem_3(s: Inputs) -> Values:
    printed = math.sqrt(s.rho / (2 * s.distance * s.d * s.lipschitz**2))
    exact = best_regularisation(d=s.d, lipschitz=s.lipschitz, rho=s.rho, distance=s.distance)
    noise = math.sqrt(s.d) * s.lipschitz * s.distance / (math.sqrt(2 * s.rho) * s.n)
    first = 4 * (s.n * s.lipschitz + printed * s.ball) ** 2 / (printed * s.steps * s.n)
    bound = excess_bound(
        d=s.d,
        n=s.n,
        rho=s.rho,
        lipschitz=s.lipschitz,
        distance=s.distance,
        ball=s.ball,
        steps=s.steps,
    )
    return (
        Value("λ", PRINTED, printed, r"\lambda = \sqrt{\frac{\rho}{2\|w^\ast-w_{ref}\|\,dL^2}}"),
        Value("λ", CORRECTED, exact, r"\lambda = \sqrt{\frac{2dL^2}{\rho\,\|w^\ast-w_{ref}\|^2}}"),
        Value(
            "excess risk, at most",
            PRINTED,
            first + noise,
            (
                r"\frac{4(NL+\lambda B)^2}{\lambda TN}+\frac{\sqrt "
                r"d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}"
            ),
        ),
        Value(
            "excess risk, at most",
            CORRECTED,
            bound,
            (
                r"\frac{2(NL+2\lambda B)^2}{\lambda TN}+\frac{2\sqrt "
                r"d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}"
            ),
        ),
        Value(
            "of it privacy, T → ∞",
            PRINTED,
            noise,
            r"\frac{\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}",
        ),
        Value(
            "of it privacy, T → ∞",
            CORRECTED,
            2 * noise,
            r"\frac{2\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}",
        ),
    )


def _theorem_4(s: Inputs) -> Values:
    cost = (
        4
        * math.sqrt(s.d)
        * s.lipschitz**2
        / (s.curvature * math.sqrt(s.n_public) * s.n * math.sqrt(2 * s.rho))
    )
    start = 2 * s.lipschitz / (s.curvature * math.sqrt(s.n_public))
    return (
        Value(
            "cost of privacy, at most",
            PRINTED,
            cost,
            r"\frac{4\sqrt d\,L^2}{c\sqrt{N_{pub}}\,N\sqrt{2\rho}}",
            note="beside the generalisation gap that any learner pays",
        ),
        Value(
            "distance of the public start, at most",
            PRINTED,
            start,
            r"\mathbb E\|w_{ref}-w^\ast\| \le \frac{2L}{c\sqrt{N_{pub}}}",
        ),
    )


register(
    "adamix_theorem_3",
    _theorem_3,
    lambda s: (Range("‖w* − w_ref‖ ≤ 2B", s.distance, 0, 2 * s.ball, high_open=False),),
    title="AdaMix, Theorem 3",
    source=(
        "Golatkar, Achille, Wang, Roth, Kearns & Soatto, Mixed differential privacy "
        "(AdaMix), Theorem 3, Corollary 16"
    ),
    says=(
        "Noisy gradient descent pays for privacy in proportion to how far its start lies "
        "from the solution."
    ),
    corrections=(
        (
            "λ is inverted in print; the minimiser of dL²/(λρ) + λ‖w* − w_ref‖²/2 is "
            "√(2dL²/(ρ‖w* − w_ref‖²))."
        ),
        (
            "At that λ both terms are equal, so the privacy term is twice the printed one "
            "(Theorem 4's constant has the 2)."
        ),
        (
            "The regulariser is centred at w_ref, so its gradient reaches 2λB on the ball, and "
            "the proof's factor is 2, not 4."
        ),
        "ρ = TL²/(2σ²); Propositions 2, 5 and 9 print T².",
    ),
    inputs="d n rho lipschitz distance ball steps",
)
register(
    "adamix_theorem_4",
    _theorem_4,
    lambda s: (Range("N_pub ≤ N", s.n_public, 0, s.n, high_open=False),),
    title="AdaMix, Theorem 4",
    source="AdaMix, Theorems 4 and 18, Corollary 17",
    says="A start trained on N_pub public rows divides the cost of privacy by √N_pub.",
    inputs="d n n_public rho lipschitz curvature",
)
