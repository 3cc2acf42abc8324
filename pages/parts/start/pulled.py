"""Start's picture to pull: what the browser draws, and the place that it sends back."""

import functools
import json
from typing import Any

import pandas as pd

from pages.frame import badges, browser, local, odds, session
from pages.frame.figures import FigureInfo, show_pulled
from pages.frame.settings import Settings
from pillar_core import plots
from pillar_core.numerics import number_words
from pillar_core.plots import intervals
from pillar_core.plots.odds import COLUMNS, ROWS
from pillar_core.plots.theme import current_ink, epsilon_colour, fade
from pillar_core.runs import starter
from pillar_core.types import Form

DATA = "MNIST digits by EfficientNet-Lite0: 2,250 private rows, 250 public without labels"
EPSILON_PLACE, K_PLACE = "home-epsilon", "home-k"
"""The controls that links carry."""
_OPENING = (0.3, 40)


def show(table: pd.DataFrame, tests: Form, settings: Settings) -> float:
    """Draws the picture at the place that the link names, and returns the ε that goes along: that
    of a hand or of the settings. tests: of `starter.start_tests`."""
    pulled = local.linked_value(EPSILON_PLACE, 0.0)
    k = local.linked_value(K_PLACE, _OPENING[1])
    wanted = (pulled, settings.epsilon, _OPENING[0])
    epsilon = next(value for value in wanted if value in starter.HERO_EPSILONS)
    k = k if k in starter.HERO_K else _OPENING[1]
    grids = "\n---\n".join(map(json.dumps, starter.START_GRIDS))
    info = FigureInfo(
        "hero",
        settings,
        [*badges.DIAGNOSTIC, badges.REAL],
        int(table["seed"].nunique()),
        command=f"cat > start.yaml <<'END'\n{grids}\nEND\npython -m pillar_core sweep start.yaml"
        " --output start.csv",
    )
    means = table[(table["epsilon"] == epsilon) & (table["k"] == k)]["accuracy"]
    still = functools.partial(
        plots.accuracy_against_k,
        table,
        method=starter.START_METHOD,
        present=plots.Here(k, epsilon, float(means.mean())),
    )
    with show_pulled(still, table, info):
        browser.pulled_curves(
            _drawn(table, epsilon, k) | {"tests": tests}, _keep, key="hero-pulled"
        )
    return epsilon if epsilon == pulled else settings.epsilon


def _drawn(table: pd.DataFrame, epsilon: float, k: int) -> dict[str, object]:
    """What the browser draws, in percent and in the colours of its mode."""
    delta = float(table["delta"].iloc[0])
    curves = intervals.by_budget(table, starter.START_METHOD)
    means = 100 * table.groupby(["method", "epsilon"])["accuracy"].mean()
    floor = [means[intervals.FLOOR, budget] for budget in curves]
    ceiling = [means[intervals.CEILING].iloc[0]] * len(curves)
    return {
        "place": {"epsilon": epsilon, "k": k},
        "steps": list(starter.HERO_K),
        "curves": [
            {
                "epsilon": budget,
                "colour": epsilon_colour(budget),
                "odds": odds.promise(budget, delta),
                "points": {
                    int(point["k"]): {
                        end: 100 * float(point[end]) for end in ("mean", "low", "high")
                    }
                    for _, point in curve.iterrows()
                },
            }
            for budget, curve in curves.items()
        ],
        "levels": [
            {"words": "without projection", "means": floor},
            {"words": "no privacy", "means": ceiling, "colour": fade(current_ink().text, 0.65)},
        ],
        "dots": {"rows": ROWS, "columns": COLUMNS},
        "seeds": int(table["seed"].nunique()),
        "label": "Test accuracy over k, a curve for each ε",
        "hint": (
            "Drag the dot or press an arrow key. Sideways changes k, the directions that training"
            " keeps; up and down change ε, the privacy budget: smaller protects each person more."
        ),
        "source": (
            f"Test accuracy in percent, read without noise. {DATA}; δ = {number_words(delta)}."
            " A rule on Curves chooses k from public facts alone."
        ),
        "legend": "Left half: by a coin's toss. Orange: by the model.",
    }


def _keep(place: Any) -> None:
    """Takes the place at which a hand let go, if it is one of those drawn."""
    epsilon, k = (
        (place.get(name) for name in ("epsilon", "k")) if isinstance(place, dict) else ("", "")
    )
    if epsilon in starter.HERO_EPSILONS and k in starter.HERO_K:
        local.link(EPSILON_PLACE, float(epsilon))
        local.link(K_PLACE, k)
        session.change(epsilon=float(epsilon))
