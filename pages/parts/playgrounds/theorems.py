"""The calculators of the page Playgrounds: a theorem, its inputs, its numbers in printed and
corrected form, and the ranges it states. And its playgrounds with known truth: a Gaussian mixture,
and disjunctions of random graphs."""

import math
from typing import Any, Literal

import pandas as pd
import streamlit as st

from pages.frame import badges, failures, local, memory
from pages.frame.figures import FigureInfo, draw_figure, show_figure
from pages.frame.settings import Settings
from pillar_core import params, plots, theory
from pillar_core.data.generators import gaussian_mixture
from pillar_core.numerics import geometric_grid, number_words
from pillar_core.studies import playgrounds
from pillar_core.theory import CALCULATORS, Calculator, Form, Outcome, Value
from pillar_core.theory.components import ComponentGraph
from pillar_core.types import Values

_N = (30, 100, 300, 1000, 3000, 10_000)
_SEEDS = 3
_SIMULATED, _COMPUTED = (badges.NON_PRIVATE, badges.SYNTHETIC), (badges.THEORY, badges.SYNTHETIC)
_mixture = memory.cache(show_spinner="Training a few dozen models …")(playgrounds.mixture)
_choices = memory.cache(show_spinner="Weighing every union of components …")(
    playgrounds.disjunctions
)


