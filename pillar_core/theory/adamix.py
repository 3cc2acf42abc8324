"""AdaMix: what noisy gradient descent costs from a public start (Theorem 3), and what public rows buy (Theorem 4)."""

from __future__ import annotations

import dataclasses
import math

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import CALCULATORS, LIPSCHITZ, RHO, Calculator, D, Form, Range, Value

N_ROWS = Param("n", int, 10_000, "Rows N, public and private.", low=1, high=10**9, unit="rows", log=True)
N_PUBLIC = Param("n_public", int, 100, "Public rows.", low=1, high=10**9, unit="rows", log=True)
STEPS = Param("steps", int, 1_000, "Steps T.", low=1, high=10**9, log=True)
DISTANCE = Param("distance", float, 0.5, "How far the start w_ref lies from w*.", low=0, low_open=True, high=1e6, log=True)
BALL = Param("ball", float, 1.0, "Radius B of the weights allowed.", low=0, low_open=True, high=1e6, log=True)
CURVATURE = Param("curvature", float, 0.1, "Strong convexity c of the population risk.", low=0, low_open=True, high=1e6, log=True)


@dataclasses.dataclass(frozen=True)
class Theorem3Settings:
    """Inputs of Theorem 3."""

    d: int = setting(D)
    n: int = setting(N_ROWS)
    rho: float = setting(RHO)
    lipschitz: float = setting(LIPSCHITZ)
    distance: float = setting(DISTANCE)
    ball: float = setting(BALL)
    steps: int = setting(STEPS)


@dataclasses.dataclass(frozen=True)
class Theorem4Settings:
    """Inputs of Theorem 4."""

    d: int = setting(D)
    n: int = setting(N_ROWS)
    n_public: int = setting(N_PUBLIC)
    rho: float = setting(RHO)
    lipschitz: float = setting(LIPSCHITZ)
    curvature: float = setting(CURVATURE)


def best_regularisation(*, d: int, lipschitz: float, rho: float, distance: float) -> float:
    """λ = √(2dL²/(ρ‖w* − w_ref‖²)), where dL²/(λρ) + λ‖w* − w_ref‖²/2 is smallest."""
    return math.sqrt(2 * d * lipschitz**2 / (rho * distance**2))


def excess_bound(*, d: int, n: int, rho: float, lipschitz: float, distance: float, ball: float, steps: int) -> float:
    """The corrected bound on the mean excess empirical risk at the best λ."""
    strength = best_regularisation(d=d, lipschitz=lipschitz, rho=rho, distance=distance)
    optimisation = 2 * (n * lipschitz + 2 * strength * ball) ** 2 / (strength * steps * n)
    return optimisation + 2 * math.sqrt(d) * lipschitz * distance / (math.sqrt(2 * rho) * n)


def _theorem_3(s: Theorem3Settings) -> tuple[Value, ...]:
    printed = math.sqrt(s.rho / (2 * s.distance * s.d * s.lipschitz**2))
    exact = best_regularisation(d=s.d, lipschitz=s.lipschitz, rho=s.rho, distance=s.distance)
    noise = math.sqrt(s.d) * s.lipschitz * s.distance / (math.sqrt(2 * s.rho) * s.n)
    first = 4 * (s.n * s.lipschitz + printed * s.ball) ** 2 / (printed * s.steps * s.n)
    bound = excess_bound(d=s.d, n=s.n, rho=s.rho, lipschitz=s.lipschitz, distance=s.distance, ball=s.ball, steps=s.steps)
    latex = r"\frac{4(NL+\lambda B)^2}{\lambda TN}+\frac{\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}"
    return (
        Value("λ", Form.PRINTED, printed, r"\lambda = \sqrt{\frac{\rho}{2\|w^\ast-w_{ref}\|\,dL^2}}"),
        Value("λ", Form.CORRECTED, exact, r"\lambda = \sqrt{\frac{2dL^2}{\rho\,\|w^\ast-w_{ref}\|^2}}"),
        Value("excess risk, at most", Form.PRINTED, first + noise, latex),
        Value(
            "excess risk, at most",
            Form.CORRECTED,
            bound,
            r"\frac{2(NL+2\lambda B)^2}{\lambda TN}+\frac{2\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}",
        ),
        Value("of it privacy, T → ∞", Form.PRINTED, noise, r"\frac{\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}"),
        Value("of it privacy, T → ∞", Form.CORRECTED, 2 * noise, r"\frac{2\sqrt d\,L\|w^\ast-w_{ref}\|}{\sqrt{2\rho}\,N}"),
    )


def _theorem_4(s: Theorem4Settings) -> tuple[Value, ...]:
    cost = 4 * math.sqrt(s.d) * s.lipschitz**2 / (s.curvature * math.sqrt(s.n_public) * s.n * math.sqrt(2 * s.rho))
    start = 2 * s.lipschitz / (s.curvature * math.sqrt(s.n_public))
    return (
        Value(
            "cost of privacy, at most",
            Form.PRINTED,
            cost,
            r"\frac{4\sqrt d\,L^2}{c\sqrt{N_{pub}}\,N\sqrt{2\rho}}",
            note="beside the generalisation gap that any learner pays",
        ),
        Value("distance of the public start, at most", Form.PRINTED, start, r"\mathbb E\|w_{ref}-w^\ast\| \le \frac{2L}{c\sqrt{N_{pub}}}"),
    )


CALCULATORS.register(
    Calculator(
        name="adamix_theorem_3",
        title="AdaMix, Theorem 3",
        source="Golatkar, Achille, Wang, Roth, Kearns & Soatto, Mixed differential privacy (AdaMix), Theorem 3, Corollary 16",
        says="Noisy gradient descent pays for privacy in proportion to how far its start lies from the solution.",
        settings=Theorem3Settings,
        compute=_theorem_3,
        ranges=lambda s: (Range("‖w* − w_ref‖ ≤ 2B", s.distance, 0, 2 * s.ball, high_open=False),),
        corrections=(
            "λ is inverted in print; the minimiser of dL²/(λρ) + λ‖w* − w_ref‖²/2 is √(2dL²/(ρ‖w* − w_ref‖²)).",
            "At that λ both terms are equal, so the privacy term is twice the printed one (Theorem 4's constant has the 2).",
            "The regulariser is centred at w_ref, so its gradient reaches 2λB on the ball, and the proof's factor is 2, not 4.",
            "ρ = TL²/(2σ²); Propositions 2, 5 and 9 print T².",
        ),
    )
)
CALCULATORS.register(
    Calculator(
        name="adamix_theorem_4",
        title="AdaMix, Theorem 4",
        source="AdaMix, Theorems 4 and 18, Corollary 17",
        says="A start trained on N_pub public rows divides the cost of privacy by √N_pub.",
        settings=Theorem4Settings,
        compute=_theorem_4,
        ranges=lambda s: (Range("N_pub ≤ N", float(s.n_public), 0, float(s.n), high_open=False),),
    )
)
