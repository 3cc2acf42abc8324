"""What a person brings, images or features: kept on this machine, listed, loaded and forgotten here, whatever page or command it came by.

The rows lie in the store under a key, their title and sizes on a card beside them; the name `stored:<key>` stands for both in links,
grids and records. Whatever is made from the rows of a set and kept,
too, has the set's key between the hyphens of its own, so that forgetting finds it.

What a browser brings is its own: everything here answers for whoever asks (`data.owners`).
"""

import dataclasses
import json
import re
import threading
import time
from typing import Any

import numpy as np

from pillar_core import store
from pillar_core.data import owners, places, visitors
from pillar_core.data.arrays import features
from pillar_core.data.cards import DATASETS
from pillar_core.data.wording import cut
from pillar_core.errors import DataError, StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import upkeep
from pillar_core.types import Dataset, FeatureSet, Persons

PREFIX = "stored:"
IMAGES, FEATURES = "images", "features"
LONGEST_TITLE = 120
MOST_NOTES, LONGEST_NOTE, LARGEST_CARD = 20, 1000, 10**6
"""Of a set, signs of one, and bytes of a card: every page of every browser reads the cards of all sets."""
_NAME = re.compile(rf"{PREFIX}([0-9a-f]{{32}})")
_OWNED_WEIGHTS = re.compile(r"/weights/([0-9a-f]{32})/")
_CARD = upkeep.BROUGHT
_KEEPING = threading.Lock()


@dataclasses.dataclass(frozen=True)
class Upload:
    """The card of a kept set. `kind` is images or features; `shape` is that of a row: (h, w[, 3]) pixels, or (d,).

    `rows_per_person`: no person has more of its train rows; None where a row is an example of its own.
    `owner` is "" where everybody at this machine may use the rows. `kept_at` counts seconds since 1970. `is_shared`: whoever has the name
    may open the rows. `forgotten` says when and where; only owner and name of such a set are left.
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
    is_shared: bool = False
    forgotten: str = ""
    rows_per_person: int | None = None


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
    name); a number is added to a title that another set has. owner: whose they are (default: who asks); the same rows of two owners have
    two names, and neither is told by the rows alone.

    Raises:
        StoreError: a disk that refuses, or half of the cache's limit is full of rows that were brought.
    """
    visitors.refuse("upload")
    cache, owner = store.default(), owner or owners.own_id()
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
        "notes": np.array(_notes(data), dtype=str),
        "stored_rows": np.array(data.stored_rows if isinstance(data, Dataset) else (), dtype=str),
        "owner": np.array(owner) if owner else None,
        "persons": data.persons and data.persons.of,
        "rows_per_person": data.persons and np.array(data.persons.most),
    }
    given = {name: array for name, array in arrays.items() if array is not None}
    with _KEEPING:
        _refuse_beyond(cache, key, sum(np.asarray(array).nbytes for array in given.values()))
        if title or _card(key) is None:  # before the rows, which nobody's push out once they have a card
            others = {one.title for one in listed() if one.name != PREFIX + key}
            distinct = _distinct(" ".join((title or own_title or data.name).split())[:LONGEST_TITLE], others)
            _write(dataclasses.replace(_described(key, data, distinct), owner=owner, kept_at=time.time()))
        cache.put_arrays(key, **given)
    if isinstance(data, Dataset):
        places.forget(data)  # what decoding kept: the rows lie under their own name now, and only there
    return PREFIX + key


def _refuse_beyond(cache: store.Store, key: str, size: int) -> None:
    """Refuses rows for which no room is left: nobody's make room for them.

    Raises:
        StoreError: brought rows would take more than half of what the cache may.
    """
    if cache.max_bytes is not None and not cache.has("arrays", key):
        most, held = cache.max_bytes // 2, sum(one.size for one in upkeep.brought(cache.ls()))
        if held + size > most:
            raise StoreError(
                f"these rows take {size / 1e6:,.0f} MB and {max(most - held, 0) / 1e6:,.0f} MB are left for rows that are brought, half of "
                "PILLAR_CACHE_BYTES: forget a set, or raise the limit."
            )


