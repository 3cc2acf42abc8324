"""What the answer shows: the sentence with its numbers, three figures, and what test rows say of it."""

import dataclasses
import math
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, figures, local, navigation, plain, theme
from pages.frame.settings import RULE, Settings
from pages.parts.answer import question
from pillar_core import metrics, plots
from pillar_core.studies.advice import Advice
from pillar_core.types import Provenance

BUDGETS = (0.1, 0.3, 1.0, 3.0)
SEEDS = 3
LOOK = "answer-look"


def sentence(advice: Advice, settings: Settings) -> None:
    """One sentence that says what to do, and why."""
    low, high = advice.expected_accuracy
    with st.container(border=True, key="answer"):
        badges.provenance(Provenance.PUBLIC)
        public, learner = plain.text(question.title(advice.public)), pc.METHODS[advice.method].title
        expected = f"{50 * (low + high):.0f} ± {50 * (high - low):.0f} %"
        st.markdown(f"### Use *{public}* as public data, {learner}; expect {expected} at ε = {advice.epsilon:g}.")
        st.markdown("\n".join(f"- {plain.text(_named(reason, advice))}" for reason in advice.reasons))
        settings_of = {"public": advice.public, "method": advice.method, "k": RULE}
        navigation.link("explore", "See it in Explore, curves and all", changes=settings_of)


def figures_of(advice: Advice, settings: Settings) -> None:
    """By learner, by public set, by budget."""
    learner = pc.METHODS[advice.method].title
    by_learner = [(pc.METHODS[one.method].title, *one.accuracy) for one in advice.predictions if one.public == advice.public]
    best = {one.public: one for one in reversed(advice.predictions)}
    by_public = [(question.title(name), *one.accuracy) for name, one in best.items()]
    budgets = sorted({*BUDGETS, advice.epsilon})
    over = question.over_budgets(settings, advice, budgets)
    by_budget = [(f"ε = {epsilon:g}", *one.accuracy) for epsilon, one in zip(budgets, over, strict=True)]
    drawings = (
        ("learners", by_learner, learner, "By learner", "With this public set. The range is 95 % of the errors on other data sets."),
        (
            "public",
            by_public,
            question.title(advice.public),
            "By public set",
            "The best learner with each. Likeness to the private rows is not known for nothing.",
        ),
        ("budgets", by_budget, f"ε = {advice.epsilon:g}", "By budget", "The advised learner at each ε."),
    )
    for column, (name, rows, chosen, title, caption) in zip(st.columns(3), drawings, strict=True):
        table = pd.DataFrame(rows, columns=["name", "low", "high"])
        figure = plots.expected(table, title=title, chosen=chosen, caption=caption, mode=theme.mode())
        with column:
            figures.show(figure, table, name=f"answer_{name}", kinds=(Provenance.PUBLIC,), settings=settings)


def diagnostic(settings: Settings, advice: Advice) -> None:
    """What test rows say of the advice and of the next learners, once somebody asks; a contradiction is said and changes the advice."""
    hint = "Trains on the private rows and reads the test rows: not private. A model that is taken away afterwards says so."
    local.toggle("Look at the test rows", name=LOOK, help=hint, unlinked="Looking is not private; a link must not do it for others.")
    if not local.value(LOOK, False):
        st.caption("Nothing was read so far.")
        return
    badges.provenance(Provenance.NON_PRIVATE)
    methods = list(dict.fromkeys([advice.method, *(one.method for one in advice.predictions if one.public == advice.public)]))
    measured = {method: _measured(dataclasses.replace(settings, method=method)) for method in methods}
    rows = [(pc.METHODS[method].title, *values) for method, values in measured.items()]
    columns: list[Any] = ["learner", "test accuracy", "± (95 %)", "balanced accuracy", "AUC", "rarest quarter of classes"]
    table = pd.DataFrame(rows, columns=columns)
    st.dataframe(table.style.format(_percent, subset=columns[1:], na_rep="–"), hide_index=True, key="answer-measured")
    counts = core.class_counts(settings)
    test = counts[counts["part"] == "test"]["rows"]
    st.caption(
        f"Always saying the most frequent class: {100 * test.max() / max(test.sum(), 1):.1f} % of the test rows. {SEEDS} seeds each."
    )
    _compared(advice, {method: values[0] for method, values in measured.items() if values[0] is not None})


def _compared(advice: Advice, measured: dict[str, float]) -> None:
    if advice.method not in measured:
        st.info("There are no test labels to measure on.", icon=":material/info:")
        return
    low, high = advice.expected_accuracy
    own, best = measured[advice.method], max(measured, key=lambda method: measured[method])
    if not low <= own <= high:
        st.warning(f"**The measurement contradicts the prediction**: {100 * own:.1f} %, expected {100 * low:.0f} to {100 * high:.0f} %.")
    if measured[best] > own + 0.01:
        st.warning(f"**{pc.METHODS[best].title} did better here**, {100 * measured[best]:.1f} against {100 * own:.1f} %: take it instead.")
    elif low <= own <= high:
        st.success(
            f"**The measurement agrees**: {100 * own:.1f} %, expected {100 * low:.0f} to {100 * high:.0f} %.", icon=":material/check:"
        )


def _measured(settings: Settings) -> tuple[float | None, ...]:
    """(accuracy, half its interval, balanced accuracy, AUC, accuracy of the rarest quarter of classes), means over seeds."""
    records = [core.run(dataclasses.replace(settings, seed=settings.seed + place)) for place in range(SEEDS)]
    if any(record.accuracy is None for record in records):
        return (None,) * 5
    mean, low, _ = metrics.interval([float(record.accuracy or 0.0) for record in records])
    others = [_mean([record.metrics.get(name) for record in records]) for name in ("balanced_accuracy", "auc")]
    return mean, mean - low, *others, _mean([_rarest(record.metrics.get("per_class") or [], settings) for record in records])


def _percent(share: Any) -> str:
    return f"{100 * share:.1f} %"


def _rarest(recalls: list[float | None], settings: Settings) -> float | None:
    """Mean recall over the quarter of the classes with the fewest test rows."""
    counts = core.class_counts(settings)
    sizes = list(counts[counts["part"] == "test"]["rows"])
    known = sorted((size, recall) for size, recall in zip(sizes, recalls, strict=False) if recall is not None)
    return _mean([recall for _, recall in known[: math.ceil(len(known) / 4)]])


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _named(reason: str, advice: Advice) -> str:
    """A reason with the titles of sets in the place of their names."""
    for name in {one.public for one in advice.predictions}:
        reason = reason.replace(name, question.title(name))
    return reason
