"""Answer: from private data and public candidates to one sentence that says what to do, and to the
model."""

import streamlit as st

from pages.frame import navigation, receipts
from pages.frame import settings as codec
from pages.parts.answer import model, question, reply
from pages.parts.rows import form
from pillar_core import mode

settings = navigation.begin()
answer = st.container()
is_brought = codec.is_stored("data", settings.data)
with st.expander(
    "Private rows and public candidates", icon=":material/upload_file:", expanded=not is_brought
):
    is_waiting = form.panel(settings)
if is_waiting:  # an answer for other rows would stand below these
    st.caption("The answer for these rows appears here once you use them.")
    st.stop()

names = question.candidates(settings)
if not question.are_numbers(settings, names):
    st.stop()
if not mode.binds():
    receipts.wait(settings)
asked = question.question_about(settings, names)
advice = question.advice(settings, asked)
with answer:
    reply.sentence(settings, advice, asked.target)
settings = question.following(settings, advice, names)
ways = ["Free: train this", "Paid: let private rows choose", "Diagnostic: what test rows say"]
usual = ways[advice.public is None]  # a browser opens it anew where the advice names another
free, paid, diagnostic = st.tabs(ways, default=usual, key=f"answer-{usual}")
with free:
    model.offer_free(settings, advice)
with paid:
    model.offer_paid(settings, names, asked.metric)
with diagnostic:
    reply.diagnostic(settings, advice, names)
if not mode.binds():
    receipts.show(settings)
    model.threshold_panel(settings)
    model.curves_panel(settings)
model.test_panel(settings, advice)
reply.figures_of(advice, settings, asked)
