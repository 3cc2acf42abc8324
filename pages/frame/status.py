"""Below the sidebar's controls: odds, device and cache, pin as A, copy link, jobs."""

import os

import streamlit as st

import pillar_core as pc
from pages.frame import copying, exports, jobs, odds, plain, session
from pages.frame import settings as codec
from pages.frame.settings import Settings


def draw(settings: Settings) -> None:
    """Draws all of them into the sidebar."""
    with st.sidebar:
        st.html(f'<div class="pillar-odds">{odds.sentence(settings)}</div>')
        pinned = codec.unpin(settings.a)
        with st.container(horizontal=True, gap="small"):
            st.button(
                "Pin as A" if pinned is None else "Pin anew",
                icon=":material/push_pin:",
                key="pin",
                help="Keeps the present settings as A: figures show A as a ghost line, Explore compares it with what you change.",
                on_click=session.change,
                kwargs={"a": codec.pin(settings)},
            )
            if pinned is not None:
                st.button("Unpin", key="unpin", help="Forgets A.", on_click=session.change, kwargs={"a": ""})
        if pinned is not None:
            changed = exports.differences(pinned, settings)
            changes = "; ".join(f"{row.setting} {row.A} → {row.B}" for row in changed.itertuples()) or "nothing yet"
            st.caption(f"Changed since A: {plain.text(changes)}")
        hint = (
            "It shows the same view on any machine that has the data, and holds the seed: runs that it shows are experiments, not releases."
        )
        copying.button("Copy link", settings, key="copy-link", hint=hint)
        jobs.show_unfinished()
        cores = os.cpu_count() or 1
        cache = pc.store.default()
        root = cache.root
        st.caption(f":material/memory: {cores} CPU core{'' if cores == 1 else 's'} · :material/folder: cache `{root.name}/`")
        if cache.unkept:
            st.warning(plain.text(cache.unkept), icon=":material/warning:")
