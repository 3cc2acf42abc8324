"""How Explore's step size is chosen: by rules, for free as the papers do, or by a way that pays. And a model to take away: trained once
more with noise from the operating system, because a seeded one must not leave."""

import dataclasses
import functools
import math

import streamlit as st

import pillar_core as pc
from pages.frame import core, failures, history, local, receipts, words
from pages.frame.settings import Settings
from pillar_core import mode
from pillar_core.data import uploads
from pillar_core.runs import rankings
from pillar_core.runs.models import PAID_WAYS, in_sight
from pillar_core.runs.receipts import training_on
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.studies import tuning as tuned
from pillar_core.studies.tuning import SAID, Choosing, Tuned
from pillar_core.types import RunRecord

_choose_rate = core.of_run(tuned.tune_step_size, max_entries=32, show_spinner="Choosing the step size …")


def record(settings: Settings) -> RunRecord:
    """The run of these settings, its step size chosen as the switch says; what that costs is said above it."""
    choosing = chosen_by()
    if choosing is Choosing.RULES:
        return core.run(settings)
    reason = _reason(settings, choosing)
    if reason:
        st.info(f"The step size follows the rules: {reason}.", icon=":material/tune:")
        return core.run(settings)
    plain = core.run(settings)
    outcome = _choose_rate(settings, choosing=choosing)
    _price(choosing, outcome, plain)
    return outcome.record


def switch() -> None:
    """How the step size is chosen, closed while it is by the rules."""
    with st.expander("Advanced: the step size", icon=":material/tune:", expanded=chosen_by() is not Choosing.RULES):
        local.choice("tuning", {name: words["words"] for name, words in SAID.items()}, str(Choosing.RULES))


def chosen_by() -> Choosing:
    """What the switch says; rules where a link says what it cannot."""
    value = str(local.linked_value("tuning", str(Choosing.RULES)))
    return Choosing(value) if value in set(Choosing) else Choosing.RULES


def prepare_release(settings: Settings, choosing: Choosing) -> receipts.Train:
    """What trains as `record`, with secret noise, for a model to hand out: what `choosing` paid for is in its ε, the rest is declared."""
    way = Choosing.RULES if _reason(settings, choosing) else choosing
    spec, split, ranked = dataclasses.replace(core.spec(settings), seed=None), core.split(settings), history.paid_rankings(settings)
    return lambda: (in_sight(rankings.count_rankings(tuned.tune_step_size(spec, split, choosing=way).record, ranked)), split, {})


def _reason(settings: Settings, choosing: Choosing) -> str:
    if math.isinf(settings.epsilon):
        return "without noise nothing is promised, so nothing is paid; lower ε"
    return tuned.supports(core.spec(settings), core.split(settings), choosing=choosing)


def _price(choosing: Choosing, outcome: Tuned, plain: RunRecord) -> None:
    rate = outcome.chosen.get("learning_rate")
    chosen = "" if rate is None else f" Chosen: step size {rate:.3g} (the rule's is {plain.settings['learning_rate']:.3g})."
    each = f" Each run may spend ε = {outcome.trial_epsilon:.3g}." if choosing is Choosing.STOPPING else ""
    change = ""
    if outcome.record.accuracy is not None and plain.accuracy is not None:
        change = f" Test accuracy against the rules at the same ε: {100 * (outcome.record.accuracy - plain.accuracy):+z.1f} points."
    show = st.warning if choosing is Choosing.PAPERS else st.info
    show(f"{SAID[choosing]['price']}{each}{chosen}{change}", icon=":material/tune:")


def panel(settings: Settings) -> None:
    """The explanation, and the button that trains and hands over the file."""
    if mode.binds():
        return
    panel = st.expander("Download the model", icon=":material/download:", key="release-panel", on_change="rerun")
    if not panel.open:
        return
    with panel:
        words.say("release", st.markdown, in_sight=IN_SIGHT, paid_ways=PAID_WAYS)
        if not pc.METHODS[settings.method].is_private:
            st.warning("This learner protects nothing: its file promises nothing about anyone.", icon=":material/warning:")
        with failures.show_refusal("The model could not be prepared."):
            choosing = chosen_by()
            learner, epsilon = pc.METHODS[settings.method], settings.epsilon if pc.METHODS[settings.method].is_private else 0.0
            budget = (epsilon if learner.protects else math.inf, settings.delta, settings.relation)
            receipts.wait(settings)
            receipts.offer(
                settings,
                training_on(core.split(settings), learner.title, budget, data=uploads.title_of(settings.data)),
                functools.partial(prepare_release, settings, choosing),
                key="release",
                label="Train a release",
                hint="A zip of safetensors (public transform, weights), JSON (guarantee, settings, classes) and a statement to sign. "
                "No seed, no test accuracy.",
            )
            receipts.show(settings)
            st.caption("A statement to sign. This one describes the experiment above; the file holds its own:")
            st.code(pc.statement(core.run(settings)).text, language=None, wrap_lines=True)
        st.caption("Its README shows how to use it, in Python and with `predict`.")
