"""The runs of this visit, so that every released slider leaves a dot: a curve that the visitor
draws by playing."""

import json

import pandas as pd
import streamlit as st

from pages.frame import core
from pages.frame.settings import PINNED, Settings
from pillar_core.runs.receipts import Account
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.types import RunRecord

_KEY = "history"
_LONGEST = 80


def add(settings: Settings, record: RunRecord) -> None:
    """Remembers a run of a learner with k."""
    if record.accuracy is None or not record.settings.get("k"):
        return
    run = {
        "where": _where(settings),
        "k": int(record.settings["k"]),
        "epsilon": settings.epsilon,
        "accuracy": record.accuracy,
    }
    text = json.dumps(run)
    earlier = [line for line in st.session_state.get(_KEY, "").splitlines() if line != text]
    st.session_state[_KEY] = "\n".join([*earlier, text][-_LONGEST:])


def table(settings: Settings) -> pd.DataFrame:
    """The visit's runs with the same data, split and learner: columns k, epsilon, accuracy."""
    runs = [json.loads(line) for line in st.session_state.get(_KEY, "").splitlines()]
    where = _where(settings)
    return pd.DataFrame(
        [run for run in runs if run["where"] == where], columns=["k", "epsilon", "accuracy"]
    )


def has_looked(settings: Settings) -> bool:
    """Whether exact figures of these rows were in sight before."""
    return Account(settings.data).sight == IN_SIGHT


def look(settings: Settings, *, is_ranking: bool = False) -> None:
    """Remembers, for later visits too, that what models of these rows reach, or these rows without
    noise, were in sight. is_ranking: as in `Account.look`."""
    Account(settings.data).look(is_ranking=is_ranking)


def _where(settings: Settings) -> str:
    return core.key(
        settings, tuple(name for name in PINNED if name not in ("k", "epsilon", "seeds"))
    )
