"""Privacy as odds: what a budget lets the best attacker gain over a coin flip, with unit, adjacency
and sampling."""

import math

import pandas as pd

import pillar_core as pc
from pages.frame import words
from pages.frame.settings import Settings
from pillar_core import accounting, plots
from pillar_core.accounting.risk import turned_guesses
from pillar_core.data import uploads
from pillar_core.numerics import number_words
from pillar_core.runs.statement import spent_event
from pillar_core.types import RunRecord, Unit

_RELATIONS = {"add_or_remove_one": "one {} added or removed", "replace_one": "one {} replaced"}

PUBLISHED = tuple(
    (entry["epsilon"], entry["words"].format_map(entry))
    for entry in words.WORDS["deployments"].values()
)
"""Marks for the ε slider: ε of published deployments with their units. Other units and models than
a row of this app: a scale to read ε by, no comparison."""


def sentence(settings: Settings) -> str:
    """Two sentences of HTML for the sidebar: what (ε, δ) alone allows, and what a Gaussian run that
    this budget buys does."""
    if math.isinf(settings.epsilon):
        return (
            "<b>ε = ∞</b> adds no noise and promises nothing: an attacker may find out with"
            " certainty who took part."
        )
    alone, gaussian = (
        plots.guessed_right(share) for share in turned_guesses(settings.epsilon, settings.delta)
    )
    return (
        f"At <b>ε = {settings.epsilon:g}</b>, an attacker who guesses whether a given"
        f" {unit(settings.data)} took part is right at most <b>{alone}</b> of the time, instead of"
        f" 50 %. It is at most <b>{gaussian}</b> if all noise is Gaussian and every row enters"
        " every step. <span style='opacity:0.7'>Best attacker, prior 50:50,"
        f" {relation_words(settings.relation, settings.data)}; δ = {number_words(settings.delta)}"
        " is the slack in ε.</span>"
    )


def promise(epsilon: float, delta: float) -> dict[str, str | int]:
    """Of 400 guesses, how many a Gaussian run that this budget buys turns right at most, and the
    sentence that says it."""
    learned = plots.turned(turned_guesses(epsilon, delta)[1])
    return {"learned": learned, "words": plots.promise(learned)}


def unit(data: str) -> str:
    """What ε protects in a set: a row, or a person."""
    its_card = uploads.card(data) if uploads.is_name(data) else pc.DATASETS.get(data)
    return str(Unit(its_card.rows_per_person if its_card is not None else None))


def relation_words(relation: str, data: str = "") -> str:
    """The adjacency in words, of the rows of a set or of any."""
    return _RELATIONS[relation].format(unit(data))


def table(record: RunRecord) -> pd.DataFrame | None:
    """One row with the run's largest membership advantage, from the trade-off curve of what it
    really released.

    None where nothing is promised, for subsampled runs, whose curve has no closed form, and where
    settings were chosen unpaid.
    """
    if not record.guarantee.is_private or not record.guarantee.has_releases:
        return None
    if not record.guarantee.covers_choice:
        return None
    events = accounting.read(spent_event(record), record.guarantee.relation)
    if not all(release.is_full_gaussian for release in events.releases) or events.unsupported:
        return None
    advantage = float(accounting.delta_of(0.0, events.gaussian_mu))
    return pd.DataFrame({"epsilon": [record.guarantee.epsilon.upper], "advantage": [advantage]})
