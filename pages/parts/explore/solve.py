"""The other way round: a target accuracy, and the ε, k or n that reaches it."""

import pandas as pd
import streamlit as st

from pages.frame import badges, core, failures, session, sidebar
from pages.frame.settings import Settings
from pages.parts.explore.curves import Curves, method_of
from pillar_core.studies import solving
from pillar_core.types import Provenance


def panel(curves: Curves, settings: Settings) -> None:
    """The target and three answers, each with the way it was come by."""
    method = method_of(settings)
    st.markdown("## What would it take?")
    with st.container(width=280):
        sidebar.number("target", step=1)
    if not (curves.table["method"] == method).any():
        st.info("Answers are read off measured curves: run them once with the button below.", icon=":material/query_stats:")
        return
    with failures.shown("The curves do not answer this."):
        target, n = settings.target / 100, core.split(settings).facts.n_private
        answers = {
            "epsilon": solving.epsilon_for(curves.table, target=target, method=method),
            "k": solving.k_for(curves.table, target=target, epsilon=settings.epsilon, method=method),
            "n": solving.n_for(curves.table, target=target, epsilon=settings.epsilon, delta=settings.delta, n_private=n, method=method),
        }
        badges.provenance(Provenance.NON_PRIVATE)
        for column, (name, answer) in zip(st.columns(3), answers.items(), strict=True):
            with column, st.container(border=True, height="stretch"):
                _answer(name, answer, settings)
        st.dataframe(_table(answers), hide_index=True, key="table-solve")


def _answer(name: str, answer: solving.Answer, settings: Settings) -> None:
    label = {
        "epsilon": f"Smallest ε for {settings.target} %",
        "k": f"Smallest k for {settings.target} % at ε ≤ {settings.epsilon:g}",
        "n": f"Private rows for {settings.target} % at ε = {settings.epsilon:g}",
    }[name]
    st.metric(label, _shown(name, answer), help=answer.words)
    badges.theory() if name == "n" else badges.interpolated()
    st.caption(f"{answer.words[0].upper()}{answer.words[1:]}.")
    if answer.value is None:
        where = "k" if name == "k" else "ε"
        st.caption(f"Best measured: {100 * answer.best:.1f} % at {where} = {answer.best_at:g}.")
    elif name != "n":
        value = round(answer.value) if name == "k" else answer.value
        st.button(
            f"Use this {'k' if name == 'k' else 'ε'}",
            key=f"use-{name}",
            on_click=session.change,
            kwargs={name: value},
            help="Sets the sidebar's slider.",
        )


def _shown(name: str, answer: solving.Answer) -> str:
    if answer.value is None:
        return "out of reach"
    return f"{answer.value:.2g}" if name == "epsilon" else f"{answer.value:,.0f}"


def _table(answers: dict[str, solving.Answer]) -> pd.DataFrame:
    rows = [{"sought": name, "answer": _shown(name, answer), "how": answer.words} for name, answer in answers.items()]
    return pd.DataFrame(rows)
