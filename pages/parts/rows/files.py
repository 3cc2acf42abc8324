"""A file that somebody brings: it is read once, in a process of its own, and let go when its rows
are kept."""

import dataclasses
import functools
import weakref
from collections.abc import Sequence
from typing import Any

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

import pillar_core as pc
from pages.frame import memory, plain
from pillar_core import data
from pillar_core.data import frames
from pillar_core.data.reader import TABLES, Reading, Task
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.types import Dataset, FeatureSet

FILE = "About a file that is not stored yet."
PRIVATE, PUBLIC = "upload", "upload-candidates"
"""The widgets that take private and public files."""
PATHS, _USED = {PRIVATE: "upload-path", PUBLIC: "upload-candidate-path"}, "upload-used"
AT_ONCE, BETWEEN = 2.0, 0.5
"""Seconds that a file may take before the page says how far it is, and how often it does."""


@dataclasses.dataclass(frozen=True)
class File:
    """What was brought: an upload as Streamlit hands it out, or None and a path (for public rows
    also a data set).

    keys: the names of rows and labels in a npz, where its owner had to say them.
    """

    upload: Any
    name: str
    keys: tuple[str, str | None] | None = None

    @functools.cached_property
    def key(self) -> str:
        """Changes when the file does."""
        identity = (
            fingerprint(data.state_of(self.name), self.name)
            if self.upload is None
            else str(self.upload.file_id)
        )
        return identity if self.keys is None else fingerprint(identity, self.keys)

    @property
    def content(self) -> bytes | None:
        """An upload's bytes."""
        return None if self.upload is None else bytes(self.upload.getvalue())

    def rows(self) -> FeatureSet | Dataset:
        """The rows, checked.

        Raises PillarError: they cannot be read.
        """
        if self.upload is None and self.name in pc.DATASETS:
            return pc.load_dataset(self.name)
        return self.reading().rows

    def reading(self, *as_written: str) -> Reading:
        """The file as a process of its own read it, once; the page says how far that is, and offers
        to stop it.

        as_written: columns of a table that stay text, for which the table is read once more.
        """
        read = _reading(self.key, self, as_written)
        wait_for(read, f"{self.key}-{as_written}")
        return read

    def is_table(self) -> bool:
        """Whether it can be read as a table, of whatever words and numbers."""
        try:
            return frames.ending_of(self.name) in TABLES and self.reading().table is not None
        except DataError:
            return False


def wait_for(read: Task, key: str) -> None:
    """Waits until it has ended; the page says how far it is, and offers to stop it."""
    if read.wait(AT_ONCE):
        return
    place = st.empty()
    with place.container():
        bar, icon = st.progress(read.share, plain.text(read.said)), ":material/stop_circle:"
        st.button(
            "Stop",
            key=f"stop-{key}",
            on_click=_stop,
            args=(weakref.ref(read),),
            icon=icon,
            help="The file is not used.",
        )
    while not read.wait(
        BETWEEN
    ):  # a click elsewhere draws the page anew, and waits for the same process or thread
        bar.progress(read.share, plain.text(read.said))
    place.empty()


def _stop(read: weakref.ref[Task]) -> None:
    """Streamlit holds what a button is given as long as the session lasts: here no rows."""
    if (reading := read()) is not None:
        reading.stop()


@memory.cache(max_entries=64, of_files=True)
def _reading(fingerprint_: str, _file: File, as_written: tuple[str, ...]) -> Reading:
    return Reading(_file.content, _file.name, as_written=as_written, keys=_file.keys)


def new_files(widget: str) -> list[File]:
    """The files that a widget holds, without those that are in use already."""
    return [
        File(upload, upload.name)
        for upload in _uploads(widget)
        if upload.file_id not in st.session_state.get(_USED, ())
    ]


def _uploads(widget: str) -> list[Any]:
    """What Streamlit itself holds: of all bytes, a widget returns a copy each time."""
    value = st.session_state.get(widget)
    return value if isinstance(value, list) else [] if value is None else [value]


def let_go(files: Sequence[File]) -> None:
    """Forgets files whose rows are kept now: their bytes, and what was read of them. The page asks
    for others."""
    memory.forget(memory.FILES)
    used = {file.upload.file_id for file in files if file.upload is not None}
    st.session_state[_USED] = st.session_state.get(_USED, frozenset()) | used
    context = get_script_run_ctx(suppress_warning=True)
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file_id in used:
            context.uploaded_file_mgr.remove_file(context.session_id, file_id)
    for upload in [*(file.upload for file in files), *_uploads(PRIVATE), *_uploads(PUBLIC)]:
        if upload is not None and upload.file_id in used:
            upload.truncate(
                0
                # Streamlit holds a widget's value, and what a button was given, as long as the
                # session lasts
            )
    for path in PATHS.values():
        st.session_state[path] = ""
