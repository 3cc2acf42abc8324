"""One run, from names and settings to a record: the sole place where data, budget, learner and
metrics meet."""

import bisect
import contextlib
import dataclasses
import math
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from pillar_core import accounting, checks, metrics, params, store
from pillar_core.arrays import Array
from pillar_core.engine import LinearClassifier, devices_used
from pillar_core.engine.exact import has_exact_products
from pillar_core.engine.logistic import fitted_intercept
from pillar_core.errors import BudgetError, DataError, LedgerError, SettingError, StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import DpEvent, Ledger, compose, describe, of_person
from pillar_core.methods import METHODS, Method
from pillar_core.methods.parts.deep.classifier import NetworkClassifier
from pillar_core.methods.parts.rules import HasMoments
from pillar_core.numerics import number_words, round_up
from pillar_core.rng import Streams
from pillar_core.runs.assumptions import LOW_BITS, NOISE_EXACT, NOISE_SYSTEM, assumptions_of
from pillar_core.runs.statement import BY_LABELS, BY_SHARES, in_sight
from pillar_core.splits import View, view_of
from pillar_core.types import (
    Classifier,
    FeatureSet,
    Form,
    Guarantee,
    NeighboringRelation,
    PrivacyBudget,
    Provenance,
    PublicFacts,
    RunRecord,
    RunSpec,
    SemiPrivateSplit,
    TrainResult,
    Values,
)

NO_EXACT_BLAS = (
    "float64 products on this machine are not those of whole numbers: they were made in 64-bit"
    " integers, which takes longer."
)

S = TypeVar("S")
_SPLITS = weakref.WeakKeyDictionary[
    LinearClassifier | NetworkClassifier, weakref.ref[SemiPrivateSplit]
]()

LEAST_USE = 0.9
"""Of the budget: a stored calibration that uses less is solved again, because far more noise than
is needed is an error too."""


@dataclasses.dataclass(frozen=True)
class RunPlan:
    """A run that is ready to train: settings complete, noise solved, cost known.

    ask: the name of its noise, given only where no row is private.
    """

    method: Method[Any]
    settings: Any
    view: View
    cost: DpEvent
    guarantee: Guarantee
    why: tuple[str, ...]
    seed: int | None
    data: str
    is_exact: bool = False
    follows_shares: bool = False
    ask: str = ""

    def streams(self, seed: int | None) -> Streams:
        """Streams of `seed` whose noise no other ask shares: learner, solved settings, relation,
        cost (so sampling) and rows name it."""
        relation, settings = str(self.guarantee.relation), dataclasses.asdict(self.settings)
        settings.pop("sampling", None)
        asked = (self.method.name, settings, relation, describe(self.cost), self.data)
        return Streams(seed, self.ask or fingerprint(*asked))


def run(
    method: str,
    split: SemiPrivateSplit,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    accountant: str = "auto",
    seed: int | None = 0,
    preset: str | None = None,
    chosen_beforehand: bool | None = None,
    metric: str | None = None,
    **settings: Any,
) -> RunRecord:
    """The record of one learner trained on one split within (ε, δ).

    epsilon: above 0, math.inf for no noise; left out where the noise itself is set, and for methods
    that spend nothing. seed: an experiment's seed, or None for a release (noise from the operating
    system, never stored). settings: the method's own; those left out follow its rules, with the
    reasons in `record.why`. chosen_beforehand: True if you fixed the settings without a look at
    these rows, False if you looked. It changes what the record declares, and no result. Left out,
    given settings leave `record.guarantee.covers_choice` at None: not known. metric: the number
    that you want. For accuracy labelled public rows set a linear head's intercept by the shares of
    their classes; else unequal classes count alike.

    Guarantee: `record.guarantee`; its upper ε is at most `epsilon`.

    Raises SettingError, BudgetError, DataError, UnknownNameError, UnsupportedError: each says what
    would do.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> record = pc.run("pillar", split, epsilon=2.0, k=20)
    >>> record.guarantee.epsilon.upper <= 2.0, record.settings["k"]
    (True, 20)
    """
    return run_declared(
        RunSpec(
            method, epsilon, delta, relation, accountant, seed, preset, settings, metric=metric
        ),
        split,
        chosen_beforehand,
    )


