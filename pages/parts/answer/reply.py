"""What the answer shows: the sentence with its numbers, three figures, and what test rows say of
it."""

import contextlib
import dataclasses

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import (
    badges,
    core,
    history,
    jobs,
    local,
    navigation,
    plain,
    receipts,
)
from pages.frame.figures import FigureInfo, draw_figure
from pages.frame.settings import PART, RULE, Settings
from pages.parts.answer import model, question
from pages.parts.answer.question import Question
from pages.parts.curves import panels
from pillar_core import metrics, plots
from pillar_core.backbones.cards import fit_of
from pillar_core.errors import DataError
from pillar_core.numerics import opened
from pillar_core.runs import splitting
from pillar_core.runs.private_tests import title_of
from pillar_core.studies.advice import Advice, Prediction, free, maps
from pillar_core.studies.advice.prediction import IN_WORDS, NONE, OWN, held_words, levelled
from pillar_core.studies.compare import learners as compare
from pillar_core.types import Form, Provenance

SEEDS = 3


def sentence(settings: Settings, advice: Advice, target: float | None) -> None:
    """What private rows chose, where they did; else what to do by the free advice, and why."""
    choice = receipts.last_choice(settings)
    with st.container(border=True, key="answer"):
        if choice is not None:
            badges.show(Provenance.PRIVATE)
            st.markdown(f"### {choice['words']}")
            _show_reasons([plain.text(reason) for reason in choice["reasons"]])
        badges.show(Provenance.PUBLIC)
        start = "" if choice is None else "Free advice: "
        if target is not None:
            may = "should" if advice.expected.is_useful else "may"
            verb = (
                "is out of reach"
                if advice.predicted < target
                else f"{may} take {plots.epsilon_label(advice.epsilon)}"
                if pc.METHODS[advice.method].is_private
                else f"{may} take public rows alone: no ε needed"
            )
            start += f"{100 * target:.0f} %{IN_WORDS[advice.metric]} {verb}. "
        if advice.public is None and choice is None:
            start += free.ASK
        said = free.headline(advice, f"*{plain.text(question.title(advice.public or NONE))}*")
        said += maps.put_words(advice.backbone)
        st.markdown(f"{'### ' if choice is None else ''}{start}{said}")
        if choice is None:
            _show_reasons([plain.text(_with_titles(reason, advice)) for reason in advice.reasons])
        navigation.link(
            "curves",
            "See it on Curves",
            changes=choice["settings"] if choice else _in_explore(advice),
        )


def _show_reasons(reasons: list[str]) -> None:
    """The first reason, and the others once they are opened."""
    st.markdown("\n".join(reasons[:1]))
    if further := "\n".join(f"- {reason}" for reason in reasons[1:]):
        with st.expander("More reasons"):
            st.markdown(further)


def figures_of(advice: Advice, settings: Settings, asked: Question) -> None:
    """By learner, by public set, by budget."""
    public = advice.expected.public
    measure = title_of(advice.metric)
    learners = [
        (pc.METHODS[each.method].title, each.middle, *each.accuracy)
        for each in advice.predictions
        if each.public == public
    ]
    sets = [
        (question.title(each.public), each.middle, *each.accuracy)
        for each in _first_of_sets(advice).values()
    ]
    beside = "without public rows" if public == NONE else "with this public set"
    held = f"{measure} {beside}, first the learner named: {held_words(advice.expected.held)}."
    level = free.level(advice)
    rules = {
        "labelled": "AdaMix did best on other data sets: another is named only beyond the line",
        "labelled, table": "Of a table, rehearsals compare three; another must be far ahead",
    }
    other = "It did best on other data sets; these predictions choose none"
    held = f"{held} {rules.get(advice.expected.source, other)}."
    unsure = (
        "of the learner to name with each, if its rows are like yours: what you state of a set"
        " moves no number. No public rows come first where no set is stated to be like yours, or"
        f" {free.WHERE_NONE}"
    )
    drawings = (
        ("learners", "By learner", learners, pc.METHODS[advice.method].title, held, level),
        ("public", "By public set", sets, question.title(public), f"{measure} {unsure}.", None),
    )
    *columns, last = st.columns(3)
    for column, (name, title, rows, chosen, caption, line) in zip(columns, drawings, strict=True):
        table = pd.DataFrame(rows, columns=["name", "mean", "low", "high"])
        with column:
            draw_figure(
                plots.expected,
                table,
                FigureInfo(f"answer_{name}", settings, [badges.PUBLIC], sets=asked.names),
                title=title,
                chosen=chosen,
                caption=caption,
                level=line,
            )
    with last:
        _draw_budgets(advice, settings, asked)


