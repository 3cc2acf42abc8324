"""Theory lab: sample sizes of every theorem with its ranges checked, and playgrounds whose truth is known."""

from pages.frame import failures, local, navigation, session, words
from pages.parts.theory import playgrounds, theorems

navigation.begin()
settings = session.current()

_VIEWS = {
    "mixture": "Gaussian mixture",
    "theorems": "Theorems",
    "disjunctions": "Disjunctions",
    "shift": "Distribution shift",
}

words.title("theory")
chosen = local.one(
    "Laboratory",
    _VIEWS,
    "mixture",
    name="theory-view",
    help="Three playgrounds and every theorem of the papers; ε and the seed come from the sidebar.",
)
with failures.shown("This could not be computed."):
    match chosen:
        case "mixture":
            playgrounds.mixture(settings)
        case "disjunctions":
            playgrounds.disjunctions(settings)
        case "shift":
            playgrounds.shift(settings)
        case _:
            theorems.draw(settings)

words.explained("theory")
