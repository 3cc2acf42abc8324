"""What Explore draws below the result: curves over k, the whole plane, classes, odds, reasons."""

import functools

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, history, memory, navigation, odds, plain, session, theme, words
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure, take_point
from pages.frame.settings import Settings
from pages.parts.explore import budgets, classes, costs, kalman, noise, result, rows
from pages.parts.explore.curves import Curves, method_of, read
from pillar_core import plots, store
from pillar_core.params import params_of
from pillar_core.plots import accuracy, k_curves
from pillar_core.plots.theme import Figure
from pillar_core.runs import sweep
from pillar_core.types import Form, RunRecord

NEEDS_CURVES = ("k", "plane")
"""The views that are drawn from the grid of runs."""


def choice(settings: Settings) -> str:
    """The view that is chosen; it is part of the link."""
    hint = "Each view is drawn from the same run and the same curves; the choice is part of the link."
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        style, titles = session.widget("view") | {"label": "View", "help": hint}, words.WORDS["views"]
        st.segmented_control(options=list(titles), format_func=titles.__getitem__, **style)
    with right:
        result.learner()
    return settings.view


def draw(view: str, curves: Curves, record: RunRecord, settings: Settings) -> None:
    """Draws one view."""
    match view:
        case "k":
            _over_k(curves, record, settings)
        case "epsilon":
            budgets.panel(record, settings)
        case "plane":
            _plane(curves, record, settings)
        case "costs":
            costs.panel(record, settings)
        case "noise":
            noise.panel(settings)
        case "classes":
            classes.panel(record, settings)
        case "rows":
            rows.panel(settings)
        case "odds":
            _odds(record, settings)
        case _:
            _why(record, settings)


def _over_k(curves: Curves, record: RunRecord, settings: Settings) -> None:
    if not curves.grids:
        st.info("These curves count directions of public rows: choose a public set in the sidebar.", icon=":material/show_chart:")
        return
    star = None
    if record.accuracy is not None and record.settings.get("k"):
        star = plots.Here(int(record.settings["k"]), settings.epsilon, record.accuracy)
    ks, pinned = curves.grids[0]["k"], _pinned_curves(settings)
    reach = 0 if star is None or ks[0] <= star.k <= ks[-1] else star.k
    drawn_from = (
        curves.key,
        theme.mode(),
        settings.epsilon,
        core.largest_k(settings),
        reach,
        settings.a,
        len(pinned),
        core.majority(settings),
        zero_shot := core.zero_shot(settings),
    )
    base = "-".join(map(str, drawn_from))
    measured = _curves_figure(base, curves, settings, reach, pinned)
    runs = accuracy.runs(measured, present=star, history=history.table(settings), mode=theme.mode())
    info = FigureInfo("accuracy_against_k", settings, seeds=curves.seeds)
    show_figure(measured, lambda: _with_star(curves.table, settings), info, base=base, runs=runs)
    curve = k_curves.by_budget(curves.table, method_of(settings)).get(settings.epsilon, pd.DataFrame())
    st.caption(k_curves.compare_best_k(curve, ruled=core.rule_k(settings)) or "With two seeds or more, this line says which k are as good.")
    if zero_shot is not None:
        words.say("zero_shot", percent=100 * zero_shot)
    if star is not None:
        label = f"How near the classes lie in k = {star.k} directions: margins before and after the projection"
        navigation.link("geometry", label, icon=":material/bar_chart:", changes={"controls": "geometry-view:margins"})
    if record.method == "pillar":
        changes = {"method": kalman.LEARNER, "k": codec.RULE, "view": "why"}
        navigation.link("explore", "No k to choose: PILLAR Kalman at the same ε, and why it works", changes=changes)


@memory.cache(max_entries=64, is_free=True)
def _curves_figure(key_: str, _curves: Curves, _settings: Settings, _reach: int, _pinned: pd.DataFrame) -> Figure:
    """Explore's figure over k without the visit's own runs: to draw it anew would cost each move more than all the rest."""
    method, k_max = method_of(_settings), core.largest_k(_settings)
    style: Form = {"mode": theme.mode(), "method": method, "k_max": k_max, "pinned": _pinned, "reach": _reach or None}
    style |= {"guesses": (core.majority(_settings), core.zero_shot(_settings))}
    return accuracy.accuracy_curves(_curves.table, budget=_settings.epsilon, **style)


