"""What a person brings, images or features: kept on this machine, listed, loaded and forgotten
here, whatever page or command it came by.

The rows lie in the store under a key, their title and sizes on a card beside them; the name
`stored:<key>` stands for both in links, grids and records. Whatever is made from the rows of a set
and kept, too, has the set's key between the hyphens of its own, so that forgetting finds it. To
visitors of a demo no set is here.
"""

import dataclasses
import itertools
import json
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pillar_core import mode, store, texts
from pillar_core.data import places, raw, reports, visitors
from pillar_core.data.cards import DATASETS, load_dataset
from pillar_core.data.parts import pack, unpack
from pillar_core.errors import DataError, StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import upkeep
from pillar_core.types import Dataset, FeatureSet

PREFIX = "stored:"
IMAGES, FEATURES = "images", "features"
_NAME = re.compile(rf"{PREFIX}([0-9a-f]{{32}})")
_CARD = upkeep.BROUGHT
_KEEPING = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Upload:
    """The card of a kept set. `kind` is images or features; `shape` is that of a row: (h, w[, 3])
    pixels, or (d,).

    `rows_per_person`: no person has more of its train rows; None where a row is an example of its
    own. `apart_from`: see `FeatureSet`. `kept_at` counts seconds since 1970. `understood`: see
    `reports.understood`. `is_text`: the token vectors of texts alone made the features.
    `is_made_up`: rows were drawn from what a recipe declares. `names`: of the columns, where they
    have some.
    """

    name: str
    title: str
    kind: str
    n_train: int
    n_test: int
    n_classes: int
    shape: tuple[int, ...]
    is_labelled: bool
    notes: tuple[str, ...] = ()
    kept_at: float = 0.0
    rows_per_person: int | None = None
    apart_from: tuple[str, ...] = ()
    understood: str = ""
    is_text: bool = False
    is_made_up: bool = False
    names: tuple[str, ...] = ()


def is_name(text: object) -> bool:
    """Whether `text` is written as the name of a kept set; whether its rows are here shows on
    loading."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def key_of(name: str) -> str:
    """The key of a kept set in the store.

    Raises StoreError: not the name of one.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise StoreError(
            f"the name of rows that were brought is {PREFIX} and 32 of 0-9 and a-f; got"
            f" {name[:60]!r}."
        )
    return match[1]


def name_of(data: FeatureSet | Dataset) -> str:
    """The name that `keep` gives these rows."""
    return PREFIX + (
        fingerprint(data.fingerprint, *data.caveats) if data.caveats else data.fingerprint
    )


def keep(data: FeatureSet | Dataset, *, title: str = "") -> str:
    """The name under which these rows are found again on this machine, after storing them in the
    cache.

    title: what people call them, such as the file's name (default: that of the same rows kept
    before, else the set's own title or name); a number is added to a title that another set has.

    Raises StoreError: a disk that refuses.
    """
    mode.refuse("upload")
    cache, key = store.default(), key_of(name_of(data))
    own_title = data.title if isinstance(data, Dataset) else ""
    with _KEEPING:
        if (
            title or _card(key) is None
        ):  # before the rows, which nobody's push out once they have a card
            taken = {upload.title for upload in list_uploads() if upload.name != PREFIX + key}
            taken |= {
                known for item in DATASETS.values() for known in (item.title, item.short_title)
            }
            wanted = " ".join((title or own_title or data.name).split())[:120]
            numbered = (f"{wanted} ({number})" for number in itertools.count(2))
            distinct = next(
                item for item in itertools.chain([wanted], numbered) if item not in taken
            )
            described, former = _upload_of(key, data, distinct), _card(key)
            apart_from = tuple(
                dict.fromkeys((*described.apart_from, *(former.apart_from if former else ())))
            )
            _write(dataclasses.replace(described, kept_at=time.time(), apart_from=apart_from))
        cache.put_arrays(key, **pack(data))
    if isinstance(data, Dataset):
        places.forget(
            data
        )  # what decoding kept: the rows lie under their own name now, and only there
    return PREFIX + key


def list_uploads(kind: str | None = None) -> tuple[Upload, ...]:
    """The cards of all kept sets (of one kind) whose rows are here, the latest first."""
    cards = (_card(key.removeprefix(_CARD)) for key in store.default().keys("blob", prefix=_CARD))
    fitting = (
        card_ for card_ in cards if card_ and kind in (None, card_.kind) and is_here(card_.name)
    )
    return tuple(sorted(fitting, key=lambda card_: (-card_.kept_at, card_.name)))


def is_here(name: object) -> bool:
    """Whether rows are here under `name`."""
    return is_name(name) and not mode.binds() and store.default().has("arrays", key_of(str(name)))


def refuse_missing(value: object) -> None:
    """Refuses a set in `value`, however deep, that is not here.

    Raises StoreError: there is one.
    """
    for name in names_in(value):
        if not is_here(name):
            raise StoreError(missing_text(name))


