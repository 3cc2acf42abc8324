"""Privacy events: what a release, a sample or a composition costs. Names and fields are those of
dp-accounting, where it has the event."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class DpEvent:
    """What one step of a run spends, without its data."""


@dataclasses.dataclass(frozen=True, slots=True)
class NoOpDpEvent(DpEvent):
    """Nothing is spent."""


@dataclasses.dataclass(frozen=True, slots=True)
class NonPrivateDpEvent(DpEvent):
    """A release without noise."""


@dataclasses.dataclass(frozen=True, slots=True)
class GaussianDpEvent(DpEvent):
    """A sum of rows with norm at most 1, plus Gaussian noise of this standard deviation."""

    noise_multiplier: float


@dataclasses.dataclass(frozen=True, slots=True)
class LaplaceDpEvent(DpEvent):
    """A sum of rows with L1 norm at most 1, plus Laplace noise of this scale on each coordinate."""

    noise_multiplier: float


@dataclasses.dataclass(frozen=True, slots=True)
class SelfComposedDpEvent(DpEvent):
    """`event`, `count` times over; each may depend on what came before."""

    event: DpEvent
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class ComposedDpEvent(DpEvent):
    """`events` in turn; each may depend on what came before."""

    events: Sequence[DpEvent]

    def __post_init__(self) -> None:
        object.__setattr__(
            self, "events", tuple(self.events)
        )  # a list has no hash, and equal events are counted by theirs


@dataclasses.dataclass(frozen=True, slots=True)
class PoissonSampledDpEvent(DpEvent):
    """`event` on a sample that each row enters by itself, with this probability."""

    sampling_probability: float
    event: DpEvent


@dataclasses.dataclass(frozen=True, slots=True)
class SampledWithoutReplacementDpEvent(DpEvent):
    """`event` on `sample_size` different rows, every such set as likely."""

    source_dataset_size: int
    sample_size: int
    event: DpEvent


@dataclasses.dataclass(frozen=True, slots=True)
class RepeatAndSelectDpEvent(DpEvent):
    """The best of a random number of runs of `event`: truncated negative binomial with that mean
    (`shape` inf: Poisson)."""

    event: DpEvent
    mean: float
    shape: float


@dataclasses.dataclass(frozen=True, slots=True)
class GaussianRelease(DpEvent):
    """A Gaussian event whose replace-one sensitivity is not twice, but `replace_one_factor` times,
    the add/remove one.

    √2 for a second-moment matrix (PSD terms), √2 for votes of one teacher or neighbour under both
    relations, and so on. `GaussianDpEvent`, factor 2, is the plain clipped sum.
    """

    noise_multiplier: float
    replace_one_factor: float


@dataclasses.dataclass(frozen=True, slots=True)
class ExponentialMechanismEvent(DpEvent):
    """A choice with probability ∝ exp(tilt · score).

    Each ε bounds, under its relation, the spread over candidates of one neighbouring change of the
    scores, times the tilt.
    """

    epsilon_add_remove: float
    epsilon_replace_one: float


@dataclasses.dataclass(frozen=True, slots=True)
class PureEvent(DpEvent):
    """An (ε, δ)-DP release known only by its guarantee, under each relation; δ = 0 is pure ε."""

    epsilon_add_remove: float
    epsilon_replace_one: float
    delta: float = 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class RandomAllocationEvent(DpEvent):
    """One pass of `steps` Gaussian sums; each row enters one of them, drawn independently and
    uniformly."""

    noise_multiplier: float
    steps: int


@dataclasses.dataclass(frozen=True, slots=True)
class PersonSampledEvent(DpEvent):
    """A Gaussian sum over a Poisson sample of rows, for neighbours that differ in all of one
    person's rows, at most `rows` of them."""

    noise_multiplier: float
    sampling_probability: float
    rows: int
