"""What Curves draws below the result: curves over k and over ε, the whole plane, classes, odds,
reasons."""

import math

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import (
    badges,
    core,
    history,
    jobs,
    memory,
    navigation,
    odds,
    plain,
    session,
    sidebar,
    theme,
    words,
)
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, draw_figure, show_answer, show_figure
from pages.frame.settings import Settings
from pages.parts.curves import panels, result
from pages.parts.curves.grid import Curves, method_of, read
from pillar_core import plots, store
from pillar_core.params import params_of
from pillar_core.plots import accuracy, intervals
from pillar_core.plots.budgets import budget_curve
from pillar_core.plots.theme import Figure
from pillar_core.runs import sweep
from pillar_core.studies import one_training
from pillar_core.studies.budget_curves import RUNS, fit_budget_curve
from pillar_core.types import RunRecord

NEEDS_CURVES = ("k", "plane")
"""The views that are drawn from the grid of runs."""
_reasons = core.of_run(one_training.reasons, show_spinner="Reading the run's own figures …")
_DRAWN = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 5.0, 8.0)


def _budgets(record: RunRecord, settings: Settings) -> None:
    """Every run at hand over ε, the curve through three of them, and the button that trains what is
    missing, cheapest first."""
    if not pc.METHODS[settings.method].is_private:
        st.info(
            "This learner spends no ε: its accuracy is the same at each.",
            icon=":material/horizontal_rule:",
        )
        return
    grid = core.grid(settings, epsilon=list(_DRAWN))
    first = grid | {"epsilon": list(RUNS), "seed": settings.seed}
    if core.ships(settings) and settings.k == codec.RULE:  # each move of k would train three more
        jobs.train_first(sweep.group_specs(first))
    metric = core.metric(settings)
    runs = [
        (form["cell"]["epsilon"], form["metrics"][metric])
        for _, form in core.find_runs([grid]).values()
        if form is not None and not form.get("error")
    ]
    known = intervals.over_seeds(
        pd.DataFrame(runs, columns=["epsilon", "accuracy"]),
        by=["epsilon"],
        value="accuracy",
    )
    at_hand = {core.nearest(budget, known["epsilon"]) for budget in RUNS if len(known)}
    fitted = known[known["epsilon"].isin(at_hand)]
    curve, band = None, "Three different ε make a curve."
    if len(fitted) == len(RUNS):
        fit = fit_budget_curve(
            list(fitted["epsilon"]), list(fitted["mean"]), n_classes=record.facts.n_classes
        )
        enough = (
            f"wide enough for {fit.inside} of {fit.sets} other"
            f" sets{'' if metric == 'accuracy' else ', whose curves are of accuracy'}"
        )
        curve = fit.table(_DRAWN)
        band = (
            f"Band: ± {100 * fit.half_width:.1f} points around a curve through three of them,"
            f" {enough}."
        )
    if len(known):
        star = (
            (settings.epsilon, record.metrics[metric])
            if metric in record.metrics and math.isfinite(settings.epsilon)
            else None
        )
        seeds = (int(known["seeds"].min()), int(known["seeds"].max()))
        info = FigureInfo(
            "accuracy_over_epsilon",
            settings,
            [*badges.DIAGNOSTIC, *([] if curve is None else [badges.FITTED])],
            seeds,
        )
        draw_figure(
            budget_curve,
            known,
            info,
            curve,
            _DRAWN,
            takes=["epsilon"],
            band=band,
            present=star,
            measure=metric.replace("_", " "),
        )
        ends = (
            f" Below ε = {fitted['epsilon'].min():g} nothing is drawn: there such fits miss by far"
            " more."
            if curve is not None
            else ""
        )
        st.caption(f"Click a point, or choose a line of its table, to take its ε.{ends}")
    if curve is None:
        title = (
            f"Train at ε = {', '.join(f'{epsilon:g}' for epsilon in RUNS)}, and draw the whole"
            " curve"
        )
        jobs.sweeps(first, title=title, key="budgets")
    else:
        title = f"Measure the curve: {len(_DRAWN)} ε × {settings.seeds} seeds"
        jobs.sweeps(grid, title=title, key="budgets")


def _why_it_works(settings: Settings) -> None:
    """The three pictures of the run that the settings describe."""
    st.markdown("## Why it works")
    reasons = _reasons(settings)
    if reasons is None:
        st.caption(
            "This run left the public directions aside, for its private rows spread elsewhere:"
            " there is no prior to show."
        )
        return
    reached = " → ".join(f"{100 * part:.1f} %" for part in reasons.accuracies or ())
    fields = {
        "rows": len(reasons.believed),
        "effective": reasons.effective,
        "reached": f" Test accuracy {reached}." if reached else "",
    }
    for column, (name, drawing) in zip(st.columns(3), words.WORDS["kalman"].items(), strict=True):
        table = getattr(reasons, name)
        style = drawing | {"caption": drawing["caption"].format_map(fields)}
        provenance = [
            badges.PRIVATE,
            *([badges.NON_PRIVATE] if name == "distilled" and reached else []),
            badges.EXPERIMENT,
        ]
        with column:
            draw_figure(
                plots.by_direction,
                table,
                FigureInfo(f"kalman_{name}", settings, provenance),
                **style,
            )
    st.caption(
        "All three are computed from what this run released anyway and from public rows; they cost"
        " no further ε. What each part is worth on average is in research/kalman.md, under “Part by"
        " part”."
    )


