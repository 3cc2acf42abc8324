"""The ledger: every release of a run as an event, and the one gate that noise passes through.

A mechanism calls `ledger.release(...)`; the ledger charges the event, then draws, or lets a tape
answer (the contract tests replay recorded releases through it). Nothing that touches private rows
reaches a method's state in another way.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Protocol, TypeVar

from pillar_core.arrays import Array
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.events import (
    ComposedDpEvent,
    DpEvent,
    ExponentialMechanismEvent,
    GaussianDpEvent,
    GaussianRelease,
    NonPrivateDpEvent,
    NoOpDpEvent,
    PersonSampledEvent,
    PoissonSampledDpEvent,
    PureEvent,
    RandomAllocationEvent,
    RepeatAndSelectDpEvent,
    SelfComposedDpEvent,
)
from pillar_core.numerics import number_words

T = TypeVar("T")
Sample = contextlib.AbstractContextManager[Array]


@dataclasses.dataclass(frozen=True)
class Call:
    """The public description of a release; the contract tests compare them to the last bit.

    noise_law: "exact" where whole numbers got noise of exactly the charged law, from the operating
    system; else "fast", in floating point. Calls compare without it, so that a release can be held
    to an experiment.
    """

    kind: str
    shape: tuple[int, ...]
    noise_std: float
    sensitivity: float
    clip: float
    sampling_probability: float = 1.0
    detail: tuple[object, ...] = ()
    noise_law: str = dataclasses.field(default="fast", compare=False)


class Tape(Protocol):
    """A test's hook in the ledger: it may record a release, or answer in its place."""

    def release(self, call: Call, value: object, draw: Callable[[], T]) -> T: ...
    def sample(self, probability: float, n_rows: int, draw: Callable[[], Array]) -> Array: ...


class Ledger:
    """Charges of one run, in order. `total_event` is canonical; equal spending compares equal
    however it was written."""

    latest: ClassVar[object] = None
    """Stands for the latest release of this process: another object after each."""

    def __init__(self, tape: Tape | None = None) -> None:
        self._events: list[DpEvent] = []
        self._labels: list[str] = []
        self.noise_laws: set[str] = set()
        self._tape = tape
        self._samples: list[tuple[float, Callable[[DpEvent], DpEvent]]] = []
        self._next_of_pass = (0, 0)
        self._pass_event: DpEvent | None = None
        self._is_released = False

    @property
    def total_event(self) -> DpEvent:
        """All charges as one canonical event."""
        return compose(*self._events)

    @property
    def lines(self) -> tuple[tuple[str, DpEvent], ...]:
        """(label, event) of each charge, to be shown."""
        return tuple(zip(self._labels, self._events, strict=True))

    def release(
        self, event: DpEvent, call: Call, value: object, draw: Callable[[], T], *, label: str = ""
    ) -> T:
        """The output of `draw`, after charging `event` as the enclosing block's sample of rows has
        it."""
        probability, charged = self._samples[-1] if self._samples else (1.0, lambda event: event)
        Ledger.latest = object()
        self._events.append(charged(event))
        self._labels.append(label or call.kind)
        self.noise_laws.add(call.noise_law)
        if self._tape is None:
            return draw()
        return self._tape.release(
            dataclasses.replace(call, sampling_probability=probability), value, draw
        )

    def poisson(self, probability: float, n_rows: int, draw: Callable[[], Array]) -> Sample:
        """Indices (m,) int64 of a Poisson sample; each release inside the block is charged as
        subsampled.

        Two releases from one sample must be one joint release
        (`mechanisms.gaussian.release_joint`): charging two subsampled events would claim
        independent samples, so a second release inside the block is refused.
        """
        return self._sample(probability, n_rows, draw, lambda event: subsample(event, probability))

    def allocation(self, step: int, steps: int, n_rows: int, draw: Callable[[], Array]) -> Sample:
        """Indices (m,) int64 of the rows in step 0, …, steps − 1 of a pass of random allocation:
        one release, as in `poisson`.

        The pass is charged whole at its first release, however many of its steps are taken.
        Raises SettingError for a step out of its turn; a release in it other than a plain Gaussian
        one with the pass's noise.
        """
        if not 0 <= step < steps or (step and self._next_of_pass != (step, steps)):
            raise SettingError(
                f"step {step} of a pass of {steps} is not the next one: every row enters one step"
                " of a pass."
            )
        self._next_of_pass = (step + 1, steps)
        self._pass_event, self._is_released = self._pass_event if step else None, False
        return self._sample(
            1 / steps, n_rows, draw, lambda event: self._charged_to_pass(event, steps)
        )

    def _charged_to_pass(self, event: DpEvent, steps: int) -> DpEvent:
        is_plain = isinstance(event, GaussianDpEvent | NonPrivateDpEvent)
        if not is_plain or self._is_released or self._pass_event not in (None, event):
            raise SettingError(
                "a pass of random allocation has plain Gaussian releases of equal noise, one for"
                " each step."
            )
        is_first, self._pass_event, self._is_released = self._pass_event is None, event, True
        return (
            allocation_pass(getattr(event, "noise_multiplier", 0.0), steps)
            if is_first
            else NoOpDpEvent()
        )

    @contextlib.contextmanager
    def _sample(
        self,
        probability: float,
        n_rows: int,
        draw: Callable[[], Array],
        charged: Callable[[DpEvent], DpEvent],
    ) -> Iterator[Array]:
        indices = draw() if self._tape is None else self._tape.sample(probability, n_rows, draw)
        before = len(self._events)
        self._samples.append((probability, charged))
        try:
            yield indices
        finally:
            self._samples.pop()
        if probability < 1 and len(self._events) > before + 1:
            raise SettingError("one sample fed two releases: make them one joint release.")


