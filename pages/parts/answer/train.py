"""The model to take away: trained with secret noise when somebody presses, by the free advice or by a choice that ε pays for."""

import dataclasses
import math
from collections.abc import Mapping

import streamlit as st

import pillar_core as pc
from pages.frame import core, history, local, plain, receipts
from pages.frame.settings import PART, RULE, Settings
from pages.parts.answer import private_test, question
from pillar_core import mode
from pillar_core.arrays import Json
from pillar_core.data import uploads
from pillar_core.numerics import round_up
from pillar_core.runs import rankings
from pillar_core.runs.models import in_sight
from pillar_core.runs.receipts import training_on
from pillar_core.runs.run import run_spec
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies.advice import Advice, free
from pillar_core.types import RunRecord, SemiPrivateSplit


def offer_free(settings: Settings, advice: Advice) -> None:
    """The advised learner, trained in one click."""
    learner = pc.METHODS[advice.method].title
    st.markdown(f"The advice cost nothing: the whole ε = {settings.epsilon:g} goes into training {learner}.")
    spec, split = dataclasses.replace(core.spec(settings), seed=None), core.split(settings)
    _offer(lambda: (run_spec(spec, split), split, {}), settings, split, learner, key="answer-train", label="Train")


def offer_paid(settings: Settings, names: list[str]) -> None:
    """The public set, or none, chosen on the private rows, within ε."""
    if math.isinf(settings.epsilon):
        st.caption("Without noise nothing is paid: lower ε.")
        return
    st.markdown(
        f"One noisy sum over the private rows chooses among {len(names)} public set{'s' * (len(names) > 1)} and no public rows; choice and "
        f"training cost ε = {settings.epsilon:g} **together**. The learner then has a little less than in the free way."
    )
    split = core.split(dataclasses.replace(settings, public=PART)) if PART in names else pc.split(core.features(settings))
    named = {question.title(name): name for name in names if name != PART}
    candidates = {title: core.candidate(name, settings) for title, name in named.items()}
    request = {name: getattr(settings, name) for name in ("epsilon", "delta", "relation")}
    request["backbones"] = question.backbones(settings, names)

    def train() -> tuple[RunRecord, SemiPrivateSplit, Mapping[str, Json]]:
        choice = pc.choose(split, candidates, **request, seed=None)
        changes = {"method": choice.method, "k": RULE} | ({"backbone": choice.backbone} if choice.backbone else {})
        changes["public"] = free.NONE if choice.public == free.NONE else named.get(choice.public, PART)
        public = "no public rows" if choice.public == free.NONE else f"*{plain.text(question.title(choice.public))}* as public data"
        backbone = choice.backbone or choice.split.features.backbone
        through = f", {plain.text(pc.BACKBONES[backbone].title)}" if pc.BACKBONES[backbone or "identity"].takes == "images" else ""
        expected = free.range_words(choice.predicted, choice.expected_accuracy, choice.metric, split.features.n_classes)
        spent = f"ε ≤ {round_up(choice.guarantee.epsilon.upper)} was spent on choice and training together"
        words = f"Your rows chose {public}{through} and {pc.METHODS[choice.method].title}: expect {expected}; {spent}."
        promise = [*choice.expected_accuracy, choice.metric]
        return choice.record, choice.split, {"words": words, "settings": changes, "reasons": list(choice.reasons), "expected": promise}

    _offer(train, settings, split, "A choice and a training", key="answer-paid", label="Choose within ε and train")


def _offer(train: receipts.Train, settings: Settings, split: SemiPrivateSplit, learner: str, *, key: str, label: str) -> None:
    """The button of a training, what is to be known before it, and its receipt."""
    if mode.binds():
        st.caption(f"Models cannot be taken away from a public server. {mode.ADVICE}")
        return
    seen = history.seen()
    sight = IN_SIGHT if local.value(private_test.LOOK, False) else history.in_sight(settings)
    if sight == IN_SIGHT:
        st.markdown("You have **already looked** at test results for these rows, or at the rows without noise: the file records that.")
    elif sight:
        st.markdown("You have already looked at a ranking of public sets with a **known seed**: the file records that.")
    if ranked := history.paid_rankings(settings):
        upper = round_up(rankings.epsilon_of(ranked, delta=settings.delta, relation=settings.relation), 3)
        st.markdown(f"You paid **ε ≤ {upper}** on Public data for these rows: the file adds it to the model's.")

    def prepare() -> receipts.Train:
        latest_sight = history.in_sight(settings, seen) or sight

        def train_and_say() -> tuple[RunRecord, SemiPrivateSplit, Mapping[str, Json]]:
            record, trained_on, choice = train()
            record = rankings.count_rankings(record, ranked)
            return in_sight(record, latest_sight) if latest_sight else record, trained_on, choice

        return train_and_say

    hint = (
        "Noise from the operating system, recorded nowhere. One zip: weights, how raw rows become numbers, a statement to sign, "
        "a model card, and code that uses it with numpy alone."
    )
    training = training_on(split, learner, (settings.epsilon, settings.delta, settings.relation), data=uploads.title_of(settings.data))
    receipts.offer(settings, training, prepare, key=key, label=label, hint=hint)
