"""The numbers that somebody gives of a run, and the answer."""

import dataclasses
import math
from typing import Any

import pandas as pd
import streamlit as st

from pages.frame import local, odds, plain
from pillar_core.studies import check

_LABELS = {name: field.label for name, field in check.FIELDS.items()}
_EITHER = (("epochs", "steps"), ("noise_multiplier", "epsilon"))
"""Two ways to say one number; `check-` and the second is the control that asks for which."""


def inputs(read: check.Reading, *, has_script: bool) -> dict[str, Any]:
    """The numbers that the script does not say, by name; beside a script none is filled in."""
    if read.unfollowed:
        _offer(check.offered(read), check.sampler_of(read) if read.library else "")
    said = set() if read.unfollowed else set(check.offered(read))
    hidden = {name for name in check.FIELDS if {name, check.ALTERNATIVES.get(name)} & said}
    for column, names in zip(st.columns(2), _EITHER, strict=True):
        if names[0] not in hidden:
            with column:
                chosen = local.one(f"check-{names[1]}", {name: _LABELS[name] for name in names}, names[0])
            hidden.add(check.ALTERNATIVES[chosen])
    asked = [field for name, field in check.FIELDS.items() if name not in hidden]
    values, columns = dict[str, Any](), st.columns(3)
    for place, field in enumerate(asked):
        start = ("check.script", "not said") if has_script else ("check", "")
        with columns[place % 3]:
            shown = dataclasses.replace(field, none_means=start[1])
            values[field.name] = local.field(shown, name=f"{start[0]}.{field.name}")
    return values


def _offer(named: dict[str, Any], drawn: str) -> None:
    """The numbers that a script names and that do not count by themselves, to be taken over."""
    if named:
        words = ", ".join(
            [*(f"{_LABELS[name]} = {value}" for name, value in named.items()), *([check.SAMPLERS[drawn].lower()] if drawn else [])]
        )
        st.button(plain.text(f"Take what it names: {words}"), on_click=_take, args=(named, drawn), key="check-take")


def _take(named: dict[str, Any], drawn: str) -> None:
    local.link("check-sampler", drawn)
    for name, value in named.items():
        local.link(f"check.script.{name}", value)
    for names in _EITHER:
        for name in names:
            if name in named:
                local.link(f"check-{names[1]}", name)


def sampler(*, has_script: bool) -> Any:
    """How batches are drawn."""
    words = ({"": "As the script says"} if has_script else {}) | check.SAMPLERS
    return local.select("check-sampler", words, next(iter(words))) or None


@st.cache_data(max_entries=128, show_spinner="Counting …")
def checked(script: str, sampler: Any, **numbers: Any) -> check.RunCheck:
    """The answer, kept for the next visit."""
    every = dict.fromkeys(check.FIELDS) | numbers
    return check.check_run(**every, sampler=sampler, script=script or None)


def answer(found: check.RunCheck) -> None:
    """Certified ε by relation, what the library says, what is wrong and what to change."""
    for column, (relation, bounds) in zip(st.columns(2), found.epsilon.items(), strict=True):
        value = "none proven" if bounds is None else f"≤ {bounds.upper:.4g}" if math.isfinite(bounds.upper) else "∞"
        column.metric(f"Proven ε, {odds.relation_words(relation)}", value, help=found.known[relation], border=True)
    for column, one in zip(st.columns(max(len(found.reported), 1)), found.reported, strict=False):
        column.metric(plain.text(f"{one.library} says"), f"{one.epsilon:.4g}", help=one.why, border=True)
    for told, shown, icon in ((found.problems, st.warning, ":material/warning:"), (found.advice, st.info, ":material/lightbulb:")):
        if told:
            shown("\n".join(f"- {plain.text(words)}" for words in told), icon=icon)
    rows = [
        (f"certified, {odds.relation_words(name)}", bounds and bounds.upper, found.known[name]) for name, bounds in found.epsilon.items()
    ]
    rows += [(one.library, one.epsilon, one.why) for one in found.reported]
    with st.expander("Every number and what it is", icon=":material/table_view:"):
        st.dataframe(pd.DataFrame(rows, columns=["number", "ε", "what it is"]), hide_index=True, key="check-numbers")
        counted = [(name, str(value)) for name, value in found.counted.items()]
        st.dataframe(pd.DataFrame(counted, columns=["counted", "value"]), hide_index=True, key="check-counted")
