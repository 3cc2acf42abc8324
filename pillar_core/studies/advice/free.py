"""Which learner and which public set to take, and what accuracy to expect, before any private row
is read."""

import dataclasses
import functools
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from pillar_core import checks
from pillar_core.data import raw
from pillar_core.data.encoding import misfits, refuse_misfits
from pillar_core.errors import DataError, SettingError
from pillar_core.methods import METHODS
from pillar_core.metrics import FIGURES
from pillar_core.numerics import number_words, opened
from pillar_core.params import SEED, SHARE
from pillar_core.runs.splitting import match_private, named, public_features, unmapped
from pillar_core.splits import beside
from pillar_core.studies.advice import maps, simulation
from pillar_core.studies.advice.prediction import (
    BASIS,
    CLEARLY,
    FITTED,
    IN_WORDS,
    MARGIN,
    NONE,
    OWN,
    UNUSED,
    Predicted,
    Prediction,
    can_tell_unused,
    held_words,
    in_order,
    kind_of,
    levelled,
    luck,
    predict,
)
from pillar_core.types import (
    Dataset,
    FeatureSet,
    NeighboringRelation,
    PrivacyBudget,
    SemiPrivateSplit,
)

ASK = "Let your rows choose the public set (paid, within ε). "
UNKNOWN = (
    "which public set is like the private rows cannot be known for nothing: the paid choice asks"
    " them within ε, or state it"
)
FREE = "free: ε = 0, for no private and no test row was read"
IN_SENTENCES = {OWN: "the public rows at hand", raw.MADE_UP: "rows made up from the ranges"}
"""What a sentence calls public sets that have no title."""
WHERE_NONE = "only where it has no labels and their whole range lies above it"
"""Sizes alone do not know how hard classes are, and rehearsals do: of flights without public rows
98 % of AUC were predicted, and 55 reached."""
BUDGETS = (0.1, 0.3, 1.0, 3.0, 8.0)
"""Where the curve over ε is measured, on which a target accuracy is looked for."""
_BETWEEN = (0.05, 0.2, 0.5, 0.7, 1.5, 2.0, 5.0)
"""Where a target accuracy is looked for, too, next to where the curve reaches it."""


@dataclasses.dataclass(frozen=True)
class Advice(Predicted):
    """What to do first: a hypothesis, which a measurement may contradict.

    `public` is a candidate's name, "own" (the split's own public rows), "made_up" (rows drawn from
    declared ranges, where there are no others), "none" (no public rows), or None where nobody knows
    which candidate is like the private rows; `expected` is then the prediction without public rows.
    `predictions` are those of all learners and candidates that were weighed, in the order of the
    rule: the named set first, in each set the learner to name with it. `settings`: what `pc.run`
    takes besides, the number that was asked for.
    `price`: what asking cost. `backbone`: the map of columns to put a table through, "identity" for
    columns as given.
    """

    expected: Prediction
    public: str | None
    epsilon: float
    sentence: str
    reasons: tuple[str, ...]
    price: str = FREE
    predictions: tuple[Prediction, ...] = ()
    backbone: str = maps.GIVEN
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def method(self) -> str:
        """The learner to take."""
        return self.expected.method


