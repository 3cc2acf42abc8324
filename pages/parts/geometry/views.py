"""What the geometry page draws: ξ_k, margins, the spectrum and the predicted best k."""

import dataclasses
import math

import pandas as pd
import streamlit as st

from pages.frame import badges, core, jobs, local, theme, words
from pages.frame import settings as codec
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import EPSILONS, Settings
from pages.parts.explore import curves
from pages.parts.geometry import shapes
from pillar_core import geometry as geo
from pillar_core import plots
from pillar_core.plots import k_curves
from pillar_core.studies import geometry

_WHICH = {"pairs": "pairs of classes", "one_versus_rest": "each class against the rest"}
_MANY_CLASSES = 20
_FREE = "Spends no ε: a non-private diagnostic."


def _gain(settings: Settings) -> None:
    """What projecting gained on real sets, with these rows' place among them, before anything is trained."""
    table, facts = geometry.projection_gains(), core.facts(settings)
    ratio = None
    if math.isfinite(settings.epsilon):
        shared = {"n_private": facts.n_private, "d": facts.d, "classes": facts.n_classes}
        ratio = geometry.noise_ratio(**shared, epsilon=settings.epsilon, delta=settings.delta)
    figure = plots.projection_gains(table, spearman=table.attrs["spearman"], mode=theme.mode(), present=ratio)
    show_figure(figure, table, FigureInfo("projection_gains", settings, seeds=5))
    words.say("projection_gains")


def _xi(settings: Settings) -> None:
    kinds = local.choices("bases", {str(kind): plots.BASES[kind][2] for kind in geo.BasisKind}, ["public_pca", "random"])
    offered = dict(list(_WHICH.items())[len(core.features(settings).classes) > geo.MOST_PAIRED :])  # too many classes have no pairs
    which = str(local.choice("which", offered, next(iter(offered))))
    separation = shapes.Separation(settings, which, _standardise())
    n_public = _public_rows(settings)
    table, is_complete = shapes.xi(separation, kinds, n_public)
    table = _with_pinned(table, settings, separation)
    subject = "" if is_complete else "Preview: a few classes, few rows. "
    noised = [badges.PRIVATE] if "dp_pca" in kinds else []
    figure = plots.xi_against_k(table, mode=theme.mode(), k=settings.chosen_k, subject=subject)
    show_figure(figure, table, FigureInfo("xi", settings, [badges.NON_PRIVATE, *noised]))
    if not is_complete:
        work = jobs.Work(f"Separate all {_WHICH[which]}", cost=_FREE, total=shapes.count(separation))
        jobs.panel([{"kind": "separators", **separation.payload}], work)
    if "dp_pca" in kinds:
        words.say("noised_directions", settings=settings)


def _margins(settings: Settings) -> None:
    """Margins of two classes, before and after the projection on the sidebar's k."""
    rows, separation = shapes.rows(settings), shapes.Separation(settings, standardise=_standardise())
    names = {label: rows.classes[label] for label in sorted(set(rows.y.tolist()))}
    nearest, columns = geo.nearest_pair(rows), st.columns(2)
    first = int(local.select("margin-class", names, nearest[0], place=columns[0]))
    rest = {label: name for label, name in names.items() if label != first}
    usual = nearest[0] if first == nearest[1] else nearest[1]
    second = int(local.select("margin-against", rest, usual, place=columns[1]))
    k = shapes.present_k(settings, shapes.basis(separation, geo.BasisKind.PUBLIC_PCA).rank)
    table = shapes.pair_margins(separation, (first, second), k)
    classes = (rows.classes[first], rows.classes[second])
    figure = plots.margin_histogram(table, mode=theme.mode(), k=k, d=rows.x.shape[1], classes=classes)
    show_figure(figure, table, FigureInfo("margin_histogram", settings, [badges.NON_PRIVATE]))


