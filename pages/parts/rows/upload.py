"""Bring your own rows, private and public: a dry run that says what is wrong, which rows become
public, where the data would lie; and one line for each set that came, by whichever page, to use it
or to forget it."""

import dataclasses
from pathlib import Path

import streamlit as st

from pages.frame import core, failures, local, memory, navigation, plain, session
from pages.frame import settings as codec
from pages.frame.settings import AUTO, PART, Settings
from pages.parts.rows import brought, wizard
from pages.parts.rows.brought import FILE, File
from pillar_core import mode, splits
from pillar_core.data import frames, npz, reader, reports, uploads
from pillar_core.data.npz import npz_of
from pillar_core.data.partition import with_tossed_test
from pillar_core.data.parts import open_source
from pillar_core.data.uploads import Upload
from pillar_core.errors import DataError
from pillar_core.runs import splitting
from pillar_core.runs.repeated import file_of
from pillar_core.types import Dataset, FeatureSet


def _buttons(upload: Upload, settings: Settings) -> None:
    key, is_private, is_public = (
        uploads.key_of(upload.name),
        upload.name == settings.data,
        upload.name == settings.public,
    )
    changes = {"data": upload.name, "public": PART, "backbone": AUTO}
    st.button(
        label="Private now" if is_private else "Use as private",
        key=f"kept-private-{key}",
        help="Protects these rows on every page; a part of them becomes public.",
        on_click=session.change,
        kwargs=changes,
        disabled=is_private or not upload.is_labelled,
    )
    is_unfit = is_private or is_public or not core.may_be_public(upload, settings)
    st.button(
        label="Public now" if is_public else "Use as public",
        key=f"kept-public-{key}",
        help=(
            "Takes the public rows of every page from here, without protection. They must be of the"
            " private data's kind."
        ),
        on_click=session.change,
        kwargs={"public": upload.name},
        disabled=is_unfit,
    )
    st.download_button(
        label="Save as a file",
        key=f"kept-save-{key}",
        help=(
            "A npz with its rows, unprotected, as commands name it: they run beside it on any"
            " machine."
        ),
        on_click="ignore",
        data=lambda: npz_of(uploads.load(upload.name)),
        file_name=file_of(upload.name),
    )
    st.button(
        "Forget this data set" if is_private else "Forget",
        key="forget" if is_private else f"kept-forget-{key}",
        help=(
            "Deletes its rows and whatever was made from them from the cache and from memory."
            " Records of runs hold no rows and stay."
        ),
        icon=":material/delete:",
        on_click=forget,
        args=(upload.name,),
    )


def forget(name: str) -> None:
    """A callback: the rows leave the disk and the memory, and no setting names them any more."""
    splitting.forget_data(name)
    memory.forget(uploads.key_of(name), memory.FILES)
    settings = session.current()
    if settings.data == name:
        session.change(data=Settings().data, public=PART, backbone=AUTO)
    elif settings.public == name:
        session.change(public=PART)
    session.note("The rows and their features were deleted from the cache and from memory.")


