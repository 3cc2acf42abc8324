"""Learners: each is one frozen record, registered once; pages, commands, sweeps and contract tests
find it by its name."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, final

from pillar_core.errors import SettingError
from pillar_core.grouping import grouped
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.numerics import number_words
from pillar_core.params import replace_settings
from pillar_core.registry import Registry
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import (
    PrivacyBudget,
    PublicFacts,
    PublicUse,
    SemiPrivateSplit,
    TrainResult,
    Values,
)

S = TypeVar("S")
"""A method's own settings dataclass, its fields made by `params.setting`."""
Run = tuple[S, Streams, Ledger]
FitMany = Callable[[Sequence[S], View, Sequence[Streams], Sequence[Ledger]], list[TrainResult]]
"""`Method.fit_many`."""
FitGroup = Callable[[View, list[Run[S]]], Iterable[TrainResult]]


@dataclasses.dataclass(frozen=True)
class Plan(Generic[S]):
    """Settings with every rule applied, and one line of reason for each value that a rule chose."""

    settings: S
    why: tuple[str, ...] = ()

    def fill(self, name: str, value: int | float, reason: str) -> "Plan[S]":
        """The plan with this value, which a rule chose, and its line of reason; as it is where the
        setting has a value."""
        if getattr(self.settings, name) is not None:
            return self
        written = number_words(value, 4) if isinstance(value, float) else value
        filled = replace_settings(self.settings, **{name: value})
        return Plan(filled, (*self.why, f"{name} = {written}: {reason}."))


@dataclasses.dataclass(frozen=True)
class Method(Generic[S]):
    """One learner.

    resolve_schedule: fills, from public facts and the budget, what `cost` needs (steps …), before
    the noise is solved. resolve_hyperparameters: fills the rest (k, learning_rate) once the noise
    is known; nothing that `cost` reads may change. cost: the privacy event of `fit`, from settings
    and public facts alone. public_statistics: further public quantities for the facts (the rank of
    public rows …), from public data alone. fit: trains on a view; every release passes the ledger,
    which must end equal to `cost`. Needed where there is no `fit_many`. fit_many: the same for
    several settings on one view in one batched call, with the same results and events.
    budget_setting: the setting that a privacy budget is solved for; None where nothing is spent.
    presets: named settings, "paper" among them; they never change what a plain call does. uses:
    `public_use` as a function of the settings, where these can widen it (a projection, a start from
    class names). unsupported_reason: why the learner cannot use a split ("" where it can), from
    public facts alone; `run` refuses it. preset_budget_settings: presets that fix the budget
    setting and solve a whole number instead (steps): the largest that fits. protects: False where
    the model may reveal everything about the private rows, so that only ε = ∞ is allowed.
    is_head_descent: each release is one step of descent on one linear head, so the releases give
    the trajectory back (evidence). is_mixed_descent: the same with AdaMix's step: labelled public
    rows decide the projection of each release (evidence). is_exact: whether a release sums whole
    numbers and adds noise of exactly the charged law (docs/accounting.md).
    """

    name: str
    title: str
    source: str
    idea: str
    settings: type[S]
    cost: Callable[[S, PublicFacts], DpEvent]
    public_use: PublicUse = PublicUse.NONE
    fit: Callable[[S, View, Streams, Ledger], TrainResult] | None = None
    resolve_schedule: Callable[[S, PublicFacts, PrivacyBudget | None], Plan[S]] = (
        lambda settings, facts, budget: Plan(settings)
    )
    resolve_hyperparameters: Callable[[S, PublicFacts], Plan[S]] = lambda settings, facts: Plan(
        settings
    )
    public_statistics: Callable[[S, View], Mapping[str, int | float]] | None = None
    fit_many: FitMany[S] | None = None
    budget_setting: str | None = "noise_multiplier"
    presets: Mapping[str, Values] = dataclasses.field(default_factory=dict)
    preset_budget_settings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    uses: Callable[[Values], PublicUse] | None = None
    unsupported_reason: Callable[[SemiPrivateSplit], str] | None = None
    assumptions: tuple[str, ...] = ()
    protects: bool = True
    is_head_descent: bool = False
    is_mixed_descent: bool = False
    is_exact: bool = False
    version: int = 1

    @property
    def is_private(self) -> bool:
        """Whether the method spends a budget at all."""
        return self.budget_setting is not None

    @property
    def package(self) -> str:
        """Where a learner comes from that is not the library's own, installed or registered in this
        process; "" for its own."""
        modules = (
            getattr(part, "__module__", "").partition(".")[0]
            for part in (self.fit, self.fit_many, self.cost, self.settings)
        )
        return METHODS.packages.get(self.name) or next(
            (module for module in modules if module not in ("", "pillar_core", "functools")), ""
        )

    def train(self, settings: S, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
        """One run, by `fit` or by `fit_many` of one."""
        if self.fit is not None:
            return self.fit(settings, view, streams, ledger)
        if self.fit_many is None:
            raise SettingError(
                f"the learner {self.name} has neither fit nor fit_many: give it one of them."
            )
        return self.fit_many([settings], view, [streams], [ledger])[0]

    def use_of(self, settings: Values) -> PublicUse:
        """The public data that a run with these settings learns from, apart from means and scales
        for preprocessing."""
        return self.public_use if self.uses is None else self.uses(settings)

    def public_words(self, settings: Values) -> str:
        """The badge of a run with these solved settings: none, unlabelled, labelled …, or
        preprocessing only."""
        use = self.use_of(settings)
        if use is PublicUse.NONE and (settings.get("standardise") or settings.get("centre")):
            return f"{PublicUse.UNLABELLED} (preprocessing only)"
        return f"{PublicUse.LABELLED} and class names" if use is PublicUse.TEXT else str(use)


def group_runs(*names: str, per_seed: bool = False) -> Callable[[FitGroup[S]], FitMany[S]]:
    """A decorator that makes `fit_many` of a function which trains runs with equal settings `names`
    and yields their results in order.

    per_seed: runs in a group also have equal streams.
    """

    def decorate(fit_group: FitGroup[S]) -> FitMany[S]:
        def fit_many(
            settings: Sequence[S], view: View, streams: Sequence[Streams], ledgers: Sequence[Ledger]
        ) -> list[TrainResult]:
            runs = list(zip(settings, streams, ledgers, strict=True))
            results: dict[int, TrainResult] = {}
            keys = (
                (stream.identity if per_seed else None, *(getattr(run, name) for name in names))
                for run, stream, _ in runs
            )
            for positions in grouped(keys):
                results.update(
                    zip(positions, fit_group(view, [runs[p] for p in positions]), strict=True)
                )
            return [results[position] for position in range(len(runs))]

        fit_many.__module__ = fit_group.__module__
        return fit_many

    return decorate


@final
class MethodRegistry(Registry[Method[Any]]):
    """The learners by name; a type checker holds each one's functions against its own settings
    class where it registers.

    >>> pc.METHODS["pillar"].title, "adamix" in pc.METHODS
    ('PILLAR', True)
    """

    def register(self, item: Method[S]) -> Method[S]:
        return super().register(item)


METHODS = MethodRegistry("method", Method, home="pillar_core.methods")
