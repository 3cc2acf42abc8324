"""The teacher's panel: a link that opens where the class should start, with only the controls that
it needs."""

import dataclasses
import html
import re
from pathlib import Path
from string import Template
from urllib.parse import urlencode, urljoin, urlsplit

import segno
import streamlit as st

from pages.frame import browser, local, plain, shares
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pages.parts.lessons import classroom, lesson
from pages.parts.lessons.steps import Lesson, of_number, step_of
from pillar_core.types import Form

_HIDDEN = [name for name in codec.PINNED if name != "method"]
"""Controls that a link can hide."""
_OWN_LINK = "The panel writes a link of its own, for the class."
_FOR_PHONES = (
    "Only this machine can open the link. For phones, start the app with `pillar-explorer --demo"
    " --address 0.0.0.0`, which takes no files, open it under this machine's name or number in the"
    " network, and copy the link there: it then has a QR code, too."
)
_SHEET = Template(Path(__file__).with_name("sheet.html").read_text(encoding="utf-8"))


def panel(settings: Settings) -> None:
    """The link, its QR code, a sheet to print and what the class learnt."""
    of, current = of_number(settings.lesson)
    with local.box("For teachers: a link for your class", "co_present", "teachers") as is_open:
        if not is_open:
            return
        left, right = st.columns(2)
        with left:
            page = local.choice(
                "teach-page",
                unlinked=_OWN_LINK,
                label="Opens",
                default="lessons",
                options={
                    "lessons": "the lesson",
                    "task": "the page that the step sends to, with its task",
                },
            )
            numbers = {number: str(place) for place, number in enumerate(of.numbers, 1)}
            step = local.slider(
                "teach-step",
                numbers,
                current,
                unlinked=_OWN_LINK,
                label="Step",
                help="Where the class starts; until it is moved, at the step that is open here.",
            )
        with right:
            hidden = local.choices(
                "teach-hide",
                title=lambda name: codec.PARAMS[name].label,
                unlinked=_OWN_LINK,
                label="Controls to hide in the explorer",
                help="What is hidden keeps the value that the link carries.",
                default=[name for name in _HIDDEN if name not in ("k", "epsilon")],
                options=_HIDDEN,
            )
        classroom.switch()
        linked = class_settings(settings, page=page, step=step, hidden=hidden)
        where = page if page == "lessons" else step_of(step).page
        browser.copy_button(
            "Copy the class's link",
            linked,
            key="copy-class-link",
            hint="All students start from the same view.",
            page=where,
        )
        name = f"{re.sub('[^a-z]+', '-', of.title.lower())}.html"
        make = shares.charge(lambda: sheet(of).encode())
        st.download_button(
            label="Sheet for the class",
            key="teach-sheet",
            help=(
                "A page to print: questions first, answers on a sheet of their own. The answers are"
                " measured when you press."
            ),
            icon=":material/print:",
            mime="text/html",
            on_click="ignore",
            data=make,
            file_name=name,
        )
        _code(linked, where)
        classroom.show_answers(of)


def sheet(lesson_: Lesson) -> str:
    """The questions as a page of HTML to print, and the answers on a sheet of their own."""
    questions = []
    answers = []
    for place, (number, step) in enumerate(zip(lesson_.numbers, lesson_.steps, strict=True), 1):
        options = "".join(f"<li>☐ {_html(option)}</li>" for option in step.options)
        questions.append(
            f"<h2>{place}."
            f" {_html(step.title)}</h2><p>{_html(step.story)}</p>"
            f"<p><b>{_html(step.question)}</b></p><ul>{options}</ul>"
        )
        answers.append(
            f"<h2>{place}."
            f" {_html(step.options[lesson.right(number)])}</h2><p>{_html(step.moral)}</p>"
        )
    return _SHEET.substitute(
        title=_html(lesson_.title), asked="".join(questions), told="".join(answers)
    )


def _code(linked: Settings, page: str) -> None:
    """The link as a QR code, under the address that this browser shows, unless that is of this
    machine alone."""
    if st.context.url:
        try:
            if (urlsplit(st.context.url).hostname or "").startswith(("127.", "localhost", "::1")):
                st.info(_FOR_PHONES, icon=":material/smartphone:")
                return
            address = f"{urljoin(st.context.url, page)}?{urlencode(codec.to_query(linked))}"
            drawn = segno.make(address, error="l").png_data_uri(scale=5, border=4)
        except ValueError:
            st.caption("This link is too long for a QR code: copy it.")
            return
        with st.container(key="class-code", width="content"):
            st.html(
                f'<img alt="QR code of the class\'s link" src="{drawn}" style="max-width: 100%">'
            )
            st.caption(
                f"For a projector. It opens {plain.text(address.partition('?')[0])}, which the"
                " students' phones must reach."
            )


def _html(words: str) -> str:
    """Markdown's stars as tags; all else is text."""
    strong = re.sub(r"\*\*(.+?)\*\*", r"<b>\1</b>", html.escape(words))
    return re.sub(r"\*(.+?)\*", r"<i>\1</i>", strong)


def class_settings(settings: Settings, *, page: str, step: int, hidden: list[str]) -> Settings:
    """The settings of the link to a step or to the page of its task, with these controls hidden."""
    explore = lesson.explore_settings(step_of(step), settings) if page == "task" else {}
    changes: Form = {**explore, "lesson": step, "hide": ",".join(hidden), "a": ""}
    return dataclasses.replace(settings, **changes)
