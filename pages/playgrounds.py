"""Playgrounds: sample sizes of every theorem with its ranges checked, and playgrounds whose truth
is known."""

from pages.frame import local, navigation
from pages.parts.playgrounds import theorems

settings = navigation.begin()
theorems.VIEWS[local.choice("theory-view")](settings)