def missing_text(name: str) -> str:
    """Why a set cannot be opened, and what to do."""
    way = (
        mode.ADVICE
        if mode.binds()
        else "Bring the same rows again on the page Rows, and they have this name."
    )
    return f"{name} is not on this machine (any more). {way}"


def card(name: str) -> Upload | None:
    """The card of one set, made again from the rows where it is damaged; None where the rows are
    not here."""
    if not is_here(name):
        return None
    if (card_ := _card(key_of(name))) is not None:
        return card_
    rows = load(name)
    return _upload_of(key_of(name), rows, rows.title if isinstance(rows, Dataset) else rows.name)


def title_of(name: str) -> str:
    """What people call a set: a registered one's short title, the title of what was brought, the
    last part of a path on this machine, which is nobody else's business, else the name itself."""
    if name in DATASETS:
        return DATASETS[name].short_title
    upload = card(name)
    return (
        upload.title
        if upload is not None
        else "an upload that is not here"
        if is_name(name)
        else Path(name).name
        if Path(name).is_absolute()
        else name
    )


def load(name: str) -> Dataset | FeatureSet:
    """The rows kept under `name`; they stay on the disk until they are touched.

    Raises StoreError: they are not in this cache (any more).
    """
    arrays = store.default().get_arrays(key_of(name), mmap=True) if is_here(name) else None
    if arrays is None or "x_train" not in arrays:
        raise StoreError(missing_text(name))
    upload = _card(key_of(name))
    try:
        data = unpack(arrays, title=upload.title if upload is not None else "")
    except DataError as error:
        raise StoreError(
            f"the persons of {name} are damaged: forget it, and upload it again."
        ) from error
    if isinstance(data, Dataset) or upload is None:
        return data
    return dataclasses.replace(data, apart_from=upload.apart_from)


def load_rows(
    name: str, settings: Mapping[str, Any] | None = None, *, download: bool = False
) -> Dataset | FeatureSet:
    """The rows that a name in a link or a grid stands for: a registered data set's, or those that
    were brought.

    Raises UnknownNameError, StoreError, DataError, SettingError.
    """
    if is_name(name):
        return load(name)
    visitors.refuse_names(
        {"dataset": name} | ({"dataset_settings": dict(settings)} if settings else {})
    )
    return load_dataset(name, download=download, **dict(settings or {}))


def forget(name: str) -> int:
    """How many entries left the cache: the rows under `name`, their card, and what was made from
    them.

    None for visitors of a demo. Records of runs hold no rows and stay. Features through a backbone
    go with `runs.receipts.forget_data`.
    """
    cache, key = store.default(), key_of(name)
    if mode.binds():
        return 0
    for decoded in (cache.get_arrays(key, mmap=True) or {}).get("stored_rows", ()):
        cache.delete("arrays", str(decoded))
    entries = [
        (kind, entry)
        for kind in ("arrays", "record", "blob")
        for entry in cache.keys(kind)
        if key in entry.split("-")
    ]
    return sum(cache.delete(kind, entry) for kind, entry in entries)


def names_in(value: object) -> list[str]:
    """The names of kept sets in `value`, however deep."""
    return [match[0] for match in _NAME.finditer(str(value))]


def _upload_of(key: str, data: FeatureSet | Dataset, title: str) -> Upload:
    return Upload(
        PREFIX + key,
        title,
        IMAGES if data.x_train.ndim > 2 else FEATURES,
        len(data.x_train),
        data.n_test,
        len(data.classes),
        tuple(int(size) for size in data.x_train.shape[1:]),
        data.y_train is not None,
        data.notes,
        rows_per_person=data.persons.most if data.persons else None,
        apart_from=data.apart_from if isinstance(data, FeatureSet) else (),
        understood=reports.understood(data),
        is_text=texts.encoder_of(data.recipe) == texts.IDENTITY
        and data.x_train.shape[1] == texts.WIDTH,
        is_made_up=data.name == raw.MADE_UP_NAME,
        names=(data.names or ()) if isinstance(data, FeatureSet) else (),
    )


def _card(key: str) -> Upload | None:
    """The card that lies in the store; None where there is none that can be read, or no rows."""
    content = store.default().get_bytes(_CARD + key) if store.default().has("arrays", key) else None
    if content is None:
        return None
    try:
        facts: dict[str, Any] = {
            name: tuple(fact) if isinstance(fact, list) else fact
            for name, fact in json.loads(content).items()
            if name in Upload.__dataclass_fields__
        }
        return Upload(**facts | {"name": PREFIX + key})
    except (ValueError, TypeError, AttributeError):
        return None


def _write(card_: Upload) -> None:
    key = _CARD + key_of(card_.name)
    store.default().delete("blob", key)
    store.default().put_bytes(key, json.dumps(dataclasses.asdict(card_)).encode())
