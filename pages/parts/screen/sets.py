"""The sets that the screening page offers: the app's own, those of the registry that are here, and what a user brings."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

import pillar_core as pc
from pages.frame import local, session
from pages.frame.settings import Settings
from pages.parts.data import gallery
from pillar_core import data
from pillar_core.errors import PillarError
from pillar_core.studies.screening import answers as screening_kept
from pillar_core.studies.screening.answers import IMAGES, OWN_HALF

FAMILIES = (
    "drawn_digits",
    "drawn_digits~0.5",
    "drawn_letters",
    "drawn_shapes",
    "drawn_digits_on_textures",
    "drawn_textures",
    "drawn_noise",
)
NOISE = "drawn_noise"
FALLBACK = "digits"
KINDS = ["zip", "npz"]
_KEPT = "screen-kept"


def private_sets(settings: Settings) -> list[str]:
    """Names that can be the private set: the user's own first, the sidebar's where it holds images, the images that are here."""
    here = [name for name, card in pc.DATASETS.items() if card.kind == "images" and card.is_here()]
    sidebar = [settings.data] if settings.data in here else []
    return list(dict.fromkeys([*sidebar, *kept(), *here, *(name for name in FAMILIES if name != NOISE)]))


def candidates(private: str, *, with_own_half: bool) -> list[str]:
    """Names that can be candidates for `private`."""
    here = [name for name, card in pc.DATASETS.items() if card.kind == "images" and card.is_here()]
    own = [OWN_HALF] if with_own_half else []
    return [name for name in dict.fromkeys([*own, *FAMILIES, *kept(), *here]) if name != private]


def titles() -> dict[str, str]:
    """Every set's name for people."""
    drawn = {name: f"{gallery.title_of(name.partition('~')[0])}{', shifted' if '~' in name else ''}" for name in FAMILIES}
    registered = {name: gallery.title_of(name) for name in pc.DATASETS}
    return registered | drawn | {name: _about(name)[0] for name in kept()} | {OWN_HALF: "Its own other half"}


def title(name: str) -> str:
    """The title of one set, or of a mixture."""
    known = titles()
    return " + ".join(known.get(part, part) for part in name.split("+"))


def kept() -> list[str]:
    """The names of the images that the user brought, here or in the link."""
    return [name for name in str(local.value(_KEPT, "")).split(",") if name]


def adopt(names: Sequence[str]) -> None:
    """Takes images that a link names and this cache still holds."""
    present = [name for name in names if name.startswith(IMAGES) and pc.store.default().has("arrays", name.removeprefix(IMAGES))]
    local.put(_KEPT, ",".join(dict.fromkeys([*kept(), *present])))


def notes(names: Sequence[str]) -> list[str]:
    """What was noted when the user's images among `names` were read: files that were skipped, and the like."""
    return [f"{_about(name)[0]}: {note}" for name in names if name in kept() for note in _about(name)[1]]


def bring() -> None:
    """The ways to bring images: as the private set, as candidates, by upload or by a name on this machine."""
    with st.expander("Bring your own images", icon=":material/upload_file:"):
        words = "A zip of images (folders are classes; labels are not needed), or a npz with uint8 images under x_train."
        left, right = st.columns(2)
        left.file_uploader("Your private images", type=KINDS, key="screen-upload-private", on_change=_take_private, help=words)
        right.file_uploader(
            "Your candidates", type=KINDS, accept_multiple_files=True, key="screen-upload", on_change=_take_candidates, help=words
        )
        st.text_input(
            "Or a candidate on this machine",
            key="screen-path",
            on_change=_take_path,
            placeholder="folder, zip or npz; or the name of a data set",
            help="A path that the app can read, or any name of the data set registry.",
        )
        for name in kept():
            label, button = st.columns([6, 1], vertical_alignment="center")
            label.caption(_about(name)[0])
            button.button(
                "Forget", key=f"screen-forget-{name}", on_click=_forget, args=(name,), help="Deletes these images from the cache."
            )
        st.caption(
            f"They stay on this machine, in `{pc.store.default().root}` (readable by its user only). Tables about them hold no rows."
        )


def _take_private() -> None:
    file = st.session_state.get("screen-upload-private")
    if file is not None:
        name = _keep(file.getvalue(), file.name)
        if name:
            local.put("screen-private", name)


def _take_candidates() -> None:
    names = [_keep(file.getvalue(), file.name) for file in st.session_state.get("screen-upload") or []]
    _choose([name for name in names if name])


def _take_path() -> None:
    text = str(st.session_state.get("screen-path", "")).strip()
    if not text:
        return
    try:
        if text in pc.DATASETS:
            pc.load_dataset(text)
            _choose([text])
            return
        name = screening_kept.keep_images(screening_kept.named(text))
    except PillarError as problem:
        session.note(f"“{text}” cannot be compared: {problem}")
        return
    adopt([name])
    _choose([name])


def _keep(content: bytes, filename: str) -> str:
    """The name of images in a file, "" where they cannot be read: then a message says why."""
    try:
        name = screening_kept.keep_images(data.load_candidate(content, filename=filename))
    except PillarError as problem:
        session.note(f"“{filename}” cannot be compared: {problem}")
        return ""
    adopt([name])
    return name


def _choose(names: list[str]) -> None:
    """Adds candidates to those that are chosen."""
    chosen = str(local.value("screen-public", ",".join([OWN_HALF, *FAMILIES]))).split(",")
    local.put("screen-public", ",".join(dict.fromkeys([*chosen, *names])))


def _forget(name: str) -> None:
    screening_kept.forget_images(name)
    _about.clear()
    local.put(_KEPT, ",".join(other for other in kept() if other != name))


@st.cache_data(max_entries=200, show_spinner=False)
def _about(name: str) -> tuple[str, tuple[str, ...]]:
    """(title, notes) of images that were brought."""
    try:
        found = screening_kept.kept_images(name)
    except PillarError:
        return "images that are no longer here", ()
    return found.title, found.notes
