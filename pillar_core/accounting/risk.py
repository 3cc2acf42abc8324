"""What a guarantee means for one person: the trade-off curve of any attacker, and odds in whole
people.

Never from one (ε, δ) point, which overstates several times: Gaussian runs by their μ, one pure
release by its ε, all others by the whole privacy profile.
"""

import dataclasses
import math

import numpy as np
from scipy.special import ndtr, ndtri

from pillar_core import checks
from pillar_core.accounting.accountant import ACCOUNTANTS, Accountant
from pillar_core.accounting.auto import resolve_bound
from pillar_core.accounting.elementary import ElementaryEvents, ElementaryRelease, Kind, read
from pillar_core.accounting.gaussian_dp import mu_of
from pillar_core.accounting.gaussian_runs import SAMPLING_PROBABILITY, gaussian_run
from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.ledger import DpEvent
from pillar_core.numerics import smallest_passing
from pillar_core.params import CHANCE, COUNT


@dataclasses.dataclass(frozen=True)
class TradeOff:
    """The most that any membership attack can do: at false-positive rate α it misses at least f(α)
    of the members.

    `kind` is "gaussian" (μ; inf for a run without protection), "pure" (ε), or "profile" (many (ε,
    δ) pairs).
    """

    kind: str
    mu: float = 0.0
    epsilon: float = 0.0
    epsilons: tuple[float, ...] = ()
    deltas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if (
            self.kind not in ("gaussian", "pure", "profile")
            or not self.mu >= 0
            or not self.epsilon >= 0
        ):
            raise SettingError(
                "a trade-off curve has kind gaussian, pure or profile, mu >= 0 and epsilon >= 0;"
                f" got {self}."
            )

    @property
    def source(self) -> str:
        """Where the curve comes from, for captions."""
        return {
            "gaussian": f"exact for a Gaussian run, μ = {self.mu:.4g} (Dong, Roth & Su 2022)",
            "pure": f"exact for one release of pure ε = {self.epsilon:.4g}",
            "profile": f"from {len(self.deltas)} certified (ε, δ) pairs",
        }[self.kind]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """The (ε, δ) that hold at once, of a curve that is not Gaussian."""
        if self.kind == "pure":
            return [(self.epsilon, 0.0)]
        return list(zip(self.epsilons, self.deltas, strict=True))

    def miss_rate(self, false_positive_rate: Array | float) -> Array:
        """f(α), float64 of α's shape: the least share of members that an attack with that
        false-positive rate misses.

        Raises SettingError for a rate outside [0, 1].
        """
        alpha = np.asarray(false_positive_rate, dtype=np.float64)
        if not np.all((alpha >= 0) & (alpha <= 1)):
            raise SettingError("false_positive_rate must be in [0, 1].")
        if self.kind == "gaussian":
            missed: Array = (
                ndtr(-ndtri(alpha) - self.mu) if math.isfinite(self.mu) else np.zeros_like(alpha)
            )
            return missed
        missed = np.zeros_like(alpha)
        for epsilon, delta in self.pairs:
            scale = math.exp(-epsilon)
            # a false-positive rate of 0 stays worth 0 however large e^ε is
            steep = np.where(
                alpha > 0,
                1 - delta - np.where(alpha > 0, alpha, 1.0) / max(scale, 1e-300),
                1 - delta,
            )
            missed = np.maximum(missed, np.maximum(steep, scale * (1 - delta - alpha)))
        return missed


def trade_off(
    event: DpEvent, *, relation: str = "add_or_remove_one", accountant: str = "auto"
) -> TradeOff:
    """The trade-off curve of a run.

    Guarantee: a bound for every attacker who knows all but whether (add/remove) or which
    (replace-one) one row is in the data; exact for Gaussian runs and one pure release, a certified
    bound elsewhere. Raises UnsupportedError where no accountant bounds this event, or the one named
    does not.
    """
    events = read(event, relation)
    checks.one_of(ACCOUNTANTS, accountant=accountant)
    if events.is_non_private:
        return TradeOff("gaussian", mu=math.inf)
    if events.is_full_gaussian:
        return TradeOff("gaussian", mu=events.gaussian_mu)
    match events.releases, events.unsupported:
        case (ElementaryRelease(Kind.PURE | Kind.EXPONENTIAL, loss, 1, 1.0, 0.0),), ():
            return TradeOff("pure", epsilon=loss)
    epsilons, deltas = profile(event, relation=relation, accountant=accountant)
    return TradeOff("profile", epsilons=tuple(epsilons.tolist()), deltas=tuple(deltas.tolist()))


