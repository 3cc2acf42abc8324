"""What Home offers: three doors and six settings worth seeing, each with what to notice."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from pages.frame.settings import Value


@dataclasses.dataclass(frozen=True)
class Door:
    """One way in: the page it opens and the settings it changes."""

    name: str
    title: str
    icon: str
    text: str
    action: str
    page: str
    changes: Mapping[str, Value]


@dataclasses.dataclass(frozen=True)
class Preset:
    """Settings that show something, and what to look at; all other settings go to their defaults."""

    name: str
    title: str
    notice: str
    changes: Mapping[str, Value]


DOORS = (
    Door(
        "learn",
        "Learn in five minutes",
        ":material/school:",
        "Six questions about real handwritten digits. **Guess**, reveal, move one control, and see why it is so.",
        "Start with one guess",
        "learn",
        {"lesson": 1},
    ),
    Door(
        "explore",
        "Explore",
        ":material/tune:",
        "Move a slider, let go, and a model is trained **now**. Find the best k for your ε, or the ε for the accuracy you need.",
        "Open the explorer",
        "explore",
        {},
    ),
    Door(
        "data",
        "Screen my public data",
        ":material/filter_alt:",
        "Which public data set is closest to the private one? Compare candidates **before** any budget is spent; bring your own.",
        "Compare candidates",
        "screen",
        {},
    ),
)

PRESETS = (
    Preset(
        "strict",
        "Strict privacy still learns",
        "At ε = 0.1 an attacker gains at most 1 guess in 150, and the model still names most clothes on images it never saw.",
        {"epsilon": 0.1, "view": "k"},
    ),
    Preset(
        "crowded",
        "Too many directions",
        "Same privacy, many times the directions: the noise has more places to go. Lower k and watch accuracy come back.",
        {"epsilon": 0.1, "k": 360, "view": "k"},
    ),
    Preset(
        "ridge",
        "The best k moves with ε",
        "In the heatmap the framed cells drift to the right as ε grows: a larger budget affords more directions.",
        {"epsilon": 1.0, "view": "plane"},
    ),
    Preset(
        "xrays",
        "Children's chest x-rays",
        "1,350 private images instead of 9,000, at the same ε. Privacy is cheap in crowds; look at what it costs here.",
        {"data": "pneumonia_mnist", "epsilon": 0.5, "view": "classes"},
    ),
    Preset(
        "medical",
        "A medical table",
        "Two classes, 30 features, a few hundred patients. Notice the odds sentence, and how few directions are enough.",
        {"data": "breast_cancer", "epsilon": 1.0, "view": "odds"},
    ),
    Preset(
        "ceiling",
        "Turn privacy off",
        "ε = ∞ adds no noise: this is the ceiling. Pin it as A, lower ε, and read what every step of privacy costs.",
        {"epsilon": math.inf, "view": "why"},
    ),
)
