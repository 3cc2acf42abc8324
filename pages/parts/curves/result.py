"""The run that the sliders describe, trained when one is released: how its step size is chosen, its
numbers and their comparison with the pinned A; and a model to take away, trained once more with
noise from the operating system, because a seeded one must not leave.
"""

import contextlib
import dataclasses
import math
from typing import Any

import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, failures, local, odds, receipts
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import mode, plots
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import number_words, round_up, signed
from pillar_core.runs.receipts import training_on
from pillar_core.runs.statement import IN_SIGHT, PAID_WAYS, UNPAID
from pillar_core.studies import tuning as tuned
from pillar_core.studies.tuning import SAID, Choosing, Tuned
from pillar_core.types import Form, Provenance, RunRecord, Values

_choose_rate = core.of_run(
    tuned.tune_step_size, max_entries=32, show_spinner="Choosing the step size …"
)


def record(settings: Settings) -> RunRecord:
    """The run of these settings, its step size chosen as the switch says; what that costs is said
    above it."""
    plain = core.run(settings)
    choosing = chosen_by()
    if choosing is Choosing.RULES:
        return plain
    if reason := _reason(settings, choosing):
        st.info(f"The step size follows the rules: {reason}.", icon=":material/tune:")
        return plain
    outcome = _choose_rate(settings, choosing=choosing)
    _price(choosing, outcome, plain)
    return outcome.record


def switch() -> None:
    """How the step size is chosen, closed while it is by the rules."""
    with st.expander(
        "Advanced: the step size",
        icon=":material/tune:",
        expanded=chosen_by() is not Choosing.RULES,
    ):
        local.choice(
            "tuning",
            {name: words["words"] for name, words in SAID.items()},
            str(Choosing.RULES),
            label="Step size chosen by",
            help=(
                "Settings that were tried out on private rows are paid for, or the number is not"
                " differentially private."
            ),
        )


def chosen_by() -> Choosing:
    """What the switch says; rules where a link says what it cannot."""
    value = str(local.linked_value("tuning", str(Choosing.RULES)))
    return Choosing(value) if value in set(Choosing) else Choosing.RULES


def prepare_release(settings: Settings, choosing: Choosing) -> receipts.Train:
    """What trains as `record`, with secret noise, for a model to hand out: what `choosing` paid for
    is in its ε, the rest is declared."""
    way = Choosing.RULES if _reason(settings, choosing) else choosing
    spec = dataclasses.replace(core.spec(settings), seed=None)
    split = core.split(settings)
    account = receipts.account(settings)

    def train() -> receipts.Trained:
        record = tuned.tune_step_size(spec, split, choosing=way).record
        return account.count(record, sight=IN_SIGHT), split, {}

    return train


def _reason(settings: Settings, choosing: Choosing) -> str:
    if math.isinf(settings.epsilon):
        return "without noise nothing is promised, so nothing is paid; lower ε"
    return tuned.supports(core.spec(settings), core.split(settings), choosing=choosing)


def _price(choosing: Choosing, outcome: Tuned, plain: RunRecord) -> None:
    rate = outcome.chosen.get("learning_rate")
    chosen = (
        ""
        if rate is None
        else f" Chosen: step size {rate:.3g} (the rule's is {plain.settings['learning_rate']:.3g})."
    )
    each = (
        f" Each run may spend ε = {outcome.trial_epsilon:.3g}."
        if choosing is Choosing.STOPPING
        else ""
    )
    change = ""
    if outcome.record.accuracy is not None and plain.accuracy is not None:
        change = (
            " Test accuracy against the rules at the same ε:"
            f" {signed(100 * (outcome.record.accuracy - plain.accuracy))} points."
        )
    show = st.warning if choosing is Choosing.PAPERS else st.info
    show(f"{SAID[choosing]['price']}{each}{chosen}{change}", icon=":material/tune:")


def summary(record: RunRecord, settings: Settings, accuracy: Values) -> Any:
    """Three numbers: accuracy, in words of Streamlit's `metric`, ε spent, directions; what comes
    back is the place of a fourth, for `gain`."""
    guarantee = record.guarantee
    with st.container(border=True, key="result"):
        left, second, third, last = st.columns([1.5, 1, 1.15, 1])
        left.metric(**accuracy)
        second.metric(
            "ε, upper bound" if guarantee.covers_choice else "ε, choice unpaid",
            round_up(guarantee.epsilon.upper).replace("inf", "∞"),
            help=(
                f"What really ran, at δ = {number_words(guarantee.delta)}, counted by"
                f" “{guarantee.accountant}”: {'; '.join(guarantee.events)}. Adjacency:"
                f" {odds.relation_words(str(guarantee.relation), settings.data)}."
            ),
        )
        hint = " ".join([f"Used by the model, of {record.facts.d:,} features.", *record.notes])
        k = record.settings.get("k")
        used = f"{k:,}" if k else f"all {record.facts.d:,}"
        if settings.k == codec.RULE and core.words_of_rule(record.method) != "rule":
            used = "all"
        last.metric("Directions", used, help=hint)
    place = third.empty()
    place.metric(odds.METRIC, "…")
    return place


def gain(place: Any, record: RunRecord, settings: Settings) -> None:
    """The odds, drawn last: in a fresh process what they are read from takes longer to import than
    all else takes to draw."""
    label, number, hint = odds.metric_of(record, settings.data)
    place.metric(label, number, help=hint)


