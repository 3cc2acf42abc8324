"""What is asked: which public sets could be used, and the advice about them, computed once."""

import contextlib
import dataclasses

import streamlit as st

import pillar_core as pc
from pages.frame import core, local, memory, session, sidebar
from pages.frame.settings import PART, RULE, Settings
from pages.parts.data import brought, extraction
from pillar_core import mode
from pillar_core.backbones import is_ready
from pillar_core.data import uploads, visitors
from pillar_core.errors import DataError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.studies.advice import Advice, Prediction, free
from pillar_core.types import Dataset

MOST = 4
"""Public sets that are weighed at once: all learners are tried on each."""
_FIELDS = ("data", "backbone", "public_fraction", "seed", "epsilon", "delta", "relation")


def candidates(settings: Settings) -> list[str]:
    """The public sets to weigh, chosen among those that fit the private rows; by default what was brought, else the sidebar's."""
    fitting = [one.name for one in uploads.list_uploads() if one.name != settings.data and core.may_be_public(one, settings)]
    options = list(dict.fromkeys([settings.public, *fitting, PART, *_registered(settings)]))
    usual = list(dict.fromkeys([*([] if settings.public == PART and fitting else [settings.public]), *fitting]))
    chosen = local.choices("answer-public", options, usual[:MOST], title=title)
    if len(chosen) > MOST:
        st.caption(f"The first {MOST} are weighed: all learners are tried on each.")
    return chosen[:MOST]


def stated_alike(settings: Settings, names: list[str]) -> list[str]:
    """Those of the sets from elsewhere that the user states to be like the private rows; a share that was drawn from these is."""
    foreign, part = [name for name in names if name != PART], brought.PART_OF.format(uploads.title_of(settings.data))
    return local.choices("answer-alike", foreign, [name for name in foreign if title(name) == part], title=title) if foreign else []


def title(name: str) -> str:
    """What people call a public set, by its name on pages or in an advice."""
    own = {free.NONE: "No public rows", **dict.fromkeys((PART, free.OWN), "A part of the private data set")}
    return own[name] if name in own else uploads.title_of(name)


def target(settings: Settings) -> float | None:
    """The accuracy that is wanted, in [0, 1]; None where the budget is given instead."""
    if local.choice("answer-given") == "budget":
        return None
    sidebar.number("target", step=1)
    return settings.target / 100


def advised(settings: Settings, names: list[str], alike: list[str], target: float | None) -> Advice:
    """The advice about these candidates; where it names another public set than the sidebar, the sidebar follows it."""
    advice = _asked(settings, names, alike, target)
    public = _setting(advice, settings, names)
    if public != settings.public:
        session.put(dataclasses.replace(settings, public=public))
        st.rerun()
    return advice


def over_budgets(settings: Settings, names: list[str], alike: list[str], epsilons: list[float]) -> list[Prediction]:
    """What the best learner should reach at each of rising budgets: one that spends less can be taken at any larger one."""
    best: list[Prediction] = []
    for epsilon in epsilons:
        one = _asked(dataclasses.replace(settings, epsilon=epsilon), names, alike, None)
        now = Prediction(one.public or free.NONE, one.method, one.expected_accuracy, one.predicted, one.metric)
        best.append(max([now, *best[-1:]], key=lambda each: each.middle))
    return best


def applied(settings: Settings, advice: Advice) -> Settings:
    """The settings of a run that follows the advice; its public set is the sidebar's."""
    return dataclasses.replace(settings, method=advice.method, k=RULE, epsilon=advice.epsilon)


def are_numbers(settings: Settings, names: list[str]) -> bool:
    """Whether private rows and candidates are numbers; of images the choice of what makes them so, and the work that it takes."""
    if not _holds_images(settings):
        return True
    with st.expander("What turns the images into numbers", icon=":material/photo_filter:", expanded=core.backbone(settings) is not None):
        st.caption("Pixels need nothing else; a network trained on other images usually lets far more be learnt within one ε.")
        return extraction.panel(settings, public_sets=names)


def backbones(settings: Settings, names: list[str]) -> list[str]:
    """The backbones that the paid choice is among, of those through which private images and candidates went before; none of numbers."""
    if mode.binds() or not _holds_images(settings):
        return []
    usual = core.backbone(settings) or "raw_pixels"
    sets = [core.raw(dataclasses.replace(settings, data=name)) for name in dict.fromkeys([settings.data, *names]) if name != PART]
    here = [usual]
    for card in pc.BACKBONES.values():
        with contextlib.suppress(PillarError):
            if card.takes == "images" and all(isinstance(data, Dataset) and is_ready(data, backbone=card.name) for data in sets):
                here.append(card.name)
    here = list(dict.fromkeys(here))
    titles = {name: pc.BACKBONES[name].title for name in here}
    return local.choices("answer-backbones", here, [usual], title=titles.get) if len(here) > 1 else []


def _holds_images(settings: Settings) -> bool:
    card = uploads.card(settings.data)
    return card.kind == uploads.IMAGES if card is not None else pc.DATASETS[settings.data].kind == "images"


def _registered(settings: Settings) -> list[str]:
    """Image sets that are here, for private images: others through the same backbone."""
    is_images = _holds_images(settings)
    return [name for name in visitors.names_here("images") if is_images and name != settings.data]


def _asked(settings: Settings, names: list[str], alike: list[str], target: float | None) -> Advice:
    fields = _FIELDS if target is None else tuple(name for name in _FIELDS if name != "epsilon")
    return _advised(fingerprint(core.key(settings, fields), names, alike, target), settings, tuple(names), tuple(alike), target)


def _setting(advice: Advice, settings: Settings, names: list[str]) -> str:
    """The sidebar's public set beside an advice: what it names; where it names none, what is weighed."""
    if advice.public in names:
        return str(advice.public)
    return PART if advice.public == free.OWN else settings.public if settings.public in names else names[0]


@memory.cache(max_entries=32, show_spinner="Weighing learners on public rows …")
def _advised(fingerprint_: str, _settings: Settings, _names: tuple[str, ...], _alike: tuple[str, ...], _target: float | None) -> Advice:
    try:
        base = core.split(dataclasses.replace(_settings, public=_names[0]))
    except DataError as error:
        raise DataError(*(f"{title(_names[0])}: {problem}" for problem in error.problems)) from error
    sides = {free.OWN if name == PART else name: core.candidate(name, _settings) for name in _names}
    asked = {name: getattr(_settings, name) for name in ("epsilon", "delta", "relation", "seed")}
    return pc.advise(base, candidates=sides, alike=_alike, target_accuracy=_target, **asked)
