"""Certified ε inside Opacus: `import pillar_core.opacus`, then
`PrivacyEngine(accountant="certified")`.

Guarantee: `get_epsilon` is the upper end of a certified interval for the history that Opacus
reports, under the assumptions in `ASSUMPTIONS`, which nobody can check from here. Source: Opacus
1.6, `opacus.accountants.registry`; docs/accounting.md.
"""

import math
import warnings
from typing import Any

from pillar_core.accounting import epsilon, gaussian_run
from pillar_core.checks import of
from pillar_core.errors import SettingError
from pillar_core.ledger import DpEvent, compose, of_person
from pillar_core.types import EpsilonBounds, NeighboringRelation

ASSUMPTIONS = (
    "each step draws its batch by Poisson sampling (make_private's default), not by shuffling",
    "each row's gradient depends on that row alone, and each is clipped to max_grad_norm",
    "the noise is secret, and floating-point noise stands for the Gaussian law",
    "the sampling rate is public, and so is the number of rows behind it",
)
"""What Opacus alone knows, or nobody: printed once with the first ε."""


class UncheckedAssumptions(UserWarning):
    """Says on what a certified ε inside Opacus rests."""


def register(name: str, *, relation: str = "add_or_remove_one", rows_per_person: int = 1) -> None:
    """Adds an accountant to Opacus under `name`, for `PrivacyEngine(accountant=name)`.

    rows_per_person: rows of one person, all added, removed or replaced at once. ε is then a
    person's.

    Raises SettingError: a name that Opacus has, or fewer than one row.
    """
    from opacus.accountants import registry
    from opacus.accountants.accountant import IAccountant

    of(str, name=name)
    neighbours = NeighboringRelation.of(relation)
    of_person(gaussian_run(1.0), rows_per_person)

    class CertifiedAccountant(IAccountant):  # type: ignore[misc]  # Opacus has no types
        """An Opacus accountant with both ends of ε. history: (noise multiplier, sampling rate,
        steps), as Opacus's own."""

        def __init__(self) -> None:
            self.history: list[tuple[float, float, int]] = []

        def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
            """Counts one step."""
            noise, rate, steps = self.history[-1] if self.history else (math.nan, math.nan, 0)
            if (noise, rate) == (noise_multiplier, sample_rate):
                self.history[-1] = (noise, rate, steps + 1)
            else:
                self.history.append((noise_multiplier, sample_rate, 1))

        @property
        def event(self) -> DpEvent:
            """What was released so far."""
            runs = [
                gaussian_run(noise, sampling_probability=rate, steps=steps)
                for noise, rate, steps in self.history
            ]
            return of_person(compose(*runs), rows_per_person)

        def bounds(self, delta: float) -> EpsilonBounds:
            """Both certified ends of ε at `delta`."""
            return epsilon(self.event, delta=delta, relation=neighbours)

        def get_epsilon(self, delta: float, **_: Any) -> float:
            """The upper end of ε at `delta`."""
            warnings.warn(
                f"This ε holds if: {'; '.join(ASSUMPTIONS)}.", UncheckedAssumptions, stacklevel=1
            )
            return self.bounds(delta).upper

        def __len__(self) -> int:
            return sum(steps for _, _, steps in self.history)

        @classmethod
        def mechanism(cls) -> str:
            """The name in Opacus's registry and in saved states."""
            return name

    try:
        registry.register_accountant(name, CertifiedAccountant, force=name in _NAMES)
    except ValueError as error:
        raise SettingError(
            f"Opacus already has an accountant {name!r}; choose another name."
        ) from error
    _NAMES.add(name)


_NAMES: set[str] = set()
register("certified")
