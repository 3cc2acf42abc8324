"""The teacher's panel: a link that opens where the class should start, with only the controls that it needs."""

import dataclasses
import html
import re
from pathlib import Path
from string import Template
from typing import Any

import streamlit as st

from pages.frame import copying, local, sidebar
from pages.frame.settings import Settings
from pages.parts.learn import classroom, lesson
from pages.parts.learn.steps import STEPS

HIDEABLE = ("data", "public", "public_fraction", "backbone", "k", "epsilon", "delta", "seed", "seeds", "accountant", "relation")
_FEW = ("data", "public", "public_fraction", "backbone", "delta", "seed", "seeds", "accountant", "relation")
_OWN_LINK = "The panel writes a link of its own, for the class."
_SHEET = Template(Path(__file__).with_name("sheet.html").read_text(encoding="utf-8"))
_PAGES = {"learn": "the lesson", "explore": "the explorer, with the step's task"}


def panel(settings: Settings) -> None:
    """The link, and a sheet to print."""
    with st.expander("For teachers: a link for your class", icon=":material/co_present:"):
        left, right = st.columns(2)
        with left:
            page = local.one(
                "Opens",
                list(_PAGES),
                "learn",
                name="teach-page",
                unlinked=_OWN_LINK,
                title=_PAGES.__getitem__,
                help="What the class sees first.",
            )
            step = local.slider(
                "Step",
                list(range(1, len(STEPS) + 1)),
                lesson.number(settings),
                name="teach-step",
                unlinked=_OWN_LINK,
                help="Where the class starts; until it is moved, at the step that is open here.",
            )
        with right:
            hidden = local.several(
                "Controls to hide in the explorer",
                list(HIDEABLE),
                list(_FEW),
                name="teach-hide",
                unlinked=_OWN_LINK,
                title=lambda name: sidebar.LABELS[name],
                help="What is hidden keeps the value that the link carries.",
            )
        classroom.switch()
        linked = shared(settings, page=page, step=step, hidden=hidden)
        copying.button("Copy the class's link", linked, key="copy-class-link", hint="All students start from the same view.", page=page)
        hint = "A page to print: questions first, answers on a sheet of their own. The answers are measured when you press."
        name, icon = "private-learning-in-six-guesses.html", ":material/print:"
        st.download_button("Sheet for the class", sheet, name, "text/html", icon=icon, key="teach-sheet", help=hint, on_click="ignore")


def sheet() -> str:
    """The questions as a page of HTML to print, and the answers on a sheet of their own."""
    asked, told = [], []
    for place, step in enumerate(STEPS, 1):
        options = "".join(f"<li>☐ {_html(option)}</li>" for option in step.options)
        asked.append(
            f"<h2>{place}. {_html(step.title)}</h2><p>{_html(step.story)}</p><p><b>{_html(step.question)}</b></p><ul>{options}</ul>"
        )
        told.append(f"<h2>{place}. {_html(step.options[lesson.right(place)])}</h2><p>{_html(step.moral)}</p>")
    return _SHEET.substitute(asked="".join(asked), told="".join(told))


def _html(words: str) -> str:
    """Markdown's stars as tags; all else is text."""
    strong = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(words))
    return re.sub(r"\*(.+?)\*", r"<i>\1</i>", strong)


def shared(settings: Settings, *, page: str, step: int, hidden: list[str]) -> Settings:
    """The settings of the link to `page` at a step, with these controls hidden."""
    explore = STEPS[step - 1].explore if page == "explore" else {}
    changes: dict[str, Any] = {**explore, "lesson": step, "hide": ",".join(hidden), "a": "", "runs": ""}
    return dataclasses.replace(settings, **changes)
