"""The sets that the screening page offers: the app's own, those of the registry that are here, and what a user brings."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

import pillar_core as pc
from pages.frame import local, session
from pages.frame.settings import Settings
from pages.parts.data import kept as kept_sets
from pillar_core import data
from pillar_core.arrays import Array
from pillar_core.data import embedded, uploads, visitors
from pillar_core.data.cards import here
from pillar_core.data.uploads import Upload
from pillar_core.errors import PillarError
from pillar_core.studies.screening import answers
from pillar_core.studies.screening.answers import OWN_HALF, OWN_PART

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
USUAL = (OWN_PART, "fashion_mnist", "mnist", "pneumonia_mnist", "drawn_textures", NOISE)
"""The candidates of a first visit: real images first, then drawn ones."""
OWN = {
    OWN_PART: ("A part of the private set", "Every tenth row. Its people agreed to be public: ε protects the other nine tenths alone."),
    OWN_HALF: ("Its own other half", "Private rows that were set aside: a yardstick and no public data."),
}
FALLBACK = "fashion_mnist_2k"
KINDS = ["zip", "npz"]


def private_sets(settings: Settings) -> list[str]:
    """Names that can be the private set: the sidebar's where it holds images, the user's own, the images that are here."""
    sidebar = [] if why_not(settings.data) else [settings.data]
    return list(dict.fromkeys([*sidebar, *kept(), *_here(), *(name for name in FAMILIES if name != NOISE)]))


def candidates(private: str, *, with_own_half: bool) -> list[str]:
    """Names that can be candidates for `private`."""
    half = [OWN_HALF] if with_own_half else []
    names = dict.fromkeys([OWN_PART, *half, *kept(), *_here(), *FAMILIES])
    return [name for name in names if name != private and not embedded.are_parts(name, private)]


def why_not(name: str) -> str:
    """Why a data set cannot be screened, as the end of a sentence; nothing where it can."""
    brought = uploads.card(name)
    if brought is None and name not in pc.DATASETS:
        return "are not yours, or not in this cache (any more)"
    is_images = name in FAMILIES or (brought.kind if brought else pc.DATASETS[name].kind) == uploads.IMAGES
    if not is_images:
        return "hold numbers, and screening compares images"
    return "" if brought or pc.DATASETS[name].is_here() else "are not on this machine"


def can_be_public(name: str) -> bool:
    """Whether the sidebar can name this set: no mixture, no shifted set and no yardstick."""
    return name == OWN_PART or name in pc.DATASETS or uploads.is_name(name)


def title(name: str) -> str:
    """The title of one set, or of a mixture."""
    return " + ".join(_title(part) for part in name.split("+"))


def samples(name: str, count: int) -> list[Array]:
    """The first images of a candidate, of each of its parts where it is a mixture; of the own half none, which is private."""
    parts = name.split("+")
    if OWN_HALF in parts or OWN_PART in parts:
        return []
    return [image for part in parts for image in answers.named(part, n=answers.FEWEST, seed=1).x_train[: count // len(parts)]]


def facts(name: str, private: str, *, is_private: bool) -> str:
    """How many images a candidate has, of what size, under which licence; and without ε whether private rows are among them."""
    if name in (OWN_PART, OWN_HALF):
        return OWN[name][1]
    words = []
    for part in name.split("+"):
        images, base = answers.named(part, n=answers.FEWEST, seed=1), part.partition("~")[0]
        shape = " × ".join(map(str, images.x_train.shape[1:3]))
        licence = pc.DATASETS[base].licence if base in pc.DATASETS else "your own"
        count = "As many images as you like" if base in FAMILIES else f"{len(images.x_train):,} images"
        words.append(f"{count}, {shape}; licence: {licence}.")
        if not is_private and (shared := answers.overlap(private, part)):
            words.append(f"{shared:,} of its images are private rows.")
    return " ".join(words)


def kept() -> dict[str, Upload]:
    """The images that the user brought, by name: those of every page, and those that a link names and this cache still holds."""
    linked = ",".join(str(local.value(name, "")) for name in ("screen-private", "screen-public")).split(",")
    cards = [*uploads.listed(uploads.IMAGES), *map(uploads.card, linked)]
    return {one.name: one for one in cards if one is not None and one.kind == uploads.IMAGES}


def notes(names: Sequence[str]) -> list[str]:
    """What was noted when the user's images among `names` were read: files that were skipped, and the like."""
    brought = kept()
    return [f"{brought[name].title}: {note}" for name in names if name in brought for note in brought[name].notes]


def bring(settings: Settings) -> None:
    """The ways to bring images: as the private set, as candidates, by upload or by a name on this machine."""
    if visitors.binds():
        return
    with st.expander("Bring your own images", icon=":material/upload_file:"):
        hint = "A zip of images (folders are classes; labels are not needed), or a npz with uint8 images under x_train."
        left, right = st.columns(2)
        left.file_uploader("Your private images", type=KINDS, key="screen-upload-private", on_change=_take_private, help=hint)
        right.file_uploader(
            "Your candidates", type=KINDS, accept_multiple_files=True, key="screen-upload", on_change=_take_candidates, help=hint
        )
        st.text_input(
            "Or a candidate on this machine",
            key=local.unlinked("screen-path", "A path on this machine; what it brings is in the link."),
            on_change=_take_path,
            placeholder="folder, zip or npz; or the name of a data set",
            help="A path that the app can read, or any name of the data set registry.",
        )
        kept_sets.panel(settings, uploads.IMAGES)
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
        visitors.refuse_path(text)
        name = uploads.keep(answers.named(text), title=Path(text).name)
    except PillarError as problem:
        session.note(f"“{text}” cannot be compared: {problem}")
        return
    _choose([name])


def _keep(content: bytes, filename: str) -> str:
    """The name of images in a file, "" where they cannot be read: then a message says why."""
    try:
        return uploads.keep(data.load_candidate(content, filename=filename), title=Path(filename).name)
    except PillarError as problem:
        session.note(f"“{filename}” cannot be compared: {problem}")
        return ""


def _choose(names: list[str]) -> None:
    """Adds candidates to those that are chosen."""
    chosen = str(local.value("screen-public", ",".join(USUAL))).split(",")
    local.put("screen-public", ",".join(dict.fromkeys([*chosen, *names])))


def _here() -> list[str]:
    """Images of data sets that are on this machine."""
    return [name for name in here() if pc.DATASETS[name].kind == "images"]


def _title(name: str) -> str:
    base, mark, _ = name.partition("~")
    return OWN[name][0] if name in OWN else f"{uploads.title_of(base)}{', shifted' if mark else ''}"
