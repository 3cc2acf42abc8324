"""Accounting: from noise to ε and back, by every accountant, and what each number means for one
person."""

from pages.frame import local, navigation
from pages.parts.accounting import views as accounting_views
from pages.parts.learn import lesson

settings = navigation.begin()
lesson.banner(settings)
setting = accounting_views.controls(settings)
if setting is not None:
    accounting_views.numbers(setting)
    accounting_views.VIEWS[local.choice("accounting-view")](setting, settings)
    accounting_views.code(setting)
