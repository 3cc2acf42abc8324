"""The model to take away: trained with secret noise when it is asked for, by the free advice or by a choice that ε pays for."""

import dataclasses
import math
from collections.abc import Callable

import streamlit as st

import pillar_core as pc
from pages.frame import core, history, local, receipts
from pages.frame.settings import PART, Settings
from pages.parts.answer import private_test, question
from pages.parts.answer.views import LOOK
from pillar_core import mode
from pillar_core.data import uploads
from pillar_core.numerics import round_up
from pillar_core.runs import rankings
from pillar_core.runs.models import in_sight, model_bytes
from pillar_core.runs.receipts import training_on
from pillar_core.runs.run import run_spec
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies.advice import Advice
from pillar_core.types import RunRecord, SemiPrivateSplit

Train = Callable[[], tuple[RunRecord, SemiPrivateSplit]]


def free(settings: Settings, advice: Advice) -> None:
    """The advised learner, trained in one click."""
    learner = pc.METHODS[advice.method].title
    st.markdown(f"The advice cost nothing: the whole ε = {settings.epsilon:g} goes into training {learner}.")
    spec, split = dataclasses.replace(core.spec(settings), seed=None), core.split(settings)
    _offer(lambda: (run_spec(spec, split), split), settings, split, learner, key="answer-train", label="Train")


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
    request = {name: getattr(settings, name) for name in ("epsilon", "delta", "relation")}
    request["backbones"] = question.backbones(settings, names)

    def train() -> tuple[RunRecord, SemiPrivateSplit]:
        choice = pc.choose(split, others, **request, seed=None)
        return choice.record, choice.split

    _offer(train, settings, split, "A choice and a training", key="answer-paid", label="Choose within ε and train")


def _offer(
    train: Callable[[], tuple[RunRecord, SemiPrivateSplit]],
    settings: Settings,
    split: SemiPrivateSplit,
    learner: str,
    *,
    key: str,
    label: str,
) -> None:
    """The button of a training, what is to be known before it, and its receipt."""
    if mode.binds():
        st.caption(f"Models cannot be taken away from a public server. {mode.ADVICE}")
        return
    seen = IN_SIGHT if local.value(LOOK, False) else history.in_sight(settings)
    if seen == IN_SIGHT:
        st.markdown("Test accuracy of these rows, or the rows without noise, **was looked at** here, and the file says so.")
    elif seen:
        st.markdown("A ranking of public sets with a **known seed** was looked at here, and the file says so.")
    if ranked := history.paid_rankings(settings):
        upper = round_up(rankings.epsilon_of(ranked, delta=settings.delta), 3)
        st.markdown(f"You paid **ε ≤ {upper}** on Screen for these rows: the file adds it to the model's.")

    def content() -> bytes:
        record, trained_on = train()
        what, done = history.in_sight(settings) or seen, rankings.count_rankings(record, ranked)
        done = in_sight(done, what) if what else done
        private_test.remember(settings, done, trained_on)
        return model_bytes(done, split=trained_on)

    hint = (
        "Noise from the operating system, recorded nowhere. One zip: weights, how raw rows become numbers, a statement to sign, "
        "a model card, and code that uses it with numpy alone."
    )
    training = training_on(split, learner, (settings.epsilon, settings.delta, settings.relation), data=uploads.title_of(settings.data))
    receipts.offer(settings, training, content, key=key, label=label, hint=hint)