def mixture(settings: Settings) -> None:
    """Two Gaussian classes on a line: error measured and predicted, with one public direction and
    with none."""
    st.markdown(
        "Two classes y = ±1 lie along one direction **μ**; a nuisance of size **θ** and noise of"
        " size **σ** are in the way: rows are y·μ + θ·u·w + σ·z in d dimensions. One public"
        " direction finds μ; a private learner then has one number to learn instead of d."
    )
    columns = st.columns(4)
    d = local.slider(
        "mixture.d",
        [32, 64, 128, 256, 512],
        256,
        place=columns[0],
        label="d, dimension",
        form="{:,}",
    )
    sigma = local.slider(
        "mixture.sigma",
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0],
        0.5,
        place=columns[1],
        label="σ, noise in every direction",
        help="A standard deviation.",
    )
    theta = local.slider(
        "mixture.theta",
        [0.0, 0.05, 0.2, 0.5, 0.8],
        0.05,
        place=columns[2],
        label="θ, along the nuisance",
        help="A standard deviation, below 1.",
    )
    n_public = local.slider(
        "mixture.n_public",
        [50, 100, 300, 1000, 3000],
        300,
        place=columns[3],
        label="Public rows",
        form="{:,}",
    )
    epsilon = settings.epsilon
    table = _mixture(
        epsilon=epsilon,
        d=d,
        theta=theta,
        sigma=sigma,
        n_private=_N,
        n_public=n_public,
        seeds=_SEEDS,
        seed=settings.seed,
    )
    share = float(table[table["projection"] != "none"]["held"].mean())
    best = 1 - gaussian_mixture.bayes_accuracy(sigma=sigma)
    curve = _predict(d, theta, sigma, epsilon, share)
    draw_figure(
        plots.mixture_errors,
        table,
        FigureInfo("mixture", settings, _SIMULATED, _SEEDS),
        curve,
        floor=best,
    )
    st.caption(
        f"The first direction of {n_public:,} public rows holds {100 * share:.1f} % of μ and misses"
        f" ξ₁ = {1 - share:.3f}. ε = {epsilon:g} comes from the sidebar."
    )
    target = local.slider(
        "mixture.target",
        label="Error wanted",
        default=0.1,
        options=[0.05, 0.1, 0.2, 0.3],
        form="percent",
    )
    lines = [
        (
            d_,
            name,
            (
                theory.rows_needed(error=target, epsilon=epsilon, k=k, theta=theta, sigma=sigma)
                if math.isfinite(epsilon)
                else 1.0
            ),
        )
        for d_ in (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
        for name, k in (("first public direction", 1), ("none", d_))
    ]
    needed = pd.DataFrame(lines, columns=["d", "projection", "rows"])
    if needed["rows"].map(math.isfinite).any():
        draw_figure(
            plots.rows_against_dimension,
            needed,
            FigureInfo("rows_needed", settings, _COMPUTED),
            present=d,
        )
    else:
        st.info(
            f"With σ = {sigma:g} even the best classifier errs in {100 * best:.1f} % of rows: no"
            f" number of rows reaches {100 * target:g} %."
        )


def disjunctions(settings: Settings) -> None:
    """Random graphs: components against unlabelled rows, and what the exponential mechanism then
    errs."""
    st.markdown(
        "A label is true if any of the first k variables is active. **Unlabelled** rows show which"
        " variables are active together; joined variables share their fate, so only one bit per"
        " component is left to learn from **private** labels."
    )
    first, second, third, fourth = st.columns(4)
    d = local.slider(
        "graph.d",
        place=first,
        label="d, variables",
        default=40,
        options=[10, 20, 40, 60, 100],
    )
    k = local.slider(
        "graph.k",
        [k for k in (4, 5, 10, 20, 30, 50) if k <= d - 4],
        place=second,
        label="k, in the disjunction",
        default=10,
    )
    p = local.slider(
        "graph.p",
        place=third,
        label="p, edge probability",
        help="Of each pair, in each row.",
        default=0.01,
        options=[0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
    )
    n = local.slider(
        "graph.n",
        place=fourth,
        label="Unlabelled rows",
        default=40,
        options=[2, 5, 10, 20, 40, 80, 160, 320],
    )
    graph = _graph(d, k, p, n, settings.seed)
    figure = plots.component_graph(graph.labels, graph.edges, k=k, n_unlabelled=n)
    info = FigureInfo("component_graph", settings, [badges.PUBLIC, badges.SYNTHETIC])
    show_figure(figure, plots.component_table(graph.labels, k=k), info)
    bound = theory.CALCULATORS["semi_private_theorem_2"](d=d, k=k, p=p).value(
        "unlabelled rows", theory.Form.CORRECTED
    )
    if math.isinf(bound):
        st.caption("Theorem 2, corrected, promises nothing for so few variables.")
    else:
        st.caption(
            f"Theorem 2, corrected, promises two components from {math.ceil(bound):,} unlabelled"
            " rows on."
        )
    if graph.count > theory.MOST_COMPONENTS:
        st.info(
            f"{graph.count} components leave 2^{graph.count} disjunctions, too many to weigh one"
            " by one. More unlabelled rows join them.",
            icon=":material/hub:",
        )
        return
    epsilons = tuple(sorted({0.1, 0.5, 2.0, min(settings.epsilon, 8.0)}))
    table = _choices(
        epsilons=epsilons,
        d=d,
        k=k,
        p=p,
        n_private=(5, 10, 20, 50, 100, 200, 500),
        n_unlabelled=n,
        seeds=5,
        seed=settings.seed,
    )
    figure = plots.choice_errors(table.dropna(subset=["error"]))
    show_figure(figure, table, FigureInfo("choice_errors", settings, _SIMULATED, seeds=5))
    st.caption(
        "The mechanism takes a union of components with probability ∝ exp(−ε·errors/2): ε under"
        " replacing a row, ε/2 under adding one."
    )


def _predict(d: int, theta: float, sigma: float, epsilon: float, share: float) -> pd.DataFrame:
    """The closed form between the measured points: columns projection, n_private, predicted."""
    sides = (("first public direction", 1, share), ("none", d, 1.0))
    lines = [
        (
            name,
            n,
            theory.predicted_error(
                n_private=n, epsilon=epsilon, k=k, theta=theta, sigma=sigma, held=share_
            ),
        )
        for name, k, share_ in sides
        for n in geometric_grid(_N[0], _N[-1], 60)
    ]
    return pd.DataFrame(lines, columns=["projection", "n_private", "predicted"])


@memory.cache()
def _graph(d: int, k: int, p: float, n: int, seed: int) -> ComponentGraph:
    return theory.component_graph(
        theory.random_graph_rows(n, d=d, k=k, p=p, seed=seed, part="unlabelled")[0]
    )


_ACROSS = 4
_COLOURS: dict[Form, Literal["gray", "green", "blue"]] = {
    Form.PRINTED: "gray",
    Form.CORRECTED: "green",
    Form.DERIVED: "blue",
}


def draw(settings: Settings) -> None:
    """The chosen theorem."""
    calculator = CALCULATORS[
        local.select(
            "theorem",
            {name: calculator.title for name, calculator in CALCULATORS.items()},
            label="Theorem",
            help="Each shows its formula as printed and, where the print is wrong, corrected.",
            default="pillar_theorem_1",
        )
    ]
    st.markdown(f"**{calculator.says}**")
    st.caption(calculator.source)
    inputs = _inputs(calculator)
    with failures.show_refusal(
        "These inputs cannot be evaluated.", advice="Change the input that is named."
    ):
        outcome = calculator(**inputs)
        _ranges(outcome)
        _values(outcome)
        if calculator.corrections:
            with st.expander("What is wrong in print", icon=":material/edit_note:"):
                st.markdown("\n".join(f"- {line}" for line in calculator.corrections))
        if calculator.has_rates:
            _curves(inputs, settings)


def _inputs(calculator: Calculator) -> Values:
    inputs = {}
    columns = st.columns(_ACROSS)
    for place, (name, param) in enumerate(params.params_of(calculator.settings).items()):
        with columns[place % _ACROSS]:
            inputs[name] = local.field(param, name=f"{calculator.name}.{name}")
    return inputs


def _ranges(outcome: Outcome) -> None:
    broken = outcome.violations
    if broken:
        st.warning(
            "**Outside the theorem's range**, where it promises nothing: "
            + "; ".join(f"`{line}`" for line in broken)
            + ".",
            icon=":material/rule:",
        )
    else:
        st.success("Inside every range that the theorem states.", icon=":material/rule:")


def _values(outcome: Outcome) -> None:
    names = list(dict.fromkeys(item.name for item in outcome.values))
    for place, name in enumerate(names):
        values = [item for item in outcome.values if item.name == name]
        with st.container(border=True, key=f"value-{place}"):
            st.markdown(f"**{name[0].upper()}{name[1:]}**")
            if len(values) == 1:
                number, formula = st.columns(2, vertical_alignment="center")
                _number(number, values[0])
                formula.latex(values[0].latex)
            else:
                for column, item in zip(st.columns(len(values)), values, strict=True):
                    _number(column, item)
                    column.latex(item.latex)
    table = pd.DataFrame(
        [
            (item.name, str(item.form), item.value, item.unit, item.is_rate)
            for item in outcome.values
        ]
    )
    with st.expander("Table of all numbers and ranges", icon=":material/table_view:"):
        st.dataframe(
            table.set_axis(["quantity", "form", "value", "unit", "rate only"], axis=1),
            hide_index=True,
            key="theorem-values",
        )
        ranges = [
            (item.words, str(item.form), "holds" if item.holds else "broken")
            for item in outcome.ranges
        ]
        st.dataframe(
            pd.DataFrame(ranges, columns=["range: value", "form", "state"]),
            hide_index=True,
            key="theorem-ranges",
        )


def _number(column: Any, item: Value) -> None:
    with column:
        with st.container(horizontal=True, gap="small"):
            st.badge(str(item.form), color=_COLOURS[item.form])
            if item.is_rate:
                st.badge(
                    "rate",
                    color="orange",
                    help=(
                        "Constants and logarithms are unknown: only growth and ratios mean"
                        " anything."
                    ),
                )
        st.markdown(f"## {format_number(item.value)} {item.unit}")
        if item.note:
            st.caption(item.note)


def format_number(value: float) -> str:
    """A number for people: three digits, powers of ten for the large and the small, ∞ where no
    amount will do."""
    if math.isinf(value):
        return "∞"
    if value == 0 or 0.001 <= abs(value) < 10:
        return f"{value:.3g}"
    if abs(value) < 1e7 and abs(value) >= 10:
        return f"{math.ceil(value) if value > 100 else round(value, 1):,}"
    return number_words(value, 3)


def _curves(inputs: Values, settings: Settings) -> None:
    axis = local.choice(
        "rate-axis",
        label="Along",
        default="k",
        options={"k": "k", "d": "d", "gamma": "γ", "epsilon": "ε", "alpha": "α"},
    )
    spans = {
        "k": (1, 2000),
        "d": (10, 10_000),
        "gamma": (0.01, 0.9),
        "epsilon": (0.05, 8),
        "alpha": (0.01, 0.5),
    }
    grid = geometric_grid(*spans[axis], 40)
    xs = sorted({round(x) for x in grid}) if axis in ("k", "d") else [float(x) for x in grid]
    table = theory.rate_curves(
        axis, xs, **{name: value for name, value in inputs.items() if name != axis}
    )
    draw_figure(
        plots.rates,
        table,
        FigureInfo("rates", settings, [badges.THEORY]),
        present=float(inputs[axis]),
    )


VIEWS = {"mixture": mixture, "disjunctions": disjunctions, "theorems": draw}
"""What draws each option of the page's control."""
