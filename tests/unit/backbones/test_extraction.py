"""Extraction: batches, going on after a kill, one extraction for many askers, and every way in
which it can go wrong."""

import functools
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pillar_core import store
from pillar_core.backbones import BACKBONES, Backbone, extract, forget, is_ready
from pillar_core.backbones.cards import Encoder, Work
from pillar_core.backbones.devices import n_threads
from pillar_core.errors import Cancelled, SettingError, StoreError
from pillar_core.store import journal
from pillar_core.types import Dataset
from processes import forked
from users import is_noted, raises, refuses

N_TRAIN, N_TEST, BATCH = 50, 17, 8
SECONDS = 240.0
in_batches = functools.partial(extract, backbone="counting", batch_size=BATCH)
has_counted = functools.partial(is_ready, backbone="counting")


class _Counting:
    """A backbone of means of rows, which counts its batches and can be told to fail."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.memory = 10**9
        self.value = 0.0
        self.refusal: Exception = torch.OutOfMemoryError(
            "CUDA out of memory. Tried to allocate 20 MiB"
        )

    def open(self, name: str, work: Work) -> Encoder:
        return Encoder(self.encode, ("opened",))

    def encode(self, rows: np.ndarray) -> np.ndarray:
        self.sizes.append(len(rows))
        if len(rows) > self.memory:
            raise self.refusal
        return rows.reshape(len(rows), -1, 4).mean(axis=1, dtype=np.float32) + np.float32(
            self.value
        )


@pytest.fixture
def backbone(monkeypatch, tmp_path):
    """A registered backbone `counting` and an empty cache."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    made = _Counting()
    card = Backbone("counting", "Counting", "test", "none", "4", "none", "none", made.open)
    monkeypatch.setitem(BACKBONES._items, "counting", card)
    return made


def _images() -> Dataset:
    rng = np.random.default_rng(3)
    train, test = (rng.integers(0, 256, (n, 6, 6), dtype=np.uint8) for n in (N_TRAIN, N_TEST))
    return Dataset("images", train, np.arange(N_TRAIN) % 3, test, np.arange(N_TEST) % 3)


def _wanted(dataset: Dataset) -> list[np.ndarray]:
    return [
        rows.reshape(len(rows), -1, 4).mean(axis=1, dtype=np.float32)
        for rows in (dataset.x_train, dataset.x_test)
    ]


def test_batches_of_one_size_cross_from_train_to_test_and_without_test_rows_there_are_none(
    backbone,
):
    data, told = _images(), []
    assert not has_counted(data)
    first = in_batches(
        data,
        progress=lambda done, total, message="": told.append((done, total)),
    )
    for found, wanted in zip(first, _wanted(data), strict=False):
        np.testing.assert_array_equal(found, wanted)
    assert backbone.sizes == [BATCH] * 9
    assert told == [(min(done, 67), 67) for done in range(0, 73, BATCH)]
    assert first[2] == ("opened",)
    again = in_batches(data)
    assert len(backbone.sizes) == 9
    assert again[0].tobytes() == first[0].tobytes()
    assert again[1].tobytes() == first[1].tobytes()
    assert again[2] == first[2]
    assert has_counted(data)
    assert not list((store.default().root / "extraction").iterdir())
    data = Dataset("x", _images().x_train, None)
    for _ in range(2):
        train, test, _ = extract(data, backbone="counting")
        assert test is None
        assert train.shape == (N_TRAIN, 4)


def test_a_stop_keeps_whole_batches_and_the_next_call_goes_on(backbone):
    data = _images()
    raises(Cancelled, "24 of 67", in_batches, data, cancelled=lambda: len(backbone.sizes) == 3)
    told = []
    found = in_batches(
        data,
        progress=lambda done, total, message="": told.append((done, message)),
    )
    assert told[0] == (24, "going on")
    assert len(backbone.sizes) == 9
    np.testing.assert_array_equal(found[0], _wanted(data)[0])


@pytest.mark.parametrize(("damage", "batches"), [("half a file", 3), ("a file is missing", 1)])
def test_what_is_damaged_is_made_again(backbone, damage, batches):
    data = _images()
    with pytest.raises(Cancelled):
        in_batches(data, cancelled=lambda: len(backbone.sizes) == 4)
    kept = sorted((store.default().root / "extraction").rglob("*.npy"))
    if damage == "half a file":
        kept[3].write_bytes(kept[3].read_bytes()[:-5])
    else:
        kept[1].unlink()
    backbone.sizes.clear()
    found = in_batches(data)
    assert len(backbone.sizes) == 9 - batches
    for one, wanted in zip(found, _wanted(data), strict=False):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize(
    "refusal",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 MiB"),
        torch.OutOfMemoryError("in whatever words"),
        RuntimeError(
            "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory: you"
            " tried to allocate 9 bytes"
        ),
        MemoryError(),
    ],
)
def test_memory_that_runs_out_halves_the_batch_and_says_so(backbone, refusal):
    data = _images()
    backbone.memory, backbone.refusal = 5, refusal
    messages = []
    found = extract(
        data,
        backbone="counting",
        batch_size=32,
        progress=lambda done, total, message="": messages.append(message),
    )
    np.testing.assert_array_equal(found[0], _wanted(data)[0])
    assert backbone.sizes[:4] == [32, 16, 8, 4]
    assert set(backbone.sizes[3:]) == {4}
    assert is_noted(found[2], "halved to 4")
    assert "halved to 4" in messages[-1]
    backbone.memory = 0
    with pytest.raises(SettingError, match="no memory for one image"):
        extract(Dataset("y", data.x_train, None), backbone="counting")


