"""Count: from noise to ε and back, by every accountant, and what each number means for one
person."""

from pages.frame import local, navigation
from pages.parts.count import noisy_steps
from pages.parts.lessons import lesson

settings = navigation.begin()
lesson.banner("count", settings)
setting = noisy_steps.controls(settings)
if setting is not None:
    noisy_steps.numbers(setting)
    view = local.choice(
        "accounting-view",
        label="View",
        default="steps",
        options={
            "steps": "ε against steps",
            "meaning": "What it means",
            "noise": "Noise for a budget",
            "rules": "Other rules",
            "sum": "Training + choices",
        },
    )
    noisy_steps.VIEWS[view](setting, settings)
    noisy_steps.code(setting)
