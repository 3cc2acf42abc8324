"""The data sets that come with the app, as cards."""

from __future__ import annotations

import streamlit as st

import pillar_core as pc
from pages.frame import session
from pages.frame.settings import AUTO, PART, Settings

_ICONS = {"images": ":material/image:", "tabular": ":material/table:", "generator": ":material/auto_awesome:"}
_ACROSS = 4


def cards(settings: Settings) -> None:
    """One card for each data set, with licence, size and a button."""
    names = list(pc.DATASETS)
    for start in range(0, len(names), _ACROSS):
        for column, name in zip(st.columns(_ACROSS), names[start : start + _ACROSS], strict=False):
            with column, st.container(border=True, key=f"card-{name}", height="stretch"):
                _card(name, settings)


def title_of(name: str) -> str:
    """A data set's title; uploads have none."""
    return pc.DATASETS[name].title if name in pc.DATASETS else "Your upload"


def is_synthetic(name: str) -> bool:
    """Whether the rows are generated."""
    return name in pc.DATASETS and pc.DATASETS[name].synthetic


def _card(name: str, settings: Settings) -> None:
    card = pc.DATASETS[name]
    st.markdown(f"**{_ICONS.get(card.kind, '')} {card.title}**")
    with st.container(horizontal=True, gap="small"):
        st.badge("synthetic" if card.synthetic else "real data", color="gray" if card.synthetic else "green")
        if settings.data == name:
            st.badge("in use", color="violet", icon=":material/check:")
    n_train, n_test, d, n_classes = (words.split(" (")[0] for words in (card.n_train, card.n_test, card.d, card.n_classes))
    st.caption(f"{n_train} train and {n_test} test rows · {d} features · {n_classes} classes")
    st.caption(f"{card.source}. Licence: {card.licence}.")
    if settings.data != name:
        st.button(
            "Use this",
            key=f"use-{name}",
            on_click=session.change,
            kwargs={"data": name, "public": PART, "backbone": AUTO},
            help="Its own rows become public in part; the backbone goes back to automatic, everything else stays.",
        )