def panel(settings: Settings) -> bool:
    """Uploads or paths with their reports; for what is kept, where it lies, how to use it and
    “forget this data set”.

    Whether a file waits for its questions or its button: the page then shows no other set.
    """
    if mode.binds():
        st.info(
            f"This is a public server: bringing your own rows is off. {mode.ADVICE}",
            icon=":material/public:",
        )
        return False
    reader.prepare()
    st.caption(
        "Rows stay on the machine that runs this app, in its cache (readable by its user only)."
        " Nothing is sent elsewhere. Rows without test labels can be trained on but not scored."
    )
    if codec.is_stored("data", settings.data):
        st.success("**Your rows are the private data** of every page now.", icon=":material/lock:")
        navigation.link("curves", f"Train on them on {navigation.title('curves')}")
    for upload in uploads.list_uploads():
        with st.container(border=True, key=f"kept-{uploads.key_of(upload.name)}"):
            st.text(upload.title)
            st.caption(plain.text(upload.understood))
            with st.container(horizontal=True, gap="small"):
                _buttons(upload, settings)
    with failures.show_refusal(
        "This file cannot be read.",
        advice="Bring another file. A public table of words needs the private one beside it.",
    ):
        left, right = st.columns(2)
        left.file_uploader(
            "Private rows: features, a table or images",
            key="upload",
            help=(
                "npz (x_train, y_train, x_test, y_test, classes, persons), csv or parquet (one row"
                " per example, a label column), zip of images. Reading may take half of the memory"
                " that is free."
            ),
        )
        path = right.text_input(
            "Or a path on the machine that runs this app",
            key=local.unlinked_key(brought.PATHS[0], FILE),
            help=(
                "A folder of images (one subfolder per class, train/ and test/ where there are"
                " both), or a zip, npz, csv or parquet file."
            ),
            placeholder="/data/my-images",
        )
        left, right = st.columns(2)
        left.file_uploader(
            "Public rows, if you have any",
            key="upload-candidates",
            help=(
                "Candidates. Of tables the same columns as the private one; the label column may be"
                " absent."
            ),
            accept_multiple_files=True,
        )
        public_path = right.text_input(
            "Or their path, or the name of a data set",
            key=local.unlinked_key(brought.PATHS[1], FILE),
            help=(
                "As above; or a data set of the app by name, `torchvision:` and `hub:` among them."
            ),
            placeholder="/data/public.npz or mnist",
        )
        private, public = _files("upload", path), _files("upload-candidates", public_path)
        if private:
            _judge(private[0], public, settings)
        elif public:  # kept beside the private data that the settings name
            fitting = _candidates(
                public, uploads.load(settings.data) if uploads.is_here(settings.data) else None
            )
            st.button(
                label="Use as public data",
                key="use-public",
                help="Stores them in the cache; the first becomes the public data of every page.",
                type="primary",
                on_click=_keep_public,
                args=(fitting,),
                disabled=not fitting,
            )
        return bool(private or public)
    return True


def _files(widget: str, path: str) -> list[File]:
    """What was sent, then what a path on this machine names, or the name of a data set."""
    if path := path.strip():
        mode.refuse("path")
    return [*brought.new_files(widget), *([File(None, path)] if path else [])]


def _judge(brought_file: File, public: list[File], settings: Settings) -> None:
    """The private file's report, the question which rows are public, and the button that keeps all
    of them."""
    private = _with_keys(brought_file)
    if private is None:
        return
    report, is_table = private.report(), _is_table(private)
    asks = (
        is_table
        and all(map(_is_table, public))
        and (not report.ok or bool(public) or wizard.has_questions(private))
    )
    if is_table and not public and not asks:
        asks = st.toggle(
            label="Another column is the label, or one person may have several of these rows",
            key=local.unlinked_key("upload-persons", FILE),
            help=(
                "Say which column is the label and which names persons, and how many rows of each"
                " are used: ε then protects a person."
            ),
        )
    is_readable = asks and wizard.is_readable(private)
    if not asks or not (report.ok or is_readable):
        brought.verdict(report)
    if not report.ok and not is_readable:
        brought.check_again()
    if asks:
        wizard.panel(private, public, settings)
    if asks or not report.ok:
        return
    count, *notes = report.notes
    brought.list_notes(notes)
    candidates = _candidates(public, private.rows())
    for file in candidates:
        brought.doubt_roles(report, file.report(), file.name)
    is_shared = False if candidates else brought.share_or_none()
    choice: str | None = PART
    if is_shared:
        shared = private.report(settings.public_fraction)
        if shared.ok:
            brought.consequence(shared.notes[0], is_shared=True)
        else:
            brought.offer_share(private, shared.problems)
            choice = None
    else:
        choice = (
            PART
            if candidates
            else (
                None
                if is_shared is None
                else brought.other_public(is_images=report.is_images, dims=report.dims)
            )
        )
        if choice is not None:
            brought.consequence(count, is_shared=False)
    by_coin = (
        choice is not None
        and bool(private.rows().test_drawn)
        and not private.rows().persons
        and brought.asks_for_coin("row")
    )
    brought.use_button(_keep, (private, candidates, choice, by_coin), is_ready=choice is not None)
    brought.preview(private.rows(), report)