def advantage(curve: TradeOff) -> float:
    """The largest true-positive minus false-positive rate, in [0, 1]: 2Φ(μ/2) − 1, tanh(ε/2), or δ
    at ε = 0."""
    if curve.kind == "gaussian":
        return float(2 * ndtr(curve.mu / 2) - 1)
    pairs = curve.pairs or [(math.inf, 1.0)]
    return min(max(delta + (1 - delta) * math.tanh(epsilon / 2), 0.0) for epsilon, delta in pairs)


def turned_guesses(epsilon: float, delta: float) -> tuple[float, float]:
    """The largest share of even bets on membership that a model can turn from wrong to right: (by
    (ε, δ) alone, by the Gaussian run).

    The Gaussian run takes all rows in every step and just meets (ε, δ).
    """
    point = TradeOff("profile", epsilons=(epsilon,), deltas=(delta,))
    return advantage(point) / 2, advantage(TradeOff("gaussian", mu=mu_of(epsilon, delta))) / 2


def tpr_at(curve: TradeOff, false_positive_rate: float) -> float:
    """The largest share of members found by an attack that accuses `false_positive_rate` of the
    others wrongly."""
    return float(1 - curve.miss_rate(false_positive_rate))


def reconstruction(curve: TradeOff, candidates: int) -> float:
    """The largest chance to name the right one of `candidates` equally likely records: TPR at
    1/candidates.

    Hayes, Mahloujifar & Balle 2023: an attacker who guesses a record of prior chance 1/m succeeds
    at most so often.
    """
    if not candidates >= 2:
        raise SettingError(f"candidates must be at least 2; got {candidates!r}.")
    return tpr_at(curve, 1 / candidates)


@dataclasses.dataclass(frozen=True)
class GaussianSummary:
    """A Gaussian curve below a run's own wherever false-alarm and miss rates are at least `floor`:
    safe there, silent elsewhere.

    `overstated` is by how much its hit rates exceed those of the run's curve, at most.
    """

    mu: float
    overstated: float
    floor: float


def gaussian_summary(curve: TradeOff, *, floor: float = 1e-3) -> GaussianSummary:
    """The smallest μ, up to 0.005, whose curve promises no more than `curve`, for rates of at least
    `floor`; exact for Gaussian runs.

    Guarantee: both curves are compared on cells of false-alarm rates, at the worse end of each.
    Below the floor no μ summarises a run with δ > 0, and that of a Poisson run tends to the one
    without sampling. The idea is that of arXiv 2503.10945, whose abstract we read.
    """
    checks.within(floor=(floor, dataclasses.replace(CHANCE, high=0.5)))
    if curve.kind == "gaussian":
        return GaussianSummary(curve.mu, 0.0, floor)
    z = np.linspace(ndtri(floor), -ndtri(floor), math.ceil(-2 * ndtri(floor) / 0.005) + 1)
    missed = curve.miss_rate(ndtr(z))
    inside = missed[:-1] >= floor
    reach = -ndtri(np.maximum(missed[1:], floor)) - z[:-1]
    mu = max(float(reach[inside].max()), 0.0) if inside.any() else math.inf
    gap = missed[:-1] - ndtr(-z[1:] - mu)
    return GaussianSummary(mu, max(float(gap[inside].max()), 0.0) if inside.any() else 0.0, floor)


def noise_for_risk(
    most: float,
    *,
    false_positive_rate: float | None = None,
    sampling_probability: float = 1.0,
    steps: int = 1,
    relation: str = "add_or_remove_one",
) -> float:
    """The smallest noise multiplier, to 0.1 % from above, at which no attack does better than
    `most`.

    most: the share of members found at `false_positive_rate` wrong accusations, or without one, the
    share of even bets on membership that the model turns from wrong to right (1/N for "1 guess in
    N"). Raises SettingError for a `most` that blind guessing exceeds.
    """
    checks.within(
        false_positive_rate=(false_positive_rate, CHANCE),
        most=(most, CHANCE),
        sampling_probability=(sampling_probability, SAMPLING_PROBABILITY),
        steps=(steps, COUNT),
    )
    least, top = (0.0, 0.5) if false_positive_rate is None else (false_positive_rate, 1.0)
    if not least < most < top:
        raise SettingError(
            f"most must be in ({least:g}, {top:g}), between blind guessing and certainty; got"
            f" {most!r}."
        )
    mu = (
        2 * float(ndtri(most + 0.5))
        if false_positive_rate is None
        else float(ndtri(most) - ndtri(false_positive_rate))
    )

    def is_met(noise: float) -> bool:
        run = gaussian_run(noise, sampling_probability=sampling_probability, steps=steps)
        curve = trade_off(run, relation=relation)
        return (
            advantage(curve) / 2
            if false_positive_rate is None
            else tpr_at(curve, false_positive_rate)
        ) <= most

    # where the central limit meets it; closed form for full batches
    start = 1 / math.sqrt(math.log1p((mu / (sampling_probability * math.sqrt(steps))) ** 2))
    return smallest_passing(is_met, start=start, low=0.0, high=1e12, relative_tolerance=1e-3)