def run_declared(
    spec: RunSpec, split: SemiPrivateSplit, chosen_beforehand: bool | None
) -> RunRecord:
    """As `run`, for what was asked as one value."""
    record = run_spec(spec, split)
    if chosen_beforehand is False:
        return in_sight(record)
    is_known = chosen_beforehand or not (spec.settings or spec.preset)
    return (
        record
        if is_known
        else dataclasses.replace(
            record, guarantee=dataclasses.replace(record.guarantee, covers_choice=None)
        )
    )


def run_spec(spec: RunSpec, split: SemiPrivateSplit) -> RunRecord:
    """One run of settings about which whoever asks knows how they were chosen."""
    return run_many([solve_spec(spec, split)], split)[0]


def solve(method: str, split: SemiPrivateSplit, **arguments: Any) -> RunPlan:
    """Everything about a run that is decided before a private row is read. Arguments and errors as
    `run`."""
    return solve_spec(RunSpec.of(method, **arguments), split)


def solve_spec(spec: RunSpec, split: SemiPrivateSplit) -> RunPlan:
    """As `solve`, for what was asked as one value."""
    learner, accountant = METHODS[spec.method], spec.accountant
    params.SEED.check(spec.seed)
    checks.one_of(metrics.FIGURES, metric=spec.metric or metrics.FIGURES[0])
    budget = _budget(learner, spec.epsilon, spec.delta, spec.relation)
    settings = _settings(learner, spec.preset, spec.settings)
    reason = learner.unsupported_reason(split) if learner.unsupported_reason is not None else ""
    if reason:
        raise DataError(f"{learner.name} {reason}.")
    view = view_of(split, learner.public_use)
    settings = _resolve_preprocessing(settings, view)
    view = dataclasses.replace(view, facts=public_facts(learner, settings, view))
    facts, rows = view.facts, split.rows_per_person or 1

    def cost(settings: Any) -> DpEvent:
        return of_person(learner.cost(settings, facts), rows)

    counted = (
        _count_setting(learner, spec.preset, settings, spec.settings)
        if budget is not None
        else None
    )
    if budget is not None and counted is not None:
        prepared = learner.resolve_schedule(
            dataclasses.replace(settings, **{counted: 1}), facts, budget
        )
        solved = _solved_count(learner, counted, prepared.settings, cost, budget, accountant)
    else:
        prepared = learner.resolve_schedule(settings, facts, budget)
        if (
            learner.budget_setting is not None
        ):  # at any noise: what the rules refuse is refused before the noise is solved
            learner.resolve_hyperparameters(
                params.replace_settings(prepared.settings, **{learner.budget_setting: 1.0}), facts
            )
        solved, budget = _solve_noise(spec, prepared.settings, cost, budget)
    finished = learner.resolve_hyperparameters(solved, facts)
    spent = cost(finished.settings)
    is_exact = spec.seed is None and learner.is_exact
    guarantee = _guarantee(spec, spent, budget, split, is_exact=is_exact)
    checked, why = params.check_settings(finished.settings), prepared.why + finished.why
    return RunPlan(
        learner,
        checked,
        view,
        spent,
        guarantee,
        why,
        spec.seed,
        split.fingerprint,
        is_exact,
        spec.follows_shares,
    )


def public_facts(learner: Method[Any], settings: Any, view: View) -> PublicFacts:
    """What a cost may depend on, with the further public quantities of this learner at these
    settings."""
    if learner.public_statistics is None:
        return view.facts
    return dataclasses.replace(view.facts, extra=dict(learner.public_statistics(settings, view)))


def run_many(plans: Sequence[RunPlan], split: SemiPrivateSplit) -> list[RunRecord]:
    """The records of runs of one method on one split, trained in one batched call where the method
    has one.

    Raises LedgerError: a method spent something else than its declared cost.
    """
    first = plans[0]
    ledgers = [Ledger() for _ in plans]
    streams = [plan.streams(plan.seed) for plan in plans]
    began = time.perf_counter()
    with devices_used() as devices:
        if len(plans) > 1 and first.method.fit_many is not None:
            results = first.method.fit_many(
                [plan.settings for plan in plans], first.view, streams, ledgers
            )
        else:
            triples = zip(plans, streams, ledgers, strict=True)
            results = [
                plan.method.train(plan.settings, plan.view, stream, ledger)
                for plan, stream, ledger in triples
            ]
    device = max(devices, default="cpu")
    seconds = (time.perf_counter() - began) / len(plans)
    for plan, ledger in zip(plans, ledgers, strict=True):
        charged_as_declared(plan, ledger, split)
    results = [
        _with_intercept(result, plan, split.public_y)
        for plan, result in zip(plans, results, strict=True)
    ]
    for result in results:
        if isinstance(result.classifier, LinearClassifier | NetworkClassifier):
            _SPLITS[result.classifier] = weakref.ref(split)
    return [
        _record(plan, result, split, seconds, device)
        for plan, result in zip(plans, results, strict=True)
    ]


