"""What is asked: which public sets could be used, and the advice about them, computed once."""

import dataclasses

import streamlit as st

import pillar_core as pc
from pages.frame import core, local, memory, sidebar
from pages.frame.settings import PART, RULE, Settings
from pages.parts.data import extraction
from pillar_core.data import uploads, visitors
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.studies.advice import Advice, Prediction, free
from pillar_core.types import NeighboringRelation, PrivacyBudget

MOST = 4
"""Public sets that are weighed at once: all learners are tried on each."""
_FIELDS = ("data", "backbone", "public_fraction", "seed", "epsilon", "delta", "relation")


def candidates(settings: Settings) -> list[str]:
    """The public sets to weigh, chosen among those that fit the private rows; by default what was brought, else the sidebar's."""
    fitting = [one.name for one in uploads.listed() if one.name != settings.data and core.may_be_public(one, settings)]
    options = list(dict.fromkeys([settings.public, *fitting, PART, *_registered(settings)]))
    usual = list(dict.fromkeys([*([] if settings.public == PART and fitting else [settings.public]), *fitting]))
    chosen = local.several("answer-public", options, usual[:MOST], title=title)
    if len(chosen) > MOST:
        st.caption(f"The first {MOST} are weighed: all learners are tried on each.")
    return chosen[:MOST]


def wait_until_asked(settings: Settings) -> None:
    """Rows that nobody brought are not weighed before somebody asks: whoever comes to bring some need not wait for them."""
    if local.value("answer-for", "") == settings.data:
        return
    st.button(
        f"Answer for {uploads.title_of(settings.data)}",
        key="answer-go",
        icon=":material/flag:",
        on_click=local.put,
        args=("answer-for", settings.data),
        help="The sidebar's private data, as if they were yours.",
    )
    st.stop()


def title(name: str) -> str:
    """What people call a public set."""
    return "A part of the private data set" if name == PART else uploads.title_of(name)


def target(settings: Settings) -> float | None:
    """The accuracy that is wanted, in [0, 1]; None where the budget is given instead."""
    if local.one("answer-given") == "budget":
        return None
    sidebar.number("target", step=1)
    return settings.target / 100


def advised(settings: Settings, names: list[str], target: float | None) -> Advice:
    """The advice about these candidates; `public` names one of them."""
    fields = _FIELDS if target is None else tuple(name for name in _FIELDS if name != "epsilon")
    return _advised(fingerprint(core.key(settings, fields), names, target), settings, tuple(names), target)


def over_budgets(settings: Settings, advice: Advice, epsilons: list[float]) -> list[Prediction]:
    """What the advised learner should reach at other budgets."""
    key = fingerprint(core.key(settings, _FIELDS), advice.public, advice.method, epsilons)
    return _over_budgets(key, settings, advice, tuple(epsilons))


def applied(settings: Settings, advice: Advice) -> Settings:
    """The settings of a run that follows the advice."""
    return dataclasses.replace(settings, public=advice.public, method=advice.method, k=RULE, epsilon=advice.epsilon)


def are_numbers(settings: Settings, names: list[str]) -> bool:
    """Whether private rows and candidates are numbers; of images the choice of what makes them so, and the work that it takes."""
    if not _holds_images(settings):
        return True
    with st.expander("What turns the images into numbers", icon=":material/photo_filter:", expanded=core.backbone(settings) is not None):
        st.caption("Pixels need nothing else; a network trained on other images usually lets far more be learnt within one ε.")
        return extraction.panel(settings, beside=names)


def _holds_images(settings: Settings) -> bool:
    card = uploads.card(settings.data)
    return card.kind == uploads.IMAGES if card is not None else pc.DATASETS[settings.data].kind == "images"


def _registered(settings: Settings) -> list[str]:
    """Image sets that are here, for private images: others through the same backbone."""
    is_images = _holds_images(settings)
    return [name for name in visitors.here("images") if is_images and name != settings.data]


@memory.kept(max_entries=16, show_spinner="Weighing learners on public rows …")
def _advised(fingerprint_: str, _settings: Settings, _names: tuple[str, ...], _target: float | None) -> Advice:
    try:
        base = core.split(dataclasses.replace(_settings, public=_names[0]))
    except DataError as error:
        raise DataError(*(f"{title(_names[0])}: {problem}" for problem in error.problems)) from error
    sides = {name: core.candidate(name, _settings) for name in _names}
    asked = {name: getattr(_settings, name) for name in ("epsilon", "delta", "relation", "seed")}
    return pc.advise(base, candidates=sides, target_accuracy=_target, **asked)


@memory.kept(max_entries=16, show_spinner="Weighing other budgets …")
def _over_budgets(fingerprint_: str, _settings: Settings, _advice: Advice, _epsilons: tuple[float, ...]) -> list[Prediction]:
    budgets = [PrivacyBudget(epsilon, _settings.delta, NeighboringRelation.of(_settings.relation)) for epsilon in _epsilons]
    base, public = core.split(dataclasses.replace(_settings, public=_advice.public)), core.candidate(_advice.public, _settings)
    return free.over_budgets(base, _advice.method, budgets, public=public, seed=_settings.seed)