def advise(
    split: SemiPrivateSplit,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    candidates: Mapping[str, Any] | Sequence[str] | None = None,
    alike: Collection[str] = (),
    target_accuracy: float | None = None,
    metric: str | None = None,
    seed: int = 0,
) -> Advice:
    """The learner that should reach most within (ε, δ), with which public set where that can be
    known, and how much that is.

    candidates: public sets by name (their train rows), or a list of sets (their names say which),
    of registered names or of files; beside a part of the private set, "own", and instead of rows
    that the split has from elsewhere.
    alike: names of those that you state to be like the private rows, "own" where the split's public
    rows were brought from elsewhere. Of other sets nobody knows without asking private rows
    (`choose`), so none of them is named. target_accuracy: in [0, 1]; then ε is the smallest of some
    from 0.05 to 8 that should reach it, and `epsilon` is not used. metric: the number that you
    want, accuracy, balanced_accuracy or auc, which learner, map, set and ranges follow; by default
    accuracy, or balanced accuracy where public labels are very unequal or none. Of a table whose
    columns went through no map, maps are weighed, too (`Advice.backbone`).

    Guarantee: only the numbers of private rows, features and classes, the budget, public rows and
    their labels are read; private and test rows can be any. It is a prediction, measured on other
    data sets (docs/public_data.md), and right for rows like the public ones. Raises DataError: no
    candidate fits. SettingError, BudgetError: a relation, seed or budget that cannot be, or an
    unknown name.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> advice = pc.advise(split, epsilon=1.0)
    >>> advice.public, advice.method
    ('own', 'adamix')
    """
    checks.within(target_accuracy=(target_accuracy, SHARE), seed=(seed, SEED))
    budget = PrivacyBudget(epsilon, delta, NeighboringRelation.of(relation))
    checks.one_of(FIGURES, metric=metric or FIGURES[0])
    sides = named(candidates) if candidates else _from_ranges(split)
    at = _weigh(split, budget, sides, alike, seed or 0, metric=metric)
    return at(epsilon) if target_accuracy is None else _reaching(at, target_accuracy)


def advise_by_budget(
    split: SemiPrivateSplit,
    *,
    delta: float,
    relation: str,
    candidates: Mapping[str, FeatureSet | Dataset],
    alike: Collection[str],
    metric: str | None,
    seed: int,
) -> list[Advice]:
    """`advise` at each of `BUDGETS`; public sets are read and mapped once."""
    budget = PrivacyBudget(1.0, delta, NeighboringRelation.of(relation))
    sides = candidates or _from_ranges(split)
    return list(map(_weigh(split, budget, sides, alike, seed, metric=metric), BUDGETS))


def _from_ranges(split: SemiPrivateSplit) -> dict[str, FeatureSet] | None:
    """Rows made up from what a table declares, where there are no public rows and it declares every
    column."""
    given = unmapped(split).features
    if len(split.public_x) or raw.why_not_made_up(given):
        return None
    return {raw.MADE_UP: raw.made_up(given)}


def advise_as_it_is(split: SemiPrivateSplit, budget: PrivacyBudget, *, seed: int = 0) -> Advice:
    """`advise` on the split's own public rows and the columns that it has, whatever other maps of
    columns there are."""
    backbones = {split.features.backbone if split.features.given else maps.GIVEN}
    return _weigh(split, budget, None, (), seed, backbones)(budget.epsilon)


def _weigh(
    split: SemiPrivateSplit,
    budget: PrivacyBudget,
    candidates: Mapping[str, Any] | None,
    alike: Collection[str],
    seed: int,
    backbones: Collection[str] | None = None,
    metric: str | None = None,
) -> Callable[[float], Advice]:
    """The advice at each ε; backbones: as `maps.sides_by_map`. Raises as `advise`."""
    features, split = split.features, unmapped(split)
    sides, refused, said = _sides(split, candidates)
    if strangers := sorted({*alike} - {*sides, *refused}):
        raise SettingError(
            f"alike names {', '.join(strangers)}, which is no candidate; candidates are"
            f" {', '.join({*sides} - {NONE})}."
        )
    known = {*alike} | ({OWN} if candidates or split.settings.get("public") is None else set())
    drawn = {name for name, rows in sides.items() if kind_of(rows) == "made_up"}
    if drawn and drawn == {*sides} - {NONE}:
        known |= drawn  # from what is declared: nobody needs to say what they are like
        if maps.zero_share(split.features) >= maps.AT_ZERO:
            sides, said = {NONE: sides[NONE]}, (*said, maps.UNLIKE)
    of_sets = (
        *said,
        *_transfers(sides, seed),
        *(f"{name} is left out: {why}" for name, why in refused.items()),
    )
    by_map = maps.sides_by_map(sides, features, backbones)

    @functools.cache
    def at(epsilon: float) -> Advice:
        of_budget = dataclasses.replace(budget, epsilon=float(epsilon))
        backbone, why = maps.choose_map(by_map, of_budget, seed, metric)
        sides = by_map[backbone]
        return _advise(sides, known, of_budget, seed, backbone, why, of_sets, metric)

    return at


