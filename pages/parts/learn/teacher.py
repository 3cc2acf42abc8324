"""The teacher's panel: a link that opens where the class should start, with only the controls that it needs."""

import dataclasses
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import pandas as pd
import streamlit as st

from pages.frame import local, sidebar
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pages.parts.learn.steps import STEPS

HIDEABLE = ("data", "public", "public_fraction", "backbone", "k", "epsilon", "delta", "seed", "seeds", "accountant", "relation")
_FEW = ("data", "public", "public_fraction", "backbone", "delta", "seed", "seeds", "accountant", "relation")
_OWN_LINK = "The panel writes a link of its own, for the class."
_PAGES = {"learn": "the lesson", "explore": "the explorer, with the step's task"}


def panel(settings: Settings) -> None:
    """The link, and the six questions with what they are for."""
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
                "Step", list(range(1, len(STEPS) + 1)), 1, name="teach-step", unlinked=_OWN_LINK, help="Where the class starts."
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
        st.code(link(settings, page=page, step=step, hidden=hidden), language=None, wrap_lines=True)
        st.caption("The link holds every setting, so all students start from the same view. Guesses stay in each student's own tab.")
        rows = [(place, one.title, one.question, one.control) for place, one in enumerate(STEPS, 1)]
        st.dataframe(pd.DataFrame(rows, columns=["step", "about", "question", "control"]), hide_index=True, key="teach-steps")


def link(settings: Settings, *, page: str, step: int, hidden: list[str]) -> str:
    """The address of `page` at a step, with these controls hidden."""
    explore = STEPS[step - 1].explore if page == "explore" else {}
    changes: dict[str, Any] = {**explore, "lesson": step, "hide": ",".join(hidden), "a": "", "runs": ""}
    shared = dataclasses.replace(settings, **changes)
    parts = urlsplit(st.context.url or "http://localhost:8501/")
    return urlunsplit((parts.scheme, parts.netloc, f"/{page}", urlencode(codec.to_query(shared)), ""))
