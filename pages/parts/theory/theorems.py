"""The theory page's calculators: a theorem, its inputs, its numbers in printed and corrected form, and the ranges it states."""

import math
from typing import Any, Literal

import pandas as pd
import streamlit as st

from pages.frame import badges, core, failures, local, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
from pages.parts.geometry import shapes
from pillar_core import geometry as geo
from pillar_core import params, plots, theory
from pillar_core.numerics import geometric_grid
from pillar_core.theory import CALCULATORS, Calculator, Form, Outcome, Value
from pillar_core.types import Values

_ACROSS = 4
_COLOURS: dict[Form, Literal["gray", "green", "blue"]] = {Form.PRINTED: "gray", Form.CORRECTED: "green", Form.DERIVED: "blue"}


def draw(settings: Settings) -> None:
    """The chosen theorem."""
    calculator = CALCULATORS[local.select("theorem", {name: calculator.title for name, calculator in CALCULATORS.items()})]
    st.markdown(f"**{calculator.says}**")
    st.caption(calculator.source)
    inputs = _inputs(calculator, settings)
    with failures.show_refusal("These inputs cannot be evaluated.", advice="Change the input that is named."):
        outcome = calculator(**inputs)
        _ranges(outcome)
        _values(outcome)
        if calculator.corrections:
            with st.expander("What is wrong in print", icon=":material/edit_note:"):
                st.markdown("\n".join(f"- {line}" for line in calculator.corrections))
        if calculator.has_rates:
            _curves(inputs, settings)


def measured_inputs(settings: Settings) -> dict[str, float]:
    """γ, ξ_k, Δ_k, k, d, n … of the sidebar's rows, in the theorems' units: rows divided by the largest public norm.

    Everything but k, d, n and the gap reads labels: a non-private diagnostic.
    """
    separation = shapes.Separation(settings)
    basis, rows = shapes.basis(separation, geo.BasisKind.PUBLIC_PCA), shapes.rows(settings)
    k, radius = shapes.present_k(settings, basis.rank), rows.radius()
    hyperplanes, _ = shapes.separators(separation)
    lowest = geo.smallest(shapes.margins(shapes.Separation(settings, "one_versus_rest")))
    closest = lowest.iloc[int((lowest["k"] - k).abs().to_numpy().argmin())]
    spectrum = geo.spectrum(basis)
    line = spectrum.iloc[k - 1]
    facts = core.split(settings).facts
    return {
        "k": k,
        "d": facts.d,
        "n": facts.n_private,
        "n_private": facts.n_private,
        "n_public": facts.n_public,
        "gap": float(line["gap"]) / radius**2,
        "xi": float(geo.xi_of(hyperplanes.weights, basis.vectors)[:, k - 1].mean()),
        "gamma": min(max(float(closest["cosine_margin"]), -1.0), 1.0),
        "eta": float(line["tail"]) / radius**2,
        "epsilon": settings.epsilon if math.isfinite(settings.epsilon) else 1e3,
    }


def _inputs(calculator: Calculator, settings: Settings) -> Values:
    known = params.params_of(calculator.settings)
    usable = [
        name
        for name in known
        if name in ("k", "d", "n", "n_private", "n_public", "gap", "xi", "gamma", "epsilon") or (name == "eta" and calculator.eta_is_tail)
    ]
    if usable:
        with st.container(horizontal=True, vertical_alignment="center"):
            hint = f"Sets {', '.join(usable)} to what the private data in the sidebar have, measured at the sidebar's k and ε."
            st.button(**local.element("fill", help=hint), on_click=_fill, args=(calculator.name, usable, settings))
            badges.show(badges.NON_PRIVATE)
    inputs = {}
    columns = st.columns(_ACROSS)
    for place, (name, param) in enumerate(known.items()):
        with columns[place % _ACROSS]:
            inputs[name] = local.field(param, name=f"{calculator.name}.{name}")
    return inputs


def _fill(name: str, usable: list[str], settings: Settings) -> None:
    with failures.note_refusal("Nothing was filled in"):
        measured = measured_inputs(settings)
        for field in usable:
            local.link(f"{name}.{field}", measured[field])


def _ranges(outcome: Outcome) -> None:
    broken = outcome.violations
    if broken:
        st.warning(
            "**Outside the theorem's range**, where it promises nothing: " + "; ".join(f"`{line}`" for line in broken) + ".",
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
    table = pd.DataFrame([(item.name, str(item.form), item.value, item.unit, item.is_rate) for item in outcome.values])
    with st.expander("Table of all numbers and ranges", icon=":material/table_view:"):
        st.dataframe(table.set_axis(["quantity", "form", "value", "unit", "rate only"], axis=1), hide_index=True, key="theorem-values")
        ranges = [(item.words, str(item.form), "holds" if item.holds else "broken") for item in outcome.ranges]
        st.dataframe(pd.DataFrame(ranges, columns=["range: value", "form", "state"]), hide_index=True, key="theorem-ranges")


def _number(column: Any, item: Value) -> None:
    with column:
        with st.container(horizontal=True, gap="small"):
            st.badge(str(item.form), color=_COLOURS[item.form])
            if item.is_rate:
                st.badge("rate", color="orange", help="Constants and logarithms are unknown: only growth and ratios mean anything.")
        st.markdown(f"## {format_number(item.value)} {item.unit}")
        if item.note:
            st.caption(item.note)


def format_number(value: float) -> str:
    """A number for people: three digits, powers of ten for the large and the small, ∞ where no amount will do."""
    if math.isinf(value):
        return "∞"
    if value == 0 or 0.001 <= abs(value) < 10:
        return f"{value:.3g}"
    if abs(value) < 1e7 and abs(value) >= 10:
        return f"{math.ceil(value) if value > 100 else round(value, 1):,}"
    digits, power = f"{value:.2e}".split("e")
    return f"{digits} · 10{str(int(power)).translate(str.maketrans('-0123456789', '⁻⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def _curves(inputs: Values, settings: Settings) -> None:
    axis = local.choice("rate-axis")
    spans = {"k": (1, 2000), "d": (10, 10_000), "gamma": (0.01, 0.9), "epsilon": (0.05, 8), "alpha": (0.01, 0.5)}
    grid = geometric_grid(*spans[axis], 40)
    xs = sorted({round(x) for x in grid}) if axis in ("k", "d") else [float(x) for x in grid]
    table = theory.rate_curves(axis, xs, **{name: value for name, value in inputs.items() if name != axis})
    figure = plots.rates(table, mode=theme.mode(), present=float(inputs[axis]))
    show_figure(figure, table, FigureInfo("rates", settings, [badges.THEORY]))