def _advise(
    sides: Mapping[str, SemiPrivateSplit],
    known: set[str],
    budget: PrivacyBudget,
    seed: int,
    backbone: str,
    why: tuple[str, ...],
    of_sets: tuple[str, ...],
    wanted: str | None,
) -> Advice:
    metric = wanted or simulation.metric_of(*sides.values())
    ranked = {
        name: in_order(
            [
                predict(name, method, rows, budget, seed, metric, wanted=wanted)
                for method in FITTED[metric][kind_of(rows)]["learners"]
            ],
            rows,
        )
        for name, rows in sides.items()
    }
    alone = ranked[NONE][0]
    of_public = [ranked[name][0] for name in sides if name in known and name != NONE]
    first = max(of_public, key=lambda prediction: prediction.middle, default=alone)
    is_first = kind_of(sides[first.public]) == "labelled"
    best = first if is_first or first.middle >= alone.accuracy[0] else alone
    if can_tell_unused(best, sides[best.public]):
        rows = sides[best.public]
        unused = predict(NONE, "dp_raft", rows, budget, seed, metric, UNUSED, wanted=wanted)
        needed = CLEARLY + luck(best.middle, rows.facts.n_public, rows.facts.n_classes)
        if unused.middle > best.middle + needed:
            ranked[NONE] = [unused, *ranked[NONE][1:]]
            best = alone = unused
    is_unknown = best.public == NONE and not of_public and len(sides) > 1
    rows, named = sides[best.public], None if is_unknown else best.public
    names = sorted(sides, key=lambda name: (name != best.public, -ranked[name][0].middle))
    weight = simulation.class_signal(rows.facts, budget)
    is_fit = maps.is_mapped(rows)
    if backbone != maps.GIVEN and (not is_fit or best.source == UNUSED):
        backbone, why = maps.GIVEN, () if is_fit else (maps.UNFIT,)
    reasons = (
        *((UNKNOWN,) if is_unknown else ()),
        *best.narrower,
        _held(best),
        (
            f"with {rows.facts.n_private:,} private rows, each class's signal is about"
            f" {number_words(weight, 3)} times the noise at ε = {number_words(budget.epsilon)}"
        ),
        *why,
        *_grounds(best, ranked[best.public], alone),
        *of_sets,
    )
    public = IN_SENTENCES.get(best.public, f"*{best.public}*")
    every = tuple(prediction for name in names for prediction in ranked[name])
    asked = {"metric": wanted} if wanted else {}
    advice = Advice(best, named, budget.epsilon, "", reasons, FREE, every, backbone, asked)
    sentence = (ASK if is_unknown else "") + headline(advice, public) + maps.put_words(backbone)
    return dataclasses.replace(advice, sentence=sentence)


def headline(advice: Advice, public: str) -> str:
    """What to do, and why; then what to expect. public: what people call the set that the advice
    names."""
    expected, of_public = advice.expected, _of_public_rows(advice.expected, advice.predictions)
    if not METHODS[advice.method].is_private:
        rivals = (each.middle for each in advice.predictions if each.public == expected.public)
        first = (
            f"You need no private row: {public} alone should reach more than any learner that"
            " spends ε."
            if max(rivals) <= expected.middle
            else f"You need no private row: take {_title(expected)} with {public}, without any ε."
        )
    else:
        use = "Without public rows, take" if advice.public is None else "Use no public rows,"
        use = use if expected.public == NONE else f"Use {public} as public data,"
        use = "Leave these public rows unused, take" if expected.source == UNUSED else use
        first = f"{use} {_title(expected)}: {_why(advice)}."
        if of_public and of_public.middle >= expected.middle:
            may = (
                "You may need no private row: rehearsals put public rows alone at"
                f" {100 * of_public.middle:.0f} %, without any ε."
            )
            first = f"{may} To spend ε, {first[:1].lower()}{first[1:]}"
    spent = f" at ε = {number_words(advice.epsilon)}" if METHODS[advice.method].is_private else ""
    return f"{first} {opened(expected.words)}{spent}."


