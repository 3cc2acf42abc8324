"""What an accountant reads: a privacy event flattened, under one relation, to elementary releases
in units of sensitivity.

The ledger has events. Here they become numbers once, with the sensitivity factor that each event
records for its relation, so that no accountant guesses one (two libraries disagree by a factor of
two).
"""

import dataclasses
import enum
import math
from typing import Any

from pillar_core import events
from pillar_core.errors import SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, event_counts
from pillar_core.types import NeighboringRelation

REPLACE_ONE = NeighboringRelation.REPLACE_ONE


class Kind(enum.Enum):
    """Families of releases that have a closed-form privacy loss."""

    GAUSSIAN = "Gaussian"
    LAPLACE = "Laplace"
    EXPONENTIAL = "exponential mechanism"
    PURE = "(ε, δ)-DP release"


@dataclasses.dataclass(frozen=True)
class ElementaryRelease:
    """`count` equal releases. `loss` is sensitivity / noise scale (Gaussian: std, Laplace: scale)
    or the pure ε.

    With `sampling_probability` < 1 under replace-one, a Gaussian's `loss` is one row's largest norm
    / std: the pair is then (1−q)N(0) + qN(±loss), whatever the two rows are (docs/accounting.md,
    "Replace-one").
    """

    kind: Kind
    loss: float
    count: int = 1
    sampling_probability: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        if not (
            self.loss >= 0
            and self.count >= 1
            and 0 <= self.sampling_probability <= 1
            and 0 <= self.delta <= 1
        ):
            raise SettingError(
                "a release has loss >= 0, count >= 1, sampling_probability and delta in [0, 1];"
                f" got {self}."
            )

    @property
    def is_full_gaussian(self) -> bool:
        """Whether this is a Gaussian release of all rows, which composes in closed form."""
        return self.kind is Kind.GAUSSIAN and self.sampling_probability == 1.0


