"""The question of the page Answer: which public sets could be used, and the advice about them,
computed once."""

import contextlib
import dataclasses
import re

import streamlit as st

import pillar_core as pc
from pages.frame import core, local, memory, receipts, session, sidebar
from pages.frame.settings import AUTO, NONE, PART, PUBLIC_TITLES, RULE, Settings
from pages.parts.public_data import sets as screening_sets
from pages.parts.rows import columns, extraction
from pages.parts.rows.form import MADE_UP_FOR
from pillar_core import mode, texts
from pillar_core.backbones import is_ready
from pillar_core.backbones.cards import fit_of
from pillar_core.data import uploads, visitors
from pillar_core.errors import DataError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.metrics import FIGURES
from pillar_core.runs import private_tests
from pillar_core.studies.advice import Advice, free
from pillar_core.studies.advice.prediction import OWN
from pillar_core.types import Form

_NUMBER = re.compile(r" \(\d+\)$")
"""What `uploads.keep` adds to a title that another set has."""
_WEIGHING = "Weighing learners on public rows …"
MOST = 4
"""Public sets that are weighed at once: all learners are tried on each."""


@dataclasses.dataclass(frozen=True)
class Question:
    """The public sets to weigh and those of them that the user states to be like the private rows;
    which number is wanted, None where public labels decide between the first two, and how much of
    it, in [0, 1], None where the budget is given instead."""

    names: list[str]
    similar: list[str]
    metric: str | None
    target: float | None


def candidates(settings: Settings) -> list[str]:
    """The public sets to weigh, chosen among those that fit the private rows; by default what was
    brought, else the sidebar's.

    A set that was brought under the private one's own name, or with test rows as private ones are,
    may hold private people: no default.
    """
    fitting = [
        upload
        for upload in uploads.list_uploads()
        if upload.name != settings.data and core.may_be_public(upload, settings)
    ]
    kind = (
        "images"
        if core.holds_images(settings)
        else "texts"
        if screening_sets.is_text(settings.data)
        else None
    )
    registered = [
        name for name in (visitors.names_here(kind) if kind else ()) if name != settings.data
    ]
    own = _NUMBER.sub("", title(settings.data))
    likely = [
        upload.name
        for upload in fitting
        if not upload.n_test
        and _NUMBER.sub("", title(upload.name)) != own
        and not (upload.is_made_up and _NUMBER.sub("", upload.title) != MADE_UP_FOR.format(own))
    ]
    public = session.public_side(settings.data) if settings.public == NONE else settings.public
    named = [] if public == NONE else [public]
    usual = list(dict.fromkeys([*([] if public == PART and likely else named), *likely]))
    options = list(dict.fromkeys([*named, *(upload.name for upload in fitting), PART, *registered]))
    chosen = local.choices(
        "answer-public",
        options,
        usual[:MOST],
        title=title,
        label="Public sets to weigh",
        help=(
            "Sets of another kind or width than the private rows are not offered. Bring more above."
        ),
        are_many=True,
        may_be_none=True,
    )
    if len(chosen) > MOST:
        st.caption(f"The first {MOST} are weighed: all learners are tried on each.")
    return chosen[:MOST]


def _stated_similar(settings: Settings, names: list[str]) -> list[str]:
    """Those of the sets from elsewhere that the user states to be like the private rows; a share
    that was drawn from these is."""
    foreign = [name for name in names if name != PART]
    part = columns.PART_OF.format(_NUMBER.sub("", title(settings.data)))
    drawn = [name for name in foreign if _NUMBER.sub("", title(name)) == part]
    return (
        local.choices(
            "answer-alike",
            foreign,
            drawn,
            title=title,
            label="Like my rows: I state so",
            help=(
                "A free answer names a set from elsewhere only if you state that its rows are like"
                " yours."
            ),
            are_many=True,
        )
        if foreign
        else []
    )


def title(name: str) -> str:
    """What people call a public set, by its name on pages or in an advice."""
    return PUBLIC_TITLES.get(PART if name == OWN else name) or uploads.title_of(name)


def question_about(settings: Settings, names: list[str]) -> Question:
    """What the user asks about these sets."""
    titles = {AUTO: "By the classes"} | {name: private_tests.title_of(name) for name in FIGURES}
    metric = settings.metric
    if "metric" not in settings.hidden:
        session.draw_setting(
            st.segmented_control, "metric", options=list(titles), format_func=titles.get
        )
    given = local.choice(
        "answer-given",
        label="What is given",
        help="With a wanted value, the page looks for the smallest ε that should reach it.",
        default="budget",
        options={"budget": "I have a budget ε", "accuracy": "I want a value"},
    )
    if given == "accuracy":
        name = "Value" if metric == AUTO else titles[metric]
        sidebar.number("target", step=1, label=f"{name} wanted, %")
    target = settings.target / 100 if given == "accuracy" else None
    similar = _stated_similar(settings, names)
    return Question(names, similar, None if metric == AUTO else metric, target)


