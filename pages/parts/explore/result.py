"""The result of the run that the sliders describe, trained when one is released, and its comparison with the pinned A."""

import contextlib
import math
from typing import Any

import streamlit as st

import pillar_core as pc
from pages.frame import badges, core, odds, sidebar
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.errors import PillarError
from pillar_core.runs.models import UNPAID
from pillar_core.types import Provenance, RunRecord


def learner() -> None:
    """The choice of the learner."""
    sidebar.select("method", lambda name: pc.METHODS[name].title)


def summary(record: RunRecord, settings: Settings) -> Any:
    """Three numbers with their badges: accuracy, ε spent, directions; what comes back is the place of a fourth, for `gain`."""
    pinned = pinned_runs(settings).get("A")
    guarantee = record.guarantee
    with st.container(border=True, key="result"):
        left, second, third, last = st.columns([1.5, 1, 1.15, 1])
        with left:
            _accuracy(record, pinned, core.n_test(settings))
        second.metric(
            "ε, upper bound" if record.guarantee.covers_choice else "ε, choice unpaid",
            _epsilon(guarantee.epsilon.upper),
            help=f"What really ran, at δ = {guarantee.delta:g}, counted by “{guarantee.accountant}”: {'; '.join(guarantee.events)}. "
            f"Adjacency: {odds.relation_words(str(guarantee.relation), settings.data)}.",
        )
        words = " ".join([f"Used by the model, of {record.facts.d:,} features.", *record.notes])
        last.metric("Directions", _directions(record, settings), help=words)
        _badges(record, settings)
    return third


def gain(place: Any, record: RunRecord, settings: Settings) -> None:
    """The odds, drawn last: in a fresh process what they are read from takes longer to import than all else takes to draw."""
    unit = odds.unit(settings.data)
    hint = f"How often the best attacker who sees the model is right about whether one {unit} took part, at most. A coin is at 50 %."
    place.metric("Attacker guesses right", _odds(record), help=hint)


def _badges(record: RunRecord, settings: Settings) -> None:
    with st.container(horizontal=True, gap="small"):
        if record.guarantee.is_private and record.guarantee.covers_choice:
            badges.show(Provenance.PRIVATE if record.guarantee.has_releases else Provenance.PUBLIC)
            badges.show(badges.EXPERIMENT)
        elif record.guarantee.is_private:
            st.badge("not private: chosen on test rows, unpaid", icon=":material/money_off:", color="red", help=UNPAID)
        else:
            hint = "No noise was added, so nothing is promised: the model may give away any of its rows."
            st.badge("not private: no noise", icon=":material/lock_open:", color="red", help=hint)
        hint = "Accuracy is read from test rows without noise: not covered by ε, not for release."
        st.badge("accuracy: non-private", icon=":material/visibility_lock:", color="orange", help=hint)
        majority = core.majority(settings)
        if majority is not None and record.accuracy is not None:
            hint = "What always saying the most frequent class of the test rows gets right. An accuracy below it has learnt nothing."
            st.badge(f"largest class alone: {100 * majority:.1f} %", icon=":material/horizontal_rule:", color="gray", help=hint)
        st.badge(f"{record.facts.n_private:,} private · {record.facts.n_public:,} public rows", color="gray")
        if (unit := odds.unit(settings.data)) != "row":
            st.badge(f"ε of a {unit}", icon=":material/person:", color="gray", help="All rows of one person count together.")
        if core.is_synthetic(settings.data):
            badges.show(badges.SYNTHETIC)


def pinned_runs(settings: Settings) -> dict[str, RunRecord]:
    """The runs of the pinned settings by letter, without those that cannot run here."""
    runs = {}
    for letter, pinned in codec.pins(settings).items():
        with contextlib.suppress(PillarError):
            runs[letter] = core.run(pinned)
    return runs


def _accuracy(record: RunRecord, pinned: RunRecord | None, rows: int) -> None:
    if record.accuracy is None:
        st.metric("Test accuracy", "no test rows", help="Bring test rows to see how good the model is.")
        return
    low, high = plots.wilson(record.accuracy, rows)
    change = None if pinned is None or pinned.accuracy is None else f"{100 * (record.accuracy - pinned.accuracy):+z.1f} points against A"
    hint = f"95 % Wilson interval over {rows:,} test rows: {100 * low:.1f} to {100 * high:.1f} %. One run."
    st.metric(f"Test accuracy ({100 * low:.1f}–{100 * high:.1f})", percent(record.accuracy), delta=change, help=hint)


def percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def _epsilon(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.4g}"


def _odds(record: RunRecord) -> str:
    table = odds.table(record)
    if not record.guarantee.covers_choice:
        return "unknown"
    if table is None:
        return "50 %" if not record.guarantee.has_releases else "see ε" if record.guarantee.is_private else "no limit"
    return plots.guessed_right(float(table["advantage"].iloc[0]) / 2)


def _directions(record: RunRecord, settings: Settings) -> str:
    if settings.k == codec.RULE and core.words_of_rule(record.method) != "rule":
        return "all"
    return f"{record.settings['k']:,}" if record.settings.get("k") else f"all {record.facts.d:,}"
