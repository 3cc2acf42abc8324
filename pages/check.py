"""Check my run: the certified ε of your own training, what your library reports, and what to
change."""

from pages.frame import local, navigation
from pages.parts.check import training
from pillar_core.studies.check import read_script

navigation.begin()
start = local.choice(
    "check-start",
    label="Start from",
    default="numbers",
    options={"numbers": "Numbers", "script": "A script", "model": "A model's zip"},
)
if start == "model":
    training.model_panel()
else:
    script, command = training.script() if start == "script" else ("", "")
    numbers = training.inputs(read_script(script, command), has_script=start == "script")
    sampler = training.sampler(has_script=start == "script")
    training.answer(training.check_numbers(script, command, sampler, **numbers), script)