def _with_intercept(result: TrainResult, plan: RunPlan, labels: Array | None) -> TrainResult:
    """The result of a head with the intercept that labelled public rows ask for, unless it learnt
    one: for accuracy by the shares of classes, else, if rows are centred and classes unequal, so
    that these count alike. Any other result as it is.

    Guarantee: public rows and the released head alone decide it, so it costs nothing.
    """
    head, view = result.classifier, plan.view
    if labels is None or not len(labels) or not isinstance(head, LinearClassifier):
        return result
    is_even = not plan.follows_shares
    if is_even and (view.weights is None or head.transform.mean is None):
        return result
    if not head.bias.any():
        bias = fitted_intercept(head.scores(view.x_public), labels, is_even=is_even)
        head = dataclasses.replace(head, bias=bias)
    note = BY_LABELS if is_even else BY_SHARES
    return dataclasses.replace(result, classifier=head, notes=(*result.notes, note))


def charged_as_declared(plan: RunPlan, ledger: Ledger, split: SemiPrivateSplit) -> None:
    """Raises a LedgerError where a run spent something else than its declared cost, or drew noise
    of another law than declared."""
    if of_person(ledger.total_event, split.rows_per_person or 1) != compose(plan.cost):
        raise LedgerError(
            f"{plan.method.name} declared {describe(plan.cost)} and spent"
            f" {describe(ledger.total_event)}."
        )
    if plan.is_exact and ledger.noise_laws - {"exact"}:
        raise LedgerError(
            f"{plan.method.name} declared exact noise, and a release of this run drew noise in"
            " floating point."
        )


def split_of(classifier: Classifier | None) -> SemiPrivateSplit | None:
    """What a classifier was trained on, as long as both are in use: neither is kept here, nor
    written to a file."""
    if not isinstance(classifier, LinearClassifier | NetworkClassifier):
        return None
    return _SPLITS[classifier]() if classifier in _SPLITS else None


def with_fast_part(assumptions: Sequence[str]) -> tuple[str, ...]:
    """The assumptions of a run that a release or draw in floating point joins, so that its noise is
    exact only in part."""
    return tuple(
        line
        for one in assumptions
        for line in ((NOISE_SYSTEM, LOW_BITS) if one == NOISE_EXACT else (one,))
    )


def _budget(
    learner: Method[Any], epsilon: float | None, delta: float, relation: str
) -> PrivacyBudget | None:
    """The budget to solve for; None where the noise is set, or where nothing is spent."""
    params.DELTA.check(delta)
    if epsilon is None:
        return None
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))
    if not learner.protects and not math.isinf(epsilon):
        raise BudgetError(
            f"{learner.name} protects nothing, so epsilon can only be infinite; got {epsilon!r}."
            " Choose a private method."
        )
    return budget


def _settings(learner: Method[S], preset: str | None, values: Values) -> S:
    known = params.params_of(learner.settings)
    unknown = [name for name in values if name not in known]
    if unknown:
        raise SettingError(
            f"{learner.name} has no setting {', '.join(unknown)}; it has {', '.join(known)}."
        )
    if preset is not None and preset not in learner.presets:
        raise SettingError(
            f"preset must be one of {', '.join(learner.presets) or '(this method has none)'}; got"
            f" {preset!r}."
        )
    values = {**(learner.presets[preset] if preset else {}), **values}
    return params.check_settings(learner.settings(**values))


def _count_setting(
    learner: Method[S], preset: str | None, settings: S, values: Values
) -> str | None:
    """The whole-number setting that the preset solves the budget for at fixed noise; None where the
    noise is solved."""
    name = learner.preset_budget_settings.get(preset or "")
    if name is None or getattr(settings, str(learner.budget_setting)) is None:
        return None
    if values.get(name) is not None:
        raise SettingError(
            f"pass epsilon or {name}, not both: preset {preset!r} solves {name} from the budget."
        )
    return name


