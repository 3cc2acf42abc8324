"""The runs of this visit, so that every released slider leaves a dot: a curve that the visitor draws by playing."""

import json

import pandas as pd
import streamlit as st

from pages.frame import core
from pages.frame.settings import PINNED, Settings
from pillar_core import store
from pillar_core.data.sets import embedded
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import records
from pillar_core.types import RunRecord

_KEY, _SEEN = "history", "history.seen"
_LONGEST = 80


def add(settings: Settings, record: RunRecord) -> None:
    """Remembers a run of a learner with k."""
    if record.accuracy is None or not record.settings.get("k"):
        return
    run = {"where": _where(settings), "k": int(record.settings["k"]), "epsilon": settings.epsilon, "accuracy": record.accuracy}
    text = json.dumps(run)
    earlier = [line for line in st.session_state.get(_KEY, "").splitlines() if line != text]
    st.session_state[_KEY] = "\n".join([*earlier, text][-_LONGEST:])


def table(settings: Settings) -> pd.DataFrame:
    """The visit's runs with the same data, split and learner: columns k, epsilon, accuracy."""
    runs = [json.loads(line) for line in st.session_state.get(_KEY, "").splitlines()]
    where = _where(settings)
    here = [run for run in runs if run["where"] == where]
    return pd.DataFrame(here, columns=["k", "epsilon", "accuracy"])


def look(settings: Settings) -> None:
    """Remembers, for later visits too, that what models of these rows reach, or these rows without noise, were in sight.

    A private ranking of public sets counts, too: its ε is not in that of a model that is trained then.
    """
    rows = embedded.whole_of(settings.data)
    if rows not in _seen():
        st.session_state[_SEEN] = "\n".join([*_seen(), rows])
    if store.default().get_json("record", _seen_key(rows)) is None:
        store.default().remember_json("record", _seen_key(rows), {"in_sight": True})


def was_looked_at(settings: Settings) -> bool:
    """Whether they were, on any page, with any learner, in any visit that this cache knows of; what sweeps left there can be seen, too."""
    rows = embedded.whole_of(settings.data)
    if rows in _seen() or any(store.default().get_json("record", _seen_key(name)) is not None for name in (rows, settings.data)):
        return True
    found = [runs["dataset"] for runs in (records.all_runs(), records.all_runs(shipped=True)) if len(runs)]
    return any(embedded.whole_of(str(name)) == rows for names in found for name in set(names))


def _seen() -> list[str]:
    return str(st.session_state.get(_SEEN, "")).splitlines()


def _seen_key(name: str) -> str:
    return fingerprint("in sight", name)


def _where(settings: Settings) -> str:
    return core.key(settings, tuple(name for name in PINNED if name not in ("k", "epsilon", "seeds")))