def listed(kind: str | None = None) -> tuple[Upload, ...]:
    """The cards of all kept sets (of one kind) that are the asker's own and whose rows are here, the latest first."""
    cards = (_card(key.removeprefix(_CARD)) for key in store.default().keys("blob", prefix=_CARD))
    own_cards = (one for one in cards if one and kind in (None, one.kind) and owners.has(one.owner))
    return tuple(sorted(own_cards, key=lambda one: (-one.kept_at, one.name)))


def is_own(name: str) -> bool:
    """Whether the asker may list, share and forget this set. What no card and no rows tell the owner of is no browser's own."""
    return owners.asker() is None or owners.has(_owner(key_of(name)))


def may_open(name: object) -> bool:
    """Whether rows are here under `name` and the asker owns them or has the name of a set that is shared."""
    if not is_name(name) or not store.default().has("arrays", key_of(str(name))):
        return False
    written = _written(key_of(str(name)))
    return (written is not None and written.is_shared) or is_own(str(name))


def sees(value: object) -> bool:
    """Whether lists may show the asker something made from what `value` names, however deep: own sets and weights, and sets that are
    open now.

    Sets of arrays that a program gave belong to the person at this machine.
    """
    who = owners.asker()
    if who is None:
        return True
    is_known = who.is_local or "given:" not in str(value)
    is_known &= set(_OWNED_WEIGHTS.findall(str(value))) <= {who.owner}
    return is_known and all(is_own(name) or (name in who.opened and may_open(name)) for name in names_in(value))


def refuse_foreign(value: object) -> None:
    """Refuses a set in `value`, however deep, that the browser which asks may not open.

    Raises:
        StoreError: there is one; in the same words whether it exists or not.
    """
    for name in names_in(value) if owners.asker() is not None else ():
        if not may_open(name):
            raise StoreError(gone(name))


def share(name: str, *, is_shared: bool) -> None:
    """Lets whoever has the name open the rows, or stops it. Lists show them to nobody else, and nobody else can forget them.

    Raises:
        StoreError: not the asker's own, or not here.
    """
    its_card = card(name)
    if its_card is None or not is_own(name):
        raise StoreError(gone(name))
    _write(dataclasses.replace(its_card, is_shared=is_shared))


def gone(name: str) -> str:
    """Why a set cannot be opened: for who forgot it, when that was; else what can have happened, and nothing of whether it exists."""
    written = _written(key_of(name))
    if written is not None and written.forgotten and is_own(name):
        return f"{name} was forgotten {written.forgotten}; upload it again."
    return (
        f"{name} is not yours, or not in this cache (any more): at any time since the link was made, the browser that brought it can have "
        "forgotten it or lost its cookies, and whoever keeps this machine can have pruned the cache; upload it again, or ask whoever "
        "brought it to share it."
    )


def card(name: str) -> Upload | None:
    """The card of one set; None where its rows are not here (any more) or not the asker's to open. A set that was kept without a card
    gets one from its rows."""
    if not may_open(name):
        return None
    return _card(key_of(name)) or _card_of_rows(name)


def title_of(name: str) -> str:
    """What people call a set: a registered one's short title, the title of what was brought, else the name itself."""
    if name in DATASETS:
        return DATASETS[name].short_title
    upload = card(name)
    return upload.title if upload is not None else "an upload that is not yours or no longer here" if is_name(name) else name


def load(name: str) -> Dataset | FeatureSet:
    """The rows kept under `name`; they stay on the disk until they are touched.

    Raises:
        StoreError: they are not in this cache (any more), or not the asker's to open.
    """
    arrays = store.default().get_arrays(key_of(name), mmap=True) if may_open(name) else None
    if arrays is None or "x_train" not in arrays:
        raise StoreError(gone(name))
    upload = _card(key_of(name))
    classes, notes, decoded = (tuple(str(word) for word in arrays.get(part, ())) for part in ("classes", "notes", "stored_rows"))
    x_train, y_train, x_test, y_test = (arrays.get(part) for part in ("x_train", "y_train", "x_test", "y_test"))
    own_title = upload.title if upload is not None else str(arrays.get("title", ""))
    own_name = str(arrays.get("name", own_title))
    try:
        persons = Persons(arrays["persons"], arrays["rows_per_person"].tolist()) if {"persons", "rows_per_person"} & set(arrays) else None
    except (KeyError, DataError) as error:
        raise StoreError(f"the persons of {name} are damaged: forget it, and upload it again.") from error
    if arrays["x_train"].ndim > 2:
        title = own_title or own_name
        rows = (arrays["x_train"], y_train, x_test, y_test, classes)
        return Dataset(own_name, *rows, title=title, notes=notes, stored_rows=decoded, persons=persons)
    checked = features(x_train, y_train, x_test, y_test, classes)
    return dataclasses.replace(checked, classes=classes, name=own_name, notes=notes, persons=persons)