def _resolve_preprocessing(settings: S, view: View) -> S:
    if not isinstance(settings, HasMoments):
        return settings
    standardise, centre = view.resolve(settings.standardise, settings.centre)
    if not len(view.x_public):
        view.moments(
            standardise=standardise, centre=centre
        )  # refuses both, before the noise is solved
    return params.replace_settings(settings, standardise=standardise, centre=centre)


def _solve_noise(
    spec: RunSpec, settings: S, cost: Callable[[S], DpEvent], budget: PrivacyBudget | None
) -> tuple[S, PrivacyBudget | None]:
    """`settings` with the budget setting solved so that the cost's upper ε is within the budget."""
    learner = METHODS[spec.method]
    name = learner.budget_setting
    if name is None:
        return settings, budget
    fixed = getattr(settings, name)
    if budget is None and fixed is None:
        raise SettingError(
            f"{learner.name} needs a budget: pass epsilon (math.inf for no noise) or {name}."
        )
    if fixed is not None:
        if budget is not None:
            raise SettingError(f"pass epsilon or {name}, not both: the one decides the other.")
        return settings, None
    if budget is None or math.isinf(budget.epsilon):
        return params.replace_settings(settings, **{name: 0.0}), budget

    def at(value: float) -> DpEvent:
        return cost(params.replace_settings(settings, **{name: value}))

    return (
        params.replace_settings(settings, **{name: calibrate_setting(at, budget, spec.accountant)}),
        budget,
    )


def largest_count(fits: Callable[[int], bool], *, ceiling: int) -> int:
    """The largest whole number up to `ceiling` for which the falling test `fits` holds; 0 where 1
    already fails."""
    failing = 1
    while failing <= ceiling and fits(failing):
        failing *= 2
    counts = range(
        failing // 2 + 1, min(failing, ceiling + 1)
    )  # what is left between one that fits and one that does not
    return counts.start + bisect.bisect_left(counts, True, key=lambda count: not fits(count)) - 1


def _solved_count(
    learner: Method[S],
    name: str,
    settings: S,
    cost_of: Callable[[S], DpEvent],
    budget: PrivacyBudget,
    accountant: str,
) -> S:
    """`settings` with the setting `name` at the largest whole number whose cost stays within the
    budget.

    Raises BudgetError: one already exceeds it (the message says which noise one would need), or the
    budget is infinite.
    """
    if math.isinf(budget.epsilon):
        raise BudgetError(
            f"an infinite epsilon bounds no {name}; pass {name} without epsilon, or leave the"
            " preset out."
        )

    accounting.resolve_bound(cost_of(settings), relation=budget.relation, accountant=accountant)

    def cost(**values: float) -> DpEvent:
        return cost_of(params.replace_settings(settings, **values))

    def fits(count: int) -> bool:
        spent = accounting.epsilon(
            cost(**{name: count}),
            delta=budget.delta,
            relation=budget.relation,
            accountant=accountant,
        )
        return spent.upper <= budget.epsilon

    count = largest_count(fits, ceiling=int(params.params_of(settings)[name].high))
    if not count:
        noise = str(learner.budget_setting)
        least = accounting.calibrate(
            lambda value: cost(**{name: 1, noise: value}), budget, accountant=accountant
        )
        raise BudgetError(
            f"{noise} = {getattr(settings, noise):g} is too small at epsilon = {budget.epsilon:g}:"
            f" one of {name} needs {noise} of at least {math.ceil(100 * least) / 100:g}. Raise"
            f" {noise} or epsilon, or leave the preset out: then the noise is solved."
        )
    return params.replace_settings(settings, **{name: count})


def calibrate_setting(
    cost: Callable[[float], DpEvent], budget: PrivacyBudget, accountant: str
) -> float:
    """The smallest budget setting whose cost is within `budget`, remembered on disk.

    Guarantee: ε.upper of what comes back was evaluated in this process and is at most the budget;
    the disk is not trusted.
    """
    key = accounting.calibration_key(cost, budget, accountant=accountant)
    cache = store.default()
    stored = cache.get_json("calibration", key)
    if isinstance(stored, float) and 0 < stored < math.inf:
        upper = accounting.epsilon(
            cost(stored), delta=budget.delta, relation=budget.relation, accountant=accountant
        ).upper
        if LEAST_USE * budget.epsilon <= upper <= budget.epsilon:
            return stored
    value = accounting.calibrate(cost, budget, accountant=accountant)
    if stored is not None and stored != value:
        with contextlib.suppress(
            StoreError
        ):  # a read-only disk: what lies there is checked again at each use
            cache.delete("calibration", key)
    cache.remember_json("calibration", key, value)
    return value


