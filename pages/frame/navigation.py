"""The pages, one line each, and the guard that a page starts with."""

import copy
import dataclasses
import functools
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import streamlit as st

from pages.frame import core, door, failures, local, session, words
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core.arrays import Json
from pillar_core.data import uploads

_INSIDE_FRAME: ContextVar[bool] = ContextVar("inside_frame", default=False)

PAGES: tuple[tuple[str, str, str], ...] = (
    ("start", "Start", "Start"),
    ("lessons", "Lessons", "Learn"),
    ("playgrounds", "Playgrounds", "Learn"),
    ("curves", "Curves", "Explore"),
    ("learners", "Learners", "Explore"),
    ("why", "Why", "Explore"),
    ("public_data", "Public data", "Public data"),
    ("count", "Count", "Privacy"),
    ("check", "Check", "Privacy"),
    ("audit", "Audit", "Audit"),
    ("rows", "Rows", "My data"),
    ("answer", "Answer", "My data"),
    ("runs", "Runs", "My data"),
)
"""File in pages/ without its ending, the page's name, the place that it belongs to. The first is
the default and lives at `/`."""
WITHOUT_ROWS = ("", "lessons", "check")
"""Addresses of pages that no rows of the settings reach."""
MADE_UP = "playgrounds"
"""The address of the page whose rows are toys: of the settings ε and the seed act there."""
OF_RECORDS = ("curves", "learners")
"""Addresses of pages that records alone can feed."""
FORMER = {
    "home": "start",
    "learn": "lessons",
    "theory": "playgrounds",
    "explore": "curves",
    "compare": "learners",
    "geometry": "why",
    "screen": "public_data",
    "accounting": "count",
    "evidence": "audit",
    "data": "rows",
}
"""What addresses in older links and files call pages that have another name now."""
NEAR = ("curves", "learners", "why", "count", "audit")
"""Addresses of pages on which k and ε act: a narrow window has them on the page itself."""


def pages() -> list[Any]:
    """Streamlit's page objects, of one run of the app: which of them runs is noted in it."""
    return [copy.copy(target) for target in _targets().values()]


@functools.cache
def _targets() -> dict[str, Any]:
    """Page objects by name, for links: to make one looks at the disk."""
    return {
        name: st.Page(
            f"pages/{name}.py",
            title=title,
            url_path=address(name) or None,
            default=not address(name),
        )
        for name, title, _ in PAGES
    }


def title(name: str) -> str:
    """What the menu calls a page."""
    return next(title for page, title, _ in PAGES if page == name)


def address(name: str) -> str:
    """Where a page lives below the app's own address."""
    return "" if name == PAGES[0][0] else name


def former_routes() -> list[Any]:
    """The server's answers where pages lived before: the same link to where they live now."""
    from starlette.responses import RedirectResponse
    from starlette.routing import Route

    async def lead(name: str, request: Any) -> Any:
        # relative, because only a proxy in front knows what stands before the app's own address
        return RedirectResponse(f"./{address(name)}?{request.url.query}".rstrip("?"))

    names = FORMER | {PAGES[0][0]: PAGES[0][0]}
    return [
        Route(door.place(former), functools.partial(lead, name)) for former, name in names.items()
    ]


def bar(present: str) -> None:
    """Draws a row of links to the seven places, and below it the pages of the present page's place,
    where it has several.

    Links carry every setting, so that a page change is one step of the history.
    """
    targets = _targets()
    query = codec.to_query(session.current())
    places = {place: [page for page in PAGES if page[2] == place] for _, _, place in PAGES}
    current = next(place for name, _, place in PAGES if name == present)
    with st.container(key="navigation", gap=None):
        with st.container(horizontal=True, vertical_alignment="center", gap=None, key="places"):
            st.markdown(":violet[:material/shield_lock:] PILLAR explorer", width="content")
            for place, members in places.items():
                with st.container(
                    width="content",
                    key="place-here" if place == current else f"place-{members[0][0]}",
                ):
                    st.page_link(targets[members[0][0]], label=place, query_params=query)
        if len(places[current]) > 1:
            with st.container(horizontal=True, gap=None, key="members"):
                for name, title, _ in places[current]:
                    st.page_link(targets[name], label=title, query_params=query)


def needs_rows(present: str) -> bool:
    """Whether the page at this address shows nothing without the settings' rows: Runs reads records
    alone, Curves and Learners where there are any of these rows."""
    has_records = present in OF_RECORDS and len(core.recorded(session.current()))
    return present not in (*WITHOUT_ROWS, "runs") and not has_records


def has_sidebar(present: str) -> bool:
    """Whether settings of the sidebar act on the page at this address: Public data has its own, and
    of Runs only Plan takes any."""
    settings = session.current()
    are_brought = bool(uploads.names_in([settings.data, settings.public]))
    is_plan = local.linked_value("runs-view", "") == "plan"
    acts = {"rows": are_brought, "public_data": False, "runs": is_plan}
    return present not in WITHOUT_ROWS and acts.get(present, True)


def link(
    name: str,
    label: str,
    *,
    icon: str = ":material/arrow_forward:",
    changes: Mapping[str, Json] | None = None,
) -> None:
    """A link to a page with the present settings, some of them changed."""
    settings = dataclasses.replace(session.current(), **(changes or {}))
    st.page_link(_targets()[name], label=label, icon=icon, query_params=codec.to_query(settings))


def run(page: Any) -> None:
    """Runs a page inside the frame, between its title and how its numbers were computed."""
    token = _INSIDE_FRAME.set(True)
    name = page.url_path or PAGES[0][0]
    try:
        words.title(name)
        with failures.show_refusal():
            page.run()
        words.explain(name, **dataclasses.asdict(session.current()))
    finally:
        _INSIDE_FRAME.reset(token)


def begin() -> Settings:
    """The settings of this run, for the first line of every page: it makes sure that the frame runs
    around it.

    The first request after a server start may be a deep link, and Streamlit then runs that page's
    file alone, without sidebar and settings. Calling the navigation registers the pages; the rerun
    goes through app.py.
    """
    if not _INSIDE_FRAME.get():
        st.navigation(pages(), position="hidden")
        st.rerun()
    return session.current()
