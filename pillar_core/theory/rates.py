"""PILLAR's Table V: how many private rows competing methods need, as rates, so that only growth and
crossings mean anything."""

import math
from collections.abc import Sequence

import pandas as pd

from pillar_core import checks, params
from pillar_core.theory.calculator import (
    CALCULATORS,
    CORRECTED,
    DERIVED,
    PRINTED,
    Inputs,
    Range,
    Values,
    rate,
    ratio,
    register,
)
from pillar_core.theory.pillar_shift import small_epsilon


def _table_v(s: Inputs) -> Values:
    unit, gamma = 1 / (s.alpha * s.epsilon), max(s.gamma, 0.0)
    jl = math.sqrt(math.log(s.n)) * ratio(unit, gamma**2)
    rlc = math.sqrt(s.k) * ratio(unit, gamma) + math.sqrt(s.low_rank * s.d / s.k)
    gep = ratio(unit, gamma) + math.sqrt(s.k) + s.low_rank * math.sqrt(s.d)
    return (
        rate(
            "generic semi-private learner",
            PRINTED,
            math.sqrt(s.d) * ratio(unit, gamma),
            r"\tilde O\Bigl(\frac{\sqrt d}{\alpha\epsilon\gamma}\Bigr)",
        ),
        rate(
            "generic semi-private learner",
            CORRECTED,
            s.d * unit,
            r"\tilde O\Bigl(\frac{d}{\alpha\epsilon}\Bigr)",
        ),
        rate(
            "DP-SGD, restricted Lipschitz",
            PRINTED,
            rlc,
            r"\tilde O\Bigl(\frac{\sqrt k}{\alpha\epsilon\gamma}+\sqrt{\frac{c_2d}{k}}\Bigr)",
        ),
        rate(
            "DP-SGD, no assumption",
            DERIVED,
            math.sqrt(s.d) * ratio(unit, gamma),
            r"\tilde O\Bigl(\frac{\sqrt d}{\alpha\epsilon\gamma}\Bigr)",
        ),
        rate(
            "random projection (JL)",
            PRINTED,
            ratio(unit, gamma**2),
            r"\tilde O\Bigl(\frac{1}{\alpha\epsilon\gamma^2}\Bigr)",
        ),
        rate(
            "random projection (JL)",
            CORRECTED,
            jl,
            r"\tilde O\Bigl(\frac{\sqrt{\log n}}{\alpha\epsilon\gamma^2}\Bigr)",
        ),
        rate(
            "GEP",
            PRINTED,
            gep,
            r"\tilde O\Bigl(\frac{1}{\alpha\epsilon\gamma}+(\sqrt k+c_1\sqrt d)\Bigr)",
        ),
        rate(
            "PILLAR",
            PRINTED,
            ratio(math.sqrt(s.k) * unit, gamma * (1 - s.xi)),
            r"\tilde O\Bigl(\frac{\sqrt k}{\alpha\epsilon\gamma(1-\xi)}\Bigr)",
        ),
    )


CURVES = (
    ("PILLAR", PRINTED),
    ("GEP", PRINTED),
    ("random projection (JL)", CORRECTED),
    ("DP-SGD, restricted Lipschitz", PRINTED),
    ("DP-SGD, no assumption", DERIVED),
    ("generic semi-private learner", CORRECTED),
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


register(
    "pillar_table_v",
    _table_v,
    lambda s: (
        small_epsilon(s),
        Range("γ", s.gamma, 0, 1),
        Range("k ≤ d", s.k, 0, s.d, high_open=False),
    ),
    title="PILLAR, Table V (competing rates)",
    source="PILLAR, Table V and section III-D",
    says="Private rows that each approach needs, up to constants and logarithms.",
    corrections=(
        (
            "The generic learner of Alon, Bassily & Moran needs O(d/αε) by section III-D; the "
            "table prints √d/(αεγ)."
        ),
        "JL's target dimension is O(log n/γ²), so its rate carries √(log n).",
    ),
    has_rates=True,
    inputs="d k gamma xi alpha epsilon low_rank n",
    n={
        "default": 45000,
        "help": "Private rows, for the JL target dimension log(n)/γ².",
        "range": "[2, 10_000_000_000]",
    },
)