def level(advice: Advice) -> float | None:
    """What rehearsals must say of another learner for it to be named in the place of AdaMix; None
    where they choose none."""
    same = {
        each.method: each for each in advice.predictions if each.public == advice.expected.public
    }
    return same["adamix"].middle + MARGIN if advice.expected.source == "labelled" else None


def _why(advice: Advice) -> str:
    points = f"{100 * MARGIN:.0f} points ahead"
    if advice.expected.source == UNUSED:
        used = next(each for each in advice.predictions if each.source.startswith("labelled"))
        return (
            f"rehearsals put it at {100 * advice.predicted:.0f} % without them, and"
            f" {_title(used)} at {100 * used.middle:.0f} % with them"
        )
    if advice.expected.source == "made_up":
        return "such rows put it ahead of learners without public rows on other tables"
    if advice.expected.source == "labelled, table":
        rivals = [each for each in advice.predictions if each.public == advice.expected.public]
        return (
            "rehearsals put it first of the learners for tables that spend ε"
            if all(
                each.middle <= advice.expected.middle
                for each in rivals
                if METHODS[each.method].is_private
            )
            else "it did best on other tables, and in rehearsals no other that spends ε is clearly"
            " ahead"
        )
    is_rehearsed = level(advice) is not None
    if advice.method != "adamix" and is_rehearsed:
        return f"rehearsals put it more than {points} of AdaMix"
    return "it did best on other data sets" + is_rehearsed * (
        f", and no other is {points} in rehearsals"
    )


def _of_public_rows(best: Prediction, predictions: Sequence[Prediction]) -> Prediction | None:
    """The prediction of public rows alone, of the same set as `best`."""
    alone = best.public, "only_public"
    return {(each.public, each.method): each for each in predictions}.get(alone)


def _title(prediction: Prediction) -> str:
    return METHODS[prediction.method].title


def _reaching(at: Callable[[float], Advice], target: float) -> Advice:
    """The advice at the smallest budget that should reach the target; at the largest, with a
    reason, where none does."""
    least = at(BUDGETS[0])
    alone = None if least.public is None else _of_public_rows(least.expected, least.predictions)
    if alone is not None and alone.middle >= target:
        public = IN_SENTENCES.get(alone.public, f"*{alone.public}*")
        enough = f"public rows alone are enough for {target:.0%}: no ε needed"
        best, every = least.expected, least.predictions
        unread = next(each for each in every if each.public == NONE)
        others = [each for each in every if each is not alone]
        of_set = [each for each in every if each.public == best.public]
        of_best = (*best.narrower, _held(best), *_grounds(best, of_set, unread))
        reasons = (
            *(enough, *alone.narrower, _held(alone)),
            *(reason for reason in least.reasons if reason not in of_best),
            *_grounds(alone, [alone, *(each for each in of_set if each is not alone)], unread),
        )
        advice = dataclasses.replace(
            least, expected=alone, reasons=reasons, predictions=(alone, *others)
        )
        said = headline(advice, public) + maps.put_words(advice.backbone)
        return dataclasses.replace(advice, sentence=f"{opened(enough)}. {said}")
    advices = [least, *map(at, BUDGETS[1:])]
    means = [mean for mean, *_ in levelled([each.expected for each in advices])[0]]
    # the first of a level, whose own prediction is not below it
    first = next((place for place, mean in enumerate(means) if mean >= target), None)
    if first is not None:
        low = BUDGETS[first - 1] if first else 0.0
        near = [
            at(epsilon)
            for epsilon in _BETWEEN
            if low < epsilon < BUDGETS[first]
            and np.interp(math.log(epsilon), np.log(BUDGETS), means) >= target
        ]
        advice = next((each for each in near if each.predicted >= target), advices[first])
        enough = f"ε = {advice.epsilon:g} is the smallest that should reach {target:.0%}"
        return dataclasses.replace(advice, reasons=(enough, *advice.reasons))
    advice = advices[-1]
    missed = (
        f"no ε up to {BUDGETS[-1]:g} should reach {target:.0%}: bring more private rows, or public"
        " rows that are nearer"
    )
    return dataclasses.replace(advice, reasons=(missed, *advice.reasons))


