"""Images or texts through a backbone, batch by batch, once: resumable, kept by content, never
half-read.

The key is what decides the features: the images or texts, the backbone with its version and
options, the weights' content, the kind of device. Every batch of images has the same number of rows
(the last one is filled up), so equal inputs give equal bytes on the same device at the same batch
size; a text depends on itself alone. Memory holds one batch besides the data set and the features
themselves.
`store.journal` keeps each batch at once.
"""

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import store, texts
from pillar_core.arrays import Array
from pillar_core.backbones import shipped
from pillar_core.backbones.cards import BACKBONES, BATCH_SIZE, DEVICE, Backbone, Encoder, Work
from pillar_core.backbones.devices import DEVICES, OUT_OF_MEMORY, chosen_device, n_threads
from pillar_core.backbones.names import address
from pillar_core.backbones.weights import content_hash
from pillar_core.deferred import torch
from pillar_core.errors import Cancelled, DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.store.journal import Journal, remove, resuming
from pillar_core.threads import using
from pillar_core.types import Dataset, FeatureSet, Progress, StopRequested, ignore_progress

VERSION = 1


@dataclasses.dataclass
class _Plan:
    """One extraction: what, through what, on what, and how many rows at a time (fewer once memory
    ran out)."""

    dataset: Dataset
    backbone: Backbone
    work: Work
    device: str
    batch_size: int
    progress: Progress = ignore_progress
    cancelled: StopRequested = lambda: False
    notes: list[str] = dataclasses.field(default_factory=list)

    @property
    def total(self) -> int:
        """Train and test rows."""
        return len(self.dataset.x_train) + self.dataset.n_test

    def sides(self, rows: Array) -> tuple[Array, Array | None]:
        """The train rows and the test rows, None without any, of all `rows` in this order."""
        n_train = len(self.dataset.x_train)
        return rows[:n_train], None if self.dataset.x_test is None else rows[n_train:]

    def rows(self, start: int, stop: int) -> Array:
        """Rows start … stop of the train rows followed by the test rows."""
        n_train = len(self.dataset.x_train)
        parts = [self.dataset.x_train[start:stop]]
        if self.dataset.x_test is not None and stop > n_train:
            parts.append(self.dataset.x_test[max(0, start - n_train) : stop - n_train])
        batch: Array = np.concatenate(parts) if len(parts) > 1 else parts[0]
        return batch

    @property
    def devices(self) -> tuple[str, ...]:
        """Those whose features will do: the one asked for, or with "auto" any, so that a GPU's
        features serve elsewhere."""
        others = DEVICES if self.device == "auto" else ()
        return tuple(dict.fromkeys((self.work.device, *others)))

    def key(self, device: str) -> str:
        """The name of the features of this device in the store; it begins with that of the
        images."""
        spot = address(self.backbone.name)
        weights = None if self.work.weights is None else content_hash(self.work.weights)
        identity: tuple[Any, ...] = (
            spot.family if self.backbone.is_own_file else spot.base,
            dict(spot.options),
        )
        if self.backbone.takes == "texts":
            identity = (dict(texts.identity_of(self.backbone.name)),)
        version = self.backbone.version
        made_by = fingerprint("features", VERSION, identity, version, weights, device)
        return f"{self.dataset.rows_fingerprint}-{made_by}"


def extract(
    dataset: Dataset | FeatureSet,
    *,
    backbone: str,
    weights: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
    progress: Progress | None = None,
    cancelled: StopRequested | None = None,
) -> tuple[Array, Array | None, tuple[str, ...]]:
    """(train features, test features, notes); features are (n, width) float32 C-contiguous, test is
    None without test rows. An encoder of texts reads the texts that the rows were.

    From the cache where they are there; else extracted, going on where a killed extraction of the
    same stopped.

    Raises UnknownNameError: no such backbone. SettingError: device, batch size, weights or an
    option of the name out of range. DataError: rows that the backbone cannot take, weights of
    another network, or features that are not finite. StoreError: a disk that refuses; what was done
    is kept. Cancelled: `cancelled` said so; what was done is kept.
    """
    plan = _plan_of(dataset, backbone, weights, device, batch_size, network=True)
    plan.progress, plan.cancelled = progress or plan.progress, cancelled or plan.cancelled
    if not plan.backbone.is_kept:
        encode, rows = plan.backbone.open(plan.backbone.name, plan.work).encode, plan.dataset
        return encode(rows.x_train), None if rows.x_test is None else encode(rows.x_test), ()
    return _load_stored(plan) or _extract(plan)