def gaussian(noise_multiplier: float, *, replace_one_factor: float = 2.0) -> DpEvent:
    """A Gaussian release of a query with add/remove sensitivity 1 and noise standard deviation
    `noise_multiplier`."""
    if not noise_multiplier >= 0:
        raise SettingError(f"noise_multiplier must be at least 0; got {noise_multiplier!r}.")
    if noise_multiplier == 0:
        return NonPrivateDpEvent()
    if replace_one_factor == 2.0:
        return GaussianDpEvent(float(noise_multiplier))
    return GaussianRelease(float(noise_multiplier), float(replace_one_factor))


def joint_noise_multiplier(noise_multipliers: Sequence[float]) -> float:
    """The multiplier σ of several Gaussian releases made together from the same rows: 1/σ² = Σ
    1/σᵢ²."""
    if any(not value >= 0 for value in noise_multipliers):
        raise SettingError(f"noise multipliers must be at least 0; got {list(noise_multipliers)}.")
    if any(value == 0 for value in noise_multipliers):
        return 0.0
    return 1.0 / math.sqrt(math.fsum(1.0 / value**2 for value in noise_multipliers))


def subsample(event: DpEvent, probability: float) -> DpEvent:
    """`event` on a Poisson sample of the rows."""
    if not 0 < probability <= 1:
        raise SettingError(f"sampling_probability must be in (0, 1]; got {probability!r}.")
    if probability == 1 or isinstance(event, NoOpDpEvent):
        return event
    return PoissonSampledDpEvent(float(probability), event)


def allocation_pass(noise_multiplier: float, steps: int) -> DpEvent:
    """One pass of `steps` Gaussian releases of clipped sums; each row enters one of them, drawn
    independently and uniformly."""
    if not steps >= 1:
        raise SettingError(f"steps of a pass must be at least 1; got {steps!r}.")
    event = gaussian(noise_multiplier)
    return (
        RandomAllocationEvent(event.noise_multiplier, int(steps))
        if isinstance(event, GaussianDpEvent) and steps > 1
        else event
    )


def of_person(event: DpEvent, rows: int) -> DpEvent:
    """`event` for neighbouring data sets that differ in up to `rows` rows of one person, added or
    removed, or replaced by another's.

    Guarantee: docs/accounting.md, "Several rows of one person", has the proof for each kind of
    release. Raises SettingError for rows below 1. Raises UnsupportedError for a release whose group
    privacy has no proof here.
    """
    if not rows >= 1:
        raise SettingError(f"rows of a person must be at least 1; got {rows!r}.")
    return (
        event
        if rows == 1
        else compose(
            *(repeat(_of_group(part, rows), times) for part, times in event_counts(event).items())
        )
    )


def repeat(event: DpEvent, times: int) -> DpEvent:
    """`event`, `times` times over, composed."""
    return compose(SelfComposedDpEvent(event, int(times))) if times else NoOpDpEvent()


def best_of(event: DpEvent, *, mean_trials: float, shape: float) -> DpEvent:
    """The best of a random number of runs of `event`, each giving a model and its score (Papernot &
    Steinke 2022).

    The number follows the truncated negative binomial law of that mean and `shape`: 0 is
    logarithmic, 1 geometric, inf Poisson. It must be drawn from this law and never be looked at;
    only the best run is shown. Raises SettingError for a mean below 1 or a shape below 0.
    """
    if not (1 <= mean_trials < math.inf and shape >= 0):
        raise SettingError(
            f"mean_trials must be in [1, inf) and shape at least 0; got {mean_trials!r}, {shape!r}."
        )
    return RepeatAndSelectDpEvent(event, float(mean_trials), float(shape))


def compose(*events: DpEvent | Sequence[DpEvent]) -> DpEvent:
    """The canonical composition: flattened, equal events counted together, in a fixed order. A list
    counts as its events.

    Raises SettingError: what is no event.
    """
    counts: dict[DpEvent, int] = {}
    for event in events:
        _count(event, 1, counts)
    parts = [
        event if times == 1 else SelfComposedDpEvent(event, times)
        for event, times in sorted(counts.items(), key=lambda item: repr(item[0]))
    ]
    if not parts:
        return NoOpDpEvent()
    return parts[0] if len(parts) == 1 else ComposedDpEvent(parts)


