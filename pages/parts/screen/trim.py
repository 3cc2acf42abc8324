"""Trim: the candidates' rows with the most votes of private rows, as a public set of your own."""

import dataclasses

import pandas as pd
import streamlit as st

from pages.frame import history, local, memory, plain, session, words
from pages.frame.settings import Settings
from pages.parts.screen import sets as screening_sets
from pages.parts.screen.question import SEEN, Choice
from pillar_core import mode
from pillar_core.arrays import Array
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.screening import SCORES
from pillar_core.studies.screening import trimming
from pillar_core.studies.screening.answers import Ask

SAMPLES = 8


def panel(choice: Choice, settings: Settings) -> None:
    """One release of votes over the candidates' pool when it is opened; the slider then costs nothing more."""
    ask = trimming.question_of_pool(choice.ask("ranking", seed=choice.seed))
    if choice.epsilon is None or not ask.public or screening_sets.is_table(choice.private) or not SCORES[choice.score].is_of_features:
        return
    below = st.expander("Trim: keep the rows that help", icon=":material/content_cut:", key="screen-trim", on_change="rerun")
    if not below.open:
        return
    history.look(dataclasses.replace(settings, data=choice.private), is_ranking=True)
    with below:
        words.say("trim", st.markdown)
        pool, names = _pool(ask.key, ask, choice.epsilon), [screening_sets.title(name) for name in ask.public]
        percent = local.slider("screen-share")
        rows = pool.trimmed.at(percent / 100)
        sets = pd.DataFrame({"Set": [names[code] for code in pool.sources], "Kept": 0.0})
        sets.loc[rows, "Kept"] = 100.0
        st.dataframe(
            sets.groupby("Set", sort=False, as_index=False).agg(Rows=("Kept", "size"), Kept=("Kept", "mean")),
            hide_index=True,
            key="screen-trim-sources",
            column_config=words.columns("trimmed"),
        )
        for kind, numbers in (("Kept", pool.trimmed.order[: len(rows)]), ("Dropped", pool.trimmed.order[len(rows) :])):
            sample = numbers[:: max(1, len(numbers) // SAMPLES)][:SAMPLES]
            sources, shown = [names[code] for code in pool.sources[sample]], trimming.rows_of(pool, sample)
            st.markdown(f"**{kind}**")
            if shown.texts:
                frame = pd.DataFrame({"Set": sources, "Text": shown.texts})
                st.dataframe(frame, hide_index=True, key=f"screen-trim-{kind.lower()}")
            else:
                alts = [f"{kind}: {plain.text(name)}, image {place}" for place, name in enumerate(sources, start=1)]
                st.image(list(shown.x_train), width=64, alt=alts)
        st.caption(f":material/shield_lock: {plain.text(pool.trimmed.guarantee)} It comes on top of the ranking's release.")
        if not mode.binds():
            style = local.element("use-kept", label=f"Use the {len(rows):,} kept rows as public data")
            st.button(**style, on_click=_use, args=(pool, rows, f"Kept rows, {percent} % of {len(names)} sets"))


def _use(pool: trimming.Pool, rows: Array, title: str) -> None:
    """A callback: stores the chosen rows as a set and makes it the public data of every page."""
    try:
        name = uploads.keep(trimming.rows_of(pool, rows), title=title)
    except PillarError as problem:
        session.note(f"The rows could not be kept: {problem}")
        return
    local.put(SEEN, f"{local.value(SEEN, '')},{name}")  # no candidate unasked: a longer list is another release
    session.change(data=pool.ask.private, public=name)


@memory.of_rows(max_entries=4, show_spinner="Taking votes …")
def _pool(key: str, ask: Ask, epsilon: float) -> trimming.Pool:
    return trimming.vote(ask, epsilon)
