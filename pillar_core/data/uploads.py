"""What a person brings, images or features: kept on this machine, listed, loaded and forgotten here, whatever page or command it came by.

The rows lie in the store under a key, their title and sizes on a card beside them; the name `stored:<key>` stands for both in links,
grids and records. Names that begin with `images:` are older and mean the same. Whatever is made from the rows of a set and kept,
too, has the set's key between the hyphens of its own, so that forgetting finds it.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.data import places
from pillar_core.data.arrays import features
from pillar_core.data.cards import DATASETS
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.types import Dataset, FeatureSet

PREFIX = "stored:"
FORMER_PREFIX = "images:"
IMAGES, FEATURES = "images", "features"
LONGEST_TITLE = 120
_NAME = re.compile(rf"(?:{PREFIX}|{FORMER_PREFIX})([0-9a-f]{{32}})")
_CARD = "upload-"


@dataclasses.dataclass(frozen=True)
class Upload:
    """The card of a kept set. `kind` is images or features; `shape` is that of a row: (h, w[, 3]) pixels, or (d,).

    `owner` is "" where everybody at this machine may use the rows. `kept_at` counts seconds since 1970.
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
    owner: str = ""
    kept_at: float = 0.0


def is_name(text: object) -> bool:
    """Whether `text` is written as the name of a kept set; whether its rows are here shows on loading."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def key_of(name: str) -> str:
    """The key of a kept set in the store.

    Raises:
        StoreError: not the name of one.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise StoreError(f"the name of rows that were brought is {PREFIX} and 32 of 0-9 and a-f; got {name[:60]!r}.")
    return match[1]


def keep(data: FeatureSet | Dataset, *, title: str = "", owner: str = "") -> str:
    """The name under which these rows are found again on this machine, after storing them in the cache.

    title: what people call them, such as the file's name (default: that of the same rows kept before, else the set's own title or
    name); a number is added to a title that another set has. owner: whose they are; the same rows of two owners have two names.

    Raises:
        StoreError: a disk that refuses.
    """
    cache = store.default()
    key = fingerprint(owner, data.fingerprint) if owner else data.fingerprint
    own_title = data.title if isinstance(data, Dataset) else ""
    arrays = {
        "x_train": data.x_train,
        "y_train": data.y_train,
        "x_test": data.x_test,
        "y_test": data.y_test,
        "classes": np.array(data.classes, dtype=str),
        "name": np.array(data.name),
        "title": np.array(own_title),
        "notes": np.array(data.notes, dtype=str),
        "stored_rows": np.array(data.stored_rows if isinstance(data, Dataset) else (), dtype=str),
    }
    cache.put_arrays(key, **{name: array for name, array in arrays.items() if array is not None})
    if isinstance(data, Dataset):
        places.forget(data)  # what decoding kept: the rows lie under their own name now, and only there
    if title or _card(key) is None:
        others = {one.title for one in listed() if one.name != PREFIX + key}
        distinct = _distinct(" ".join((title or own_title or data.name).split())[:LONGEST_TITLE], others)
        written = dataclasses.replace(_described(key, data, distinct), owner=owner, kept_at=time.time())
        cache.delete("blob", _CARD + key)
        cache.put_bytes(_CARD + key, json.dumps(dataclasses.asdict(written)).encode())
    return PREFIX + key


def listed(kind: str | None = None) -> tuple[Upload, ...]:
    """The cards of all kept sets (of one kind) whose rows are here, the latest first."""
    cards = (_card(key.removeprefix(_CARD)) for key in store.default().keys("blob", prefix=_CARD))
    return tuple(sorted((one for one in cards if one and kind in (None, one.kind)), key=lambda one: (-one.kept_at, one.name)))


def card(name: str) -> Upload | None:
    """The card of one set; None where its rows are not here (any more). A set that was kept without a card gets one from its rows."""
    if not is_name(name) or not store.default().has("arrays", key_of(name)):
        return None
    return _card(key_of(name)) or _card_of_rows(name)


def title_of(name: str) -> str:
    """What people call a set: a registered one's title, the title of what was brought, else the name itself."""
    if name in DATASETS:
        return DATASETS[name].title
    upload = card(name)
    return upload.title if upload is not None else "an upload that is no longer here" if is_name(name) else name


def load(name: str) -> Dataset | FeatureSet:
    """The rows kept under `name`; they stay on the disk until they are touched.

    Raises:
        StoreError: they are not in this cache (any more).
    """
    arrays = store.default().get_arrays(key_of(name), mmap=True)
    if arrays is None or "x_train" not in arrays:
        raise StoreError(f"{name} is not in this cache (any more); upload it again.")
    upload = _card(key_of(name))
    classes, notes, decoded = (tuple(str(word) for word in arrays.get(part, ())) for part in ("classes", "notes", "stored_rows"))
    x_train, y_train, x_test, y_test = (arrays.get(part) for part in ("x_train", "y_train", "x_test", "y_test"))
    own_title = upload.title if upload is not None else str(arrays.get("title", ""))
    own_name = str(arrays.get("name", own_title))
    if arrays["x_train"].ndim > 2:
        title = own_title or own_name
        return Dataset(own_name, arrays["x_train"], y_train, x_test, y_test, classes, title=title, notes=notes, stored_rows=decoded)
    checked = features(x_train, y_train, x_test, y_test, classes)
    return FeatureSet(checked.x_train, checked.y_train, checked.x_test, checked.y_test, classes, name=own_name, notes=notes)


def forget(name: str) -> int:
    """How many entries left the cache: the rows under `name`, their card, and whatever was made from these rows and names their key.

    Records of runs hold no rows and stay. Features through a backbone are forgotten with `runs.splitting.forget_data`.
    """
    cache, key = store.default(), key_of(name)
    if cache.has("arrays", key):
        rows = load(name)
        if isinstance(rows, Dataset):
            places.forget(rows)
    entries = [(kind, one) for kind in ("arrays", "record", "blob") for one in cache.keys(kind) if key in one.split("-")]
    return sum(cache.delete(kind, one) for kind, one in entries)


def _described(key: str, data: FeatureSet | Dataset, title: str) -> Upload:
    return Upload(
        PREFIX + key,
        title,
        IMAGES if data.x_train.ndim > 2 else FEATURES,
        len(data.x_train),
        0 if data.x_test is None else len(data.x_test),
        len(data.classes),
        tuple(int(size) for size in data.x_train.shape[1:]),
        data.y_train is not None,
        data.notes,
    )


def _card(key: str) -> Upload | None:
    """The card that lies in the store; None where there is none that can be read, or no rows."""
    content = store.default().get_bytes(_CARD + key) if store.default().has("arrays", key) else None
    if content is None:
        return None
    try:
        facts: dict[str, Any] = json.loads(content)
        return Upload(**facts | {"name": PREFIX + key, "shape": tuple(facts["shape"]), "notes": tuple(facts["notes"])})
    except (ValueError, TypeError, KeyError):
        return None


def _card_of_rows(name: str) -> Upload:
    rows = load(name)
    return _described(key_of(name), rows, rows.title if isinstance(rows, Dataset) else rows.name)


def _distinct(title: str, others: set[str]) -> str:
    """`title`, with the first number that tells it from `others` and from registered sets."""
    taken = others | {known for one in DATASETS.values() for known in (one.title, one.short_title)}
    return next(one for one in (title, *(f"{title} ({number})" for number in range(2, len(taken) + 3))) if one not in taken)
