"""The sidebar: what is private, what is public, how far to look, how much to protect. Widgets come
from the parameters."""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import browser, core, jobs, navigation, odds, plain, session
from pages.frame import settings as codec
from pages.frame.settings import (
    AUTO,
    EPSILONS,
    KS,
    PARAMS,
    PART,
    PUBLIC_TITLES,
    RULE,
    Settings,
    choices,
)
from pillar_core import plots, texts
from pillar_core.arrays import Json
from pillar_core.backbones.cards import fit_of
from pillar_core.data import uploads
from pillar_core.errors import PillarError
from pillar_core.numerics import number_words, place_among


def draw(*, are_near: bool, are_rows: bool = True) -> None:
    """Draws the controls, moves the settings into the data's range; `are_near` puts k and ε on the
    page itself. Without rows, ε and the seed alone act."""
    if not are_rows:
        with st.sidebar:
            _epsilon(session.current(), "")
            number("seed", step=1)
            _draw_footer(session.current(), has_pins=False)
        return
    settings = session.current()
    with st.sidebar:
        _data(settings)
        runs = core.recorded(session.current())
        if len(runs) and (moved := core.snap(session.current(), runs)) != session.current():
            session.note("Learner, k and ε are moved to those of which there are records.")
            session.put(moved)
        limit = None
        with contextlib.suppress(PillarError):  # the page says why the rows cannot be loaded
            limit = core.largest_k(session.current())
        if limit is not None and session.current().k > limit:
            session.note(
                f"k was {session.current().k}; the public rows span {limit} directions, so k ="
                f" {limit} is used."
            )
            session.put(dataclasses.replace(session.current(), k=limit))
        settings = session.current()
    place = ".near" if are_near else ""
    with st.container(key="near") if are_near else st.sidebar:
        unlike = (
            _k(settings, limit, place, _offered(runs, settings, "k"))
            if "k" not in settings.hidden and core.has_k(settings.method)
            else ""
        )
        if unlike := unlike + _epsilon(settings, place, _offered(runs, settings, "epsilon")):
            st.caption(unlike)
    with st.sidebar:
        _draw_advanced(settings, knows_data=limit is not None)
        _draw_footer(session.current())


def select(
    name: str,
    title: Callable[[str], str],
    *,
    brought: Sequence[str] = (),
    fits: Callable[[str], bool] = bool,
) -> None:
    """A choice from the names that a setting allows and that fit, rows that a user brought among
    them, and what this visit named besides."""
    settings = session.current()
    if name not in settings.hidden:
        allowed = [*filter(fits, choices(name)), *brought]
        known = f"named.{name}"
        named = [
            other
            for other in st.session_state.get(known, "").split("\n")
            if other and other not in allowed
        ]
        if (now := str(getattr(settings, name))) not in [*allowed, *named]:
            named.append(now)
        st.session_state[known], options = "\n".join(named), [*allowed, *named]
        session.draw_setting(st.selectbox, name, options=options, format_func=title)


def marks(offered: Sequence[float], points: Iterable[tuple[float, str]], label: str) -> str:
    """A row of HTML under a slider: where values lie among those that it offers, on a logarithmic
    scale, with words under the pointer."""
    ticks = [
        f'<span title="{words}" style="left:{100 * place / max(len(offered) - 1, 1):.1f}%">▲</span>'
        for value, words in points
        if (place := place_among(offered, value)) is not None
    ]
    return (
        f'<div class="pillar-marks" aria-hidden="true">{label}{"".join(ticks)}</div>'
        if ticks
        else ""
    )


def number(name: str, **shape: Json) -> None:
    """A number field with the parameter's own limits."""
    if name in session.current().hidden:
        return
    param = PARAMS[name]
    shape |= {
        "min_value": param.kind(param.low),
        "max_value": param.kind(param.high),
        "help": f"{param.help} Allowed: {param.range}.",
    }
    session.draw_setting(st.number_input, name, **shape)