def _draw_budgets(advice: Advice, settings: Settings, asked: Question) -> None:
    """What the advice at each ε should reach: a curve of ε alone, on which the budget is marked."""
    at_each = question.by_budget(settings, asked)
    rows, wobble = levelled([each.expected for each in at_each])
    epsilons, off = [each.epsilon for each in at_each], f"{100 * wobble:.1f}"
    beside = "It" if off == "0.0" else f"Predictions are up to {off} points off it: it"
    table = pd.DataFrame(rows, columns=["mean", "low", "high"]).assign(epsilon=epsilons)
    draw_figure(
        plots.expected_by_budget,
        table,
        FigureInfo("answer_budgets", settings, [badges.PUBLIC], sets=asked.names),
        present=advice.epsilon,
        caption=(
            f"{title_of(advice.metric)} of the advice at each ε. The whole line may lie higher or"
            f" lower in its band. {beside} never falls, because ε may be left unspent."
        ),
    )


def diagnostic(settings: Settings, advice: Advice, names: list[str]) -> None:
    """What test rows say of the advice, of other learners and of other candidates, when the switch
    is on; with Stop while they train."""
    if receipts.show_lock(settings):
        return
    if not local.toggle(
        model.LOOK,
        label="Look at the test rows",
        help=(
            "Trains on the private rows and reads the test rows: not private. A model that is taken"
            " away afterwards says so."
        ),
        unlinked="Looking is not private; a link must not do it for others.",
    ):
        st.caption("Nothing was read so far.")
        return
    history.look(settings)
    badges.show(Provenance.NON_PRIVATE)
    _show_medians(settings, names)
    choices = _choices(settings, advice, names)
    seeds = list(range(settings.seed, settings.seed + SEEDS))
    grids = [
        {
            **core.axes(choice),
            "method": choice.method,
            "epsilon": choice.epsilon,
            "seed": seeds,
        }
        for choice in choices.values()
    ]
    records = [record for _, record in core.find_runs(grids).values()]
    jobs.sweeps(
        *grids,
        title=f"Measure {len(choices)} choices, {SEEDS} seeds each",
        cost="",
        key="answer-measure",
    )
    if None in records:
        return
    measured = {
        name: [
            core.measures(core.run(run), run)
            for run in (dataclasses.replace(choice, seed=seed) for seed in seeds)
        ]
        for name, choice in choices.items()
    }
    learners = {name: pc.METHODS[choice.method].title for name, choice in choices.items()}
    sets = {name: question.title(choice.public) for name, choice in choices.items()}
    rows = [
        {"learner": learners[name], "public set": sets[name]} | _in_words(runs)
        for name, runs in measured.items()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, key="answer-measured")
    st.caption(
        f"Guessing the most common class scores {100 * (core.majority(settings) or 0):.1f} %."
        f" {SEEDS} seeds each; brackets: 95 % interval of the mean."
    )
    metric = title_of(advice.metric)
    if not all(metric in run for runs in measured.values() for run in runs):
        metric = "Accuracy"
    scores = [
        (name, seed, run[metric][0])
        for name, runs in measured.items()
        for seed, run in enumerate(runs)
        if run
    ]
    titles = {name: f"{learners[name]}, {sets[name]}" for name in choices}
    _show_verdict(
        advice,
        pd.DataFrame(scores, columns=["method", "seed", "accuracy"]),
        choices,
        titles,
        metric,
    )
    panels.cost_panel(core.run(settings), settings)
    navigation.link(
        "curves",
        "Confusion matrix and misread rows, on Curves",
        changes=_in_explore(advice) | {"view": "classes"},
    )


