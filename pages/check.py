"""Check my run: the certified ε of somebody's own training, what their library says of it, and what to change."""

import streamlit as st

from pages.frame import failures, local, navigation, theme
from pages.parts.check import views
from pillar_core.studies.check import Reading, read_script

navigation.begin()
_PASTED = "A script may be long, and it is nobody else's business."
_STARTS = {"numbers": "Numbers", "script": "A script"}

theme.title(
    "What privacy budget ε does my training really have?",
    "Say how you trained with Opacus, TensorFlow Privacy, fastDP or JAX-Privacy, or paste the script. You get an ε that is "
    "<b>proven</b> for a run with these numbers, what your library would say, and what to change.",
)
help_ = "A script is read as text and never run; what it does not say is asked for."
start = local.one("Start from", list(_STARTS), "numbers", name="check-start", title=_STARTS.__getitem__, help=help_)
with failures.shown("This run cannot be checked."):
    script = ""
    if start == "script":
        example = "privacy_engine.make_private(module=model, noise_multiplier=1.1, max_grad_norm=1.0, …)"
        script = local.text("Script", name="check-script", help="Python.", unlinked=_PASTED, placeholder=example, height=220)
    numbers = views.inputs(read_script(script) if script else Reading(), has_script=start == "script")
    views.answer(views.checked(script, views.sampler(has_script=start == "script"), **numbers))

with st.expander("How this was computed", icon=":material/science:"):
    st.markdown(
        "ε is the upper end of this library's own accountant for the sampler and relation named; where no amplification is proven, none "
        "is claimed. Libraries' figures are their formulas for Poisson samples at these numbers. A script is parsed into a syntax tree: "
        "literals, names bound once, arithmetic and the defaults of command-line options are read, and nothing is run. Its numbers "
        "count where each statement on the engine, model, optimiser and batches is of a known form; else every number is asked for. "
        "That the script is a run with these numbers is yours to confirm: reading finds much, not everything. They "
        "hold if every row's gradient is clipped by itself, n is public and the noise is secret. In Python: `pc.check_run`; in a "
        "terminal: `python -m pillar_core check`."
    )