@pytest.mark.parametrize(
    "words", ["shapes cannot be multiplied", "no kernel named 'out of memory'"]
)
def test_another_error_of_a_network_is_not_taken_for_want_of_memory(backbone, words):
    backbone.memory, backbone.refusal = 0, RuntimeError(words)
    raises(RuntimeError, words, extract, _images(), backbone="counting")
    assert len(backbone.sizes) == 1


def test_a_full_disk_keeps_what_was_written_and_is_never_read_half(backbone, monkeypatch):
    data, whole = _images(), os.fsync

    def full(descriptor):
        if len(backbone.sizes) > 3:
            raise OSError(28, "No space left on device")
        whole(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    raises(StoreError, "24 rows are kept", in_batches, data)
    assert not has_counted(data)
    monkeypatch.setattr(os, "fsync", whole)
    backbone.sizes.clear()
    found = in_batches(data)
    assert len(backbone.sizes) == 6
    np.testing.assert_array_equal(found[0], _wanted(data)[0])


def test_values_that_are_not_finite_are_refused_with_their_rows(backbone):
    backbone.value = float("nan")
    refuses(r"not finite for rows \[0, 1", extract, _images(), backbone="counting")


def test_forgetting_removes_features_and_what_is_unfinished(backbone):
    data, other = _images(), Dataset("other", _images().x_test, None)
    extract(data, backbone="counting")
    extract(other, backbone="counting")
    with pytest.raises(Cancelled):
        extract(data, backbone="scattering", batch_size=BATCH, cancelled=lambda: True)
    assert forget(data) == 1
    assert not has_counted(data)
    assert has_counted(other)
    assert not list((store.default().root / "extraction").iterdir())


def test_the_key_follows_images_backbone_and_device_but_not_labels(backbone, monkeypatch):
    data = _images()
    extract(data, backbone="counting")
    relabelled = Dataset("again", data.x_train, None, data.x_test, None)
    assert has_counted(relabelled)
    assert not is_ready(Dataset("images", data.x_train[::-1], data.y_train), backbone="counting")
    assert has_counted(data, device="cpu")
    monkeypatch.setitem(
        BACKBONES._items,
        "counting",
        Backbone("counting", "C", "t", "n", "4", "n", "n", backbone.open, version=2),
    )
    assert not has_counted(data)


def test_networks_get_idle_cores_and_no_more_than_they_are_given(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    cases = (
        (0.4, None, None, 8),
        (5.9, None, None, 3),
        (20.0, None, None, 1),
        (0.0, "2", None, 2),
        (20.0, "1", "6", 6),
    )
    for load, given, asked, threads in cases:
        for name, value in (("OMP_NUM_THREADS", given), ("PILLAR_THREADS", asked)):
            monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert n_threads() == threads


def test_abandoned_extractions_are_swept_after_two_weeks(tmp_path):
    for name, age in (("old", 15), ("young", 13)):
        folder = tmp_path / "extraction" / name
        folder.mkdir(parents=True)
        (folder / "rows.bin").write_bytes(b"x")
        for path in (folder / "rows.bin", folder):
            os.utime(path, (time.time() - age * 86_400,) * 2)
    journal.sweep(tmp_path)
    assert [path.name for path in (tmp_path / "extraction").iterdir()] == ["young"]


def _extract(calls: Path, cache: str) -> None:
    """What another process does: each batch leaves a byte in `calls`."""

    def encode(rows: np.ndarray) -> np.ndarray:
        with calls.open("ab") as file:
            file.write(b".")
        time.sleep(0.15)
        return rows.reshape(len(rows), -1, 4).mean(axis=1, dtype=np.float32)

    os.environ["PILLAR_CACHE"] = cache
    card = Backbone(
        "counting",
        "Counting",
        "test",
        "none",
        "4",
        "none",
        "none",
        lambda name, work: Encoder(encode, ("opened",)),
    )
    BACKBONES.register(card)
    in_batches(_images())


def _extracting(context: Any, calls: Path) -> Any:
    process = context.Process(target=_extract, args=(calls, os.environ["PILLAR_CACHE"]))
    process.start()
    return process


def _wait_for(calls: Path, batches: int) -> None:
    end = time.monotonic() + SECONDS
    while not (calls.exists() and calls.stat().st_size >= batches):
        assert time.monotonic() < end, "the extraction did not get on"
        time.sleep(0.01)


def test_a_killed_process_loses_at_most_one_batch_and_two_that_ask_at_once_extract_once(
    backbone, tmp_path
):
    calls, told = tmp_path / "calls", list[str]()
    with forked() as context:
        process = _extracting(context, calls)
        _wait_for(calls, 4)
        process.kill()
        process.join()
        done_by_the_dead = calls.stat().st_size
        assert done_by_the_dead < 9
        process = _extracting(context, calls)
        _wait_for(calls, done_by_the_dead + 1)
        found = in_batches(
            _images(),
            progress=lambda done, total, message="": told.append(message),
        )
        process.join(timeout=SECONDS)
        assert process.exitcode == 0
    assert calls.stat().st_size in (9, 10)
    assert backbone.sizes == []
    assert told[0] == "another process extracts these features"
    for one, wanted in zip(found, _wanted(_images()), strict=False):
        np.testing.assert_array_equal(one, wanted)
