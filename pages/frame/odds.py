"""Privacy as odds: what a budget lets the best attacker gain over a coin flip, with unit, adjacency
and sampling."""

import contextlib
import math

import pandas as pd

import pillar_core as pc
from pages.frame import core, words
from pages.frame.settings import Settings
from pillar_core import accounting, plots
from pillar_core.accounting.risk import turned_guesses
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import number_words
from pillar_core.runs.statement import spent_event
from pillar_core.types import RunRecord, Unit

_RELATIONS = {"add_or_remove_one": "one {} added or removed", "replace_one": "one {} replaced"}

METRIC = "Guesses turned right"
PUBLISHED = tuple(
    (entry["epsilon"], entry["words"].format_map(entry))
    for entry in words.WORDS["deployments"].values()
)
"""Marks for the ε slider: ε of published deployments with their units. Other units and models than
a row of this app: a scale to read ε by, no comparison."""


def sentence(settings: Settings) -> str:
    """HTML for the sidebar: of 400 guesses, how many the run of these settings makes right; what
    (ε, δ) alone allows opens below."""
    record = None
    with contextlib.suppress(PillarError):  # the page says why the rows cannot be loaded
        record = core.find(settings)
    is_private = record is None or record.guarantee.is_private
    if math.isinf(settings.epsilon) or not is_private:
        cause = "ε = ∞" if math.isinf(settings.epsilon) else "This learner"
        return (
            f"<b>{cause}</b> adds no noise and promises nothing: an attacker may find out with"
            " certainty who took part."
        )
    alone, gaussian = turned_guesses(settings.epsilon, settings.delta)
    share, source = gaussian, ", if its training puts Gaussian noise on all rows in every step"
    if record is not None:
        share, source = alone if record.guarantee.has_releases else 0.0, ""
        if (own := table(record)) is not None:
            share = float(own["advantage"].iloc[0]) / 2
    said = plots.promise(share, f"one {unit(settings.data)}")
    return (
        f"At <b>ε = {settings.epsilon:g}</b>: {said}{source}.<details><summary>What ε alone"
        f" allows</summary>Whatever the learner does, ε = {settings.epsilon:g} with the slack δ ="
        f" {number_words(settings.delta)} allows {plots.turned(alone)}. Best attacker, even odds,"
        f" {relation_words(settings.relation, settings.data)}.</details>"
    )


def promise(epsilon: float, delta: float) -> dict[str, str | int]:
    """Of 400 guesses, how many a Gaussian run that this budget buys turns right at most, and the
    sentence that says it."""
    share = turned_guesses(epsilon, delta)[1]
    return {"learned": plots.turned(share), "words": plots.promise(share)}


def metric(share: float, protected: str = "one row", *, more: str = "") -> tuple[str, str, str]:
    """The same as a number of `words.metrics`: label, number and hint, `more` after it."""
    return METRIC, f"{plots.turned(share)} of 400", f"{plots.promise(share, protected)}.{more}"


def metric_of(record: RunRecord, data: str) -> tuple[str, str, str]:
    """The `metric` of a run on a set; where no number is known, a word in its place."""
    gains, guarantee = table(record), record.guarantee
    share = 0.5 if guarantee.has_releases else 0.0
    if gains is not None:
        share = float(gains["advantage"].iloc[0]) / 2
    label, number, hint = metric(share, f"one {unit(data)}")
    if not guarantee.covers_choice:
        number = "unknown"
    elif gains is None and guarantee.has_releases:
        number = "see ε" if guarantee.is_private else "no limit"
    return label, number, hint


def unit(data: str) -> str:
    """What ε protects in a set: a row, or a person."""
    its_card = uploads.card(data) if uploads.is_name(data) else pc.DATASETS.get(data)
    return str(Unit(its_card.rows_per_person if its_card is not None else None))


def relation_words(relation: str, data: str = "") -> str:
    """The adjacency in words, of the rows of a set or of any."""
    return _RELATIONS[relation].format(unit(data))


def table(record: RunRecord) -> pd.DataFrame | None:
    """One row with the run's largest membership advantage, from the trade-off curve of what it
    really released, and with what its ε and δ alone allow.

    None where nothing is promised, for subsampled runs, whose curve has no closed form, and where
    settings were chosen unpaid.
    """
    if not record.guarantee.is_private or not record.guarantee.has_releases:
        return None
    if not record.guarantee.covers_choice:
        return None
    events = accounting.read(spent_event(record), record.guarantee.relation)
    if not events.is_full_gaussian:
        return None
    advantage = float(accounting.delta_of(0.0, events.gaussian_mu))
    epsilon = record.guarantee.epsilon.upper
    alone = 2 * turned_guesses(epsilon, record.guarantee.delta)[0]
    return pd.DataFrame({"epsilon": [epsilon], "advantage": [advantage], "alone": [alone]})