def forget(name: str) -> int:
    """How many entries left the cache: the rows under `name`, their card, and whatever was made from these rows and names their key.

    None of a set that is not the asker's own. Records of runs hold no rows and stay; so that they stay their owner's, and the owner can be
    told, owner and time of what a browser brought stay, too. Features through a backbone are forgotten with `runs.splitting.forget_data`.
    """
    cache, key = store.default(), key_of(name)
    if not is_own(name):
        return 0
    owner = _owner(key)
    for decoded in (cache.get_arrays(key, mmap=True) or {}).get("stored_rows", ()):
        cache.delete("arrays", str(decoded))
    entries = [(kind, one) for kind in ("arrays", "record", "blob") for one in cache.keys(kind) if key in one.split("-")]
    count = sum(cache.delete(kind, one) for kind, one in entries)
    if owner:
        where = "from the command line" if owners.asker() is None else "in the browser that brought it"
        when = time.strftime("on %d %b %Y at %H:%M UTC", time.gmtime())
        _write(Upload(PREFIX + key, "", "", 0, 0, 0, (), False, owner=owner, forgotten=f"{when}, {where}"))
    return count


def names_in(value: object) -> list[str]:
    """The names of kept sets in `value`, however deep."""
    return [match[0] for match in _NAME.finditer(str(value))]


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
        _notes(data),
        rows_per_person=data.persons.most if data.persons else None,
    )


def _notes(data: FeatureSet | Dataset) -> tuple[str, ...]:
    return tuple(cut(note, LONGEST_NOTE) for note in data.notes[:MOST_NOTES])


def _card(key: str) -> Upload | None:
    """The card that lies in the store; None where there is none that can be read, or no rows."""
    written = _written(key) if store.default().has("arrays", key) else None
    return None if written is None or written.forgotten else written


def _written(key: str) -> Upload | None:
    """The card under this key, whether its rows are here or not; None where it cannot be read."""
    content = store.default().get_bytes(_CARD + key, most=LARGEST_CARD)
    if content is None:
        return None
    try:
        facts: dict[str, Any] = json.loads(content)
        card_ = Upload(**facts | {"name": PREFIX + key, "shape": tuple(facts["shape"]), "notes": tuple(facts["notes"])})
    except (ValueError, TypeError, KeyError):
        return None
    return card_


def _write(card_: Upload) -> None:
    key = _CARD + key_of(card_.name)
    store.default().delete("blob", key)
    store.default().put_bytes(key, json.dumps(dataclasses.asdict(card_)).encode())


def _owner(key: str) -> str | None:
    """The owner, from the card, else from the rows; None where neither is here."""
    written = _written(key)
    if written is not None:
        return written.owner
    arrays = store.default().get_arrays(key, mmap=True)
    return None if arrays is None else str(arrays.get("owner", ""))


def _card_of_rows(name: str) -> Upload:
    rows, key = load(name), key_of(name)
    described = _described(key, rows, rows.title if isinstance(rows, Dataset) else rows.name)
    return dataclasses.replace(described, owner=_owner(key) or "")


def _distinct(title: str, others: set[str]) -> str:
    """`title`, with the first number that tells it from `others` and from registered sets."""
    taken = others | {known for one in DATASETS.values() for known in (one.title, one.short_title)}
    return next(one for one in (title, *(f"{title} ({number})" for number in range(2, len(taken) + 3))) if one not in taken)
