"""Features too big for a scheduler: written once to a store address of fsspec's (s3://…, gs://…, file://…), fetched once by each worker."""

import dataclasses
import functools
import re
import shutil
import tempfile
from typing import Any

import fsspec

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.data.npz import UNREADABLE
from pillar_core.errors import JobError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import codec
from pillar_core.types import FeatureSet

VARIABLE = "PILLAR_FEATURES"
_ROWS = ("x_train", "y_train", "x_test", "y_test")
_WRONG = (*UNREADABLE, ImportError)
"""What fsspec, its protocols and numpy raise over an address, a file or a protocol that is not installed."""


@dataclasses.dataclass(frozen=True)
class Stored:
    """Features whose arrays lie at `address`, under the hash of their content; `shell` is everything else of them."""

    address: str = dataclasses.field(repr=False)  # it may hold credentials, and Dask logs what its tasks were given
    shell: FeatureSet

    def read(self) -> FeatureSet:
        """The features, checked; arrays that this process read before are not fetched again.

        Raises:
            JobError: the address cannot be read, or holds something else.
        """
        return _with(self.shell, _read(self.address))


def put(features: FeatureSet, store: str) -> Stored:
    """Keeps the features' arrays below `store`, unless they are there. They stay until somebody removes them there.

    Raises:
        JobError: the address cannot be written, or names no place below its protocol.
    """
    if not isinstance(store, str) or not _told(store).rpartition("://")[2].strip("/:…@? "):
        raise JobError(_told(f"{VARIABLE} must name a place, such as s3://bucket/folder; got {store!r}."))
    images = {} if features.images is None else {f"images_{name}": getattr(features.images, name) for name in _ROWS}
    arrays = {name: value for name, value in ({name: getattr(features, name) for name in _ROWS} | images).items() if value is not None}
    address = f"{store.rstrip('/')}/{fingerprint(arrays)}.npz"
    try:
        files, path = fsspec.url_to_fs(address)
        if not files.exists(path):
            files.makedirs(path.rpartition("/")[0], exist_ok=True)
            with files.transaction, files.open(path, "wb") as file:
                codec.write_npz(arrays, file)
    except _WRONG as error:
        raise JobError(_told(f"features cannot be kept at {store}, which {VARIABLE} names: {error}.")) from None
    return Stored(address, _with(features, {}))


def _with(features: FeatureSet, arrays: dict[str, Array]) -> FeatureSet:
    pixels: dict[str, Any] = {name: arrays.get(f"images_{name}") for name in _ROWS}
    rows: dict[str, Any] = {name: arrays.get(name) for name in _ROWS}
    return dataclasses.replace(features, **rows, images=features.images and dataclasses.replace(features.images, **pixels))


def _told(message: str) -> str:
    """The message without the credentials that its addresses hold: what comes before an @ and after a ?."""
    before = re.sub(r"(?<!\S)(\S*?://)?(?:[^\s?]*\?\S*@\S*|\S*@)", r"\1…@", message)
    return re.sub(r"\?\S+", "?…", before)


@functools.lru_cache(maxsize=2)
def _read(address: str) -> dict[str, Array]:
    root = store.default().root
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with fsspec.open(address, "rb") as file, tempfile.NamedTemporaryFile(dir=root) as copy:
            shutil.copyfileobj(file, copy)
            copy.flush()
            arrays = codec.map_npz(copy.name)
        is_whole = address.rpartition("/")[2] == f"{fingerprint(arrays)}.npz"
    except _WRONG as error:
        raise JobError(_told(f"features cannot be read at {address}: {error}.")) from None
    if not is_whole:
        raise JobError(_told(f"what lies at {address} is not what was put there; remove it, then retry."))
    for array in arrays.values():  # the next task takes the same ones
        array.flags.writeable = False
    return arrays