def is_ready(dataset: Dataset | FeatureSet, *, backbone: str, device: str = "auto") -> bool:
    """Whether `extract` would return without running a network: features in the cache, or too cheap
    to be kept.

    Raises UnknownNameError, SettingError, DataError: as `extract`.
    """
    if BACKBONES[backbone].needs_fetching:
        return False
    if texts.is_encoder(backbone) and texts.encoder_of(dataset.recipe) == texts.identity_of(
        backbone
    ):
        return True
    plan, cache = _plan_of(dataset, backbone, None, device, 1, network=False), store.default()
    ships = cache.has("blob", plan.key(shipped.DEVICE))
    return (
        not plan.backbone.is_kept
        or ships
        or any(cache.has("arrays", plan.key(name)) for name in plan.devices)
    )


def to_ship(
    dataset: Dataset, *, backbone: str, progress: Progress | None = None
) -> tuple[str, bytes]:
    """(the key, the bytes) of the dataset's features as the starter layer holds them, extracted on
    the CPU without looking there.

    Raises as `extract`.
    """
    plan = _plan_of(dataset, backbone, None, "cpu", 64, network=False)
    plan.progress = progress or plan.progress
    features = _extract(plan, ships=False)
    return plan.key(shipped.DEVICE), shipped.pack_features(
        np.concatenate([part for part in features[:2] if part is not None])
    )


def forget(dataset: Dataset | FeatureSet) -> int:
    """How many sets of features of these images or texts were deleted from the cache; unfinished
    ones go too."""
    rows = _with_texts(dataset) or dataset
    if not isinstance(rows, Dataset):
        return 0
    cache, prefix = store.default(), f"{rows.rows_fingerprint}-"
    remove(cache.root, prefix)
    return sum(cache.delete("arrays", key) for key in cache.keys("arrays", prefix=prefix))


def _with_texts(rows: Dataset | FeatureSet) -> Dataset | None:
    """The texts that rows were, as rows (n,) of a data set; None where they were none."""
    said, n_train = np.array(rows.texts, dtype=object), len(rows.x_train)
    test = None if rows.x_test is None else said[n_train:]
    return Dataset(rows.name, said[:n_train], None, test) if len(said) else None


def _plan_of(
    dataset: Dataset | FeatureSet,
    backbone: str,
    weights: str | Path | None,
    device: str,
    batch_size: int,
    *,
    network: bool,
) -> _Plan:
    chosen = BACKBONES[backbone]
    size, kind = BATCH_SIZE.check(batch_size), str(DEVICE.check(device))
    file = chosen.weights_file(weights, network=network)
    content, advice = (
        ("images", "raw_pixels, scattering or a network")
        if isinstance(dataset, Dataset) and dataset.is_images
        else ("numbers", "identity")
    )
    if chosen.takes == "texts" and (with_texts := _with_texts(dataset)) is not None:
        dataset, content = with_texts, "texts"
    if chosen.takes != content or not isinstance(dataset, Dataset):
        raise DataError(
            f"the backbone {backbone} takes {chosen.takes}; {dataset.name!r} holds {content}."
            f" Choose {advice}."
        )
    work = Work(file, chosen_device(kind))
    return _Plan(dataset, chosen, work, kind, int(size or 1))


def _load_stored(
    plan: _Plan, *, ships: bool = True
) -> tuple[Array, Array | None, tuple[str, ...]] | None:
    payload = store.default().get_bytes(plan.key(shipped.DEVICE)) if ships else None
    if payload is not None:
        return *plan.sides(shipped.unpack_features(payload)), (shipped.NOTE,)
    for kind in plan.devices:
        arrays = store.default().get_arrays(plan.key(kind), mmap=True)
        if arrays is not None:
            train = np.array(arrays["x_train"], dtype=np.float32)
            test = None if "x_test" not in arrays else np.array(arrays["x_test"], dtype=np.float32)
            return train, test, tuple(str(note) for note in arrays["notes"])
    return None


