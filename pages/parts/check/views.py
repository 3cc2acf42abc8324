"""The numbers of your run, and the answer."""

import dataclasses
import hashlib
import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import local, memory, odds, plain
from pillar_core.numerics import round_up
from pillar_core.studies import check
from pillar_core.types import Form

_LABELS = {name: field.label for name, field in check.FIELDS.items()}
_EITHER = (("epochs", "steps"), ("noise_multiplier", "epsilon"))
"""Two ways to say one number; `check-` and the second is the control that asks for which."""


def inputs(read: check.Reading, *, has_script: bool) -> Form:
    """The numbers of a run by name; with a script they start empty, and you may leave out those that it has."""
    hidden, values = set[str](), Form()
    for column, names in zip(st.columns(2), _EITHER, strict=True):
        chosen = next((name for name in names if name in read.values), None)
        if chosen is None:
            with column:
                chosen = local.choice(f"check-{names[1]}", {name: _LABELS[name] for name in names}, names[0])
        hidden.add(check.ALTERNATIVES[chosen])
    columns = st.columns(3)
    for place, field in enumerate(field for name, field in check.FIELDS.items() if name not in hidden):
        value = read.values.get(field.name)
        with columns[place % 3]:
            parameter = dataclasses.replace(field, none_means="missing") if has_script else field
            words = f"{value:,} in the script" if isinstance(value, int | float) else "missing"
            values[field.name] = local.field(
                parameter, name=f"check.script.{field.name}" if has_script else f"check.{field.name}", placeholder=words
            )
    return values


def sampler(*, has_script: bool) -> str | None:
    """How batches are drawn."""
    words = ({"": "As the script says"} if has_script else {}) | check.SAMPLERS
    return local.select("check-sampler", words, next(iter(words))) or None


@memory.cache(max_entries=32)
def read(script: str) -> check.Reading:
    """The numbers that a script has, cached."""
    return check.read_script(script) if script else check.Reading()


@memory.cache(max_entries=128, show_spinner="Counting …")
def check_numbers(script: str, sampler: str | None, **numbers: Any) -> check.RunCheck:
    """The checked run, cached."""
    every = dict.fromkeys(check.FIELDS) | numbers
    return check.check_run(**every, sampler=sampler, script=script or None)


def answer(result: check.RunCheck, script: str) -> None:
    """What is wrong, certified ε by relation, what the library says and what to change; of a script once its run is confirmed."""
    if result.problems:
        _show_lines(result.problems, st.warning, ":material/warning:")
    if not (script and any(result.epsilon.values())):
        _numbers(result)
        with st.expander("What this ε takes for granted", icon=":material/rule:"):
            st.markdown("\n".join(f"- {words}" for words in result.conditions))
    elif _is_confirmed(result, script):
        _numbers(result)


def _is_confirmed(result: check.RunCheck, script: str) -> bool:
    """Whether you confirm that the script's run has these numbers and meets the conditions; a change of either asks again."""
    numbers = " · ".join(
        f"{_LABELS.get(name, name.replace('_', ' '))}: {value if isinstance(value, str) else f'{value:,.6g}'}"
        for name, value in result.counted.items()
    )
    with st.container(border=True):
        st.markdown(f"**Is this your run?** {plain.text(numbers)}\n\n" + "\n".join(f"- {words}" for words in result.conditions))
        key = f"check-confirmed-{hashlib.sha256(f'{script}{numbers}'.encode()).hexdigest()[:16]}"
        why = "Who opens a link has another run to answer for."
        return st.checkbox("Yes: my run has these numbers and meets these conditions. Show its ε.", key=local.unlinked_key(key, why))


def _show_lines(words: tuple[str, ...], show: Callable[..., object], icon: str) -> None:
    show("\n".join(f"- {plain.text(line)}" for line in words), icon=icon)


def _numbers(result: check.RunCheck) -> None:
    for column, (relation, bounds) in zip(st.columns(2), result.epsilon.items(), strict=True):
        value = "none proven" if bounds is None else f"≤ {round_up(bounds.upper)}" if math.isfinite(bounds.upper) else "∞"
        column.metric(f"Proven ε, {odds.relation_words(relation)}", value, help=result.known[relation], border=True)
    for column, figure in zip(st.columns(max(len(result.reported), 1)), result.reported, strict=False):
        column.metric(plain.text(f"{figure.library} says"), f"{figure.epsilon:.4g}", help=figure.why, border=True)
    if result.advice:
        _show_lines(result.advice, st.info, ":material/lightbulb:")
    rows = [
        (f"certified, {odds.relation_words(name)}", bounds and bounds.upper, result.known[name]) for name, bounds in result.epsilon.items()
    ]
    rows += [(figure.library, figure.epsilon, figure.why) for figure in result.reported]
    with st.expander("Every number and what it is", icon=":material/table_view:"):
        st.dataframe(pd.DataFrame(rows, columns=["number", "ε", "what it is"]), hide_index=True, key="check-numbers")
        counted = [(name, str(value)) for name, value in result.counted.items()]
        st.dataframe(pd.DataFrame(counted, columns=["counted", "value"]), hide_index=True, key="check-counted")