def _sides(
    split: SemiPrivateSplit, candidates: Mapping[str, Any] | None
) -> tuple[dict[str, SemiPrivateSplit], dict[str, str], tuple[str, ...]]:
    """By name, the split without its rows beside each candidate, and beside none; why others do not
    fit; and which columns were left out for the ranges that were stated."""
    blind = simulation.blind(split)
    nothing, said = {NONE: beside(blind, None)}, misfits(split.features.notes)
    unfit = misfits(split.notes)
    own = {OWN: blind} if len(split.public_x) and not unfit else {}
    if not candidates:
        return own | nothing, ({OWN: unfit[0]} if unfit else {}), said
    if NONE in candidates:
        raise SettingError(
            f"a candidate cannot be named {NONE!r}, which stands for no public rows; give it"
            " another name."
        )
    sides, refused = (own if split.settings.get("public") is None else {}), dict[str, str]()
    for name, data in candidates.items():
        try:
            public = public_features(data, split.features)
            refuse_misfits(public.notes)
            sides[name] = simulation.blind(split, match_private(public, split.features)[0])
        except DataError as problem:
            refused[name] = str(problem)
    if not sides:
        raise DataError(*(f"{name}: {why}" for name, why in refused.items()))
    return sides | nothing, refused, said


def _held(best: Prediction) -> str:
    """How far its range can be relied on, and when."""
    like_public = (
        ""
        if best.source in ("none", "made_up")
        else ". It holds if private rows look like the public ones and hold each class as often"
    )
    unknown = ". It is for classes of equal size, as no public label tells theirs"
    is_unknown = best.metric == "accuracy" and best.most_common is None
    return f"{held_words(best.held)}{like_public}{unknown * is_unknown}"


def _grounds(best: Prediction, of_set: list[Prediction], alone: Prediction) -> tuple[str, ...]:
    """Why this learner, how sure, and how much better than guessing. alone: the prediction without
    public rows."""
    next_words = ", ".join(
        f"{_title(prediction)}: {100 * prediction.middle:.0f} %" for prediction in of_set[1:3]
    )
    words = [f"predicted from {BASIS[best.source]}"]
    if next_words:
        words.append(f"others predicted: {next_words}")
    if (of_public := _of_public_rows(best, of_set)) is not None and best is not of_public:
        gain, unread = (
            100 * (best.middle - of_public.middle),
            f"{_title(of_public)}, predicted: {100 * of_public.middle:.0f} %",
        )
        words.append(
            f"it should gain {gain:.1f} points over using no private row ({unread})"
            if gain >= 0.05
            else (
                f"using no private row was rehearsed as high ({unread}); on other data sets"
                f" {_title(best)} then ended about 1 point ahead"
            )
        )
    if best.source not in ("none", "made_up") and alone.middle > best.middle:
        words.append(
            f"no public rows ({_title(alone)}, predicted: {100 * alone.middle:.0f} %) come before a"
            f" set like yours {WHERE_NONE}"
        )
    if best.most_common is not None:
        same = f"{100 * best.guess:.0f} %{IN_WORDS[best.metric]}"
        same += " (each class counts alike)" * (best.metric == "balanced_accuracy")
        if best.metric != "accuracy":  # whose sentence says it
            words.append(
                "guessing the most common class of the public rows scores"
                f" {100 * best.most_common:.0f} % on them, which is {same}"
            )
        if best.middle <= best.guess:
            words.append("no learner is predicted to beat guessing at this ε")
    return tuple(words)


def _transfers(sides: Mapping[str, SemiPrivateSplit], seed: int) -> tuple[str, ...]:
    """How well labelled public sets carry over to each other, best first; empty where fewer than
    two have labels."""
    labelled = {name: rows for name, rows in sides.items() if kind_of(rows) == "labelled"}
    if len(labelled) < 2:
        return ()
    means = {
        name: 100
        * np.mean(
            [
                simulation.transfer(rows, labelled[other], seed)
                for other in labelled
                if other != name
            ]
        )
        for name, rows in labelled.items()
    }
    shares = ", ".join(
        f"{name} {means[name]:.0f} %" for name in sorted(means, key=lambda name: -means[name])
    )
    return (
        f"a head trained on one labelled public set, balanced accuracy on the others: {shares};"
        " this tells nothing of private rows",
    )
