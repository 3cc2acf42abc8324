"""The sidebar: what is private, what is public, how far to look, how much to protect. Widgets come from the parameters."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

import streamlit as st

import pillar_core as pc
from pages.frame import browser, core, jobs, local, navigation, odds, plain, session, theme
from pages.frame import settings as codec
from pages.frame.settings import EPSILONS, KS, PARAMS, PART, PUBLIC_TITLES, RULE, Settings, choices
from pillar_core import plots
from pillar_core.arrays import Json
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import number_words


def draw(*, are_near: bool) -> None:
    """Draws the controls, moves the settings into the data's range; `are_near` puts k and ε on the page itself."""
    settings = session.current()
    with st.sidebar:
        _data(settings)
        limit = None
        with contextlib.suppress(PillarError):  # the page says why the rows cannot be loaded
            limit = core.largest_k(session.current())
        if limit is not None and session.current().k > limit:
            session.note(f"k was {session.current().k}; the public rows span {limit} directions, so k = {limit} is used.")
            session.put(dataclasses.replace(session.current(), k=limit))
        settings = session.current()
    place = "near." if are_near else ""
    with st.container(key="near") if are_near else st.sidebar:
        if "k" not in settings.hidden and core.has_k(settings.method):
            _k(settings, limit, place)
        if "epsilon" not in settings.hidden:
            offered = _ladder(EPSILONS, settings.epsilon, math.inf)
            widget = session.widget("epsilon", place)
            st.select_slider(options=offered, format_func=lambda value: "∞" if math.isinf(value) else f"{value:g}", **widget)
            st.html(marks(offered, odds.PUBLISHED))
            st.html('<div class="pillar-ends"><span>◀ more privacy</span><span>more accuracy ▶</span></div>')
    with st.sidebar:
        _draw_advanced(settings, knows_data=limit is not None)
        _draw_footer(session.current())


def select(name: str, title: Callable[[str], str], *, brought: Sequence[str] = ()) -> None:
    """A choice from the names that a setting allows, rows that a user brought among them."""
    settings = session.current()
    if name not in settings.hidden:
        allowed = [*choices(name), *brought]
        now = str(getattr(settings, name))
        options = allowed if now in allowed else [*allowed, now]
        st.selectbox(options=options, format_func=title, **session.widget(name))


def marks(offered: Sequence[float], points: Iterable[tuple[float, str]]) -> str:
    """A row of HTML under a slider: where values lie among those that it offers, on a logarithmic scale, with words under the pointer."""
    ticks = []
    for value, words in points:
        after = next((place for place, offer in enumerate(offered) if offer >= value), 0)
        if after == 0 or offered[after - 1] <= 0 or math.isinf(offered[after]):
            continue
        low, high = math.log(offered[after - 1]), math.log(offered[after])
        place = 100 * (after - 1 + (math.log(value) - low) / (high - low)) / max(len(offered) - 1, 1)
        ticks.append(f'<span title="{words}" style="left:{place:.1f}%">▲</span>')
    return f'<div class="pillar-marks" aria-hidden="true">published uses:{"".join(ticks)}</div>' if ticks else ""


def number(name: str, **shape: Json) -> None:
    """A number field with the parameter's own limits."""
    if name in session.current().hidden:
        return
    param = PARAMS[name]
    shape |= {"min_value": param.kind(param.low), "max_value": param.kind(param.high), "help": f"{param.help} Allowed: {param.range}."}
    st.number_input(**session.widget(name) | shape)


def _data(settings: Settings) -> None:
    uploaded = uploads.list_uploads()
    select("data", uploads.title_of, brought=[upload.name for upload in uploaded if upload.is_labelled])
    public = [upload.name for upload in uploaded if upload.name != settings.data and core.may_be_public(upload, settings)]
    select("public", lambda name: PUBLIC_TITLES.get(name) or uploads.title_of(name), brought=public)
    if settings.public == PART and "public_fraction" not in settings.hidden:
        ends: dict[str, Json] = {"min_value": PARAMS["public_fraction"].low, "max_value": PARAMS["public_fraction"].high}
        st.slider(step=0.01, format="percent", **ends, **session.widget("public_fraction"))
    select("backbone", lambda name: pc.BACKBONES[name].title if name in pc.BACKBONES else "Automatic")


