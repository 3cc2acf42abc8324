"""Accountants, and the registry of all of them."""

import dataclasses
import math
from collections.abc import Callable

from pillar_core.accounting.elementary import ElementaryEvents, read
from pillar_core.arrays import Array
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import DpEvent
from pillar_core.memo import Memo
from pillar_core.params import DELTA
from pillar_core.registry import Registry
from pillar_core.types import EpsilonBounds

Profile = Callable[[ElementaryEvents, Callable[[float], Array]], tuple[Array, Array]]


@dataclasses.dataclass(frozen=True)
class Accountant:
    """Turns spending into ε at a δ. `bounds(events, delta)` is called only where `refusal(events)`
    is empty.

    `profile(events, deltas)`, where an accountant has a quicker way than one δ at a time, gives
    upper ends of ε at the δ that `deltas` picks once it knows δ at ε = 0.

    `is_bound` is False for an approximation, which is shown for teaching and never calibrates.
    `is_exact` says that the bounds are the exact ε, so that calibration may solve for noise to the
    last digits. `version` is part of the cache keys of answers, calibrations and records: raise it
    when equal runs get other numbers.
    """

    name: str
    title: str
    source: str
    bounds: Callable[[ElementaryEvents, float], EpsilonBounds]
    refusal: Callable[[ElementaryEvents], str]
    profile: Profile | None = None
    is_bound: bool = True
    is_exact: bool = False
    version: int = 1

    def supports(self, event: DpEvent, relation: str) -> str:
        """Empty where this accountant covers `event` under `relation`, else the reason why not."""
        return self.refusal(read(event, relation))

    def epsilon(self, event: DpEvent, *, delta: float, relation: str) -> EpsilonBounds:
        """ε of `event` at `delta` under `relation`: inf for a release without noise, 0 for no
        release.

        Raises SettingError for δ outside (0, 1), or an event with NaN or negative numbers. Raises
        UnsupportedError where it has no sound bound; the message says why and what covers it.
        """
        return self.epsilon_of(read(event, relation), delta=delta)

    def epsilon_of(self, events: ElementaryEvents, *, delta: float) -> EpsilonBounds:
        """ε of an event that was read before; as `epsilon`."""
        delta = DELTA.number(delta)
        if events.is_empty:
            return EpsilonBounds(0.0, 0.0, 0.0, is_bound=self.is_bound)
        if events.is_non_private:
            least = math.inf if delta < events.exposure else 0.0
            return EpsilonBounds(least, math.inf, math.inf, is_bound=self.is_bound)
        reason = self.refusal(events)
        if reason:
            raise UnsupportedError(
                f"accountant {self.name!r} has no sound bound here: {reason}. Use"
                " accountant='auto', or another."
            )
        key = (self.name, self.version, events, delta)
        return ANSWERS.get(key, lambda: self.bounds(events, delta))


ACCOUNTANTS: Registry[Accountant] = Registry("accountant", home="pillar_core.accounting")
ANSWERS = Memo(12_288)
"""Bounds and calibrations that were made; benchmarks and tests that time them clear it."""


def unsupported_names(events: ElementaryEvents) -> str:
    """The classes of the events outside our vocabulary, for messages."""
    return ", ".join(sorted({type(event).__name__ for event, _ in events.unsupported}))
