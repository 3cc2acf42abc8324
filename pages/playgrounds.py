"""Playgrounds: sample sizes of every theorem with its ranges checked, and playgrounds whose truth
is known."""

from pages.frame import local, navigation
from pages.parts.playgrounds import theorems

settings = navigation.begin()
view = local.choice(
    "theory-view",
    label="Playground",
    default="mixture",
    options={
        "mixture": "Gaussian mixture",
        "theorems": "Theorems",
        "disjunctions": "Disjunctions",
    },
)
theorems.VIEWS[view](settings)
