"""Theory lab: sample sizes of every theorem with its ranges checked, and playgrounds whose truth is known."""

from pages.frame import failures, local, navigation, session, words
from pages.parts.theory import theorems

navigation.begin()
settings = session.current()

_VIEWS = {
    "mixture": theorems.mixture,
    "disjunctions": theorems.disjunctions,
    "theorems": theorems.draw,
}

words.title("theory")
chosen = local.choice("theory-view")
with failures.show_refusal("This could not be computed."):
    _VIEWS[chosen](settings)

words.explain("theory")
