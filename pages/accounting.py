"""Accounting: from noise to ε and back, by every accountant, and what each number means for one person."""

from pages.frame import failures, local, navigation, session, words
from pages.parts.accounting import views as accounting_views
from pages.parts.learn import lesson

navigation.begin()
settings = session.current()
lesson.banner(settings)

words.title("accounting")

VIEWS = {
    "steps": "ε against steps",
    "meaning": "What it means",
    "noise": "Noise for a budget",
    "rules": "Other rules",
    "sum": "Training + choices",
}
with failures.shown("This cannot be accounted for."):
    setting = accounting_views.controls(settings)
    if setting is not None:
        accounting_views.numbers(setting)
        view = local.one("View", VIEWS, "steps", name="accounting-view", help="Five looks at one run.")
        match view:
            case "steps":
                accounting_views.against_steps(setting, settings)
            case "meaning":
                accounting_views.meaning(setting, settings)
            case "noise":
                accounting_views.noise(setting, settings)
            case "rules":
                accounting_views.rules(setting, settings)
            case _:
                accounting_views.composition(setting, settings)
        accounting_views.code(setting)

words.explained("accounting")
