"""What the answer shows: the sentence with its numbers, three figures, and what test rows say of it."""

import dataclasses
import math
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, figures, history, local, navigation, plain, theme
from pages.frame.settings import RULE, Settings
from pages.parts.answer import question
from pillar_core import metrics, plots
from pillar_core.studies.advice import Advice, free
from pillar_core.studies.compare.learners import against_advice
from pillar_core.types import Provenance

BUDGETS = (0.1, 0.3, 1.0, 3.0)
SEEDS = 3
LOOK = "answer-look"
_MEASURES = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy"}


def sentence(advice: Advice, target: float | None) -> None:
    """One sentence that says what to do, and why; with a target first the ε that it takes."""
    with st.container(border=True, key="answer"):
        badges.show(Provenance.PUBLIC)
        learner = pc.METHODS[advice.method].title
        first = ""
        if target is not None:
            is_near = sum(advice.expected_accuracy) / 2 >= target
            first = f"{100 * target:.0f} % should take ε = {advice.epsilon:g}. " if is_near else f"{100 * target:.0f} % is out of reach. "
        use = f"Use *{plain.text(question.title(advice.public or free.NONE))}* as public data, {learner}"
        if advice.public is None:
            use = f"Let your rows choose the public set, under *Paid*. Without public rows, {learner}"
        elif advice.public == free.NONE:
            use = f"Use no public rows, {learner}"
        st.markdown(f"### {first}{use}; expect {free.range_words(advice.expected_accuracy, advice.metric)} at ε = {advice.epsilon:g}.")
        st.markdown("\n".join(f"- {plain.text(_named(reason, advice))}" for reason in advice.reasons))
        navigation.link("explore", "See it in Explore, curves and all", changes=_in_explore(advice))


def figures_of(advice: Advice, settings: Settings, names: list[str], alike: list[str]) -> None:
    """By learner, by public set, by budget."""
    learner, public, said = pc.METHODS[advice.method].title, advice.public or free.NONE, _MEASURES[advice.metric]
    by_learner = [(pc.METHODS[one.method].title, *one.accuracy) for one in advice.predictions if one.public == public]
    best = {one.public: one for one in reversed(advice.predictions) if one.metric == advice.metric}
    by_public = [(question.title(name), *one.accuracy) for name, one in best.items()]
    budgets = sorted({*BUDGETS, advice.epsilon})
    over = question.over_budgets(settings, names, alike, budgets)
    by_budget = [(f"ε = {epsilon:g}", *one.accuracy) for epsilon, one in zip(budgets, over, strict=True)]
    drawings = (
        (
            "learners",
            by_learner,
            learner,
            "By learner",
            f"{said}, with this public set. For the learner named, {free.held_words(advice.held)}.",
        ),
        (
            "public",
            by_public,
            question.title(public),
            "By public set",
            f"{said} of the best learner with each, if the set's rows are like yours, which cannot be told without spending some ε.",
        ),
        ("budgets", by_budget, f"ε = {advice.epsilon:g}", "By budget", f"{said} of the best learner up to each ε."),
    )
    for column, (name, rows, chosen, title, caption) in zip(st.columns(3), drawings, strict=True):
        table = pd.DataFrame(rows, columns=["name", "low", "high"])
        figure = plots.expected(table, title=title, chosen=chosen, caption=caption, mode=theme.mode())
        with column:
            figures.show(figure, table, name=f"answer_{name}", kinds=(Provenance.PUBLIC,), settings=settings, sets=names)


def diagnostic(settings: Settings, advice: Advice) -> None:
    """What test rows say of the advice and of the next learners, once somebody asks; a contradiction is said and changes the advice."""
    if not local.toggle(LOOK):
        st.caption("Nothing was read so far.")
        return
    history.look(settings)
    badges.show(Provenance.NON_PRIVATE)
    methods = list(
        dict.fromkeys([advice.method, *(one.method for one in advice.predictions if one.public == (advice.public or free.NONE))])
    )
    measured = {method: _measured(dataclasses.replace(settings, method=method)) for method in methods}
    rows = [{"learner": pc.METHODS[method].title} | _in_words(found) for method, found in measured.items()]
    table = pd.DataFrame(rows)
    st.dataframe(table, hide_index=True, key="answer-measured")
    st.caption(
        f"Always saying the most frequent class: {100 * (core.majority(settings) or 0):.1f} % of the test rows. {SEEDS} seeds each; in "
        "brackets the 95 % interval of the mean over them."
    )
    said = _MEASURES[advice.metric]
    each = [(method, seed, one) for method, found in measured.items() for seed, one in enumerate(found) if one]
    scores = [(method, seed, one.get(said, one["Accuracy"])[0]) for method, seed, one in each]
    _compared(advice, pd.DataFrame(scores, columns=["method", "seed", "accuracy"]))
    navigation.link("explore", "Confusion matrix and misread rows, in Explore", changes=_in_explore(advice) | {"view": "classes"})


def _compared(advice: Advice, runs: pd.DataFrame) -> None:
    own = runs.loc[runs["method"] == advice.method, "accuracy"].mean()
    if math.isnan(own):
        st.info("There are no test labels to measure on.", icon=":material/info:")
        return
    (low, high), (said, better) = advice.expected_accuracy, against_advice(runs, advice.method)
    expected = f"{100 * own:.1f} %, expected {100 * low:.0f} to {100 * high:.0f} %"
    if low <= own <= high:
        st.success(f"**The measurement agrees with the prediction**: {expected}.", icon=":material/check:")
    else:
        st.warning(f"**The measurement contradicts the prediction**: {expected}.", icon=":material/warning:")
    if better:
        st.warning(f"**{said}**", icon=":material/published_with_changes:")
        navigation.link("explore", f"{pc.METHODS[better].title} instead, in Explore", changes=_in_explore(advice) | {"method": better})
    else:
        st.markdown(said)


def _measured(settings: Settings) -> list[dict[str, tuple[float, float, float]]]:
    """What test rows say of each seed's run, by measure; {} without test labels."""
    runs = [dataclasses.replace(settings, seed=settings.seed + place) for place in range(SEEDS)]
    return [core.measures(core.run(one), one) for one in runs]


def _in_words(found: list[dict[str, tuple[float, float, float]]]) -> dict[str, str]:
    """Each measure's mean over seeds with its interval."""
    means = {title: metrics.over_runs([one[title][0] for one in found if title in one]) for title in found[0]}
    return {title: f"{100 * mean:.1f} % ({100 * low:.1f}–{100 * high:.1f})" for title, (mean, low, high) in means.items()}


def _in_explore(advice: Advice) -> dict[str, Any]:
    return {"method": advice.method, "k": RULE, "epsilon": advice.epsilon}


def _named(reason: str, advice: Advice) -> str:
    """A reason with the titles of sets in the place of their names."""
    for name in {one.public for one in advice.predictions} - {free.OWN, free.NONE}:
        reason = reason.replace(name, question.title(name))
    return reason
