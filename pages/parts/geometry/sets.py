"""The geometry page's comparison of several feature sets: accuracy against k of every set whose runs the cache holds."""

import streamlit as st

from pages.frame import badges, local, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.explore import curves
from pillar_core import plots
from pillar_core.data import uploads
from pillar_core.runs import records
from pillar_core.studies import feature_sets


def draw(settings: Settings) -> None:
    """One line per set at the sidebar's ε; a choice of sets where there are several."""
    runs = records.all_runs()
    method = curves.method_of(settings)
    titles = {name: uploads.title_of(name) for name in runs["dataset"].unique()} if len(runs) else {}
    table = feature_sets.curves_of_sets(
        runs, method=method, epsilon=settings.epsilon, titles=titles, delta=settings.delta, relation=settings.relation
    )
    names = list(dict.fromkeys(table["set"]))
    if not names:
        budgets = sorted(set(runs["epsilon"].dropna())) if len(runs) else []
        elsewhere = f" There are runs at ε = {', '.join(f'{epsilon:g}' for epsilon in budgets)}." if budgets else ""
        st.info(
            "Every data set and backbone whose curves were measured is drawn here. Measure some first: the button is on the view “Best k”, "
            f"once for each choice in the sidebar.{elsewhere}",
            icon=":material/stacked_line_chart:",
        )
        return
    chosen = local.choices("sets", names, names[: plots.MOST_SETS])
    drawn = table[table["set"].isin(chosen[: plots.MOST_SETS])]
    figure = plots.accuracy_of_sets(drawn, epsilon=settings.epsilon, mode=theme.mode(), k=settings.chosen_k)
    drawn_sets, seeds = [name for name in titles if drawn["set"].str.startswith(titles[name]).any()], int(drawn["seed"].nunique())
    info = FigureInfo("feature_sets", settings, [badges.NON_PRIVATE], seeds, is_synthetic=False, sets=drawn_sets)
    show_figure(figure, drawn, info)
    if len(names) == 1:
        st.caption("Choose another data set or backbone in the sidebar and measure its curves on the view “Best k”: both are drawn then.")