def show_badges(record: RunRecord, settings: Settings) -> None:
    """What protects the numbers of `summary`, and which rows they are of."""
    with st.container(horizontal=True, gap="small"):
        if record.guarantee.is_private and record.guarantee.covers_choice:
            badges.show(Provenance.PRIVATE if record.guarantee.has_releases else Provenance.PUBLIC)
            badges.show(badges.EXPERIMENT)
        elif record.guarantee.is_private:
            st.badge(
                "not private: chosen on test rows, unpaid",
                icon=":material/money_off:",
                color="red",
                help=UNPAID,
            )
        else:
            hint = (
                "No noise was added, so nothing is promised: the model may give away any of its"
                " rows."
            )
            st.badge("not private: no noise", icon=":material/lock_open:", color="red", help=hint)
        hint = "Accuracy is read from test rows without noise: not covered by ε, not for release."
        st.badge(
            "accuracy: non-private", icon=":material/visibility_lock:", color="orange", help=hint
        )
        majority = core.majority(settings)
        if majority is not None and record.accuracy is not None:
            hint = (
                "What always saying the most frequent class of the test rows gets right. An"
                " accuracy below it has learnt nothing."
            )
            st.badge(
                f"largest class alone: {100 * majority:.1f} %",
                icon=":material/horizontal_rule:",
                color="gray",
                help=hint,
            )
        st.badge(
            f"{record.facts.n_private:,} private · {record.facts.n_public:,} public rows",
            color="gray",
        )
        if (unit := odds.unit(settings.data)) != "row":
            st.badge(
                f"ε of a {unit}",
                icon=":material/person:",
                color="gray",
                help="All rows of one person count together.",
            )
        if core.is_synthetic(settings.data):
            badges.show(badges.SYNTHETIC)


def pinned_runs(settings: Settings) -> dict[str, RunRecord]:
    """The runs of the pinned settings by letter, without those that cannot run here."""
    runs = {}
    for letter, pinned in codec.pins(settings).items():
        with contextlib.suppress(PillarError):
            runs[letter] = core.run(pinned)
    return runs


def accuracy(record: RunRecord, settings: Settings) -> Form:
    """The test accuracy of a run, beside that of the pinned A, in words of Streamlit's `metric`."""
    if record.accuracy is None:
        hint = "Bring test rows to see how good the model is."
        return {"label": "Test accuracy", "value": "no test rows", "help": hint}
    rows, pinned = core.n_test(settings), pinned_runs(settings).get("A")
    low, high = (100 * end for end in plots.wilson(record.accuracy, rows))
    against: Form = {}
    if pinned is not None and pinned.accuracy is not None:
        points = signed(100 * (record.accuracy - pinned.accuracy))
        against["delta"] = f"{points} points against A"
        if points.startswith("−"):  # Streamlit takes a hyphen alone for a minus
            against |= {"delta_arrow": "down", "delta_color": "inverse"}
    hint = f"95 % Wilson interval over {rows:,} test rows: {low:.1f} to {high:.1f} %. One run."
    label = f"Test accuracy ({low:.1f}–{high:.1f})"
    return {"label": label, "value": percent(record.accuracy), "help": hint, **against}


def percent(share: float | None) -> str:
    """A share for people, “none” where there is none."""
    return "none" if share is None else f"{100 * share:.1f} %"


def panel(settings: Settings) -> None:
    """The explanation, and the button that trains and hands over the file."""
    if mode.binds():
        return
    with local.box("Download the model", "download", "release-panel") as is_open:
        if not is_open:
            return
        st.markdown(
            "What you see above is an **experiment**: its seed is known, so anyone "
            "could subtract the noise. A release trains **anew**, with noise and "
            "sampling from the operating system that are recorded nowhere. It spends "
            "its ε for good; each further training spends it again, on the same "
            "private rows.\n\nThe file also says what its ε does **not** cover: "
            f"{IN_SIGHT}. To pay for a choice, set **Step size chosen by** to "
            f"{PAID_WAYS}: the release then chooses anew within its ε. Nothing pays "
            "for k, ε and learner that were picked by looking; fix them on public "
            "rows or beforehand."
        )
        if not pc.METHODS[settings.method].is_private:
            st.warning(
                "This learner protects nothing: its file promises nothing about anyone.",
                icon=":material/warning:",
            )
        with failures.show_refusal("The model could not be prepared."):
            learner = pc.METHODS[settings.method]
            epsilon = settings.epsilon if pc.METHODS[settings.method].is_private else 0.0
            budget = (epsilon if learner.protects else math.inf, settings.delta, settings.relation)
            receipts.wait(settings)
            receipts.offer(
                settings,
                training_on(
                    core.split(settings),
                    learner.title,
                    budget,
                    data=uploads.title_of(settings.data),
                ),
                prepare_release(settings, chosen_by()),
                key="release",
                label="Train a release",
                hint=(
                    "A zip of safetensors (public transform, weights), JSON (guarantee, settings,"
                    " classes) and a statement to sign. No seed, no test accuracy."
                ),
            )
            receipts.show(settings)
            st.caption(
                "A statement to sign. This one describes the experiment above; the file holds its"
                " own:"
            )
            st.code(pc.statement(core.run(settings)).text, language=None, wrap_lines=True)
        st.caption("Its README shows how to use it, in Python and with `predict`.")