def _extract(plan: _Plan, *, ships: bool = True) -> tuple[Array, Array | None, tuple[str, ...]]:
    """Features that only one process at a time makes; the others read them from the store."""

    def wait(n_done: int) -> None:
        if plan.cancelled():
            raise Cancelled("stopped while another process extracts the same features.")
        plan.progress(n_done, plan.total, "another process extracts these features")

    key = plan.key(plan.work.device)
    with resuming(store.default().root, key, wait=wait) as log:
        return _load_stored(plan, ships=ships) or _extract_missing(plan, key, log)


def _extract_missing(
    plan: _Plan, key: str, log: Journal
) -> tuple[Array, Array | None, tuple[str, ...]]:
    """Extract what is missing and move all of it into the store."""
    kind = np.dtype(address(plan.backbone.name).storage)
    # Networks of images are large steps: they get the cores that this process may use. A sentence
    # is a small one, and a model reads it alone on as many as here.
    with using(n_threads()) if plan.backbone.takes == "images" else contextlib.nullcontext():
        encoder = plan.backbone.open(plan.backbone.name, plan.work)
        plan.notes.extend(encoder.notes)
        plan.batch_size = min(plan.batch_size, plan.total)
        plan.progress(log.done, plan.total, "going on" if log.done else "")
        while log.done < plan.total:
            if plan.cancelled():
                raise Cancelled(f"stopped after {log.done} of {plan.total} rows; they are kept.")
            log.append(_check_features(_encode_batch(plan, encoder, log.done), kind, log.done))
            plan.progress(
                log.done, plan.total, plan.notes[-1] if plan.notes[len(encoder.notes) :] else ""
            )
    rows = log.rows()
    train, test = plan.sides(rows)
    arrays = {"x_train": train} if test is None else {"x_train": train, "x_test": test}
    store.default().put_arrays(key, **arrays, notes=np.array(plan.notes, dtype=str))
    return *plan.sides(np.asarray(rows, dtype=np.float32)), tuple(plan.notes)


def _encode_batch(plan: _Plan, encoder: Encoder, start: int) -> Array:
    """Features of the next batch; half as many rows as often as memory runs out."""
    while True:
        block = plan.rows(start, min(start + plan.batch_size, plan.total))
        n = len(block)
        filled = (
            np.concatenate([block, np.repeat(block[-1:], plan.batch_size - n, axis=0)])
            if n < plan.batch_size and plan.backbone.takes == "images"
            else block
        )
        try:
            return encoder.encode(filled)[:n]
        except (RuntimeError, MemoryError) as error:
            if not isinstance(
                error, MemoryError | torch.OutOfMemoryError
            ) and not OUT_OF_MEMORY.search(str(error)):
                raise
            if plan.batch_size == 1:
                raise SettingError(
                    f"{plan.work.device} has no memory for one image through {plan.backbone.name}"
                    f" ({error}). Choose a smaller input_size, a smaller backbone or device=cpu."
                ) from error
        plan.batch_size = max(1, plan.batch_size // 2)
        plan.notes.append(
            f"The memory of {plan.work.device} ran out: the batch was halved to {plan.batch_size}"
            " images."
        )
        if plan.work.device == "cuda":
            torch.cuda.empty_cache()


def _check_features(rows: Array, kind: np.dtype[Any], start: int) -> Array:
    with np.errstate(over="ignore"):
        stored = rows.astype(kind)
    bad = np.flatnonzero(~np.isfinite(stored).all(axis=1))
    if len(bad):
        raise DataError(
            f"the backbone gives values that are not finite for rows {(bad[:5] + start).tolist()}"
            " (train, then test). Weights, mean or std are wrong, or float16 cannot hold them: add"
            " precision=float32 and storage=float32 to its name."
        )
    return stored
