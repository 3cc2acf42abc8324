"""AdaMix: what noisy gradient descent costs from a public start (Theorem 3), and what public rows
buy (Theorem 4)."""

import math

from pillar_core.theory.calculator import Inputs, Numbers, register


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


def _theorem_3(s: Inputs) -> Numbers:
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
    return {
        "λ": {"printed": printed, "corrected": exact},
        "excess risk, at most": {"printed": first + noise, "corrected": bound},
        "of it privacy, T → ∞": {"printed": noise, "corrected": 2 * noise},
    }


def _theorem_4(s: Inputs) -> Numbers:
    cost = (
        4
        * math.sqrt(s.d)
        * s.lipschitz**2
        / (s.curvature * math.sqrt(s.n_public) * s.n * math.sqrt(2 * s.rho))
    )
    start = 2 * s.lipschitz / (s.curvature * math.sqrt(s.n_public))
    return {
        "cost of privacy, at most": {"printed": cost},
        "distance of the public start, at most": {"printed": start},
    }


register("adamix_theorem_3", _theorem_3, ends=lambda s: {"2B": 2 * s.ball})
register("adamix_theorem_4", _theorem_4)