def _show_medians(settings: Settings, names: list[str]) -> None:
    """The median of each column of private rows beside those of public tables, where columns have
    names."""
    split = splitting.unmapped(core.split(settings))
    if split.features.names is None:
        return
    columns = {"private rows": split.features.x_train[split.private]}
    for name in (name for name in names if name != PART):
        with contextlib.suppress(DataError):  # the reasons of the advice say what does not fit
            public, _ = splitting.match_private(core.candidate(name, settings), split.features)
            columns[question.title(name)] = public.x_train
    if len(columns) > 1:
        medians = {
            title: pd.DataFrame(x, columns=list(split.features.names)).median()
            for title, x in columns.items()
        }
        st.dataframe(pd.DataFrame(medians), key="answer-medians")
        st.caption("Median of each column: a column in another unit has another size.")


def _choices(settings: Settings, advice: Advice, names: list[str]) -> dict[str, Settings]:
    """The settings of the advice, first, of the other learners with its public set, and of the best
    with each other candidate."""
    public = advice.expected.public
    pairs = [(advice.method, settings.public)]
    pairs += [
        (prediction.method, settings.public)
        for prediction in advice.predictions
        if prediction.public == public
    ]
    best = _first_of_sets(advice)
    others = [(best.get(OWN if name == PART else name), name) for name in names]
    pairs += [
        (prediction.method, name)
        for prediction, name in others
        if prediction is not None and prediction.public != public
    ]
    return {
        f"{method} {name}": dataclasses.replace(settings, method=method, public=name)
        for method, name in dict.fromkeys(pairs)
    }


def _show_verdict(
    advice: Advice,
    runs: pd.DataFrame,
    choices: dict[str, Settings],
    titles: dict[str, str],
    metric: str,
) -> None:
    advised, (low, high) = next(iter(choices)), advice.expected_accuracy
    verdict = compare.judge_advice(runs, advised, expected=(low, high), titles=titles)
    if verdict.agrees is None:
        st.info("There are no test labels to measure on.", icon=":material/info:")
        return
    mean = runs.loc[runs["method"] == advised, "accuracy"].mean()
    show, icon, word = (
        (st.success, "check", "agrees with")
        if verdict.agrees
        else (st.warning, "warning", "contradicts")
    )
    expected = f"{metric} {100 * mean:.1f} %, expected {100 * low:.0f} to {100 * high:.0f} %"
    show(f"**The measurement {word} the prediction**: {expected}.", icon=f":material/{icon}:")
    if not verdict.better:
        st.markdown(plain.text(verdict.words))
        return
    st.warning(f"**{plain.text(verdict.words)}**", icon=":material/published_with_changes:")
    changes = _in_explore(advice) | {
        name: getattr(choices[verdict.better], name) for name in ("method", "public")
    }
    navigation.link(
        "curves", f"{plain.text(titles[verdict.better])} instead, on Curves", changes=changes
    )


def _in_words(runs: list[dict[str, tuple[float, float, float]]]) -> dict[str, str]:
    """Each measure's mean over seeds with its interval."""
    means = {
        title: metrics.over_runs([run[title][0] for run in runs if title in run])
        for title in runs[0]
    }
    return {
        title: f"{100 * mean:.1f} % ({100 * low:.1f}–{100 * high:.1f})"
        for title, (mean, low, high) in means.items()
    }


def _in_explore(advice: Advice) -> Form:
    columns = {"backbone": advice.backbone} if fit_of(advice.backbone) else {}
    return {"method": advice.method, "k": RULE, "epsilon": advice.epsilon} | columns


def _first_of_sets(advice: Advice) -> dict[str, Prediction]:
    """The learner to name with each public set, by set, in the order of the rule."""
    first = dict[str, Prediction]()
    for each in advice.predictions:
        first.setdefault(each.public, each)
    return first


def _with_titles(reason: str, advice: Advice) -> str:
    """A reason with the titles of sets in the place of their names, its first letter a capital."""
    for name in {prediction.public for prediction in advice.predictions} - {OWN, NONE}:
        reason = reason.replace(name, question.title(name))
    return opened(reason)
