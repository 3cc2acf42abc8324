"""Count: from noise to ε and back, by every accountant, and what each number means for one
person."""

from pages.frame import local, navigation
from pages.parts.count import noisy_steps
from pages.parts.lessons import lesson

settings = navigation.begin()
lesson.banner(settings)
setting = noisy_steps.controls(settings)
if setting is not None:
    noisy_steps.numbers(setting)
    noisy_steps.VIEWS[local.choice("accounting-view")](setting, settings)
    noisy_steps.code(setting)