def _with_star(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    star = store.default().get_json("record", core.run_key(settings))
    return pd.concat([table, sweep.table([star] if star else [])]).drop_duplicates(["method", "k", "epsilon", "seed"])


def _plane(curves: Curves, record: RunRecord, settings: Settings) -> None:
    method = method_of(settings)
    if not (curves.table["method"] == method).any():
        st.info("The plane needs the grid below: run it once, it is kept.", icon=":material/grid_on:")
        return
    k = record.settings.get("k")
    star = (int(k), settings.epsilon) if k else None
    figure = plots.accuracy_heatmap(curves.table, mode=theme.mode(), method=method, present=star)
    info = FigureInfo("accuracy_plane", settings, seeds=curves.seeds)
    show_figure(figure, curves.table, info, on_select=functools.partial(take_point, info.name, k=int, epsilon=float))
    st.caption("Click a cell to take its k and ε.")


def _odds(record: RunRecord, settings: Settings) -> None:
    table = odds.table(record)
    if table is None:
        reason = "Without a finite budget, with subsampled steps, or where settings were tuned, there is no closed curve to read odds from."
        st.info(reason, icon=":material/casino:")
        return
    figure = plots.odds_dots(table, mode=theme.mode(), protected=f"one {odds.unit(settings.data)}")
    show_figure(figure, table, FigureInfo("odds", settings, [badges.PRIVATE, badges.EXPERIMENT]))
    words.say("odds", events="; ".join(record.guarantee.events), relation=odds.relation_words(settings.relation, settings.data))


def _why(record: RunRecord, settings: Settings) -> None:
    st.markdown("## Why these settings")
    st.markdown("\n".join(f"- {plain.text(reason)}" for reason in record.why) or "Every setting was given; no rule chose one.")
    table = _settings_table(record)
    left, right = st.columns([3, 2])
    columns = {"setting": st.column_config.TextColumn(width=125), "value": st.column_config.TextColumn(width=85)}
    left.dataframe(table, hide_index=True, key="run-settings", height=38 + 35 * len(table), column_config=columns)
    with right:
        st.markdown("**What the guarantee assumes**")
        st.markdown("\n".join(f"- {plain.text(line)}" for line in record.guarantee.assumptions))
        for line in record.notes:
            st.caption(plain.text(line))
    st.caption(f"{pc.METHODS[record.method].title}: {pc.METHODS[record.method].source}.")
    if record.method == kalman.LEARNER:
        kalman.panel(settings)


def _settings_table(record: RunRecord) -> pd.DataFrame:
    """The run's solved settings in words."""
    declared = params_of(pc.METHODS[record.method].settings)
    rows = [(name, _value_words(value, declared[name].none_means), declared[name].help) for name, value in record.settings.items()]
    return pd.DataFrame(rows, columns=["setting", "value", "meaning"])


def _value_words(value: object, none_means: str) -> str:
    if value is None:
        return none_means
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _pinned_curves(settings: Settings) -> pd.DataFrame:
    """Each pin's runs over k where the cache has them, else its one run; the column pin has its letter."""
    pins, tables = codec.pins(settings), [pd.DataFrame(columns=["method", "k", "epsilon", "seed", "accuracy", "pin"])]
    for letter, run in result.pinned_runs(settings).items():
        pinned = pins[letter]
        if run.accuracy is None or not run.settings.get("k"):
            continue
        table = read(pinned).table
        rows = table[(table["method"] == pinned.method) & (table["epsilon"] == pinned.epsilon)]
        single = {"method": pinned.method, "k": run.settings["k"], "epsilon": pinned.epsilon, "seed": pinned.seed, "accuracy": run.accuracy}
        tables.append((rows if len(rows) else pd.DataFrame([single])).assign(pin=letter))
    return pd.concat(tables[1:] or tables)