def _guarantee(
    spec: RunSpec,
    cost: DpEvent,
    budget: PrivacyBudget | None,
    split: SemiPrivateSplit,
    *,
    is_exact: bool,
) -> Guarantee:
    learner = METHODS[spec.method]
    delta = spec.delta
    neighbours = NeighboringRelation.of(spec.relation)
    chosen = accounting.resolve_bound(cost, relation=neighbours, accountant=spec.accountant)
    bounds = accounting.epsilon(cost, delta=delta, relation=neighbours, accountant=spec.accountant)
    if budget is not None and learner.is_private and not bounds.upper <= budget.epsilon:
        raise BudgetError(
            f"the settings cost ε = {round_up(bounds.upper, 6)}, above the budget"
            f" {budget.epsilon:g}; lower steps or raise the budget."
        )
    return Guarantee(
        bounds,
        delta,
        neighbours,
        chosen.name,
        tuple(assumptions_of(split, learner, is_seeded=spec.seed is not None, is_exact=is_exact)),
        describe(cost),
        rows_per_person=split.rows_per_person,
        event=cost,
    )


def _record(
    plan: RunPlan, result: TrainResult, split: SemiPrivateSplit, seconds: float, device: str
) -> RunRecord:
    scores = _test_metrics(result, split)
    notes = [*split.notes, *result.notes]
    if plan.guarantee.delta >= 1 / plan.view.facts.n_private:
        problem = f"δ = {number_words(plan.guarantee.delta)} is at least 1/n"
        notes.append(
            f"{problem}: such a guarantee allows publishing a whole row now and then. Lower δ."
        )
    if plan.seed is not None and plan.method.is_private:
        notes.append("experiment, not for release: whoever knows the seed can subtract the noise.")
    if plan.seed is not None and (below := _below_largest(scores, split.features)):
        notes.append(below)
    if plan.is_exact and not has_exact_products(device):
        notes.append(NO_EXACT_BLAS)
    if device != "cpu":
        notes.append(f"trained on {device}: the same seed draws other noise on another device.")
    is_seeded = plan.seed is not None  # else a release, which carries nothing that is not private
    diagnostics = {
        name: fact
        for name, fact in result.diagnostics.items()
        if is_seeded or fact[1] is not Provenance.NON_PRIVATE
    }
    return RunRecord(
        method=plan.method.name,
        settings=dataclasses.asdict(plan.settings),
        guarantee=plan.guarantee,
        accuracy=scores.get("accuracy"),
        metrics=scores,
        seconds=seconds,
        seed=plan.seed,
        facts=plan.view.facts,
        data=split.fingerprint,
        public_use=plan.method.use_of(dataclasses.asdict(plan.settings)),
        device=device,
        notes=tuple(notes),
        why=plan.why,
        diagnostics=diagnostics,
        classifier=result.classifier,
    )


def _below_largest(scores: Form, features: FeatureSet) -> str:
    """In one sentence that always saying the largest class is right more often, an exact figure of
    the test rows; else ""."""
    if not scores or features.y_test is None:
        return ""
    shares = np.bincount(features.y_test) / len(features.y_test)
    if scores["accuracy"] >= shares.max():
        return ""
    return (
        f"Below the largest class: always saying {features.classes[int(shares.argmax())]!r} is"
        f" right in {100 * shares.max():.1f} % of the test rows, this model in"
        f" {100 * scores['accuracy']:.1f} %."
    )


def _test_metrics(result: TrainResult, split: SemiPrivateSplit) -> Form:
    features, aside = split.features, split.validation
    if features.x_test is None or features.y_test is None or not len(features.x_test):
        return {}
    scores = result.classifier.scores(features.x_test)
    evaluated = dict(metrics.evaluate(scores, features.y_test, n_classes=features.n_classes))
    if len(aside) and features.y_train is not None:
        predicted = result.classifier.predict(features.x_train[aside])
        evaluated["validation_accuracy"] = float((predicted == features.y_train[aside]).mean())
    return evaluated