def choice(settings: Settings) -> str:
    """The view that is chosen; it is part of the link."""
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    with left:
        titles = {
            "k": "Curves",
            "epsilon": "ε curve",
            "plane": "k × ε plane",
            "costs": "Costs",
            "noise": "Noise",
            "classes": "Classes",
            "rows": "Rows",
            "odds": "Odds",
            "why": "Why these settings?",
        }
        session.draw_setting(
            st.segmented_control,
            "view",
            options=list(titles),
            format_func=titles.__getitem__,
            label="View",
            label_visibility="collapsed",
        )
    with right:
        sidebar.select("method", lambda name: pc.METHODS[name].title)
    return settings.view


def draw(view: str, curves: Curves, record: RunRecord, settings: Settings) -> None:
    """Draws one view."""
    match view:
        case "k":
            _over_k(curves, record, settings)
        case "plane":
            _plane(curves, record, settings)
        case "epsilon":
            _budgets(record, settings)
        case "costs":
            panels.cost_panel(record, settings)
        case "classes":
            panels.class_panel(record, settings)
        case "odds":
            draw_odds(record, settings)
        case "why":
            draw_why(record, settings)
        case "noise":
            panels.noise_panel(settings)
        case "rows":
            panels.row_panel(settings)


def _over_k(curves: Curves, record: RunRecord, settings: Settings) -> None:
    if not curves.grids:
        st.info(
            "These curves count directions of public rows: choose a public set in the sidebar.",
            icon=":material/show_chart:",
        )
        return
    star, trail = None, history.table(settings)
    ks, accuracies = [*trail["k"]], [*trail["accuracy"]]
    if record.accuracy is not None and record.settings.get("k"):
        star = plots.Here(int(record.settings["k"]), settings.epsilon, record.accuracy)
        ks, accuracies = [star.k, *ks], [star.accuracy, *accuracies]
    pinned = _pinned_curves(settings)
    own = curves.table.loc[curves.table["method"] == method_of(settings), "k"].tolist()
    span = own or curves.grids[0]["k"]
    reach = max((k for k in ks if not min(span) <= k <= max(span)), default=0)
    # outwards to a whole twentieth, so that a figure stays while single runs move
    drawn = curves.table["accuracy"]
    lowest, highest = min(accuracies, default=1.0), max(accuracies, default=0.0)
    heights = (
        *([math.floor(20 * lowest) / 20] if lowest < drawn.min() else []),
        *([math.ceil(20 * highest) / 20] if highest > drawn.max() else []),
    )
    drawn_from = (
        curves.key,
        theme.mode(),
        settings.epsilon,
        core.largest_k(settings),
        reach,
        heights,
        settings.a,
        len(pinned),
        core.majority(settings),
        zero_shot := core.zero_shot(settings),
    )
    base = "-".join(map(str, drawn_from))
    measured = _curves_figure(base, curves, settings, reach, pinned, heights)
    runs = accuracy.runs(measured, present=star, history=trail)
    info = FigureInfo("accuracy_against_k", settings, seeds=curves.seeds)
    show_figure(measured, lambda: _with_star(curves.table, settings), info, base=base, runs=runs)
    curve = intervals.by_budget(curves.table, method_of(settings)).get(
        settings.epsilon, pd.DataFrame()
    )
    unknown = (
        "Fewer than three seeds are there"
        if len(curve)
        else f"No curve at {plots.epsilon_label(settings.epsilon)} is there"
    )
    st.caption(
        intervals.compare_best_k(curve, ruled=core.rule_k(settings))
        or f"{unknown}: nothing says yet which k are as good."
    )
    if zero_shot is not None:
        st.caption(
            "**Do you need private rows at all?** Naming the class whose name is nearest, with the"
            f" text half of the same backbone, reaches {100 * zero_shot:.1f} % of the test rows. It"
            " reads no train row, so ε = 0."
        )
    if star is not None:
        label = (
            f"How near the classes lie in k = {star.k} directions: margins before and after the"
            " projection"
        )
        navigation.link(
            "why",
            label,
            icon=":material/bar_chart:",
            changes={"controls": "geometry-view:margins"},
        )
    if record.method == "pillar":
        changes = {"method": one_training.LEARNER, "k": codec.RULE, "view": "why"}
        navigation.link(
            "curves",
            "No k to choose: PILLAR Kalman at the same ε, which weighs each sum by its noise",
            changes=changes,
        )