def _data(settings: Settings) -> None:
    uploaded = uploads.list_uploads()
    select(
        "data", uploads.title_of, brought=[upload.name for upload in uploaded if upload.is_labelled]
    )
    public = [
        upload.name
        for upload in uploaded
        if upload.name != settings.data and core.may_be_public(upload, settings)
    ]
    select("public", lambda name: PUBLIC_TITLES.get(name) or uploads.title_of(name), brought=public)
    if settings.public == PART and "public_fraction" not in settings.hidden:
        session.draw_setting(
            st.slider,
            "public_fraction",
            step=0.01,
            format="percent",
            min_value=PARAMS["public_fraction"].low,
            max_value=PARAMS["public_fraction"].high,
        )
    _backbone(settings)


def _backbone(settings: Settings) -> None:
    """A backbone for images, an encoder for texts, or a map of columns for numbers; one that
    another set left behind goes."""
    is_images, of_texts = core.holds_images(settings), core.encoders(settings)
    left_behind = ""
    if is_images and fit_of(settings.backbone) is not None:
        left_behind = "maps columns of a table; images take none"
    elif texts.is_encoder(settings.backbone) and not of_texts:
        left_behind = "reads texts; these rows are none"
    if left_behind:
        session.note(f"The backbone {settings.backbone} {left_behind}.")
        session.put(dataclasses.replace(session.current(), backbone=AUTO))
    usual = "Automatic" if is_images else "As given"

    def fits(name: str) -> bool:
        if texts.is_encoder(name):
            return name in of_texts
        return name == AUTO or (fit_of(name) is None) == is_images

    select(
        "backbone",
        lambda name: pc.BACKBONES[name].label if name in pc.BACKBONES else usual,
        fits=fits,
    )


def _draw_advanced(settings: Settings, *, knows_data: bool) -> None:
    if {"delta", "seed", "seeds", "accountant", "relation"} <= settings.hidden:
        return
    if knows_data and settings.delta * (rows := core.facts(settings).n_private) >= 1:
        problem = (
            f"δ = {number_words(settings.delta)} is at least 1/n = {number_words(1 / rows, 2)}:"
            " such a guarantee allows publishing"
        )
        st.error(
            f"{problem} a whole row now and then. Lower δ under Advanced.",
            icon=":material/warning:",
        )
    with st.expander("Advanced", icon=":material/settings:"):
        number("delta", format="%.1e", step=1e-6)
        number("seed", step=1)
        number("seeds", step=1)
        select("accountant", lambda name: pc.ACCOUNTANTS[name].title)
        select(
            "relation",
            lambda name: {
                "add_or_remove_one": "Add or remove one row",
                "replace_one": "Replace one row",
            }[name],
        )


def _offered(runs: pd.DataFrame, settings: Settings, axis: str) -> list[float]:
    """The values of k or ε that records of the learner hold; empty where rows are here to train
    on."""
    own = runs[runs["method"] == settings.method] if len(runs) else runs
    return sorted(own[axis].dropna().unique().tolist()) if axis in own else []


def _k(settings: Settings, limit: int | None, place: str, recorded: Sequence[float]) -> str:
    """Draws a switch that leaves k to the rule, and a slider with the rule's k marked; moving it
    switches the rule off."""
    ruled = core.rule_k(settings)
    used = settings.k or ruled
    name = core.words_of_rule(settings.method) if ruled is None else f"{ruled:,}"
    own = used or limit or KS[0]
    session.draw(
        st.toggle,
        settings.k == RULE,
        lambda is_on: session.change(k=RULE if is_on else own),
        label=f"Auto k ({name})",
        key=f"control.k-auto{place.replace('.', '-')}",  # a widget that moves forgets its value
    )
    if not used:
        return ""
    offered = KS if limit is None else [*(k for k in KS if k < limit), limit]
    offered = [int(k) for k in recorded] or offered
    unlike = _slide("k", offered, used, place, "{:,}".format)
    if ruled is not None and (row := marks(offered, [(ruled, f"Auto: k = {ruled:,}")], "Auto:")):
        st.html(row)
    return unlike if settings.k else ""


