"""Privacy events that `dp_accounting` lacks. They extend its classes, so importing this module imports it."""

import attr
from dp_accounting import dp_event


@attr.s(frozen=True, slots=True, auto_attribs=True)
class GaussianRelease(dp_event.DpEvent):
    """A Gaussian event whose replace-one sensitivity is not twice, but `replace_one_factor` times, the add/remove one.

    √2 for a second-moment matrix (PSD terms), √2 for votes of one teacher or neighbour under both relations, and so on.
    `GaussianDpEvent`, factor 2, is the plain clipped sum.
    """

    noise_multiplier: float
    replace_one_factor: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ExponentialMechanismEvent(dp_event.DpEvent):
    """A choice with probability ∝ exp(tilt · score).

    Each ε bounds, under its relation, the spread over candidates of one neighbouring change of the scores, times the tilt.
    """

    epsilon_add_remove: float
    epsilon_replace_one: float


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PureEvent(dp_event.DpEvent):
    """An (ε, δ)-DP release known only by its guarantee, under each relation; δ = 0 is pure ε."""

    epsilon_add_remove: float
    epsilon_replace_one: float
    delta: float = 0.0


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RandomAllocationEvent(dp_event.DpEvent):
    """One pass of `steps` Gaussian sums; each row enters one of them, drawn independently and uniformly."""

    noise_multiplier: float
    steps: int


@attr.s(frozen=True, slots=True, auto_attribs=True)
class PersonSampledEvent(dp_event.DpEvent):
    """A Gaussian sum over a Poisson sample of rows, for neighbours that differ in all of one person's rows, at most `rows` of them."""

    noise_multiplier: float
    sampling_probability: float
    rows: int
