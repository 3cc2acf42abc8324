"""What a page shows when the library refuses: the cause in its own words and what to try. The app
goes on."""

import contextlib
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path

import streamlit as st
from streamlit.errors import FragmentHandledException

from pages.frame import core, plain, session, warming
from pages.frame import settings as codec
from pillar_core import errors
from pillar_core.errors import NO_MEMORY, PillarError, memory_ran_out

_STREAMLIT = [
    logging.getLogger(f"streamlit.{name}")
    for name in ("error_util", "runtime.backend_operation_handler")
]
"""Where Streamlit logs, with its message, what a callback or fragment raised, and a download."""
_TITLES: dict[type[Exception], str] = {
    errors.MissingDependencyError: "Install one more package.",
    errors.BudgetError: "Choose another privacy budget.",
    errors.DataError: "Choose or mend the rows.",
    errors.UnsupportedError: "This is not possible here.",
    errors.SettingError: "Change one setting.",
    errors.UnknownNameError: "Choose another name.",
}
"""What you can do about the library's refusals of what you chose."""


@contextlib.contextmanager
def show_refusal(
    title: str = "",
    *,
    advice: str = (
        "Change the setting that is named, or open the page anew from the bar at the top."
    ),
) -> Iterator[None]:
    """Runs a block of a page; a refusal of the library becomes a message in its place, by default
    under what you can do about it."""
    try:
        yield
    except (PillarError, MemoryError, RuntimeError) as refusal:
        title = title or next(
            (words for kind, words in _TITLES.items() if isinstance(refusal, kind)),
            "This page could not be drawn.",
        )
        with st.container(border=True):
            st.error(f"**{title}**  \n{plain.text(_words(refusal))}", icon=":material/error:")
            if _words(refusal).endswith(core.NOT_EXTRACTED):
                query = codec.to_query(session.current())
                st.page_link("pages/rows.py", label="Extract them on Rows", query_params=query)
            else:
                st.markdown(advice)


@contextlib.contextmanager
def note_refusal(title: str) -> Iterator[None]:
    """Runs a callback; a refusal of the library becomes a message at the top of the page."""
    try:
        yield
    except (PillarError, MemoryError, RuntimeError) as refusal:
        message = f"{title}: {_words(refusal)}"
        session.surely(lambda: session.note(message))


def _words(refusal: Exception) -> str:
    """What a refusal says, of the library or for want of memory; any other error goes on."""
    if not isinstance(refusal, PillarError) and not memory_ran_out(refusal):
        raise refusal
    return str(refusal) if isinstance(refusal, PillarError) else NO_MEMORY


@contextlib.contextmanager
def catch_errors() -> Iterator[None]:
    """Runs the app; an unforeseen error becomes a sentence without values or paths, and a line of
    the log with its kind and place.

    The message of a foreign exception may quote rows. Streamlit's own signals to stop or to run
    again pass.
    """
    for log in _STREAMLIT:
        log.addFilter(_without_message)  # adds it once
    try:
        with show_refusal():
            yield
    except FragmentHandledException:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, its message may hold rows
        if isinstance(error, AttributeError) and "partially initialized module" in str(error):
            warming.wait()  # scipy looks into torch while `warming` still imports it
            st.rerun()
        logging.getLogger(__name__).error("%s", _place_of(error))
        st.error(
            "**This page met an error that nobody foresaw.** Its kind and place are in the app's"
            " log.",
            icon=":material/error:",
        )
        st.markdown("Change the last setting back, or open the page anew from the bar at the top.")


def _without_message(record: logging.LogRecord) -> bool:
    if record.exc_info and record.exc_info[1] is not None:
        record.msg, record.args, record.exc_info = "%s", (_place_of(record.exc_info[1]),), None
    return True


def _place_of(error: BaseException) -> str:
    """The class of an exception and the lines of code that it passed, innermost last."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"{'/'.join(Path(frame.filename).parts[-3:])}:{frame.lineno}" for frame in frames]
    return f"{type(error).__name__} at {' > '.join(lines)}"