def _is_table(file: File) -> bool:
    return frames.ending_of(file.name) in reader.TABLES


def _with_keys(file: File) -> File | None:
    """The file with the names of its rows and labels, where its arrays do not say which are; None
    before its owner says."""
    if Path(file.name).suffix.lower() != ".npz":
        return file
    try:
        shapes = npz.uncertain(open_source(file.name if file.content is None else file.content))
    except DataError:  # what reads the file says what is wrong with it
        return file
    rows = [name for name, shape in shapes.items() if len(shape) > 1]
    if not rows:
        return file
    st.info(
        "**Which arrays are the rows and the labels?** Their names do not say it.",
        icon=":material/help:",
    )
    chosen = st.selectbox(
        "The rows",
        rows,
        index=None,
        key="upload-rows",
        format_func=lambda name: f"{name}, {shapes[name]}",
    )
    labels = [name for name, shape in shapes.items() if len(shape) == 1]
    label = st.selectbox(
        "Their labels",
        labels,
        index=None,
        key="upload-labels",
        format_func=lambda name: f"{name}, {shapes[name]}",
    )
    return dataclasses.replace(file, keys=(chosen, label)) if chosen and label else None


def _candidates(public: list[File], private: FeatureSet | Dataset | None) -> list[File]:
    """The public files that fit private rows (None: files of the first one's kind); of the others
    it is said why not."""
    fitting, wanted = [], None if private is None else private.x_train.shape[1:]
    for file in public:
        report, why = file.report(), ""
        notes: tuple[str, ...] = ()
        wanted = wanted or report.dims
        is_images, rows = len(wanted) > 1, file.rows() if report.ok else None
        if not report.ok:
            why = report.problems[0]
        elif report.is_images != is_images:
            why = (
                f"it holds {'images' if report.is_images else 'numbers'}, and the private rows are"
                f" {'images' if is_images else 'numbers'}."
            )
        elif isinstance(private, FeatureSet) and isinstance(rows, FeatureSet):
            try:
                rows, notes = splitting.match_private(rows, private)
            except DataError as error:
                why = str(error)
        if not why and not is_images and rows is not None and rows.x_train.shape[1:] != wanted:
            why = (
                f"it has {report.dims[0]:,} features, and the private rows have {wanted[0]:,}:"
                " extract both with one backbone."
            )
        if why:
            st.warning(
                f"{plain.text(file.name)} cannot be public here: {plain.text(why)}",
                icon=":material/block:",
            )
            continue
        fitting.append(file)
        unused = (
            ""
            if private is None or rows is None or rows.y_train is None
            else splits.unused_labels(rows.classes, private.classes)
        )
        used = report.rows if rows is not None and rows.test_drawn else report.n_train
        count = (
            f":material/public: {plain.text(file.name)}: {used:,} public rows,"
            f" {len(report.classes)} classes."
        )
        st.caption(" ".join([count, plain.text(unused), *map(plain.text, notes)]))
    return fitting


def _keep(private: File, candidates: list[File], public: str, by_coin: bool) -> None:
    with failures.note_refusal("The rows could not be stored"):
        rows = with_tossed_test(private.rows()) if by_coin else private.rows()
        share = session.current().public_fraction if public == PART and not candidates else None
        if problems := reports.describe_rows(rows, (), share).problems:
            raise DataError(*problems)
        brought.take(rows, [(file.rows, file.name) for file in candidates], private.name, public)
        brought.let_go([private, *candidates])


def _keep_public(files: list[File]) -> None:
    with failures.note_refusal("The rows could not be stored"):
        private = (
            uploads.load(session.current().data)
            if uploads.is_name(session.current().data)
            else None
        )
        names = [brought.keep_public(file.rows(), file.name, private) for file in files]
        session.change(public=names[0])
        brought.let_go(files)