def _draw_advanced(settings: Settings, *, knows_data: bool) -> None:
    if {"delta", "seed", "seeds", "accountant", "relation"} <= settings.hidden:
        return
    if knows_data and settings.delta * (rows := core.facts(settings).n_private) >= 1:
        problem = f"δ = {number_words(settings.delta)} is at least 1/n = {number_words(1 / rows, 2)}: such a guarantee allows publishing"
        st.error(f"{problem} a whole row now and then. Lower δ under Advanced.", icon=":material/warning:")
    with st.expander("Advanced", icon=":material/settings:"):
        number("delta", format="%.1e", step=1e-6)
        number("seed", step=1)
        number("seeds", step=1)
        select("accountant", lambda name: pc.ACCOUNTANTS[name].title)
        select("relation", lambda name: {"add_or_remove_one": "Add or remove one row", "replace_one": "Replace one row"}[name])


def _k(settings: Settings, limit: int | None, place: str) -> None:
    """Draws a switch that leaves k to the rule, and a slider that then stands at the rule's k; moving it switches the rule off."""
    ruled = core.rule_k(settings)
    position = settings.k or ruled
    name = core.words_of_rule(settings.method) if ruled is None else f"{ruled:,}"
    switch = local.element("control.k-auto", of=place.rstrip("."), label=f"Auto k ({name})")  # a widget that moves forgets its value
    session.fill(switch["key"], settings.k == RULE)
    changes = {"k": (position or limit or KS[0]) if settings.k == RULE else RULE}
    st.toggle(**switch, on_change=session.change, kwargs=changes)
    if position:
        st.select_slider(options=_ladder(KS, position, limit), format_func="{:,}".format, **session.widget("k", place, shown=position))


def _ladder(values: Sequence[float], now: float, limit: float | None) -> list[float]:
    """The offered values up to `limit`, the present one and the limit itself among them."""
    top = math.inf if limit is None else limit
    ends = [] if math.isinf(top) else [int(top)]
    return sorted({value for value in [*values, now, *ends] if 0 < value <= top})


def _draw_footer(settings: Settings) -> None:
    """Odds, pins, copy link, jobs and cache."""
    st.html(f'<div class="pillar-odds">{odds.sentence(settings)}</div>')
    pins = codec.pins(settings)
    free = next((letter for letter in codec.PINS if letter not in pins), codec.PINS[-1])
    label = f"Pin {free} anew" if free in pins else f"Pin as {free}"
    st.button(**local.element("pin", label=label), on_click=session.change, kwargs={"a": codec.with_pin(settings, free, settings)})
    for letter, pinned in pins.items():
        values, name = {field: getattr(pinned, field) for field in codec.PINNED}, letter.lower()
        changed = [f"{field} {was} → {now}" for field, was in values.items() if (now := getattr(settings, field)) != was]
        with st.container(horizontal=True, gap="small", vertical_alignment="center", key=f"pinned-{name}"):
            st.html(f'<b style="color: {plots.pin_colour(letter, theme.mode())}">{letter}</b>', width="content")
            st.button(**local.element("take-pin", of=name), on_click=session.change, kwargs=values)
            st.button(**local.element("unpin", of=name), on_click=session.change, kwargs={"a": codec.with_pin(settings, letter, None)})
        st.caption(f"Changed since {letter}: {plain.text('; '.join(changed) or 'nothing yet')}")
    hint = "It shows the same view on any machine that has the data, and holds the seed: runs that it shows are experiments, not releases."
    browser.copy_button("Copy link", settings, key="copy-link", hint=hint)
    if n_jobs := jobs.n_unfinished():
        label, changes = f"{n_jobs} job{'' if n_jobs == 1 else 's'} running", {"controls": f"{settings.controls};runs-view:jobs"}
        navigation.link("runs", label, icon=":material/sync:", changes=changes)
    cache = pc.store.default()
    st.caption(f":material/folder: cache `{cache.root.name}/`")
    if cache.unkept:
        st.warning(plain.text(cache.unkept), icon=":material/warning:")
