"""AdaMix: what noisy gradient descent costs from a public start (Theorem 3), and what public rows buy (Theorem 4)."""

import dataclasses
import math

from pillar_core.params import Param, setting
from pillar_core.theory.calculator import LIPSCHITZ, RHO, D, Numbers, Range, register

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


def _theorem_3(s: Theorem3Settings) -> Numbers:
    printed = math.sqrt(s.rho / (2 * s.distance * s.d * s.lipschitz**2))
    exact = best_regularisation(d=s.d, lipschitz=s.lipschitz, rho=s.rho, distance=s.distance)
    noise = math.sqrt(s.d) * s.lipschitz * s.distance / (math.sqrt(2 * s.rho) * s.n)
    first = 4 * (s.n * s.lipschitz + printed * s.ball) ** 2 / (printed * s.steps * s.n)
    bound = excess_bound(d=s.d, n=s.n, rho=s.rho, lipschitz=s.lipschitz, distance=s.distance, ball=s.ball, steps=s.steps)
    return {
        "λ": {"printed": printed, "corrected": exact},
        "excess risk, at most": {"printed": first + noise, "corrected": bound},
        "of it privacy, T → ∞": {"printed": noise, "corrected": 2 * noise},
    }


def _theorem_4(s: Theorem4Settings) -> Numbers:
    cost = 4 * math.sqrt(s.d) * s.lipschitz**2 / (s.curvature * math.sqrt(s.n_public) * s.n * math.sqrt(2 * s.rho))
    start = 2 * s.lipschitz / (s.curvature * math.sqrt(s.n_public))
    return {"cost of privacy, at most": {"printed": cost}, "distance of the public start, at most": {"printed": start}}


register(
    "adamix_theorem_3",
    Theorem3Settings,
    _theorem_3,
    ranges=lambda s: (Range("‖w* − w_ref‖ ≤ 2B", s.distance, 0, 2 * s.ball, high_open=False),),
)
register(
    "adamix_theorem_4",
    Theorem4Settings,
    _theorem_4,
    ranges=lambda s: (Range("N_pub ≤ N", float(s.n_public), 0, float(s.n), high_open=False),),
)