@dataclasses.dataclass(frozen=True)
class Odds:
    """A risk as odds for people: `chance` with the data used, `baseline` without any, and a
    sentence that says both."""

    name: str
    chance: float
    baseline: float
    sentence: str


def odds(
    curve: TradeOff, *, false_positive_rate: float = 1e-3, candidates: int = 1000
) -> tuple[Odds, ...]:
    """Three odds of the worst attacker: a coin-flip bet on membership, a confident accusation, a
    record picked from a list."""
    checks.within(false_positive_rate=(false_positive_rate, CHANCE), candidates=(candidates, COUNT))
    bet = (1 + advantage(curve)) / 2
    tpr = tpr_at(curve, false_positive_rate)
    picked = reconstruction(curve, candidates)
    bets = (
        "Betting whether one person's row was used, the best attacker wins at most"
        f" {_per(bet, 100)} bets of 100; a coin wins 50."
    )
    accused = (
        f"An attacker who wrongly accuses at most 1 in {1 / false_positive_rate:,.0f} people who"
        f" were not used finds at most {_one_in(tpr)} of those who were."
    )
    listed = (
        f"Picking a person's record from {candidates:,} equally likely ones succeeds at most"
        f" {_one_in(picked)} times; blind, 1 in {candidates:,}."
    )
    return (
        Odds("bet", bet, 0.5, bets),
        Odds("accusation", tpr, false_positive_rate, accused),
        Odds("pick", picked, 1 / candidates, listed),
    )


def _per(chance: float, total: int) -> str:
    """`chance` of `total`, rounded up to a tenth."""
    return f"{math.ceil(min(chance, 1.0) * total * 10 - 1e-9) / 10:g}"


def _one_in(chance: float) -> str:
    """ "1 in N" with N rounded down, so that the risk is never understated; in 100 for likely
    events."""
    if chance >= 0.1:
        return f"{_per(chance, 100)} in 100"
    return f"1 in {math.floor(1 / chance):,}" if chance > 0 else "none"


LEAST_DELTA = 1e-12
POINTS = 48
DELTA_TOLERANCE = 1e-3


def profile(
    event: DpEvent, *, relation: str = "add_or_remove_one", accountant: str = "auto"
) -> tuple[Array, Array]:
    """(epsilons, deltas), each (m,) float64 with ε rising from 0 and δ falling: at each pair the
    run is (ε, δ)-DP.

    The first pair, (0, δ), is the largest advantage over guessing that any attacker can have. Empty
    arrays for ε = inf. Raises UnsupportedError where the accountant gives no bound, or none for
    this event.
    """
    chosen = resolve_bound(event, relation=relation, accountant=accountant)
    events = read(event, relation)
    if events.is_empty:
        return np.zeros(1), np.zeros(1)
    if events.is_non_private:
        return np.empty(0), np.empty(0)
    if chosen.profile is not None and not chosen.refusal(events):
        epsilons, deltas = chosen.profile(events, _deltas)
    else:
        deltas = _deltas(_delta_at_zero(chosen, events))
        epsilons = np.array(
            [0.0, *(chosen.epsilon_of(events, delta=float(delta)).upper for delta in deltas[1:])]
        )
    usable = np.isfinite(epsilons) & (deltas < 1)
    return np.maximum.accumulate(epsilons[usable]), deltas[usable]


def _deltas(largest: float) -> Array:
    """(POINTS,) δ from the largest down, quadratic in log δ: dense near the largest, where the
    trade-off curve bends."""
    least = min(LEAST_DELTA, largest / 2)
    deltas: Array = largest * (least / largest) ** (np.linspace(0.0, 1.0, POINTS) ** 2)
    return deltas


def _delta_at_zero(accountant: Accountant, events: ElementaryEvents) -> float:
    """The smallest δ, from above, at which ε is 0; 1 where even δ near 1 needs more."""
    passing, failing = 1 - 1e-9, 0.0
    if accountant.epsilon_of(events, delta=passing).upper > 0:
        return 1.0
    while passing - failing > DELTA_TOLERANCE * passing and passing > LEAST_DELTA:
        middle = (passing + failing) / 2 if failing > passing / 100 else passing / 10
        if accountant.epsilon_of(events, delta=middle).upper > 0:
            failing = middle
        else:
            passing = middle
    return passing
