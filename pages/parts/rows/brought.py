"""A file that somebody brings, and what the page asks and says of it before its rows are kept."""

import dataclasses
import functools
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

import pillar_core as pc
from pages.frame import badges, local, memory, navigation, plain, session
from pages.frame.settings import AUTO, PARAMS, PART
from pages.parts.rows.overview import show_rows
from pillar_core import data
from pillar_core.data import Report, raw, reports, uploads, visitors
from pillar_core.data.partition import without_drawn_test
from pillar_core.data.reader import Reading, Task
from pillar_core.errors import DataError, PillarError
from pillar_core.fingerprint import fingerprint
from pillar_core.types import Dataset, FeatureSet

FILE = "About a file that is not stored yet."
PATHS, _USED = ("upload-path", "upload-candidate-path"), "upload-used"
MANY_CLASSES, ROWS_A_CLASS = 50, 10
"""More classes than the first, with fewer rows each than the second, may be numbers to predict."""
THUMBNAILS = 12
AT_ONCE, BETWEEN = 2.0, 0.5
"""Seconds that a file may take before the page says how far it is, and how often it does."""
Maker = tuple[Callable[[], FeatureSet | Dataset], str]
"""What makes public rows when they are kept, and their title."""
PART_OF = "public part of {}"
"""The title of a share of a private table's rows that became a public set, by the table's own."""
MADE_UP_FOR = "made up for {}"
"""The title of made-up public rows, by the private table's own."""
_MADE_UP = "Rows made up from what you declared (recommended)"
_SHARE, _NONE = (
    "A random share of them is public: ε does not protect it",
    "None: public rows are made up, or come from another data set",
)


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

    def report(self, public_fraction: float | None = None) -> Report:
        """What the file holds, or what is wrong with it."""
        try:
            rows = self.rows()
        except PillarError as error:
            return reports.refusal_report(error)
        return reports.describe_rows(rows, rows.notes, public_fraction)


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
    for upload in [
        *(file.upload for file in files),
        *_uploads("upload"),
        *_uploads("upload-candidates"),
    ]:
        if upload is not None and upload.file_id in used:
            upload.truncate(
                0
                # Streamlit holds a widget's value, and what a button was given, as long as the
                # session lasts
            )
    for path in PATHS:
        st.session_state[path] = ""


def take(
    private: FeatureSet | Dataset, candidates: Sequence[Maker], name: str, public: str = PART
) -> None:
    """Keeps private rows and public sets, which become the data of every page; public rows are made
    and kept set by set.

    Raises DataError: private rows without labels, or a public set that is the private one.
    """
    if private.y_train is None:
        raise DataError(
            f"{Path(name).name} has no labels, which private rows need. Were private and public"
            " files swapped?"
        )
    names = [keep_public(rows(), title, private) for rows, title in candidates]
    session.change(
        data=uploads.keep(private, title=Path(name).name),
        public=names[0] if names else public,
        backbone=AUTO,
    )


def keep_public(rows: FeatureSet | Dataset, name: str, private: FeatureSet | Dataset | None) -> str:
    """The name of a public set: of the registry, or of what is now kept. Test rows that reading
    drew are rows like the others."""
    if (
        private is not None
        and rows.x_train.shape == private.x_train.shape
        and (rows.x_train == private.x_train).all()
    ):
        raise DataError(
            f"{Path(name).name} holds the private rows themselves: choose another file as public."
        )
    return (
        name
        if name in pc.DATASETS
        else uploads.keep(without_drawn_test(rows), title=Path(name).name)
    )


def doubt_roles(private: Report, public: Report, name: str) -> None:
    """Asks whether private and public files were swapped, where the public one looks more like what
    somebody protects."""
    if (
        len(public.classes) > 1
        and set(public.classes) == set(private.classes)
        and public.rows > private.rows
    ):
        named = plain.text(Path(name).name)
        st.warning(
            f"**Were private and public files swapped?** {named} holds more labelled rows of the"
            f" same classes, {public.rows:,} against {private.rows:,}. ε protects the private"
            " file's rows alone; the public one's may all be shown.",
            icon=":material/swap_horiz:",
        )


def verdict(report: Report) -> None:
    """What was found in a file, or what is wrong with it."""
    if report.ok:
        st.success(f"**Ready.** {plain.text(report.understood)}", icon=":material/check_circle:")
        if len(report.classes) > MANY_CLASSES and report.n_train < ROWS_A_CLASS * len(
            report.classes
        ):
            st.warning(
                f"**Are these labels numbers to predict?** {len(report.classes):,} of them stand"
                f" in {report.n_train:,} rows: under noise nothing is learnt of a class with fewer"
                f" than {ROWS_A_CLASS} rows. Cut numbers into bins, or join classes.",
                icon=":material/help:",
            )
    else:
        st.error("**This file cannot be used yet.**", icon=":material/error:")
        list_lines(report.problems)


def list_lines(problems: tuple[str, ...] | list[str]) -> None:
    """Line by line."""
    st.markdown("\n".join(f"- {plain.text(problem)}" for problem in problems))