def advice(settings: Settings, question: Question) -> Advice:
    """The advice about these candidates. The sidebar follows the public set that it names, or that
    private rows chose among them."""
    answer, names = _advice(settings, question), question.names
    choice = receipts.last_choice(settings)
    chosen = choice["settings"]["public"] if choice else ""
    public = chosen if chosen in (NONE, *names) else _public_setting(answer, settings, names)
    if public != settings.public:
        session.put(dataclasses.replace(settings, public=public))
        st.rerun()
    return answer


def following(settings: Settings, answer: Advice, names: list[str]) -> Settings:
    """The settings of a run that follows the advice."""
    public = NONE if answer.public is None else _public_setting(answer, settings, names)
    given = settings.backbone if fit_of(settings.backbone) is None else AUTO
    return dataclasses.replace(
        settings,
        public=public,
        method=answer.method,
        k=RULE,
        epsilon=answer.epsilon,
        backbone=answer.backbone if fit_of(answer.backbone) else given,
    )


def are_numbers(settings: Settings, names: list[str]) -> bool:
    """Whether private rows and candidates are numbers; of images and texts the choice of what makes
    them so, and the work that it takes."""
    encoders = core.encoders(settings)
    if not core.holds_images(settings) and len(encoders) < 2:
        return True
    with st.expander(
        f"What turns the {'texts' if encoders else 'images'} into numbers",
        icon=":material/photo_filter:",
        expanded=core.backbone(settings) is not None,
    ):
        st.caption(
            "The mean of token vectors is fast; all-MiniLM-L6-v2 knows the order of words."
            if encoders
            else "Pixels need nothing else; a network trained on other images usually lets far more"
            " be learnt within one ε."
        )
        return extraction.panel(settings, public_sets=names)


def backbones(settings: Settings, names: list[str]) -> list[str]:
    """The backbones that the paid choice is among, of those through which private images or texts
    and candidates went before; none of numbers."""
    encoders = core.encoders(settings)
    if mode.binds() or not (encoders or core.holds_images(settings)):
        return []
    read_by = texts.encoder_of(core.raw(settings).recipe) if encoders else None
    usual = core.backbone(settings) or (read_by or {"name": "raw_pixels"})["name"]
    sets = [
        core.raw(dataclasses.replace(settings, data=name))
        for name in dict.fromkeys([settings.data, *names])
        if name != PART
    ]
    ready = [usual]
    for card in pc.BACKBONES.values():
        with contextlib.suppress(PillarError):
            if card.takes == ("texts" if encoders else "images") and all(
                is_ready(data, backbone=card.name) for data in sets
            ):
                ready.append(card.name)
    titles = {name: pc.BACKBONES[name].title for name in ready}
    return (
        local.choices(
            "answer-backbones",
            list(titles),
            [usual],
            title=titles.get,
            label="Backbones to choose among",
            help=(
                "Learners are rehearsed through each on the candidates' labelled rows, at no ε."
                " Extract others under Rows."
            ),
            are_many=True,
        )
        if len(titles) > 1
        else []
    )


def _public_setting(answer: Advice, settings: Settings, names: list[str]) -> str:
    """The sidebar's public set beside an advice: what it names; where it names none, what is
    weighed."""
    if answer.public in (NONE, *names):
        return str(answer.public)
    return (
        PART
        if answer.public == OWN
        else settings.public
        if settings.public in names
        else next(iter(names), NONE)
    )


def _curve_key(settings: Settings, question: Question) -> str:
    fields = ("data", "backbone", "public_fraction", "seed", "delta", "relation")
    asked = question.names, question.similar, question.metric
    return fingerprint(core.key(settings, fields), *asked)


def _advice_key(settings: Settings, question: Question) -> str:
    target = question.target
    asked = {"epsilon": settings.epsilon} if target is None else {"target": target}
    return fingerprint(_curve_key(settings, question), asked)


@memory.cache(max_entries=32, show_spinner=_WEIGHING, by=_advice_key)
def _advice(settings: Settings, question: Question) -> Advice:
    request = _request(settings, question)
    return pc.advise(**request, epsilon=settings.epsilon, target_accuracy=question.target)


@memory.cache(max_entries=8, show_spinner=_WEIGHING, by=_curve_key)
def by_budget(settings: Settings, question: Question) -> list[Advice]:
    """The advice at each of `free.BUDGETS`."""
    return free.advise_by_budget(**_request(settings, question))


def _request(settings: Settings, question: Question) -> Form:
    """What the advice is asked about.

    Raises DataError: no set fits, with the title of each.
    """
    # in any order of the sets as many private rows: what a part leaves, where a part is among them
    names = question.names
    problems = list[str]()
    for public in [PART] if PART in names else names or [NONE]:
        try:
            base = core.split(dataclasses.replace(settings, public=public))
            break
        except DataError as error:  # the advice says why it leaves this set out
            problems += (f"{title(public)}: {problem}" for problem in error.problems)
    else:
        raise DataError(*problems)
    sides = {OWN if name == PART else name: core.candidate(name, settings) for name in names}
    budget = {name: getattr(settings, name) for name in ("delta", "relation", "seed")}
    asked = {"alike": question.similar, "metric": question.metric}
    return {"split": base, "candidates": sides, **asked, **budget}