def _spectrum(settings: Settings) -> None:
    separation = shapes.Separation(settings, standardise=_standardise())
    n_public = _public_rows(settings)
    basis = shapes.basis(separation, geo.BasisKind.PUBLIC_PCA, n_public)
    table = geo.spectrum(basis)
    k = None if settings.is_rule_k else min(settings.k, basis.rank)
    figure = plots.spectrum_and_gaps(table, mode=theme.mode(), k=k, rows=basis.n_rows)
    show_figure(figure, table, FigureInfo("spectrum_and_gaps", settings, [badges.PUBLIC]))


def _best(settings: Settings) -> None:
    epsilons = tuple(sorted({*(epsilon for epsilon in EPSILONS if math.isfinite(epsilon)), settings.epsilon}))
    predicted = shapes.predicted_curves(settings, epsilons)
    curve = curves.read(settings)
    method = curves.method_of(settings)
    runs = curve.table[(curve.table["method"] == method) & curve.table["accuracy"].notna()]
    at_budget = predicted[predicted["epsilon"] == settings.epsilon]
    figure = plots.predicted_accuracy(at_budget, runs[runs["epsilon"] == settings.epsilon], mode=theme.mode(), k=settings.chosen_k)
    seeds = settings.seeds if len(runs) else None
    is_drawn = settings.epsilon in set(runs["epsilon"])
    info = FigureInfo("predicted_accuracy", settings, [badges.NON_PRIVATE, badges.THEORY], seeds if is_drawn else None, is_accuracy=True)
    show_figure(figure, at_budget, info)
    measured = k_curves.by_budget(runs, method).get(settings.epsilon, pd.DataFrame())
    model = geo.best_k(at_budget)
    st.caption(k_curves.compare_best_k(measured, ruled=core.rule_k(settings), predicted=int(model["k"].iloc[0]) if len(model) else None))
    words.say("three_k")
    counts = core.class_counts(settings).query("part == 'private' and rows > 0")["rows"]
    if len(counts) > _MANY_CLASSES and counts.max() > 2 * counts.min():
        words.say("uneven_classes")
    if len(runs) and not is_drawn:
        budgets = ", ".join(f"{epsilon:g}" for epsilon in sorted(set(runs["epsilon"])))
        st.caption(f"Measured curves exist at ε = {budgets}; choose one of those in the sidebar to see them on the prediction.")
    measured_best = geo.best_k(runs) if len(runs) else None
    best = geo.best_k(predicted)
    figure = plots.best_k_against_epsilon(best, measured_best, mode=theme.mode())
    show_figure(figure, best, FigureInfo("best_k", settings, [badges.NON_PRIVATE, badges.THEORY], seeds))
    if not curve.is_complete:
        curves.panel(curve, settings)


def _standardise() -> bool:
    return bool(local.linked_value("standardise", False))


def _public_rows(settings: Settings) -> int | None:
    """A choice of how many public rows find the directions, from few to all; None for all."""
    total = core.split(settings).facts.n_public
    offered = [n for n in (20, 50, 100, 200, 500, 1000, 2000, 5000) if n < total]
    left, right = st.columns([1.6, 1], vertical_alignment="bottom")
    with right:
        local.toggle("standardise")
    chosen = local.slider("n_public", [*offered, total], total, place=left)
    return None if chosen == total else int(chosen)


def _with_pinned(table: pd.DataFrame, settings: Settings, separation: shapes.Separation) -> pd.DataFrame:
    """ξ of the pinned A on its own public directions, where A looks at other rows."""
    pinned = codec.pins(settings).get("A")
    if pinned is None or all(getattr(pinned, name) == getattr(settings, name) for name in ("data", "backbone", "public")):
        return table
    pinned_table, _ = shapes.xi(dataclasses.replace(separation, settings=pinned), ["public_pca"], None)
    return pd.concat([table, pinned_table.assign(basis="pinned")], ignore_index=True)


VIEWS = {"gain": _gain, "xi": _xi, "margins": _margins, "spectrum": _spectrum, "best": _best}
"""What draws each option of the page's control."""
