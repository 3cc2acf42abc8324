"""Bring your own rows: a dry run that says what is wrong, which rows become public, where the data would lie, how to forget them."""

from pathlib import Path

import streamlit as st

import pillar_core as pc
from pages.frame import exports, failures, local, plain, session
from pages.frame import settings as codec
from pages.frame.settings import AUTO, PART, Settings
from pages.parts.data import kept
from pillar_core import data
from pillar_core.data import Report, uploads, visitors
from pillar_core.data.cards import here
from pillar_core.data.parts import MOST_COLUMNS, TIMES_UNPACKED
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import loading

_FILE = "About a file that is not stored yet."
_SHARE, _NONE = "A random share of them is public: ε does not protect it", "None: public rows come from another data set"


def panel(settings: Settings) -> None:
    """An upload or a path with its report; for what is kept, where it lies, how to use it and “forget this data set”."""
    if visitors.binds():
        st.info(f"This is a public server: bringing your own rows is off. {visitors.ADVICE}", icon=":material/public:")
        return
    _where()
    if codec.is_stored("data", settings.data):
        st.success("**Your rows are the private data** of every page now: **Explore** trains on them.", icon=":material/lock:")
    kept.panel(settings)
    left, right = st.columns(2)
    hint = (
        "npz (x_train, y_train, x_test, y_test, classes), csv or parquet (one row per example, a label column, at most "
        f"{MOST_COLUMNS:,} columns), zip of images. Archives unpack to 1 GiB, or to {TIMES_UNPACKED} times their own size."
    )
    file = left.file_uploader("Features or images", type=["npz", "csv", "parquet", "zip"], key="upload", help=hint)
    path = right.text_input(
        "Or a path on the machine that runs this app",
        key=local.unlinked("upload-path", _FILE),
        placeholder="/data/my-images",
        help="A folder of images (one subfolder per class, train/ and test/ where there are both), or a zip, npz, csv or parquet file.",
    )
    if file is not None:
        _judge(file.getvalue(), file.name, settings)
    elif path.strip():
        with failures.shown("This path cannot be read."):
            visitors.refuse_path(path.strip())
            _judge(None, path.strip(), settings)


def settings_file() -> None:
    """The way back from the settings file that every figure exports."""
    with st.expander("Load settings from a file", icon=":material/settings_backup_restore:"):
        file = st.file_uploader(
            "Settings (YAML)", type=["yaml", "yml"], key="upload-settings", help="The settings file that every figure exports."
        )
        if file is not None:
            st.button(
                "Use these settings", key="use-settings", on_click=_take_settings, args=(file.getvalue(),), help="Replaces every setting."
            )


def _where() -> None:
    st.caption(
        f"Rows stay on the machine that runs this app, in `{pc.store.default().root}` (readable by its user only). "
        "Nothing is sent elsewhere. "
        "They are this browser's: other browsers neither list nor open them, even by a link, unless you share them below. "
        "Rows without test labels can be trained on but not scored."
    )


def _judge(content: bytes | None, name: str, settings: Settings) -> None:
    key = fingerprint(data.state_of(name) if content is None else content, name)
    report = _report(key, None, content, name)
    if report.ok:
        dims = " × ".join(map(str, report.dims))
        st.success(
            f"**Ready.** {report.n_train:,} train and {report.n_test:,} test rows, {dims} {'pixels' if report.is_images else 'features'}, "
            f"{len(report.classes)} classes.",
            icon=":material/check_circle:",
        )
        public = _public_rows(report)
        if public is not None:
            report = _report(key, settings.public_fraction if public == PART else None, content, name)
            _consequence(report, public)
    if not report.ok:
        st.error("**This file cannot be used yet.**", icon=":material/error:")
        st.markdown("\n".join(f"- {plain.text(problem)}" for problem in report.problems))
        hint = "After a change far down in a large folder: the page itself looks at the first files alone."
        st.button("Check again", icon=":material/replay:", key="upload-check", on_click=_report.clear, help=hint)
        return
    for line in report.notes[1:]:
        st.caption(plain.text(line))
    st.button(
        "Use these rows as private data",
        type="primary",
        key="use-upload",
        on_click=_keep,
        args=(content, name, public),
        disabled=public is None,
        help="Stores the rows in the cache." if public else "First say which rows are public.",
    )
    st.dataframe(list(report.preview), hide_index=True, key="upload-preview")


def _public_rows(report: Report) -> str | None:
    """The `public` setting that the user chose; None before the choice."""
    choice = st.radio("Which of your rows may everyone see?", [_SHARE, _NONE], index=None, key=local.unlinked("upload-public", _FILE))
    if choice != _NONE:
        return PART if choice == _SHARE else None
    kind, other_kind = (uploads.IMAGES, "tabular") if report.is_images else (uploads.FEATURES, "images")
    fitting = [name for name in here() if pc.DATASETS[name].kind != other_kind]
    fitting += [one.name for one in uploads.listed(kind) if report.is_images or one.shape == report.dims]
    return st.selectbox(
        "Public rows come from",
        fitting,
        index=None,
        key=local.unlinked("upload-other", _FILE),
        format_func=uploads.title_of,
        help="A data set whose rows have as many features as yours; images are brought to the size of yours.",
    )


def _consequence(report: Report, public: str) -> None:
    """What the choice means for the rows, counted."""
    if report.ok and public == PART:
        advice = "Choose this only if those people agreed, or to experiment; the sidebar sets the share."
        st.warning(f"{plain.text(report.notes[0])} {advice}", icon=":material/lock_open:")
    elif report.ok:
        st.info(f"{plain.text(report.notes[0])} The closer they are to yours, the better: see **Screen**.", icon=":material/lock:")


@st.cache_data(max_entries=8, show_spinner="Checking the file …")
def _report(fingerprint_: str, public_fraction: float | None, _content: bytes | None, _name: str) -> Report:
    return data.dry_run(_name if _content is None else _content, "" if _content is None else _name, public_fraction=public_fraction)


def _keep(content: bytes | None, name: str, public: str) -> None:
    with failures.noted("The rows could not be stored"):
        rows = loading.read(name) if content is None else loading.read(content, filename=name)
        session.change(data=uploads.keep(rows, title=Path(name).name), public=public, backbone=AUTO)


def _take_settings(content: bytes) -> None:
    try:
        settings, notes = codec.from_query(exports.settings_from_yaml(content.decode(errors="replace")))
    except ValueError as error:
        session.note(f"The settings file could not be read: {error}")
        return
    session.adopt(settings, notes)
