"""Check my run: the certified ε of somebody's own training, what their library says of it, and what to change."""

from pages.frame import failures, local, navigation, words
from pages.parts.check import views
from pillar_core.studies.check import Reading, read_script

navigation.begin()
_PASTED = "A script may be long, and it is nobody else's business."
_STARTS = {"numbers": "Numbers", "script": "A script"}

words.title("check")
help_ = "A script is read as text and never run; what it does not say is asked for."
start = local.one("Start from", list(_STARTS), "numbers", name="check-start", title=_STARTS.__getitem__, help=help_)
with failures.shown("This run cannot be checked."):
    script = ""
    if start == "script":
        example = "privacy_engine.make_private(module=model, noise_multiplier=1.1, max_grad_norm=1.0, …)"
        script = local.text("Script", name="check-script", help="Python.", unlinked=_PASTED, placeholder=example, height=220)
    numbers = views.inputs(read_script(script) if script else Reading(), has_script=start == "script")
    views.answer(views.checked(script, views.sampler(has_script=start == "script"), **numbers))

words.explained("check")