@dataclasses.dataclass(frozen=True)
class ElementaryEvents:
    """An event under `relation`: elementary releases in a fixed order, full Gaussians merged into
    one.

    `unsupported` holds events outside our vocabulary with their counts; only the accountants of
    their library know them.
    """

    relation: NeighboringRelation
    releases: tuple[ElementaryRelease, ...]
    unsupported: tuple[tuple[Any, int], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing was spent."""
        return not (self.releases or self.unsupported)

    @property
    def is_non_private(self) -> bool:
        """Whether a release has no noise, or may fail always."""
        return any(math.isinf(release.loss) or release.delta >= 1 for release in self.releases)

    @property
    def is_full_gaussian(self) -> bool:
        """Whether all that was spent are Gaussian releases of all rows."""
        return not self.unsupported and all(release.is_full_gaussian for release in self.releases)

    @property
    def exposure(self) -> float:
        """The probability that a release without noise reads a row: below it no δ has a finite
        ε."""
        return -math.expm1(
            math.fsum(
                release.count * math.log1p(-min(release.sampling_probability, 1 - 2**-53))
                for release in self.releases
                if math.isinf(release.loss)
            )
        )

    @property
    def gaussian_mu(self) -> float:
        """μ of all full Gaussians together, √Σ μᵢ² (Dong, Roth & Su 2022, Corollary 3.3); 0 without
        any."""
        return math.sqrt(
            math.fsum(
                release.count * release.loss * release.loss
                for release in self.releases
                if release.is_full_gaussian
            )
        )

    @property
    def key(self) -> str:
        """Content hash: equal spending hashes equal however the event was written."""
        parts = [dataclasses.astuple(release) for release in self.releases]
        others = [(repr(event), count) for event, count in self.unsupported]
        return fingerprint(self.relation, parts, others)


def read(event: DpEvent, relation: str) -> ElementaryEvents:
    """`event` under `relation`, canonical. Raises SettingError for NaN or negative noise, counts or
    probabilities."""
    relation = NeighboringRelation.of(relation)
    counts: dict[ElementaryRelease, int] = {}
    unsupported: list[tuple[DpEvent, int]] = []
    for elementary, times in event_counts(event).items():
        release = _release(elementary, relation)
        if release is None:
            unsupported.append((elementary, times))
        elif release.loss > 0 or release.delta > 0:
            counts[release] = counts.get(release, 0) + times
    unsupported.sort(key=lambda pair: repr(pair[0]))
    return ElementaryEvents(relation, _canonical_releases(counts), tuple(unsupported))


def _release(event: DpEvent, relation: NeighboringRelation) -> ElementaryRelease | None:
    """One elementary event as a release; None for an event outside our vocabulary."""
    replace = relation is REPLACE_ONE
    match event:
        case events.NonPrivateDpEvent():
            return ElementaryRelease(Kind.PURE, math.inf)
        case events.GaussianDpEvent():
            return ElementaryRelease(
                Kind.GAUSSIAN, _ratio(2.0 if replace else 1.0, event.noise_multiplier)
            )
        case events.GaussianRelease():
            factor = _at_least_zero(event.replace_one_factor, "replace_one_factor")
            return ElementaryRelease(
                Kind.GAUSSIAN, _ratio(factor if replace else 1.0, event.noise_multiplier)
            )
        case events.LaplaceDpEvent():
            return ElementaryRelease(
                Kind.LAPLACE, _ratio(2.0 if replace else 1.0, event.noise_multiplier)
            )
        case events.ExponentialMechanismEvent():
            return ElementaryRelease(Kind.EXPONENTIAL, _epsilon(event, replace))
        case events.PureEvent():
            return ElementaryRelease(
                Kind.PURE, _epsilon(event, replace), delta=_at_least_zero(event.delta, "delta")
            )
        case events.PoissonSampledDpEvent():
            return _sampled_release(event, relation)
        case events.RandomAllocationEvent() if (
            replace
        ):  # one step moves by two clip norms (docs/accounting.md, "Random allocation")
            return ElementaryRelease(Kind.GAUSSIAN, _ratio(2.0, event.noise_multiplier))
    return None


def _sampled_release(
    event: events.PoissonSampledDpEvent, relation: NeighboringRelation
) -> ElementaryRelease | None:
    """One release made of everything that was computed from one Poisson sample; None where no
    formula covers it."""
    probability = float(event.sampling_probability)
    if not 0 <= probability <= 1:
        raise SettingError(f"sampling_probability must be in [0, 1]; got {probability!r}.")
    parts = event_counts(event.event)
    ratios = [
        (_ratio(1.0, part.noise_multiplier), times)
        for part, times in parts.items()
        if isinstance(part, events.GaussianDpEvent | events.GaussianRelease)
    ]
    if not parts:
        return ElementaryRelease(Kind.PURE, 0.0)
    if len(ratios) == len(parts):
        # Gaussians of one sample are one joint Gaussian; its loss is one row's norm / std under
        # both relations.
        loss = math.sqrt(math.fsum(times * ratio * ratio for ratio, times in ratios))
        return ElementaryRelease(Kind.GAUSSIAN, loss, sampling_probability=probability)
    (part, times), *more = parts.items()
    if times == 1 and not more:
        inner = _release(part, relation)
        if inner is not None and inner.sampling_probability == 1.0:
            return dataclasses.replace(inner, sampling_probability=probability)
    return None


def _canonical_releases(counts: dict[ElementaryRelease, int]) -> tuple[ElementaryRelease, ...]:
    full = math.fsum(
        times * release.loss * release.loss
        for release, times in counts.items()
        if release.is_full_gaussian
    )
    sampled = [
        dataclasses.replace(release, count=times)
        for release, times in counts.items()
        if not release.is_full_gaussian
    ]
    sampled.sort(
        key=lambda release: (
            release.kind.value,
            release.loss,
            release.sampling_probability,
            release.delta,
        )
    )
    return (
        tuple(sampled)
        if full == 0
        else (ElementaryRelease(Kind.GAUSSIAN, math.sqrt(full)), *sampled)
    )


def _epsilon(event: events.ExponentialMechanismEvent | events.PureEvent, replace: bool) -> float:
    add_remove, replace_one = (
        _at_least_zero(value, "epsilon")
        for value in (event.epsilon_add_remove, event.epsilon_replace_one)
    )
    return replace_one if replace else add_remove


def _ratio(sensitivity: float, noise: float) -> float:
    checked = _at_least_zero(noise, "noise_multiplier")
    return sensitivity / checked if checked > 0 else math.inf


def _at_least_zero(value: float, name: str) -> float:
    if not value >= 0:
        raise SettingError(f"{name} of a privacy event must be at least 0; got {value!r}.")
    return float(value)
