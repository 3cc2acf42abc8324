"""Playgrounds with known truth: a Gaussian mixture, and disjunctions of random graphs."""

import math

import pandas as pd
import streamlit as st

from pages.frame import badges, local, memory, theme, words
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pillar_core import plots, theory
from pillar_core.data.generators import gaussian_mixture
from pillar_core.numerics import geometric_grid
from pillar_core.studies import playgrounds
from pillar_core.theory.components import ComponentGraph

_N = (30, 100, 300, 1000, 3000, 10_000)
_D = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_SEEDS = 3
_SIMULATED, _COMPUTED = (badges.NON_PRIVATE, badges.SYNTHETIC), (badges.THEORY, badges.SYNTHETIC)


def mixture(settings: Settings) -> None:
    """Two Gaussian classes on a line: error measured and predicted, with one public direction and with none."""
    words.say("mixture", st.markdown)
    d, sigma, theta, n_public = local.sliders("mixture.d", "mixture.sigma", "mixture.theta", "mixture.n_public")
    epsilon = settings.epsilon
    table = _mixture(d, theta, sigma, epsilon, n_public, settings.seed)
    share = float(table[table["projection"] != "none"]["held"].mean())
    best = 1 - gaussian_mixture.bayes_accuracy(sigma=sigma)
    curve = _predict(d, theta, sigma, epsilon, share)
    figure = plots.mixture_errors(table, curve, mode=theme.mode(), floor=best)
    show_figure(figure, table, FigureInfo("mixture", settings, _SIMULATED, _SEEDS))
    words.say("mixture_held", rows=n_public, percent=100 * share, missed=1 - share, epsilon=epsilon)
    target = local.slider("mixture.target")
    lines = [
        (d_, name, theory.rows_needed(error=target, epsilon=epsilon, k=k, theta=theta, sigma=sigma) if math.isfinite(epsilon) else 1.0)
        for d_ in _D
        for name, k in (("first public direction", 1), ("none", d_))
    ]
    needed = pd.DataFrame(lines, columns=["d", "projection", "rows"])
    if needed["rows"].map(math.isfinite).any():
        figure = plots.rows_against_dimension(needed, mode=theme.mode(), present=d)
        show_figure(figure, needed, FigureInfo("rows_needed", settings, _COMPUTED))
    else:
        words.say("mixture_out_of_reach", st.info, sigma=sigma, best=100 * best, target=100 * target)


def disjunctions(settings: Settings) -> None:
    """Random graphs: components against unlabelled rows, and what the exponential mechanism then errs."""
    words.say("disjunctions", st.markdown)
    first, second, third, fourth = st.columns(4)
    d = local.slider("graph.d", place=first)
    k = local.slider("graph.k", [k for k in (4, 5, 10, 20, 30, 50) if k <= d - 4], place=second)
    p, n = local.slider("graph.p", place=third), local.slider("graph.n", place=fourth)
    graph = _graph(d, k, p, n, settings.seed)
    figure = plots.component_graph(graph.labels, graph.edges, k=k, n_unlabelled=n, mode=theme.mode())
    info = FigureInfo("component_graph", settings, [badges.PUBLIC, badges.SYNTHETIC])
    show_figure(figure, plots.component_table(graph.labels, k=k), info)
    bound = theory.CALCULATORS["semi_private_theorem_2"](d=d, k=k, p=p).value("unlabelled rows", theory.Form.CORRECTED)
    if math.isinf(bound):
        st.caption("Theorem 2, corrected, promises nothing for so few variables.")
    else:
        st.caption(f"Theorem 2, corrected, promises two components from {math.ceil(bound):,} unlabelled rows on.")
    if graph.count > theory.MOST_COMPONENTS:
        words.say("many_components", st.info, icon="hub", count=graph.count)
        return
    epsilons = tuple(sorted({0.1, 0.5, 2.0, min(settings.epsilon, 8.0)}))
    table = _choices(d, k, p, n, epsilons, settings.seed)
    figure = plots.choice_errors(table.dropna(subset=["error"]), mode=theme.mode())
    show_figure(figure, table, FigureInfo("choice_errors", settings, _SIMULATED, seeds=5))
    words.say("exponential_mechanism")


@memory.cache(max_entries=32, show_spinner="Training a few dozen models …")
def _mixture(d: int, theta: float, sigma: float, epsilon: float, n_public: int, seed: int) -> pd.DataFrame:
    return playgrounds.mixture(d=d, theta=theta, sigma=sigma, epsilon=epsilon, n_private=_N, n_public=n_public, seeds=_SEEDS, seed=seed)


def _predict(d: int, theta: float, sigma: float, epsilon: float, share: float) -> pd.DataFrame:
    """The closed form between the measured points: columns projection, n_private, predicted."""
    sides = (("first public direction", 1, share), ("none", d, 1.0))
    lines = [
        (name, n, theory.predicted_error(n_private=n, epsilon=epsilon, k=k, theta=theta, sigma=sigma, held=share_))
        for name, k, share_ in sides
        for n in geometric_grid(_N[0], _N[-1], 60)
    ]
    return pd.DataFrame(lines, columns=["projection", "n_private", "predicted"])


@memory.cache(max_entries=32)
def _graph(d: int, k: int, p: float, n: int, seed: int) -> ComponentGraph:
    return theory.component_graph(theory.random_graph_rows(n, d=d, k=k, p=p, seed=seed, part="unlabelled")[0])


@memory.cache(max_entries=32, show_spinner="Weighing every union of components …")
def _choices(d: int, k: int, p: float, n: int, epsilons: tuple[float, ...], seed: int) -> pd.DataFrame:
    counts = (5, 10, 20, 50, 100, 200, 500)
    return playgrounds.disjunctions(d=d, k=k, p=p, epsilons=epsilons, n_private=counts, n_unlabelled=n, seeds=5, seed=seed)
