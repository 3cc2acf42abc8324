"""The model to take away: trained with secret noise when it is asked for, by the free advice or by a choice that ε pays for."""

import dataclasses
import functools
import math
from collections.abc import Callable

import streamlit as st

import pillar_core as pc
from pages.frame import core, history, local, plain
from pages.frame.settings import PART, Settings
from pages.parts.answer import private_test, question
from pages.parts.answer.views import LOOK
from pillar_core import mode
from pillar_core.numerics import round_up
from pillar_core.runs import rankings
from pillar_core.runs.models import in_sight, model_bytes
from pillar_core.runs.run import run_spec
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies.advice import Advice
from pillar_core.types import RunRecord, SemiPrivateSplit


def free(settings: Settings, advice: Advice) -> None:
    """The advised learner, trained and handed over in one click."""
    st.markdown(f"The advice cost nothing: the whole ε = {settings.epsilon:g} goes into training {pc.METHODS[advice.method].title}.")
    asked, split = dataclasses.replace(core.spec(settings), seed=None), core.split(settings)
    _download(lambda: (run_spec(asked, split), split), settings, key="answer-train", label="Train and download")


def paid(settings: Settings, names: list[str]) -> None:
    """The public set, or none, chosen on the private rows, within ε."""
    if math.isinf(settings.epsilon):
        st.caption("Without noise nothing is paid: lower ε.")
        return
    st.markdown(
        f"One noisy sum over the private rows chooses among {len(names)} public sets and none of them; choice and training cost "
        f"ε = {settings.epsilon:g} **together**. The learner then has a little less than in the free way."
    )
    split = core.split(dataclasses.replace(settings, public=PART)) if PART in names else pc.split(core.features(settings))
    others = {question.title(name): core.candidate(name, settings) for name in names if name != PART}
    asked = {name: getattr(settings, name) for name in ("epsilon", "delta", "relation")}
    chosen = functools.partial(pc.choose, split, others, **asked, seed=None)

    def trained() -> tuple[RunRecord, SemiPrivateSplit]:
        found = chosen()
        return found.record, found.split

    _download(trained, settings, key="answer-paid", label="Choose within ε, train and download")


def _download(trained: Callable[[], tuple[RunRecord, SemiPrivateSplit]], settings: Settings, *, key: str, label: str) -> None:
    """A button for the model of a run. Rows come from the page, which knows whose they are; a download is asked for by nobody."""
    if mode.binds():
        st.caption(f"Models cannot be taken away from a public server. {mode.ADVICE}")
        return
    seen = IN_SIGHT if local.value(LOOK, False) else history.in_sight(settings)
    if seen == IN_SIGHT:
        st.markdown("Test accuracy of these rows, or the rows without noise, **was looked at** here, and the file says so.")
    elif seen:
        st.markdown("A ranking of public sets with a **known seed** was looked at here, and the file says so.")
    if spent := history.paid_rankings(settings):
        upper = round_up(rankings.epsilon_of(spent, delta=settings.delta), 3)
        st.markdown(f"You paid **ε ≤ {upper}** on Screen for these rows: the file adds it to the model's.")

    def content() -> bytes:
        record, split = trained()
        what, done = history.in_sight(settings) or seen, rankings.counted(record, history.paid_rankings(settings))
        done = in_sight(done, what) if what else done
        private_test.remember(settings, done, split)
        return model_bytes(done, split=split)

    st.download_button(
        label,
        data=content,
        file_name=f"model-epsilon-{settings.epsilon:g}.zip",
        mime="application/zip",
        type="primary",
        icon=":material/lock:",
        key=key,
        on_click="ignore",  # a run of the page would take the button away before the file is ready
        help="Noise from the operating system, recorded nowhere. One zip: weights, how raw rows become numbers, a statement to sign, "
        "a model card, and code that uses it with numpy alone.",
    )
    st.caption(plain.text("Each download is a release: it spends its ε on these rows, beside every other one."))
