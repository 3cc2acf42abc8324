"""The other way round: a target accuracy, and the ε, k or n that reaches it: read off curves, and ε paid for."""

import dataclasses
import math

import pandas as pd
import streamlit as st

from pages.frame import badges, core, failures, local, memory, session, sidebar
from pages.frame.settings import EPSILONS, PART, RULE, Settings
from pages.parts.explore.curves import Curves, method_of
from pillar_core.studies import paying, solving
from pillar_core.types import Provenance


def panel(curves: Curves, settings: Settings) -> None:
    """The target and three answers, each with the way it was come by."""
    method = method_of(settings)
    st.markdown("## What would it take?")
    with st.container(width=280):
        sidebar.number("target", step=1)
    if (curves.table["method"] == method).any():
        _read(curves, method, settings)
    else:
        st.info("Answers are read off measured curves: run them once with the button below.", icon=":material/query_stats:")
    paid = st.expander("Pay for the answer", icon=":material/payments:", key="paid-panel", on_change="rerun")
    if paid.open:
        with paid, failures.shown("The answer could not be paid for."):
            _pay(settings)


def _read(curves: Curves, method: str, settings: Settings) -> None:
    with failures.shown("The curves do not answer this."):
        target, n = settings.target / 100, core.split(settings).facts.n_private
        answers = {
            "epsilon": solving.epsilon_for(curves.table, target=target, method=method),
            "k": solving.k_for(curves.table, target=target, epsilon=settings.epsilon, method=method),
            "n": solving.n_for(curves.table, target=target, epsilon=settings.epsilon, delta=settings.delta, n_private=n, method=method),
        }
        badges.show(Provenance.NON_PRIVATE)
        for column, (name, answer) in zip(st.columns(3), answers.items(), strict=True):
            with column, st.container(border=True, height="stretch"):
                _answer(name, answer, settings)
        rows = [{"sought": name, "answer": _shown(name, answer), "how": answer.words} for name, answer in answers.items()]
        st.dataframe(pd.DataFrame(rows), hide_index=True, key="table-solve")


def _answer(name: str, answer: solving.Answer, settings: Settings) -> None:
    label = {
        "epsilon": f"Smallest ε for {settings.target} %",
        "k": f"Smallest k for {settings.target} % at ε ≤ {settings.epsilon:g}",
        "n": f"Private rows for {settings.target} % at ε = {settings.epsilon:g}",
    }[name]
    st.metric(label, _shown(name, answer), help=answer.words)
    badges.show(badges.THEORY if name == "n" else badges.INTERPOLATED)
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


def _pay(settings: Settings) -> None:
    grid = sorted({one for one in (*EPSILONS, settings.epsilon) if one <= settings.epsilon and math.isfinite(one)})
    tried = ", ".join(f"{one:g}" for one in grid)
    st.markdown(
        "Answers off curves come from test accuracy and pay nothing. Here **PILLAR, one shot** sums the private rows once, with noise for "
        f"ε = {grid[-1]:g}, the sidebar's privacy budget. More noise on top makes models for ε = {tried}. The first that has "
        f"{settings.target} % of labelled **public** rows right is shown, and nothing after it."
    )
    if not core.split(settings).has_public_labels:
        st.info(f"Not with these public rows: {paying.NO_TEST}.", icon=":material/label_off:")
        st.button("Make a part of the private set public", key="pay-part", on_click=session.change, kwargs={"public": PART})
        return
    wanted = f"{core.run_key(dataclasses.replace(settings, method=paying.LEARNER, k=RULE))}-{settings.target}"
    if local.value("solve-paid", "") != wanted:
        label = f"Pay up to ε = {grid[-1]:g} for the first that reaches {settings.target} %"
        st.button(label, icon=":material/payments:", type="primary", key="pay", on_click=local.put, args=("solve-paid", wanted))
        return
    answer = _paid(wanted, tuple(grid), settings)
    badges.provenance_row(Provenance.PRIVATE, is_experiment=True, is_synthetic=core.is_synthetic(settings.data))
    passed = "none" if answer.epsilon is None else f"{answer.epsilon:g}"
    st.metric("First ε that passes", passed, help="The first of those tried, from the noisiest on; it may be that none passes.")
    st.markdown(f"{answer.words}.")
    rows = [(f"{epsilon:g}", f"{100 * share:.1f}") for epsilon, share in zip(grid, answer.shares, strict=False)]
    shown = pd.DataFrame(rows, columns=["ε tried", f"right of {answer.n_test} public rows, %"])
    st.dataframe(shown, hide_index=True, key="table-paid", width="content")
    st.caption(
        "Ex post means in hindsight: the Rényi divergences are those of a run at the ε where it stopped. They are no (ε, δ) guarantee; "
        "what was promised beforehand is, if target and budget were fixed before test accuracies on this page were in sight. With secret "
        "noise (`studies.paying.pay_for`, `seed=None`), each further target is charged again."
    )


@memory.kept(max_entries=32, show_spinner="Taking noise back …")
def _paid(key_: str, _grid: tuple[float, ...], _settings: Settings) -> paying.Paid:
    asked = {name: getattr(_settings, name) for name in ("delta", "relation", "accountant", "seed")}
    return paying.pay_for(core.split(_settings), target=_settings.target / 100, epsilons=_grid, **asked)
