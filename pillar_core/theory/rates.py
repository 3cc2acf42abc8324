"""PILLAR's Table V: how many private rows competing methods need, as rates, so that only growth and
crossings mean anything."""

import math
from collections.abc import Sequence

import pandas as pd

from pillar_core import checks, params
from pillar_core.registry import toml_tables
from pillar_core.theory.calculator import (
    CALCULATORS,
    STATEMENTS,
    Form,
    Inputs,
    Numbers,
    ratio,
    register,
)


def _table_v(s: Inputs) -> Numbers:
    unit, gamma = 1 / (s.alpha * s.epsilon), max(s.gamma, 0.0)
    jl = math.sqrt(math.log(s.n)) * ratio(unit, gamma**2)
    rlc = math.sqrt(s.k) * ratio(unit, gamma) + math.sqrt(s.low_rank * s.d / s.k)
    gep = ratio(unit, gamma) + math.sqrt(s.k) + s.low_rank * math.sqrt(s.d)
    return {
        "generic semi-private learner": {
            "printed": math.sqrt(s.d) * ratio(unit, gamma),
            "corrected": s.d * unit,
        },
        "DP-SGD, restricted Lipschitz": {"printed": rlc},
        "DP-SGD, no assumption": {"derived": math.sqrt(s.d) * ratio(unit, gamma)},
        "random projection (JL)": {"printed": ratio(unit, gamma**2), "corrected": jl},
        "GEP": {"printed": gep},
        "PILLAR": {"printed": ratio(math.sqrt(s.k) * unit, gamma * (1 - s.xi))},
    }


CURVES = tuple(
    (name, Form[form.upper()])
    for name, form in toml_tables(STATEMENTS)["pillar_table_v"]["curves"].items()
)


def rate_curves(axis: str, values: Sequence[float], **inputs: float) -> pd.DataFrame:
    """Table V along one input: columns axis, x, method, form, rows. Infinite where a method needs
    what is not there.

    Raises SettingError: `axis` is no input, or a value lies outside its range.
    """
    calculator, lines = CALCULATORS["pillar_table_v"], []
    known = params.params_of(calculator.settings)
    checks.one_of(known, axis=axis)
    for x in values:
        outcome = calculator(**{**inputs, axis: x})
        lines += [
            (axis, float(x), name, str(form), outcome.value(name, form)) for name, form in CURVES
        ]
    return pd.DataFrame(lines, columns=["axis", "x", "method", "form", "rows"])


register("pillar_table_v", _table_v, ends=lambda s: {"1/√k": 1 / math.sqrt(s.k)})
