"""What libraries of private training count: their formulas, the noise that they solve for, and why
their ε is not the certified one."""

import dataclasses
import math

from pillar_core import accounting
from pillar_core.accounting.gaussian_runs import TITLES, sampler_cost
from pillar_core.accounting.rdp import LEAST_NOISE, USUAL_ORDERS, usual_epsilon
from pillar_core.numerics import smallest_passing
from pillar_core.studies.check.fields import FIELDS
from pillar_core.studies.check.reading import Reading
from pillar_core.types import EpsilonBounds, NeighboringRelation, Values

RELATIONS = tuple(str(relation) for relation in NeighboringRelation)
SAMPLERS = {**TITLES, "weighted": "Weighted batches"}
LIBRARIES = {
    "opacus": "Opacus",
    "tensorflow_privacy": "TensorFlow Privacy",
    "fastdp": "fastDP",
    "jax_privacy": "JAX-Privacy",
}


@dataclasses.dataclass(frozen=True)
class Reported:
    """The ε that a library's formula gives for these numbers, add/remove, and why it is not the
    certified one."""

    library: str
    epsilon: float
    why: str


def formula_of(reading: Reading) -> str:
    """Which formula a script's library counts with; where that is not read, the one that asks for
    the least noise."""
    silent, least = {
        "opacus": ("prv", "gdp"),
        "fastdp": ("rdp", "glw"),
        "jax_privacy": ("pld", "pld"),
    }.get(reading.library, ("rdp", "rdp"))
    return (
        least if "accountant" in reading.hidden else str(reading.values.get("accountant", silent))
    )


def library_epsilon(formula: str, noise: float, poisson: Values) -> float:
    """ε of Poisson samples under add/remove as that formula has it."""
    if formula == "rdp":
        return usual_epsilon(noise, **poisson)
    return accounting.epsilon_of_gaussian(
        noise, **poisson, accountant="gdp" if formula == "gdp" else "auto"
    ).upper


GRID_ERROR = 0.01
"""What Opacus's PRV and dp-accounting's PLD may answer below the truth: the error in ε that PRV's
grid is built for. fastDP's glw adds 0.05 to what it says."""
SOLVED = 1e-4
"""To this share a library's own curve is solved; it may itself stop at the lower end."""


def solve_noise(
    values: Values, share: float, steps: int, sampler: str, reading: Reading, problems: list[str]
) -> float | None:
    """The noise for the target ε, the least that the script's library may solve it to; without a
    library, as the sampler needs it."""
    target, delta = values["epsilon"], values["delta"]
    poisson = {"sampling_probability": share, "steps": steps, "delta": delta}
    if not reading.library:
        return noise_for(target, sampler, poisson)
    formula, tight = formula_of(reading), accounting.noise_multiplier(target, **poisson)
    if formula not in ("rdp", "gdp"):
        return _least_solved(target, tight, poisson)
    most = FIELDS["noise_multiplier"].high
    high = smallest_passing(
        lambda noise: noise >= most or library_epsilon(formula, noise, poisson) <= target,
        start=tight,
        low=1e-3,
        high=most,
        relative_tolerance=SOLVED,
    ) * (1 - SOLVED)
    if high < LEAST_NOISE:  # the library's own curve is not called there
        return min(high, tight)
    if high > 2 * tight:
        floor = -math.log(delta) / USUAL_ORDERS[-1]
        problems.append(
            f"{LIBRARIES[reading.library]}'s search for σ ends at {high:,.0f}: its Rényi orders"
            f" stop at {USUAL_ORDERS[-1]}, where ε hardly falls below {floor:.2g} however much"
            f" noise there is. Without that floor, σ = {tight:.4g} meets ε = {target:g}."
        )
    return high


def _least_solved(target: float, tight: float, poisson: Values) -> float:
    """Noise below any that a library's distribution of losses solves for `target`.

    Guarantee: the true ε there is above the target by more than a library's answer may lie below
    the truth, so that its search does not accept it.
    """
    step, noise = 5e-4, tight
    while accounting.epsilon_of_gaussian(noise, **poisson).lower <= target + GRID_ERROR:
        noise, step = tight * (1 - step), min(2 * step, 0.5)
        if noise < 1e-3:
            break
    return noise


def noise_for(target: float, sampler: str, run: Values) -> float | None:
    """The least noise, to 0.1 % from above, whose certified ε under add/remove is within `target`;
    None where no bound is known."""
    if sampler == "weighted":
        return None
    if sampler == "poisson":
        return accounting.noise_multiplier(target, **run)

    def is_met(noise: float) -> bool:
        cost = sampler_cost(sampler, noise, relation=RELATIONS[0], **run)
        return cost.epsilon.upper <= target

    start = accounting.noise_multiplier(target, **run)
    return smallest_passing(
        is_met, start=start, low=start / 2, high=math.inf, relative_tolerance=1e-3
    )


def reported_by(
    reading: Reading, counted: Values, certified: EpsilonBounds | None
) -> tuple[Reported, ...]:
    """What the script's library, or the usual ones, would say of these numbers."""
    noise, share, steps, delta = (
        counted[name] for name in ("noise_multiplier", "sampling_probability", "steps", "delta")
    )
    poisson = {"sampling_probability": share, "steps": steps, "delta": delta}
    titles = {
        "prv": "PRV or PLD (Opacus, JAX-Privacy)",
        "rdp": "Rényi (TensorFlow Privacy, fastDP)",
    }
    if reading.library:
        formula = formula_of(reading)
        titles = {formula: f"{LIBRARIES[reading.library]} ({formula.upper()})"}
    values = {formula: library_epsilon(formula, noise, poisson) for formula in titles}
    return tuple(
        Reported(name, values[key], _why(key, values[key], counted["sampler"], certified))
        for key, name in titles.items()
    )


def _why(formula: str, value: float, sampler: str, certified: EpsilonBounds | None) -> str:
    relation = "One row added or removed; replacing a row costs more."
    if sampler != "poisson":
        why = (
            f"It counts Poisson samples; here it is “{SAMPLERS[sampler].lower()}”, for which that"
            " formula is no bound."
        )
    elif formula == "gdp":
        why = "A central limit, no bound: it falls short where samples are small or steps few."
    elif formula != "rdp":
        why = "The same law as ours; the library adds what its grid costs, about 0.01."
    elif certified is None or not certified.upper > 0:
        return relation
    else:
        share = 100 * (value / certified.upper - 1)
        why = f"One moment at a time: sound, {share:.0f} % above the certified end."
    return f"{why} {relation}"
