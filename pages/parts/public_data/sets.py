"""The sets that the page Public data offers: the app's own, those of the registry that are here,
and what a user brings."""

from collections.abc import Sequence
from typing import Any

import pillar_core as pc
from pages.frame import core
from pages.frame.settings import Settings
from pillar_core.arrays import Array
from pillar_core.data import embedded, uploads, visitors
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
USUAL = ("digits", "mnist", "pneumonia_mnist", "drawn_textures", NOISE)
"""The candidates of a first visit: real images first, then drawn ones. Of those that ship, these
have a clear winner for `FIRST`, whatever the noise."""
TEXTS = ("library_docs", "python_docs")
"""The same for private texts."""
OWN = {
    "part": (
        "A part of the private set",
        "Every tenth row. These people agreed to be public; ε protects only the other 90 %.",
    ),
    "own_half": (
        "Its own other half",
        "Private rows that were set aside: a yardstick and no public data.",
    ),
}
"""Title of the private set's own parts, and what each is."""
FIRST = "mnist"
"""The private set of a first visit: one candidate is clearly nearest, while for the sidebar's first
data none is."""
FALLBACK = "fashion_mnist_2k"


def private_sets(settings: Settings) -> list[str]:
    """Names that can be the private set: the sidebar's, the user's own, the images and texts that
    are here."""
    own = [
        upload.name
        for upload in uploads.list_uploads()
        if upload.is_labelled or not is_table(upload.name)
    ]
    registered = [
        *visitors.names_here("images"),
        *visitors.names_here("texts"),
        *(name for name in FAMILIES if name != NOISE),
    ]
    return list(
        dict.fromkeys([*([] if why_not(settings.data) else [settings.data]), *own, *registered])
    )


def candidates(private: str, *, with_own_half: bool) -> list[str]:
    """Names that can be candidates for `private`."""
    half = [OWN_HALF] if with_own_half else []
    others = [*own_sets(), *visitors.names_here("images"), *FAMILIES, *visitors.names_here("texts")]
    names = dict.fromkeys(
        [OWN_PART, *half, *(name for name in others if _form(name) == _form(private))]
    )
    return [name for name in names if embedded.whole_of(name) != embedded.whole_of(private)]


def why_not(name: str) -> str:
    """Why a data set cannot be screened, as the end of a sentence; nothing where it can."""
    is_images = name in FAMILIES or core.kind_of(name) == uploads.IMAGES
    if not (is_images or is_text(name) or is_table(name)):
        return "hold numbers, of which screening compares those that you bring"
    is_here = uploads.card(name) or (
        visitors.is_offered("data", name) and pc.DATASETS[name].is_here()
    )
    return "" if is_here else "are not on this machine"


def is_text(name: str) -> bool:
    """Whether a set holds texts, which are compared as features alone."""
    return _form(name) == ("texts",)


def is_table(name: str) -> bool:
    """Whether a set holds numbers that the user brought, which are compared as they are."""
    return len(_form(name)) > 1


def is_made_up(name: str) -> bool:
    """Whether all rows of a candidate are drawn by a rule, from nobody's."""
    cards = {part: uploads.card(part) for part in name.split("+")}
    return all(
        card.is_made_up if card else core.is_synthetic(part.partition("~")[0])
        for part, card in cards.items()
    )


def title(name: str) -> str:
    """The title of one set, or of a mixture."""
    return " + ".join(_title(part) for part in name.split("+"))


def samples(name: str, count: int) -> list[Array]:
    """The first images of a candidate, of each of its parts where it is a mixture; of the own half
    none, which is private."""
    parts = name.split("+")
    if any(part in OWN or is_text(part) or is_table(part) for part in parts):
        return []
    return [
        image
        for part in parts
        for image in answers.images_of(part, n=answers.FEWEST, seed=1).x_train[
            : count // len(parts)
        ]
    ]


def facts(name: str, private: str, *, is_private: bool) -> str:
    """How many images a candidate has, of what size, under which licence; and without ε whether
    private rows are among them."""
    if name in OWN:
        return OWN[name][1]
    lines = []
    for part in name.split("+"):
        if is_text(part) or is_table(part):
            registered = pc.DATASETS.get(part)
            upload = uploads.card(part)
            n_rows = (
                registered.n_rows if registered else upload.n_train + upload.n_test if upload else 0
            )
            lines.append(
                f"{n_rows:,} {'texts' if is_text(part) else 'rows'}; licence:"
                f" {registered.licence if registered else 'your own'}."
            )
            continue
        images = answers.images_of(part, n=answers.FEWEST, seed=1)
        base = part.partition("~")[0]
        shape = " × ".join(map(str, images.x_train.shape[1:3]))
        licence = pc.DATASETS[base].licence if base in pc.DATASETS else "your own"
        count = (
            "As many images as you like" if base in FAMILIES else f"{len(images.x_train):,} images"
        )
        lines.append(f"{count}, {shape}; licence: {licence}.")
        if not (is_private or base in FAMILIES) and (shared := answers.overlap(private, part)):
            lines.append(f"{shared:,} of its images are private rows.")
    return " ".join(lines)


def own_sets() -> list[str]:
    """The names of what the user brought."""
    return [upload.name for upload in uploads.list_uploads()]


def notes(names: Sequence[str]) -> list[str]:
    """What was noted when the user's sets among `names` were read: files that were skipped, and the
    like."""
    return [
        f"{card.title}: {note}"
        for name in names
        if (card := uploads.card(name))
        for note in card.notes
    ]


def _form(name: str) -> tuple[Any, ...]:
    """What sets that can be compared have in common: texts, images, or numbers in the same
    columns."""
    card = uploads.card(name)
    if card is not None and card.kind == uploads.FEATURES and not card.is_text:
        return (card.kind, *card.shape, *sorted(card.names))
    is_text = card.is_text if card else core.kind_of(name) == "texts"
    return ("texts",) if is_text else ("images",)


def _title(name: str) -> str:
    base, mark, _ = name.partition("~")
    return OWN[name][0] if name in OWN else f"{uploads.title_of(base)}{', shifted' if mark else ''}"