@memory.cache(is_free=True)
def _curves_figure(
    key_: str,
    _curves: Curves,
    _settings: Settings,
    _reach: int,
    _pinned: pd.DataFrame,
    _heights: tuple[float, ...],
) -> Figure:
    """The figure over k without the visit's own runs: to draw it anew would cost each move
    more than all the rest."""
    method = method_of(_settings)
    k_max = core.largest_k(_settings)
    return accuracy.accuracy_curves(
        _curves.table,
        budget=_settings.epsilon,
        method=method,
        k_max=k_max,
        pinned=_pinned,
        reach=_reach or None,
        guesses=(core.majority(_settings), core.zero_shot(_settings)),
        heights=_heights,
    )


def _with_star(table: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    star = store.default().get_json("record", core.run_key(settings))
    return pd.concat([table, sweep.table([star] if star else [])]).drop_duplicates(
        ["method", "k", "epsilon", "seed"]
    )


def _plane(curves: Curves, record: RunRecord, settings: Settings) -> None:
    method = method_of(settings)
    runs = curves.table[curves.table["method"] == method]
    if runs.empty:
        st.info(
            "The plane needs the grid below: run it once, it is kept.", icon=":material/grid_on:"
        )
        return
    k = record.settings.get("k")
    star = (int(k), settings.epsilon) if k else None
    info = FigureInfo("accuracy_plane", settings, seeds=curves.seeds)
    draw_figure(
        plots.accuracy_heatmap, runs, info, takes=["k", "epsilon"], method=method, present=star
    )
    st.caption("Click a cell, or choose a line of its table, to take its k and ε.")


def draw_odds(record: RunRecord, settings: Settings) -> None:
    """What an attacker gains from the run."""
    table = odds.table(record)
    if table is None:
        reason = (
            "Without a finite budget, with subsampled steps, or where settings were tuned, there is"
            " no closed curve to read odds from."
        )
        st.info(reason, icon=":material/casino:")
        return
    draw_figure(
        plots.odds_dots,
        table,
        FigureInfo("odds", settings, [badges.PRIVATE, badges.EXPERIMENT]),
        protected=f"one {odds.unit(settings.data)}",
    )
    events = "; ".join(record.guarantee.events)
    st.caption(
        f"From the trade-off curve of what really ran ({events}),"
        f" {odds.relation_words(settings.relation, settings.data)}, at every slack δ. "
    )


def draw_why(record: RunRecord, settings: Settings) -> None:
    """The run's settings, why they are so, and what its guarantee assumes."""
    st.markdown("## Why these settings")
    st.markdown(
        "\n".join(f"- {plain.text(reason)}" for reason in record.why)
        or "Every setting was given; no rule chose one."
    )
    declared = params_of(pc.METHODS[record.method].settings)
    chosen = {
        name: declared[name].none_means if value is None else value
        for name, value in record.settings.items()
    }
    lines = [
        (name, f"{value:.6g}" if isinstance(value, float) else str(value), declared[name].help)
        for name, value in chosen.items()
    ]
    table = pd.DataFrame(lines, columns=["setting", "value", "meaning"])
    left, right = st.columns([3, 2])
    columns = {
        "setting": st.column_config.TextColumn(width=125),
        "value": st.column_config.TextColumn(width=85),
    }
    left.dataframe(
        table,
        hide_index=True,
        key="run-settings",
        height=38 + 35 * len(table),
        column_config=columns,
    )
    with right:
        st.markdown("**What the guarantee assumes**")
        st.markdown("\n".join(f"- {plain.text(line)}" for line in record.guarantee.assumptions))
        for line in record.notes:
            st.caption(plain.text(line))
    st.caption(f"{pc.METHODS[record.method].title}: {pc.METHODS[record.method].source}.")
    if record.method == one_training.LEARNER:
        _why_it_works(settings)
    show_answer("never_worse", settings)


def _pinned_curves(settings: Settings) -> pd.DataFrame:
    """Each pin's runs over k where the cache has them, else its one run; the column pin has its
    letter."""
    pins = codec.pins(settings)
    tables = [pd.DataFrame(columns=["method", "k", "epsilon", "seed", "accuracy", "pin"])]
    for letter, run in result.pinned_runs(settings).items():
        pinned, k = pins[letter], run.settings.get("k")
        if run.accuracy is not None and k:
            table = read(pinned).table
            rows = table[(table["method"] == pinned.method) & (table["epsilon"] == pinned.epsilon)]
            if rows.empty:
                values = (pinned.method, k, pinned.epsilon, pinned.seed, run.accuracy)
                rows = pd.DataFrame([values], columns=tables[0].columns[:-1])
            tables.append(rows.assign(pin=letter))
    return pd.concat(tables[1:] or tables)
