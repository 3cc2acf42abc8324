"""Whom a run serves and whom it misreads: measures of two classes and of rare ones, recall by class, the confusion matrix, misread rows."""

import math

import pandas as pd
import streamlit as st

from pages.frame import badges, core, failures, jobs, memory, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.data import samples
from pillar_core import plots
from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.types import Form, Provenance, RunRecord

_MOST = 20


def panel(record: RunRecord, settings: Settings) -> None:
    """Everything that test rows say by class."""
    if not record.metrics.get("per_class"):
        st.info("There are no test rows, so nothing can be said by class.")
        return
    rows, names = core.test_counts(settings), core.split(settings).features.classes
    with st.container(border=True, key="measures"):
        badges.show(Provenance.NON_PRIVATE)
        table = pd.DataFrame(
            [
                (title, f"{100 * value:.1f}", "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}")
                for title, (value, low, high) in core.measures(record, settings).items()
            ]
            + [("Guessing the most common class", f"{100 * max(rows) / sum(rows):.1f}", "")],
            columns=["measure", "%", "95 % interval"],
        )
        st.dataframe(table, hide_index=True, key="measures-table")
        st.caption("One run. Intervals over test rows, by class; none is known for the AUC of more than two classes.")
    recalls, missing = _recalls(record, settings)
    recalls["class"], recalls["rows"] = recalls["class"].map(dict(enumerate(names))), recalls["class"].map(dict(enumerate(rows)))
    seeds = int(recalls.loc[recalls["model"] == "private", "seed"].nunique())
    show_figure(plots.per_class(recalls, mode=theme.mode()), recalls, FigureInfo("recall_by_class", settings, seeds=seeds))
    if missing:
        title = "Train the other seeds, and the models without noise and without privacy"
        jobs.sweeps(*_grids(record, settings).values(), title=title, cached=0, total=missing, key="classes")
    title = "Which class is taken for which, and the rows that are misread"
    misread = st.expander(title, icon=":material/grid_view:", key="misread", on_change="rerun")
    if misread.open:
        with misread, failures.show_refusal("The run could not be trained again."):
            tested, labels, read = answers(core.run_key(settings), settings)
            texts = core.raw(settings).texts[-len(tested) :]
            pairs = pd.DataFrame({"class": [names[label] for label in labels], "taken for": [names[label] for label in read]})
            counts = pairs.value_counts(sort=False).rename("rows").reset_index()
            show_figure(plots.confusion(counts, classes=names, mode=theme.mode()), counts, FigureInfo("confusion", settings))
            wrong = pairs[pairs["class"] != pairs["taken for"]]
            st.markdown(f"**{len(wrong):,} of {len(pairs):,} test rows are misread**" + ("; the first:" if len(wrong) > _MOST else ""))
            badges.show(Provenance.NON_PRIVATE)
            words = [f"{name} taken for {guess}" for name, guess in wrong.head(_MOST).itertuples(index=False)]
            samples.rows(tested, list(wrong.index[:_MOST]), words, texts)


def _grids(record: RunRecord, settings: Settings) -> dict[str, Form]:
    """The runs that tell what a class loses to noise from what it loses to projection, by the name of the model."""
    shared = {**core.axes(settings), **core.public_axis(settings), "seed": list(range(settings.seed, settings.seed + settings.seeds))}
    ceiling = {**shared, "method": "non_private"}
    grids = {"private": {**shared, "method": settings.method, "k": settings.k or None, "epsilon": settings.epsilon}, "no privacy": ceiling}
    if record.settings.get("k"):
        grids["no noise, same k"] = ceiling | {"k": record.settings["k"]}
    return grids


def _recalls(record: RunRecord, settings: Settings) -> tuple[pd.DataFrame, int]:
    """Columns model, seed, class (its number) and recall of the runs in the cache, and how many runs are missing."""
    missing = 0
    rows: list[tuple[tuple[str, int | None], list[float | None]]] = [(("private", settings.seed), record.metrics["per_class"])]
    for model, grid in _grids(record, settings).items():
        for spec, stored in core.find_runs((grid,)).values():
            missing += stored is None
            if stored is not None and (model, spec.seed) != rows[0][0]:
                rows.append(((model, spec.seed), stored.get("metrics", {}).get("per_class") or []))
    table = [(*run, place, recall) for run, recalls in rows for place, recall in enumerate(recalls) if recall is not None]
    return pd.DataFrame(table, columns=["model", "seed", "class", "recall"]), missing


@memory.of_rows(max_entries=16, show_spinner="Training the run again, for what it says of each test row …")
def answers(fingerprint_: str, _settings: Settings) -> tuple[Array, Array, Array]:
    """(the test rows as they are, their labels, what the run says of each): records hold no classifier."""
    classifier, data, tested = core.train_run(_settings).classifier, core.features(_settings), core.raw(_settings).x_test
    if classifier is None or data.x_test is None or data.y_test is None or tested is None:
        raise DataError("There are no test rows.")
    return tested, data.y_test, classifier.predict(data.x_test)
