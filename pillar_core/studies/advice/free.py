"""Which learner and which public set to take, and what accuracy to expect, before any private row is read."""

import bisect
import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import checks
from pillar_core.data import raw
from pillar_core.errors import DataError, SettingError
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules
from pillar_core.params import SEED, SHARE
from pillar_core.registry import toml_tables
from pillar_core.runs.splitting import match_private, public_features
from pillar_core.studies.advice import simulation
from pillar_core.types import Dataset, FeatureSet, NeighboringRelation, PrivacyBudget, SemiPrivateSplit

OWN, NONE = "own", "none"
"""The names of a part of the private rows that is public, and of no public rows at all."""
UNKNOWN = "which public set is like the private rows cannot be known for nothing: the paid choice asks them within ε, or state it"
FREE = "free: ε = 0, for no private and no test row was read"
IN_WORDS = {"accuracy": "", "balanced_accuracy": " balanced accuracy"}
"""Of a metric after a number of percent."""
BUDGETS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
"""Where a target accuracy is looked for."""
MARGIN = 0.05
"""By how much plays must put another learner above AdaMix: measured regret is least there (docs/public_data.md)."""
FEW_PUBLIC = 100
"""Unlabelled public rows below which PILLAR was ahead of PILLAR Kalman."""
FEW_A_CLASS = 8
"""Labelled public rows a class below which plays are far off and choose no learner."""
_BASIS = {
    "labelled": "rehearsals on your labelled public rows",
    "unlabelled": "the public rows' spectrum and the sizes, by a table fitted on other data sets",
    "none": "the sizes alone, by a table fitted on other data sets",
    "foreign": "the sizes alone, by a table fitted on public rows of other classes: those, and rows that were made up, help little",
}
FITTED: Mapping[str, Any] = toml_tables(Path(__file__).with_name("fitted.toml"))


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What one learner with one public set should reach on rows like the public ones: `middle` and a range around it, in [0, 1].

    `held`: on how many of how many data sets such a range held in every run, each set left out of the fit in turn.
    `metric`: "balanced_accuracy" in the place of accuracy unless public labels say that no class has more than 60 % of the rows.
    """

    public: str
    method: str
    accuracy: tuple[float, float]
    middle: float
    metric: str
    held: tuple[int, int] = (0, 0)


@dataclasses.dataclass(frozen=True)
class Advice:
    """What to do first: a hypothesis, which a measurement may contradict.

    `public` is a candidate's name, "own" (the split's own public rows), "none" (no public rows), or None where nobody knows which candidate
    is like the private rows; `method` is then the best without public rows. `expected_accuracy` is a range in [0, 1] around `predicted`,
    of accuracy or what `metric` names; `held` as in `Prediction`. `predictions` are those of all learners and candidates that were weighed,
    best first; `price` says what asking cost.
    """

    method: str
    settings: Mapping[str, Any]
    expected_accuracy: tuple[float, float]
    public: str | None
    epsilon: float
    sentence: str
    reasons: tuple[str, ...]
    price: str = FREE
    predictions: tuple[Prediction, ...] = ()
    metric: str = "accuracy"
    held: tuple[int, int] = (0, 0)
    predicted: float = 0.5


def advise(
    split: SemiPrivateSplit,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    candidates: Mapping[str, FeatureSet | Dataset] | None = None,
    alike: Collection[str] = (),
    target_accuracy: float | None = None,
    seed: int = 0,
) -> Advice:
    """The learner that should reach most within (ε, δ), with which public set where that can be known, and how much that is.

    candidates: public sets by name (their train rows), or a list of sets, whose names say which, instead of the split's own public rows;
    "own" is a part of the private set.
    alike: names of those that you state to be like the private rows, "own" where the split's public rows were brought from elsewhere. Of
    other sets nobody knows without asking private rows (`choose`), so none of them is named.
    target_accuracy: in [0, 1]; then ε is the smallest of `BUDGETS` whose prediction reaches it, and `epsilon` is not used.

    Guarantee: only the numbers of private rows, features and classes, the budget, public rows and their labels are read; private and test
    rows can be any. It is a prediction, measured on other data sets (docs/public_data.md), and right for rows like the public ones.
    Raises DataError: no candidate fits. SettingError, BudgetError: a relation, seed or budget that cannot be, or an unknown name.
    """
    checks.within(target_accuracy=(target_accuracy, SHARE), seed=(seed, SEED))
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))
    sides, refused = _sides(split, candidates)
    if strangers := sorted({*alike} - {*sides, *refused}):
        raise SettingError(f"alike names {', '.join(strangers)}, which is no candidate; candidates are {', '.join({*sides} - {NONE})}.")
    known = {*alike} | ({OWN} if candidates or split.settings.get("public") is None else set())
    of_sets = (*_transfers(sides, seed or 0), *(f"{name} is left out: {why}" for name, why in refused.items()))
    at = functools.cache(lambda epsilon: _advise(sides, known, dataclasses.replace(budget, epsilon=float(epsilon)), seed or 0, of_sets))
    return at(epsilon) if target_accuracy is None else _reaching(at, target_accuracy)


def _advise(sides: Mapping[str, SemiPrivateSplit], known: set[str], budget: PrivacyBudget, seed: int, of_sets: tuple[str, ...]) -> Advice:
    metric = simulation.metric_of(*sides.values())
    predictions = {
        name: [predict(name, method, rows, budget, seed, metric) for method in FITTED[kind_of(rows)]["learners"]]
        for name, rows in sides.items()
    }
    best = preferred_prediction(predictions[NONE], sides[NONE])
    of_public = [preferred_prediction(predictions[name], sides[name]) for name in sides if name in known and name != NONE]
    first = max(of_public, key=lambda prediction: prediction.middle, default=best)
    best = first if first.middle >= best.accuracy[0] else best
    is_unknown = best.public == NONE and not of_public and len(sides) > 1
    title, rows = METHODS[best.method].title, sides[best.public]
    public = {NONE: "no public rows", OWN: "the public rows at hand"}.get(best.public, f"*{best.public}* as public data")
    first_words = "Let private rows choose the public set (paid, within ε). Without public rows:" if is_unknown else f"Use {public},"
    expected = range_words(best.middle, best.accuracy, best.metric, rows.facts.n_classes)
    sentence = f"{first_words} {title}; expect {expected} at ε = {budget.epsilon:g}."
    weight = rules.gaussian_mu(budget) * rows.facts.n_private / rows.facts.n_classes
    reasons = (
        *((UNKNOWN,) if is_unknown else ()),
        held_words(best.held),
        f"with {rows.facts.n_private:,} private rows, each class's signal is about {weight:,.3g} times the noise at ε = {budget.epsilon:g}",
        *_grounds(best, rows, predictions[best.public]),
        *of_sets,
    )
    every = tuple(sorted((prediction for of_set in predictions.values() for prediction in of_set), key=lambda each: -each.middle))
    named = None if is_unknown else best.public
    return Advice(best.method, {}, best.accuracy, named, budget.epsilon, sentence, reasons, FREE, every, metric, best.held, best.middle)


def range_words(middle: float, accuracy: tuple[float, float], metric: str, n_classes: int) -> str:
    """A prediction with its range, in percent, and the metric where it is not accuracy, with what guessing reaches."""
    low, high = (100 * end for end in accuracy)
    guess = f" (guessing: {100 / n_classes:.0f} %)" if IN_WORDS[metric] else ""
    return f"{100 * middle:.0f} ({low:.0f} to {high:.0f}) %{IN_WORDS[metric]}{guess}"


def held_words(counts: tuple[int, int]) -> str:
    """How far a range can be relied on: a count of data sets, for so few carry no level in percent."""
    inside, n_sets = counts
    return f"the range held on {inside} of {n_sets} data sets that the fit had not seen" if n_sets else "no range was measured"


def _reaching(at: Callable[[float], Advice], target: float) -> Advice:
    """The advice at the smallest budget that should reach the target; at the largest, with a reason, where none does."""
    low = bisect.bisect_left(BUDGETS[:-1], True, key=lambda epsilon: at(epsilon).predicted >= target)
    advice = at(BUDGETS[low])
    if advice.predicted >= target:
        return dataclasses.replace(
            advice, reasons=(f"ε = {BUDGETS[low]:g} is the smallest that should reach {target:.0%}", *advice.reasons)
        )
    missed = f"no ε up to {BUDGETS[-1]:g} should reach {target:.0%}: bring more private rows, or public rows that are nearer"
    return dataclasses.replace(advice, reasons=(missed, *advice.reasons))


def _sides(split: SemiPrivateSplit, candidates: Mapping[str, Any] | None) -> tuple[dict[str, SemiPrivateSplit], dict[str, str]]:
    """By name, the split without its rows beside each candidate, and beside none; and why others do not fit."""
    blind = simulation.blind(split)
    nothing = {NONE: dataclasses.replace(blind, public_x=blind.public_x[:0], public_y=None, other_y=None, other_classes=(), memo=Memo())}
    if not candidates:
        return {OWN: blind} | nothing if len(split.public_x) else nothing, {}
    if NONE in candidates:
        raise SettingError(f"a candidate cannot be named {NONE!r}, which stands for no public rows; give it another name.")
    sides, refused = {}, {}
    for name, data in candidates.items():
        try:
            sides[name] = simulation.blind(split, match_private(public_features(data, split.features), split.features)[0])
        except DataError as problem:
            refused[name] = str(problem)
    if not sides:
        raise DataError(*(f"{name}: {why}" for name, why in refused.items()))
    return sides | nothing, refused


def kind_of(rows: SemiPrivateSplit) -> str:
    """Of public rows: "foreign", as those are that were made up, "labelled", "unlabelled" or "none"."""
    if rows.other_y is not None or rows.public_name == raw.MADE_UP_NAME:
        return "foreign"
    return "labelled" if simulation.can_play(rows) else "unlabelled" if len(rows.public_x) else "none"


def predict(name: str, method: str, rows: SemiPrivateSplit, budget: PrivacyBudget, seed: int, metric: str, kind: str = "") -> Prediction:
    """What one learner of the fitted table should reach with these public rows. Guarantee: as `advise`, for rows without private ones."""
    kind = kind or kind_of(rows)
    sizes = {"plays": simulation.mean_play(method, rows, budget, seed)} if kind == "labelled" else {}
    if kind == "unlabelled":
        sizes = {"directions": rows.memo.get("directions", lambda: simulation.effective_directions(rows))}
    terms = simulation.regressors(rows.facts, rules.gaussian_mu(budget), sizes)
    share = 1 / (1 + math.exp(-sum(weight * terms[term] for term, weight in FITTED[kind]["learners"][method].items())))
    measured = FITTED[kind].get("few" if _is_few(rows) else "range", FITTED[kind]["range"])
    ends = max(share - measured["error"], 0.0), min(share + measured["error"], 1.0)
    return Prediction(name, method, ends, share, metric, (measured["inside"], len(measured["sets"])))


def preferred_prediction(predictions: list[Prediction], rows: SemiPrivateSplit) -> Prediction:
    """Of one public set's predictions the learner that did best on other data sets, unless plays put another clearly above it."""
    by_method = {prediction.method: prediction for prediction in predictions}
    if kind_of(rows) == "none":
        return by_method["dp_raft"]
    if kind_of(rows) == "foreign":
        return by_method["dp_sgd" if rows.other_y is not None else "pillar_kalman"]
    if "adamix" not in by_method:
        return by_method.get("pillar" if rows.facts.n_public < FEW_PUBLIC else "pillar_kalman", predictions[0])
    first, best = by_method["adamix"], max(predictions, key=lambda prediction: prediction.middle)
    is_clear = best.middle > first.middle + MARGIN and not _is_few(rows)
    return best if is_clear else first


