"""Panels of the page Curves on one run: whom it serves and whom it misreads, class by class; test
rows whose answer privacy changed, and one row, perhaps edited, read by the models a release could
have been; what each part costs in accuracy; and one training, step by step."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, browser, core, failures, jobs, local, memory, plain, theme
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, draw_figure, show_figure
from pages.frame.settings import Settings
from pages.parts.rows.overview import show_rows
from pillar_core import plots
from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.plots import Mode
from pillar_core.plots.bars import part_costs
from pillar_core.plots.steps import training_in_steps
from pillar_core.plots.theme import Figure
from pillar_core.runs import sweep
from pillar_core.studies import one_training
from pillar_core.studies.one_training import (
    DRAWS,
    EPSILONS,
    TITLES,
    accuracy_costs,
    has_parts,
    stages,
)
from pillar_core.types import Form, Provenance, RunRecord

_MOST = 20
"""Rows that are shown of those misread, and of those whose answer changed."""
_FIELDS = 12
_SEEDS = 5
"""Runs of each part."""
_models = core.of_run(
    one_training.possible_models, max_entries=2, show_spinner="Drawing possible models …"
)
_steps = core.of_run(one_training.training_steps, show_spinner="Training once more, step by step …")


def class_panel(record: RunRecord, settings: Settings) -> None:
    """Everything that test rows say by class."""
    if not record.metrics.get("per_class"):
        st.info("There are no test rows, so nothing can be said by class.")
        return
    rows = core.test_counts(settings)
    names = core.split(settings).features.classes
    with st.container(border=True, key="measures"):
        badges.show(Provenance.NON_PRIVATE)
        table = pd.DataFrame(
            [
                (
                    title,
                    f"{100 * value:.1f}",
                    "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}",
                )
                for title, (value, low, high) in core.measures(record, settings).items()
            ]
            + [("Guessing the most common class", f"{100 * max(rows) / sum(rows):.1f}", "")],
            columns=["measure", "%", "95 % interval"],
        )
        st.dataframe(table, hide_index=True, key="measures-table")
        st.caption(
            "One run. Intervals over test rows, by class; none is known for the AUC of more than"
            " two classes."
        )
    recalls = _recalls(record, settings, names, rows)
    seeds = int(recalls.loc[recalls["model"] == "private", "seed"].nunique())
    draw_figure(plots.per_class, recalls, FigureInfo("recall_by_class", settings, seeds=seeds))
    title = "Train the other seeds, and the models without noise and without privacy"
    jobs.sweeps(*_grids(record, settings).values(), title=title, key="classes")
    title = "Which class is taken for which, and the rows that are misread"
    with local.box(title, "grid_view", "misread") as is_open:
        if not is_open:
            return
        with failures.show_refusal("The run could not be trained again."):
            tested, labels, read = answers(settings)
            pairs = pd.DataFrame({"class": labels, "taken for": read}).map(names.__getitem__)
            counts = pairs.value_counts(sort=False).rename("rows").reset_index()
            draw_figure(plots.confusion, counts, FigureInfo("confusion", settings), classes=names)
            wrong = pairs[pairs["class"] != pairs["taken for"]]
            first = wrong.head(_MOST)
            st.markdown(
                f"**{len(wrong):,} of {len(pairs):,} test rows are misread**"
                + ("; the first:" if len(wrong) > _MOST else "")
            )
            badges.show(Provenance.NON_PRIVATE)
            words = [*map("{} taken for {}".format, first["class"], first["taken for"])]
            _show_tested(tested, list(first.index), words, settings)


def _show_tested(tested: Array, rows: list[int], words: list[str], settings: Settings) -> None:
    show_rows(tested, rows, words, core.raw(settings).texts[-len(tested) :])


def _grids(record: RunRecord, settings: Settings) -> dict[str, Form]:
    """The runs that tell what a class loses to noise from what it loses to projection, by the name
    of the model."""
    shared = {**core.axes(settings), "seed": core.seeds(settings)}
    ceiling = {**shared, "method": "non_private"}
    grids = {"private": core.grid(settings), "no privacy": ceiling}
    if record.settings.get("k"):
        grids["no noise, same k"] = ceiling | {"k": record.settings["k"]}
    return grids


def _recalls(
    record: RunRecord, settings: Settings, names: Sequence[str], rows: Sequence[int]
) -> pd.DataFrame:
    """Columns model, seed, class, rows (of the test set) and recall of the runs in the cache."""
    private = ("private", settings.seed)
    runs: dict[tuple[str, int | None], Any] = {private: record.metrics["per_class"]}
    for model, grid in _grids(record, settings).items():
        for spec, stored in core.find_runs((grid,)).values():
            if stored is not None:
                recalls = stored.get("metrics", {}).get("per_class") or ()
                runs.setdefault((model, spec.seed), recalls)
    table = [
        (*run, name, count, recall)
        for run, recalls in runs.items()
        for name, count, recall in zip(names, rows, recalls, strict=False)
        if recall is not None
    ]
    return pd.DataFrame(table, columns=["model", "seed", "class", "rows", "recall"])


@memory.cache(
    max_entries=16,
    show_spinner="Training the run again, for what it says of each test row …",
    by=core.run_key,
)
def answers(settings: Settings) -> tuple[Array, Array, Array]:
    """(the test rows as they are, their labels, what the run says of each): records hold no
    classifier."""
    classifier = core.train_run(settings).classifier
    data = core.features(settings)
    tested = core.raw(settings).x_test
    if classifier is None or data.x_test is None or data.y_test is None or tested is None:
        raise DataError("There are no test rows.")
    return tested, data.y_test, classifier.predict(data.x_test)


def row_panel(settings: Settings) -> None:
    """Rows on which A and the present model disagree; without a pinned A of these data, A is the
    same learner without noise."""
    pinned = codec.pins(settings).get("A")
    a = (
        pinned
        if pinned is not None and pinned.data == settings.data
        else dataclasses.replace(settings, epsilon=math.inf)
    )
    tested, labels, now = answers(settings)
    before = answers(a)[2]
    names = core.features(settings).classes
    changed = (now != before).nonzero()[0]
    with st.container(border=True, key="changed-rows"):
        badges.show_row(*badges.DIAGNOSTIC)
        lost, won = (int((says[changed] == labels[changed]).sum()) for says in (before, now))
        st.markdown(
            f"**{len(changed):,} of {len(now):,} test rows get another answer**: {lost} were right"
            f" in A, {won} are right now."
        )
        st.caption(
            f"A: {_words(a)}. Now: {_words(settings)}. A pin in the sidebar takes the place of A."
            " These rows are for your eyes."
        )
        listed = changed[:_MOST].tolist()
        if listed:
            words = [
                f"{names[labels[row]]}: read as {names[before[row]]} at A, {names[now[row]]} now"
                for row in listed
            ]
            _show_tested(tested, listed, words, settings)
    _one_row(listed or list(range(min(_MOST, len(now)))), tested, labels, settings)


def _one_row(offered: list[int], tested: Array, labels: Array, settings: Settings) -> None:
    """One of the offered test rows, its fields to edit where it has any, and what possible models
    say of it."""
    st.markdown(f"## One row, read by {DRAWS} possible models at each ε")
    data = core.features(settings)
    if data.x_test is None:
        return
    row = int(
        local.select(
            "one-row",
            {row: f"test row {row}: {data.classes[labels[row]]}" for row in offered},
            offered[0],
            label="Row",
            help="A test row; those whose answer changed, where there are any.",
            unlinked="Which rows are offered hangs on models that a link does not hold.",
        )
    )
    numbers = data.x_test[row].copy()
    label = data.classes[labels[row]]
    if tested.ndim == 3:
        drawn = browser.canvas(
            tested[row],
            key=f"draw-{settings.data}-{row}",
            alt=f"test row {row}, to draw on or to shift by the arrow keys",
        )
        st.caption(
            f"Class: {plain.text(label)}. Draw on it by mouse or finger, or shift it by the arrow"
            " keys: the models read what you made."
        )
        if drawn:
            numbers = _features_of(drawn, tested.shape[1:], settings)
            label = ""
    elif tested.ndim > 3:
        st.image(tested[row], width=112, caption=plain.text(label))
    elif tested.shape == data.x_test.shape and not data.texts:
        names = [
            plain.text(name)
            for name in (data.names or [f"x{place}" for place in range(data.d)])[:_FIELDS]
        ]
        fields = pd.DataFrame([numbers[:_FIELDS]], columns=names)
        edited = st.data_editor(
            fields,
            hide_index=True,
            key=local.unlinked_key(f"fields-{row}", "No value of a row is in a link."),
        )
        numbers[:_FIELDS] = edited.fillna(0).to_numpy(dtype="float32")[0]
        label = label if edited.equals(fields) else ""
    key = core.run_key(settings)
    if local.value("possible-models", "") != key:
        title = f"Train {DRAWS * len(EPSILONS)} possible models"
        hint = f"{DRAWS} draws of the noise at each of three ε: experiments."
        st.button(
            title,
            icon=":material/scatter_plot:",
            key="train-possible",
            on_click=local.put,
            args=("possible-models", key),
            help=hint,
        )
        return
    table = one_training.answers(_models(settings), numbers, data.classes)
    draw_figure(
        plots.possible_answers, table, FigureInfo("possible_answers", settings), label=label
    )


@memory.cache(max_entries=1)
def _features_of(drawn: str, shape: tuple[int, ...], settings: Settings) -> Array:
    return one_training.read_drawing(drawn, shape, backbone=core.features(settings).backbone)


def _words(settings: Settings) -> str:
    return (
        f"{plain.text(pc.METHODS[settings.method].title)} at"
        f" {plots.epsilon_label(settings.epsilon)}"
    )


def cost_panel(record: RunRecord, settings: Settings) -> None:
    """The figure of what is in the cache so far, and the button that trains the rest."""
    if (
        not has_parts(record.method)
        or record.accuracy is None
        or record.settings.get("noise_multiplier") is None
    ):
        st.info(
            "Needs test rows and a private learner that clips and adds noise, such as PILLAR.",
            icon=":material/block:",
        )
        return
    shared = {
        **core.axes(settings),
        "seed": list(range(settings.seed, settings.seed + _SEEDS)),
    }
    grids = {part: {**shared, **axes} for part, axes in stages(record).items()}
    runs = _runs(grids)
    if core.ships(settings) and any(forms[0] is None for forms in runs.values()):
        jobs.train_first(
            group
            for grid in reversed(grids.values())
            for group in sweep.group_specs(grid | {"seed": settings.seed})
        )
        runs = _runs(grids)
    title = f"What did each part cost? {len(grids)} runs, {_SEEDS} seeds each"
    jobs.sweeps(*grids.values(), title=title, key="costs")
    trained = [form for forms in runs.values() for form in forms if form is not None]
    errors = [str(form["error"]) for form in trained if form.get("error")]
    if errors:
        st.info(plain.text(f"A part could not be left out: {errors[0]}"), icon=":material/block:")
        return
    # no learner's threshold is in the AUC
    metric = "accuracy" if core.metric(settings) == "accuracy" else "auc"
    measured = pd.DataFrame(runs).map(lambda form: form and form["metrics"][metric])
    if runs[list(runs)[-1]][0] is None:
        return
    # a part without a run is counted with the next
    known = measured.loc[:, measured.iloc[0].notna()].dropna()
    titles, together = [], []
    for part in runs:
        together.append(TITLES[part])
        if part in known:
            titles.append(", ".join(together))
            together = []
    table = accuracy_costs({str(part): list(known[part]) for part in known})
    table.insert(1, "title", titles)
    draw_figure(
        part_costs,
        table,
        FigureInfo("part_costs", settings, seeds=len(known)),
        measure=metric.replace("auc", "AUC"),
    )
    st.caption(
        "Features and head: training without privacy. Clipping and steps: all that the learner does"
        " but noise. The settings are this run's in every stage; all but the last add no noise, so"
        " nothing here is private."
    )


def _runs(grids: Mapping[str, Form]) -> dict[str, list[Any]]:
    return {
        part: [form for _, form in core.find_runs([grid]).values()] for part, grid in grids.items()
    }


def noise_panel(settings: Settings) -> None:
    """The animation, and one step in numbers."""
    pillar = (
        settings if settings.method == "pillar" else dataclasses.replace(settings, method="pillar")
    )
    if pillar is not settings:
        st.caption("Shown for PILLAR, whose steps are sums over rows in few public directions.")
    parts = _steps(pillar)
    figure = _figure(pillar, theme.mode(), parts)
    info = FigureInfo(
        "training_steps", pillar, [badges.NON_PRIVATE, badges.PRIVATE, badges.EXPERIMENT]
    )
    show_figure(figure, parts.pushes, info)
    numbers = [int(step) for step in parts.pushes["step"]]
    step = local.slider(
        "noise-step",
        numbers,
        numbers[0],
        label="A step in numbers",
    )
    rows = parts.opened[parts.opened["step"] == step].drop(columns="step")
    st.dataframe(rows, hide_index=True, key="table-noise-step")
    st.caption(
        f"First two of k = {parts.k} public directions, for the score of"
        f" “{plain.text(parts.pushed)}”; lengths are over all directions and classes. Every number"
        f" gets noise of standard deviation {parts.noise:.3g}. More directions are more numbers,"
        " and a smaller ε is more noise on each."
    )


@memory.cache(
    max_entries=8, by=lambda settings, mode, _: (core.run_key(settings), mode), is_free=True
)
def _figure(settings: Settings, mode: Mode, _parts: one_training.TrainingSteps) -> Figure:
    return training_in_steps(
        _parts.points,
        _parts.heads,
        _parts.pushes,
        noise=_parts.noise,
        pushed=_parts.pushed,
        classes=core.split(settings).features.classes,
    )
