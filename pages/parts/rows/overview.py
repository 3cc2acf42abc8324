"""What the chosen rows look like: sizes, spectrum, classes, a map of the public ones, and a few raw
rows."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, browser, core, local, memory, plain, receipts, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.arrays import Array
from pillar_core.data import encoding, uploads
from pillar_core.errors import DataError
from pillar_core.plots.theme import Figure
from pillar_core.types import Provenance

_IMAGES, _ROWS, _COLUMNS = 20, 6, 12


def summary(settings: Settings) -> None:
    """How many rows have which role."""
    split = core.split(settings)
    facts = split.facts
    st.header(plain.text(uploads.title_of(settings.data)), anchor=False)
    words.metrics(
        (
            "Private rows",
            f"{facts.n_private:,}",
            (
                "Protected by ε. Their number is public: settings and scaling take it as known, and"
                " one row more or less does not change it."
            ),
        ),
        (
            "Public rows",
            f"{facts.n_public:,}",
            "Not protected. They decide centre, scale and directions.",
        ),
        ("Features", f"{facts.d:,}", "Numbers per row after the backbone."),
        ("Classes", f"{facts.n_classes:,}", "Labels 0 … C − 1, named as in the source."),
    )
    for line in dict.fromkeys([*split.features.notes, *split.notes]):
        st.caption(plain.text(line))


def figures(settings: Settings) -> None:
    """Figures of the rows with their provenance; of rows that were brought the exact ones once they
    are asked for."""
    facts = core.split(settings).facts
    if facts.n_public:
        spectrum = pc.geometry.spectrum_of(core.spectrum(settings)["eigenvalue"].to_numpy())
        figure = _figure(
            settings, plots.spectrum_and_gaps, spectrum, k=settings.k or None, rows=facts.n_public
        )
        show_figure(figure, spectrum, FigureInfo("spectrum", settings, [Provenance.PUBLIC]))

    left, right = st.columns(2)
    with left:
        if is_exact := receipts.look(settings):
            counts = core.class_counts(settings)
            figure = _figure(settings, plots.class_balance, counts)
            show_figure(
                figure, counts, FigureInfo("class_balance", settings, [Provenance.NON_PRIVATE])
            )
    if facts.n_public:
        with right:
            places, badge = core.public_map(settings), str(Provenance.PUBLIC)
            classes = core.split(settings).features.classes
            figure = _figure(settings, plots.map_2d, places, classes=classes)
            colour = is_exact and local.choice(
                "map-colour",
                label="Colour",
                default="class",
                options={"class": "their class", "model": "what a private model says"},
            )
            if colour == "model":
                answered_by, badge = (
                    (
                        f"{pc.METHODS[settings.method].title} at"
                        f" {plots.epsilon_label(settings.epsilon)}"
                    ),
                    badges.EXPERIMENT,
                )
                places = places.assign(**{"class": _answers(settings)[: len(places)]})
                figure = plots.map_2d(places, classes=classes, answered_by=answered_by)
            info = FigureInfo("public_map", settings, [badge])
            show_figure(figure, places, info)
            images = core.public_images(settings)
            if images is not None and len(images):
                browser.hover_pictures(info.chart, images)
    if is_exact:
        with st.container(border=True, key="samples"):
            st.markdown("**The first rows, as they are**")
            badges.show(Provenance.NON_PRIVATE)
            data = core.raw(settings)
            numbers = range(min(len(data.x_train), _IMAGES if data.x_train.ndim > 2 else _ROWS))
            names = (
                [] if data.y_train is None else [data.classes[data.y_train[row]] for row in numbers]
            )
            show_rows(data.x_train, list(numbers), names, data.texts)


@memory.cache(
    max_entries=24,
    by=lambda settings, draw, *_, **__: (core.split_key(settings), settings.k, draw, theme.mode()),
    is_free=True,
)
def _figure(
    settings: Settings, draw: Callable[..., Figure], _table: pd.DataFrame, **named: Any
) -> Figure:
    """A figure of the rows, drawn once for all clicks on the page."""
    return draw(_table, **named)


@memory.cache(
    max_entries=8, show_spinner="Asking a private model about the public rows …", by=core.run_key
)
def _answers(settings: Settings) -> list[str]:
    """What the settings' model says of each public row; a function of the model, so it spends
    nothing more."""
    classifier, parts = core.train_run(settings).classifier, core.split(settings)
    if classifier is None:
        raise DataError("This learner gives no model.")
    return [parts.features.classes[label] for label in classifier.predict(parts.public_x)]


def show_rows(x: Array, numbers: list[int], names: list[str], texts: tuple[str, ...] = ()) -> None:
    """Some rows of x with a name each, or none of them with one; of texts how they begin."""
    if x.ndim > 2:
        alts = [
            f"row {row}: {name}"
            for row, name in zip(
                numbers, names or ["an image without a label"] * len(numbers), strict=True
            )
        ]
        st.image(
            [x[row] for row in numbers],
            caption=[plain.text(name) for name in names] or None,
            width=64,
            alt=alts,
        )
    else:
        numbers_or_texts = (
            {"text": encoding.beginnings(texts[row] for row in numbers)}
            if texts
            else x[numbers, :_COLUMNS]
        )
        frame = pd.DataFrame(numbers_or_texts).rename(
            columns=lambda name: name if texts else f"x{name}"
        )
        if names:
            frame.insert(0, "class", names)
        st.dataframe(frame, hide_index=True, key="sample-rows")
