"""The runs of this visit, so that every released slider leaves a dot: a curve that the visitor draws by playing."""

import dataclasses
import json

import pandas as pd
import streamlit as st

from pages.frame import core
from pages.frame.settings import Settings
from pillar_core.types import RunRecord

_KEY = "history"
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
    here = [run for run in runs if run["where"] == _where(settings)]
    return pd.DataFrame(here, columns=["k", "epsilon", "accuracy"])


def _where(settings: Settings) -> str:
    return core.run_key(dataclasses.replace(settings, k=0, epsilon=1.0))
