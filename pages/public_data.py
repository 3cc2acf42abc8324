"""Public data: which candidate lies nearest to the private rows, how sure that is, and what
finding out costs."""

import dataclasses

import streamlit as st

from pages.frame import local, navigation, receipts
from pages.parts.lessons import lesson
from pages.parts.public_data import question as screening
from pages.parts.public_data import ranking
from pages.parts.public_data.sets import is_table, is_text

settings = navigation.begin()
screening.take_link(settings)
lesson.banner("public_data", settings)
with st.container(border=True, key="screen-controls"):
    choice = screening.controls(settings)
cost = (
    "Spends no ε: a non-private diagnostic."
    if choice.epsilon is None
    else f"One release at ε = {choice.epsilon:g} ranks them all."
)
cost += (
    " Its noise is secret, and models trained on these rows add this ε to theirs."
    if choice.is_paid
    else ""
)
of_these = dataclasses.replace(settings, data=choice.private)
if not choice.is_paid and not (
    receipts.may_look(of_these)
    if choice.epsilon is None
    else not receipts.show_lock(of_these, reads_rows=False)
):
    st.stop()
table = screening.answer(choice.ask("ranking"), "Compare every set", cost=cost)
choice, table = screening.answered_before(choice, table)
if table is not None:
    ranking.summary(choice, table, settings)
    ranking.draw(choice, table, settings)
    ranking.trim(choice, settings)
    ranking.cards(choice, table)
    with local.box("How many public rows do I need?", "groups", "screen-enough") as is_open:
        if is_open:
            ranking.enough(choice, settings)
    if is_text(choice.private) or is_table(choice.private):
        st.caption(
            "Distances of gradients and closer looks are for images, because their models read"
            " pixels."
        )
    else:
        title = "Look closer: measured accuracy, angles, spectra"
        with local.box(title, "search", "screen-closer") as is_open:
            if is_open:
                ranking.more(choice, table, settings)
