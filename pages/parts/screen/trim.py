"""Trim: of all candidates together, the rows that private rows vote for, to be kept as public data of one's own."""

import numpy as np
import streamlit as st

from pages.frame import local, plain, session
from pages.parts.screen import sets as screening_sets
from pages.parts.screen.question import Choice
from pillar_core.arrays import Array
from pillar_core.data import uploads, visitors
from pillar_core.errors import PillarError
from pillar_core.screening import SCORES
from pillar_core.studies.screening import trimming
from pillar_core.studies.screening.answers import Ask
from pillar_core.studies.screening.trimming import Pool

SHARES = (5, 10, 25, 50, 75)
SAMPLES = 8


def panel(choice: Choice) -> None:
    """One release of votes over the candidates' pool when it is opened; the slider then costs nothing more."""
    ask = choice.ask("ranking")
    if not trimming.pool_of(ask) or not SCORES[choice.score].is_of_features:
        return
    below = st.expander("Trim: keep the rows that help", icon=":material/content_cut:", key="screen-trim", on_change="rerun")
    if not below.open:
        return
    with below:
        st.markdown(
            "All candidates but the private set's own parts go into one pool. Every private row votes for the cluster of public images "
            "nearest to it, and the rows with the most votes are kept: of a large mixed set the part that looks like the private rows."
        )
        if choice.epsilon is None:
            st.info("Votes are released with noise: choose an ε above.", icon=":material/shield_lock:")
            return
        uploads.refuse_foreign(ask.payload)
        visitors.refuse_names(ask.payload)
        pool = _voted(ask)
        percent = local.slider(
            "Keep",
            list(SHARES),
            10,
            name="screen-share",
            unlinked="What is kept becomes a set of its own, and that is in the link.",
            title=lambda share: f"{share} %",
            help="The share of the pool's rows that is kept, those with the most votes first. Moving it costs no ε.",
        )
        table = pool.by_source(percent / 100)
        kept, names = pool.trimmed.at(percent / 100), [screening_sets.title(name) for name in pool.names]
        st.dataframe(
            table.assign(public=names, kept=100 * table["kept"] / table["rows"]),
            hide_index=True,
            key="screen-trim-sources",
            column_config={
                "public": "Set",
                "rows": st.column_config.NumberColumn("Rows", format="localized"),
                "kept": st.column_config.ProgressColumn("Kept, %", format="%.0f %%", min_value=0, max_value=100),
            },
        )
        dropped = np.setdiff1d(pool.trimmed.order, kept)
        for word, numbers in (("Kept", pool.trimmed.order[: len(kept)]), ("Dropped", pool.trimmed.order[::-1][: len(dropped)])):
            _samples(word, pool, ask, numbers[:: max(1, len(numbers) // SAMPLES)][:SAMPLES])
        st.caption(f":material/shield_lock: {plain.text(pool.trimmed.guarantee)} It comes on top of the ranking's release.")
        if not visitors.binds():
            hint = "They become a set of yours, and private and public data of every page are then these two."
            label = f"Use the {len(kept):,} kept rows as public data"
            st.button(label, key="use-kept", on_click=_use, args=(choice, pool, kept, percent), help=hint)


@st.cache_resource(max_entries=4, show_spinner="Taking votes …")
def _voted(ask: Ask) -> Pool:
    return trimming.trimmed(ask)


def _samples(word: str, pool: Pool, ask: Ask, numbers: Array) -> None:
    st.markdown(f"**{word}**")
    images = trimming.images_of(pool, ask, numbers).x_train
    names = [plain.text(screening_sets.title(pool.names[code])) for code in pool.sources[numbers]]
    st.image(list(images), width=64, alt=[f"{word}: {name}, image {place}" for place, name in enumerate(names, start=1)])


def _use(choice: Choice, pool: Pool, kept: Array, percent: int) -> None:
    """A callback: the kept images become the asker's own set and the public data of every page from now on."""
    try:
        title = f"Kept rows, {percent} % of {len(pool.names)} sets"
        name = uploads.keep(trimming.images_of(pool, choice.ask("ranking"), kept), title=title)
    except PillarError as problem:
        session.note(f"The rows could not be kept: {problem}")
        return
    session.change(data=choice.private, public=name)