def _epsilon(settings: Settings, place: str, offered: Sequence[float] = ()) -> str:
    """Draws the slider of ε over the values `offered`, or the usual ones, and returns a sentence
    where it stands at another value."""
    if "epsilon" in settings.hidden:
        return ""
    unlike = _slide(
        "epsilon",
        offered or EPSILONS,
        settings.epsilon,
        place,
        lambda value: "∞" if math.isinf(value) else f"{value:g}",
    )
    st.html(marks(EPSILONS, odds.PUBLISHED, "published uses:"))
    st.html(
        '<div class="pillar-ends"><span>◀ more privacy</span><span>more accuracy ▶</span></div>'
    )
    return unlike


def _slide(
    name: str, offered: Sequence[float], value: float, place: str, title: Callable[[float], str]
) -> str:
    """Draws a slider at the offered value nearest to `value`, and returns a sentence where that is
    another one."""
    near = core.nearest(value, offered)
    session.draw_setting(
        st.select_slider, name, place=place, shown=near, options=offered, format_func=title
    )
    symbol = PARAMS[name].label.partition(",")[0]
    return (
        ""
        if near == value
        else (
            f"{symbol} = {title(value)} is used. The slider stands at {title(near)}, the nearest"
            " that it offers. "
        )
    )


def _draw_pins(settings: Settings) -> None:
    """A button that pins the present settings, and those that are pinned."""
    pins = codec.pins(settings)
    free = next((letter for letter in codec.PINS if letter not in pins), codec.PINS[-1])
    label = f"Pin {free} anew" if free in pins else f"Pin as {free}"
    st.button(
        label=label,
        key="pin",
        help=(
            "Keeps the present settings: figures show each pin in its colour, and Curves compares A"
            " with what you change."
        ),
        icon=":material/push_pin:",
        on_click=session.change,
        kwargs={"a": codec.with_pin(settings, free, settings)},
    )
    for letter, pinned in pins.items():
        values = {field: getattr(pinned, field) for field in codec.PINNED}
        name = letter.lower()
        changed = [
            f"{field} {was} → {now}"
            for field, was in values.items()
            if (now := getattr(settings, field)) != was
        ]
        with st.container(
            horizontal=True, gap="small", vertical_alignment="center", key=f"pinned-{name}"
        ):
            st.html(
                f'<b style="color: {plots.pin_colour(letter)}">{letter}</b>',
                width="content",
            )
            st.button(label="Take", key=f"take-pin-{name}", on_click=session.change, kwargs=values)
            st.button(
                label="Unpin",
                key=f"unpin-{name}",
                on_click=session.change,
                kwargs={"a": codec.with_pin(settings, letter, None)},
            )
        st.caption(f"Changed since {letter}: {plain.text('; '.join(changed) or 'nothing yet')}")


def _draw_footer(settings: Settings, *, has_pins: bool = True) -> None:
    """Odds, pins where a figure shows them, copy link, jobs and cache."""
    st.html(f'<div class="pillar-odds">{odds.sentence(settings)}</div>')
    if has_pins:
        _draw_pins(settings)
    hint = (
        "It shows the same view on any machine that has the data, and holds the seed: runs that it"
        " shows are experiments, not releases."
    )
    browser.copy_button("Copy link", settings, key="copy-link", hint=hint)
    if n_jobs := jobs.n_unfinished():
        label = f"{n_jobs} job{'' if n_jobs == 1 else 's'} running"
        changes = {"controls": f"{settings.controls};runs-view:jobs"}
        navigation.link("runs", label, icon=":material/sync:", changes=changes)
    cache = pc.store.default()
    st.caption(f":material/folder: cache `{cache.root.name}/`")
    if cache.unkept:
        st.warning(plain.text(cache.unkept), icon=":material/warning:")