def _is_few(rows: SemiPrivateSplit) -> bool:
    return rows.facts.n_public < FEW_A_CLASS * rows.facts.n_classes


def _grounds(best: Prediction, rows: SemiPrivateSplit, predictions: list[Prediction]) -> tuple[str, ...]:
    """Why this learner, how sure, and how much better than guessing."""
    runners_up = sorted(
        (prediction for prediction in predictions if prediction.method != best.method), key=lambda prediction: -prediction.middle
    )[:2]
    next_words = ", ".join(f"{METHODS[prediction.method].title}: {100 * prediction.middle:.0f} %" for prediction in runners_up)
    like_public = "" if best.public == NONE else ". It holds if private rows look like the public ones"
    words = [f"predicted from {_BASIS[kind_of(rows)]}{like_public}", f"others predicted: {next_words}"]
    if runners_up and runners_up[0].middle > best.middle:
        above = f": only a lead of more than {100 * MARGIN:.0f} predicted points puts another learner first"
        words.append(f"{METHODS[best.method].title} did best on other data sets{above if kind_of(rows) == 'labelled' else ''}")
    if (
        alone := next((prediction for prediction in predictions if prediction.method == "only_public"), None)
    ) is not None and best is not alone:
        gain = 100 * (best.middle - alone.middle)
        change = f"gain {gain:z.1f} points over" if gain > -0.05 else f"stay {-gain:.1f} points below"
        why = "" if gain > -0.05 else f": within the range, and {METHODS[best.method].title} did best on other data sets"
        words.append(f"it should {change} using no private row ({METHODS[alone.method].title}, predicted: {100 * alone.middle:.0f} %){why}")
    if rows.public_y is not None and len(rows.public_y):
        share = float(np.bincount(rows.public_y).max() / len(rows.public_y))
        is_balanced = best.metric == "accuracy"
        guess = share if is_balanced else 1 / rows.facts.n_classes
        same = "" if is_balanced else f", which is {100 * guess:.0f} % balanced accuracy (each class counts alike)"
        words.append(f"guessing the most common class of the public rows scores {100 * share:.0f} % on them{same}")
        if best.middle <= guess:
            words.append("no learner is predicted to beat guessing at this ε")
    return tuple(words)


def _transfers(sides: Mapping[str, SemiPrivateSplit], seed: int) -> tuple[str, ...]:
    """How well labelled public sets carry over to each other, best first; empty where fewer than two have labels."""
    labelled = {name: rows for name, rows in sides.items() if kind_of(rows) == "labelled"}
    if len(labelled) < 2:
        return ()
    means = {
        name: float(np.mean([simulation.transfer(rows, labelled[target], seed) for target in labelled if target != name]))
        for name, rows in labelled.items()
    }
    shares = ", ".join(f"{name} {100 * means[name]:.0f} %" for name in sorted(means, key=lambda name: -means[name]))
    return (f"a head trained on one labelled public set, balanced accuracy on the others: {shares}; this tells nothing of private rows",)
