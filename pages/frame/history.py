"""The runs of this visit, so that every released slider leaves a dot: a curve that the visitor
draws by playing."""

import json
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from pages.frame import core
from pages.frame.settings import PINNED, Settings
from pillar_core import store
from pillar_core.data.sets import embedded
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import rankings, records
from pillar_core.runs.rankings import Ranking
from pillar_core.runs.statement import IN_SIGHT, RANKED_IN_SIGHT
from pillar_core.types import RunRecord

_KEY, _SEEN = "history", "history.seen"
_LONGEST = 80
_RANKED = ", ranked with a known seed"


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


def look(settings: Settings, *, is_ranking: bool = False) -> None:
    """Remembers, for later visits too, that what models of these rows reach, or these rows without
    noise, were in sight.

    is_ranking: what was in sight is a private ranking with a known seed alone: its ε is not in that
    of a model that is trained then.
    """
    rows = embedded.whole_of(settings.data) + (_RANKED if is_ranking else "")
    if rows not in seen():
        st.session_state[_SEEN] = "\n".join([*seen(), rows])
    if store.default().get_json("record", _seen_key(rows)) is None:
        store.default().remember_json("record", _seen_key(rows), {"in_sight": True})


def in_sight(settings: Settings, sights: Sequence[str] | None = None) -> str:
    """What somebody saw of these rows without paying, in the words of a guarantee; "" for nothing.
    All visits to this cache count.

    Runs of sweeps in the cache count as seen. sights: of this visit, for whoever must not ask
    Streamlit.
    """
    rows, sights = embedded.whole_of(settings.data), seen() if sights is None else sights
    datasets = [
        runs["dataset"]
        for runs in (records.all_runs(), records.all_runs(shipped=True))
        if len(runs)
    ]
    if _is_marked(sights, rows, settings.data) or any(
        embedded.whole_of(str(name)) == rows for names in datasets for name in set(names)
    ):
        return IN_SIGHT
    return RANKED_IN_SIGHT if _is_marked(sights, rows + _RANKED) else ""


def paid_rankings(settings: Settings) -> tuple[Ranking, ...]:
    """The rankings of public sets that you paid for on these rows."""
    return rankings.of_rows(embedded.whole_of(settings.data))


def _is_marked(sights: Sequence[str], *names: str) -> bool:
    return names[0] in sights or any(
        store.default().get_json("record", _seen_key(name)) is not None for name in names
    )


def seen() -> list[str]:
    """What this visit had in sight."""
    return str(st.session_state.get(_SEEN, "")).splitlines()


def _seen_key(name: str) -> str:
    return fingerprint("in sight", name)


def _where(settings: Settings) -> str:
    return core.key(
        settings, tuple(name for name in PINNED if name not in ("k", "epsilon", "seeds"))
    )
