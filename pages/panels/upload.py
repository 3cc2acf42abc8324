"""Bring your own rows: a dry run that says what is wrong, where the data would lie, and a way to forget them."""

from __future__ import annotations

import streamlit as st

import pillar_core as pc
from pages.frame import core, exports, failures, session
from pages.frame import settings as codec
from pages.frame.settings import AUTO, PART, Settings
from pages.panels import shapes
from pillar_core import data
from pillar_core.data import Report
from pillar_core.experiments import splitting
from pillar_core.fingerprint import fingerprint


def panel(settings: Settings) -> None:
    """The upload with its report; for an upload in use, where it lies and “forget this data set”."""
    is_stored = codec.is_stored("data", settings.data)
    with st.expander("Bring your own features or images", icon=":material/upload_file:", expanded=is_stored):
        _where()
        if is_stored:
            _in_use(settings)
        words = "npz (x_train, y_train, x_test, y_test, classes), csv or parquet (one row per example, a label column), zip of images."
        file = st.file_uploader("Features or images", type=["npz", "csv", "parquet", "zip"], key="upload", help=words)
        if file is not None:
            _judge(file.getvalue(), file.name)
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
        "A link to an upload carries its fingerprint, not its rows. Rows without test labels can be trained on but not scored."
    )


def _in_use(settings: Settings) -> None:
    st.button(
        "Forget this data set",
        icon=":material/delete:",
        key="forget",
        on_click=_forget,
        args=(settings.data,),
        help="Deletes its features from the cache and from memory. Records of runs hold no rows and stay.",
    )


def _judge(content: bytes, name: str) -> None:
    report = _report(fingerprint(content, name), content, name)
    if not report.ok:
        st.error("**This file cannot be used yet.**", icon=":material/error:")
        st.markdown("\n".join(f"- {problem}" for problem in report.problems))
        return
    dims = " × ".join(map(str, report.dims))
    st.success(
        f"**Ready.** {report.n_train:,} train and {report.n_test:,} test rows, {dims} {'pixels' if report.is_images else 'features'}, "
        f"{len(report.classes)} classes.",
        icon=":material/check_circle:",
    )
    for line in report.notes:
        st.caption(line)
    st.dataframe(list(report.preview), hide_index=True, key="upload-preview")
    st.button(
        "Use these rows as private data",
        type="primary",
        key="use-upload",
        on_click=_keep,
        args=(content, name),
        help="Stores the features in the cache.",
    )
    st.caption(
        ":orange[A share of these rows then counts as **public**, and ε does not protect it] (sidebar: Share that is public). If none of "
        "your rows may be public, choose other public data in the sidebar before you release anything."
    )


@st.cache_data(max_entries=4, show_spinner="Checking the file …")
def _report(fingerprint_: str, _content: bytes, _name: str) -> Report:
    return data.dry_run(_content, filename=_name)


def _keep(content: bytes, name: str) -> None:
    report = data.dry_run(content, filename=name)
    with failures.shown("The file could not be stored."):
        rows = (
            pc.load_features(data.read_images(content, filename=name)) if report.is_images else data.read_features(content, filename=name)
        )
        session.change(data=splitting.keep_data(rows), public=PART, backbone=AUTO)


def _forget(name: str) -> None:
    splitting.forget_data(name)
    core.forget()
    shapes.forget()
    session.change(data=codec.PARAMS["data"].default)
    session.note("The uploaded features were deleted from the cache and from memory.")


def _take_settings(content: bytes) -> None:
    try:
        found, notes = codec.from_query(exports.settings_from_yaml(content.decode(errors="replace")))
    except ValueError as error:
        session.note(f"The settings file could not be read: {error}")
        return
    session.adopt(found, notes)