def list_notes(notes: Sequence[str]) -> None:
    """What was decided while a file was read, in small letters, line by line."""
    st.caption("  \n".join(map(plain.text, dict.fromkeys(notes))))


def preview(rows: FeatureSet | Dataset, report: Report) -> None:
    """The first rows as a model sees them: pictures, or numbers under their names."""
    st.caption("The first rows, as a model sees them")
    if report.is_images:
        numbers = list(range(0, report.n_train, max(1, report.n_train // THUMBNAILS)))[:THUMBNAILS]
        show_rows(
            rows.x_train,
            numbers,
            [] if rows.y_train is None else [rows.classes[rows.y_train[row]] for row in numbers],
        )
    else:
        st.dataframe(list(report.preview), hide_index=True, key="upload-preview")


def asks_for_coin(unit: str) -> bool:
    """Whether a secret coin of each row or person alone shall draw the test rows."""
    return st.toggle(
        f"Draw the test rows by a secret coin of each {unit}",
        key=local.unlinked_key("upload-coin", FILE),
        help=(
            "For a model that you release with a private test. The larger ε of training and tests"
            f" then holds for both, where neighbours differ by one {unit} added or removed. Else a"
            " fifth of each class is drawn, the same every time, and the two add up."
        ),
    )


def check_again() -> None:
    """The button that reads the brought files anew."""
    st.button(
        "Check again",
        key="upload-check",
        help=(
            "After it was stopped, or after a change far down in a large folder: the page itself"
            " looks at the first files alone."
        ),
        icon=":material/replay:",
        on_click=memory.forget,
        args=(memory.FILES,),
    )


def use_button(keep: Callable[..., None], arguments: tuple[Any, ...], *, is_ready: bool) -> None:
    """The button that keeps what was judged."""
    hint = "Stores the rows in the cache." if is_ready else "First say which rows are public."
    st.button(
        label="Use these rows as private data",
        key="use-upload",
        type="primary",
        help=hint,
        on_click=keep,
        args=arguments,
        disabled=not is_ready,
    )


def share_or_none() -> bool | None:
    """Whether a share of the private file's rows is public; None before the user says."""
    choice = st.radio(
        label="Which of your rows may everyone see?",
        key=local.unlinked_key("upload-public", FILE),
        options=[_SHARE, _NONE],
        index=None,
    )
    return None if choice is None else choice == _SHARE


def offer_share(file: File, problems: Sequence[str]) -> None:
    """What to do where the share of a small file makes too few rows public: a larger share, or
    other public rows."""
    st.info(
        f"**A larger share is needed.** {plain.text(' '.join(problems))}", icon=":material/help:"
    )
    low, high = PARAMS["public_fraction"].low, PARAMS["public_fraction"].high
    share = next(
        (
            percent / 100
            for percent in range(round(100 * low), round(100 * high) + 1)
            if file.report(percent / 100).ok
        ),
        None,
    )
    with st.container(horizontal=True):
        if share is not None:
            st.button(
                label=f"Make {share:.0%} of them public",
                key="upload-larger-share",
                type="primary",
                on_click=session.change,
                kwargs={"public_fraction": share},
            )
        st.button(
            label="Take public rows from elsewhere",
            key="upload-elsewhere",
            on_click=answer_with,
            args=("upload-public", _NONE),
        )


def answer_with(key: str, answer: str | list[str]) -> None:
    """A callback: gives the question with this key an answer."""
    st.session_state[key] = answer


def other_public(
    *, is_images: bool, dims: tuple[int, ...], can_make_up: bool = False
) -> str | None:
    """The set whose rows are public, chosen among those that fit; None before the choice. Rows that
    can be made up come first."""
    kind, other_kind = (uploads.IMAGES, "tabular") if is_images else (uploads.FEATURES, "images")
    fitting = [name for name in visitors.names_here() if pc.DATASETS[name].kind != other_kind]
    fitting += [
        upload.name for upload in uploads.list_uploads(kind) if is_images or upload.shape == dims
    ]
    chosen = st.selectbox(
        "Public rows come from",
        [*([raw.MADE_UP] if can_make_up else []), *fitting],
        key=local.unlinked_key("upload-other", FILE),
        help=(
            "A data set whose rows have as many features as yours; images are brought to the size"
            " of yours. Made-up rows come from the ranges and words that you declared: better than"
            " none, behind real ones."
        ),
        format_func=lambda name: _MADE_UP if name == raw.MADE_UP else uploads.title_of(name),
        index=0 if can_make_up else None,
    )
    if chosen == raw.MADE_UP:
        badges.show(badges.MADE_UP)
    return chosen


def consequence(meaning: str, *, is_shared: bool) -> None:
    """What the choice means for the rows, counted."""
    if is_shared:
        advice = (
            "Choose this only if those people agreed, or to experiment; the sidebar sets the share."
        )
        st.warning(f"{plain.text(meaning)} {advice}", icon=":material/lock_open:")
    else:
        st.info(
            f"{plain.text(meaning)} The closer they are to yours, the better.",
            icon=":material/lock:",
        )
        navigation.link("public_data", f"Compare candidates on {navigation.title('public_data')}")
