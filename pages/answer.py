"""Answer: from private data and public candidates to one sentence that says what to do, and to the model."""

import streamlit as st

from pages.frame import failures, navigation, session, theme
from pages.frame import settings as codec
from pages.parts.answer import question, train, views
from pages.parts.data import upload

navigation.begin()
settings = session.current()

theme.title(
    "From your data to an answer",
    "Bring the rows to protect and the public sets you could use. One sentence says what to do and what accuracy to expect at the "
    "sidebar's privacy budget <b>ε</b>; then train, and take the model away.",
)

is_brought = codec.is_stored("data", settings.data)
with st.expander("Private rows and public candidates", icon=":material/upload_file:", expanded=not is_brought):
    upload.panel(settings)

with failures.shown("There is no advice for these rows."):
    if not is_brought:
        question.wait_until_asked(settings)
    names = question.candidates(settings)
    if not question.are_numbers(settings, names):
        st.stop()
    target = question.target(settings)
    advice = question.advised(settings, names, target)
    settings = question.applied(settings, advice)
    views.sentence(advice, target)
    free, paid, diagnostic = st.tabs(["Free: train this", "Paid: let private rows choose", "Diagnostic: what test rows say"])
    with free:
        train.free(settings, advice)
    with paid:
        train.paid(settings, names)
    with diagnostic:
        views.diagnostic(settings, advice)
    views.figures_of(advice, settings, names)

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "- **Free**: the numbers of private rows, features and classes, ε, public rows and their labels are all that is read. Public rows "
        "with labels play both parts, under the noise that private rows will meet; without, a table is used that other data sets fitted.\n"
        "- The range is 95 % of the errors on data sets that the table had not seen; `docs/advice.md` has them. It holds for private rows "
        "like the public ones: a hypothesis, which the diagnostic may contradict.\n"
        "- **Paid**: one noisy sum over the private rows, a fifth of μ², says how well each public set suits them; the rest trains. "
        "Both are in the ε.\n"
        "- **Diagnostic**: accuracy on test rows, without noise: for your eyes."
    )
