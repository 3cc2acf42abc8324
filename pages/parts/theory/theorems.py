"""The theory page's calculators: a theorem, its inputs, its numbers in printed and corrected form, and the ranges it states."""

import math
from typing import Any, Literal

import pandas as pd
import streamlit as st

from pages.frame import badges, failures, local, theme
from pages.frame.figures import FigureInfo, show_figure
from pages.frame.settings import Settings
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
    inputs = _inputs(calculator)
    with failures.show_refusal("These inputs cannot be evaluated.", advice="Change the input that is named."):
        outcome = calculator(**inputs)
        _ranges(outcome)
        _values(outcome)
        if calculator.corrections:
            with st.expander("What is wrong in print", icon=":material/edit_note:"):
                st.markdown("\n".join(f"- {line}" for line in calculator.corrections))
        if calculator.has_rates:
            _curves(inputs, settings)


def _inputs(calculator: Calculator) -> Values:
    inputs, columns = {}, st.columns(_ACROSS)
    for place, (name, param) in enumerate(params.params_of(calculator.settings).items()):
        with columns[place % _ACROSS]:
            inputs[name] = local.field(param, name=f"{calculator.name}.{name}")
    return inputs


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
