"""What a user brought, whichever page it came by: one line for each set, to use it as private or as public rows, and to forget it."""

import streamlit as st

from pages.frame import core, local, memory, plain, session
from pages.frame.settings import AUTO, PART, Settings
from pillar_core.data import uploads
from pillar_core.data.files import npz_of
from pillar_core.data.uploads import Upload
from pillar_core.runs import splitting
from pillar_core.runs.repeated import file_of


def panel(settings: Settings) -> None:
    """The sets that are kept, with their buttons."""
    for upload in uploads.list_uploads():
        with st.container(border=True, key=f"kept-{uploads.key_of(upload.name)}"):
            st.text(upload.title)
            st.caption(plain.text(upload.understood) or _facts(upload))
            with st.container(horizontal=True, gap="small"):
                _buttons(upload, settings)


def _facts(upload: Upload) -> str:
    shape = " × ".join(map(str, upload.shape))
    labels = f"{upload.n_classes:,} classes" if upload.is_labelled else "no labels, so they can only be public"
    rows = f"{upload.n_train:,} train and {upload.n_test:,} test rows"
    return f"{rows} · {shape} {'pixels' if upload.kind == uploads.IMAGES else 'features'} · {labels}"


def _buttons(upload: Upload, settings: Settings) -> None:
    key, is_private, is_public = uploads.key_of(upload.name), upload.name == settings.data, upload.name == settings.public
    style = local.element("kept-private", of=key, label="Private now" if is_private else "Use as private")
    changes = {"data": upload.name, "public": PART, "backbone": AUTO}
    st.button(**style, on_click=session.change, kwargs=changes, disabled=is_private or not upload.is_labelled)
    style = local.element("kept-public", of=key, label="Public now" if is_public else "Use as public")
    is_unfit = is_private or is_public or not core.may_be_public(upload, settings)
    st.button(**style, on_click=session.change, kwargs={"public": upload.name}, disabled=is_unfit)
    style = local.element("kept-save", of=key)
    st.download_button(**style, data=lambda: npz_of(uploads.load(upload.name)), file_name=file_of(upload.name))
    place = {"key": "forget", "label": "Forget this data set"} if is_private else {}
    st.button(**local.element("kept-forget", of=key, **place), on_click=forget, args=(upload.name,))


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
