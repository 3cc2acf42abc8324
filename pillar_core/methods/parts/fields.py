"""The settings that shared rules read. A learner without one of them has a class variable in its
place (`batch_size: ClassVar[None] = None`: every step takes all rows), which is no setting and
enters no key.
"""

from typing import Protocol, TypeVar, runtime_checkable

from pillar_core.errors import SettingError

V = TypeVar("V")


@runtime_checkable
class HasMoments(Protocol):
    """Preprocessing by public means and scales."""

    @property
    def standardise(self) -> bool | None: ...
    @property
    def centre(self) -> bool | None: ...


class HasPreprocessing(HasMoments, Protocol):
    """Preprocessing, and whether rows get unit norm."""

    @property
    def normalise(self) -> bool: ...


class HasBatch(Protocol):
    """Noisy steps on Poisson samples, or on all rows where batch_size is None."""

    @property
    def steps(self) -> int | None: ...
    @property
    def noise_multiplier(self) -> float | None: ...
    @property
    def batch_size(self) -> int | None: ...


class HasRate(HasBatch, Protocol):
    """Noisy steps along the mean gradient."""

    @property
    def learning_rate(self) -> float | None: ...


class HasDescent(HasRate, Protocol):
    """All that the engine's plan of one head names."""

    @property
    def l2_clip_norm(self) -> float: ...
    @property
    def momentum(self) -> float: ...
    @property
    def bias(self) -> bool: ...
    @property
    def weight_decay(self) -> float: ...


@runtime_checkable
class HasDimension(Protocol):
    """A projection on k directions; None where a rule decides k, or for all features."""

    @property
    def k(self) -> int | None: ...


class HasChosenDimension(HasMoments, HasDimension, Protocol):
    """Preprocessing, and a projection or none."""


class HasProjectedDescent(HasDescent, HasDimension, Protocol):
    """Descent in k directions."""


def require(value: V | None, name: str) -> V:
    """The value of a setting that a rule or the budget has filled. Raises SettingError where it is
    still None."""
    if value is None:
        raise SettingError(
            f"{name} is not known yet: the learner's rules and the budget fill it before its cost"
            " is computed."
        )
    return value