def event_counts(event: DpEvent) -> dict[DpEvent, int]:
    """The elementary events of a composition with their multiplicities."""
    counts: dict[DpEvent, int] = {}
    _count(event, 1, counts)
    return counts


def describe(event: DpEvent) -> tuple[str, ...]:
    """One line of plain words for each different elementary event."""
    return tuple(f"{times} × {_words(part)}" for part, times in event_counts(event).items())


def _of_group(event: DpEvent, rows: int) -> DpEvent:
    match event:
        case NonPrivateDpEvent():
            return event
        case GaussianDpEvent() | RandomAllocationEvent():
            return gaussian(event.noise_multiplier / rows)
        case GaussianRelease():
            return gaussian(
                event.noise_multiplier / rows, replace_one_factor=max(1.0, event.replace_one_factor)
            )
        case ExponentialMechanismEvent():
            worst = max(
                event.epsilon_add_remove, event.epsilon_replace_one
            )  # the two may have different numbers of rows
            return ExponentialMechanismEvent(rows * event.epsilon_add_remove, rows * worst)
        case PureEvent():
            worst = max(event.epsilon_add_remove, event.epsilon_replace_one)
            growth = (
                math.fsum(math.exp(min(step * worst, 700.0)) for step in range(rows))
                if event.delta
                else 0.0
            )
            return PureEvent(
                rows * event.epsilon_add_remove, rows * worst, min(1.0, event.delta * growth)
            )
        case PoissonSampledDpEvent():
            parts = event_counts(event.event)
            if NonPrivateDpEvent() in parts:
                return event
            noises = [
                part.noise_multiplier / math.sqrt(times)
                for part, times in parts.items()
                if isinstance(part, GaussianDpEvent | GaussianRelease)
            ]
            if len(noises) < len(parts):
                return of_person(event.event, rows)
            joint = joint_noise_multiplier(noises)
            return (
                PersonSampledEvent(joint, event.sampling_probability, rows)
                if joint
                else NonPrivateDpEvent()
            )
    raise UnsupportedError(
        f"no bound is proved for several rows of one person in {type(event).__name__}."
    )


def _words(event: DpEvent) -> str:
    match event:
        case GaussianDpEvent():
            return f"Gaussian, noise multiplier {event.noise_multiplier:.6g}"
        case GaussianRelease():
            return (
                f"Gaussian, noise multiplier {event.noise_multiplier:.6g} (replace-one sensitivity"
                f" × {event.replace_one_factor:.4g})"
            )
        case PoissonSampledDpEvent():
            return f"Poisson sample, q = {event.sampling_probability:.6g}, of {_words(event.event)}"
        case ExponentialMechanismEvent():
            return (
                f"exponential mechanism, ε = {event.epsilon_add_remove:.6g} (replace-one"
                f" {event.epsilon_replace_one:.6g})"
            )
        case PureEvent():
            return f"({event.epsilon_add_remove:.6g}, {number_words(event.delta, 3)})-DP release"
        case PersonSampledEvent():
            sample = (
                f"Poisson sample, q = {event.sampling_probability:.6g}, of Gaussian, noise"
                f" multiplier {event.noise_multiplier:.6g}"
            )
            return f"{sample}, for up to {event.rows} rows of one person"
        case RandomAllocationEvent():
            return (
                f"a pass of {event.steps} steps, each row in one at random, noise multiplier"
                f" {event.noise_multiplier:.6g}"
            )
        case RepeatAndSelectDpEvent():
            return (
                f"best of {event.mean:.4g} runs on average, each:"
                f" {'; '.join(describe(event.event))}"
            )
        case NonPrivateDpEvent():
            return "release without noise"
    return repr(event)


def _count(event: DpEvent | Sequence[DpEvent], times: int, counts: dict[DpEvent, int]) -> None:
    match event:
        case NoOpDpEvent():
            return
        case ComposedDpEvent():
            for part in event.events:
                _count(part, times, counts)
        case SelfComposedDpEvent():
            count = event.count
            if not (count >= 0 and count == int(count)):
                raise SettingError(
                    f"an event's count must be a whole number of at least 0; got {count!r}."
                )
            if count:
                _count(event.event, times * int(count), counts)
        case PoissonSampledDpEvent(sampling_probability=0):
            return
        case PoissonSampledDpEvent(sampling_probability=1):
            _count(event.event, times, counts)
        case list() | tuple():
            for part in event:
                _count(part, times, counts)
        case DpEvent():
            counts[event] = counts.get(event, 0) + times
        case _:
            raise SettingError(
                "what is composed must be events, such as pillar_core.ledger.gaussian(1.0); got"
                f" {event!r:.80}."
            )
