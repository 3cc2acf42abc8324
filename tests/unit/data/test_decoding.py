"""Decoding of many images: memory bounded by the disk, whole or nothing kept, damaged files
counted, full disks refused."""

import io
import os
import subprocess
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pillar_core
from pillar_core import store
from pillar_core.data import forget, load, load_images, read_images, scratch, uploads
from pillar_core.data.images import decoding, folders
from pillar_core.data.partition import without_drawn_test
from pillar_core.errors import StoreError
from pillar_core.runs import receipts, splitting
from unit.image_files import all_rows, encoded, picture, pictures, sizes, written, zipped
from users import is_noted, refuses

LIGHT = (
    "import sys, types; parent = types.ModuleType('pillar_core');parent.__path__ ="
    f" [{str(Path(pillar_core.__file__).parent)!r}]; sys.modules['pillar_core'] = parent\n"
)
"""A process that loads the readers alone, not the whole library."""


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("PILLAR_CACHE", str(folder))
    return folder


@pytest.fixture
def small_memory(monkeypatch):
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 1000)


def _classes(n: int = 10, **settings: Any) -> dict[str, bytes]:
    return pictures(("cat", "dog"), n, "{}/{:03d}.png", **settings)


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _on_disk(rows: Any) -> bool:
    while rows is not None and not isinstance(rows, np.memmap):
        rows = rows.base
    return rows is not None


def test_rows_too_large_for_memory_come_from_the_store(tmp_path, monkeypatch):
    folder = written(tmp_path / "pets", _classes())
    in_memory = load_images(folder)
    assert not in_memory.stored_rows
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 1000)
    mapped = load_images(folder)
    assert mapped.fingerprint == in_memory.fingerprint
    assert isinstance(mapped.x_train, np.ndarray)
    assert _on_disk(mapped.x_train)
    assert _on_disk(mapped.x_test)
    assert [entry.key for entry in store.default().ls("arrays")] == list(mapped.stored_rows)


def test_a_set_is_decoded_once(tmp_path, small_memory, monkeypatch):
    folder = written(tmp_path / "pets", _classes())
    first = load_images(folder)
    monkeypatch.setattr(decoding, "pixels", None)
    assert load_images(folder).fingerprint == first.fingerprint


def test_rows_that_were_decoded_before_are_found(tmp_path, monkeypatch):
    """The text in their key is that of the first versions, bytes and all."""
    texts = []
    content_key = folders.content_key

    def noted(members, text):
        texts.append(text)
        return content_key(members, text)

    monkeypatch.setattr(folders, "content_key", noted)
    load_images(written(tmp_path / "pets", _classes(size=(6, 9))))
    assert texts == [f"Look(height=6, width=9, colour=True) {decoding.VERSION}"]


def test_a_changed_file_is_decoded_again(tmp_path, small_memory):
    folder = written(tmp_path / "pets", _classes())
    first = load_images(folder)
    path = folder / "cat" / "001.png"
    path.write_bytes(picture(0, 77))
    os.utime(path, ns=(1, 1))
    assert load_images(folder).fingerprint != first.fingerprint


def test_forgetting_removes_the_decoded_rows(tmp_path, small_memory):
    dataset = load_images(written(tmp_path / "pets", _classes()))
    forget(dataset)
    assert not store.default().ls("arrays")
    assert dataset.x_train.mean() > 0, "rows in use stay readable"


def test_a_set_in_use_lies_in_the_cache_once_and_is_forgotten_whole(
    tmp_path, small_memory, own_cache
):
    dataset = load_images(written(tmp_path / "pets", _classes()))
    name = uploads.keep(dataset)
    assert [entry.key for entry in store.default().ls("arrays")] == [uploads.key_of(name)]
    kept = uploads.load_rows(name)
    assert _on_disk(kept.x_train)
    assert kept.fingerprint == dataset.fingerprint
    assert splitting.is_known(name)
    receipts.forget_data(name)
    assert not splitting.is_known(name)
    assert not [path for path in files_below(own_cache) if "index" not in path.parts]


def test_uploaded_images_leave_nothing_in_the_cache(small_memory, own_cache):
    dataset = read_images(zipped(_classes()), filename="pets.zip")
    assert _on_disk(dataset.x_train)
    assert not dataset.stored_rows
    assert not files_below(own_cache)


def test_memory_does_not_grow_with_the_number_of_images(tmp_path, monkeypatch):
    """400 images of 120 kB are 48 MB decoded; what is held at once is a batch of a few (AT_ONCE)
    and the file's buffers."""
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 10**6)
    monkeypatch.setattr(decoding, "AT_ONCE", 8)
    one = [encoded(np.full((200, 200, 3), 50 * code, dtype=np.uint8)) for code in range(2)]
    folder = written(tmp_path / "set", {f"{'ab'[i % 2]}/{i}.png": one[i % 2] for i in range(400)})
    load_images(
        written(tmp_path / "warm", {f"{'ab'[i % 2]}/{i}.png": one[i % 2] for i in range(6)})
    )
    tracemalloc.start()
    dataset = load_images(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert dataset.x_train.nbytes + dataset.x_test.nbytes == 400 * 120_000
    assert peak < 12 * 10**6


def test_large_sets_have_a_shorter_side_of_at_most_256(tmp_path, monkeypatch):
    folder = written(tmp_path / "set", _classes(4, size=(300, 600)))
    assert load_images(folder).x_train.shape[1:] == (300, 600, 3)
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 1000)
    dataset = load_images(folder)
    assert dataset.x_train.shape[1:] == (256, 512, 3)
    assert is_noted(dataset.notes, "300 × 600 pixels were resized to 256 × 512")


def test_sizes_that_differ_keep_their_shape_at_a_shorter_side_of_256(tmp_path):
    files = _classes(3, size=(400, 800)) | {"cat/odd.png": picture(0, 9, size=(10, 10))}
    assert load_images(written(tmp_path / "set", files)).x_train.shape[1:3] == (256, 512)


@pytest.mark.parametrize("large", [False, True])
def test_damaged_pixels_are_named_counted_and_refused_beyond_a_few(tmp_path, monkeypatch, large):
    if large:
        monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 1000)
    noise = np.frombuffer(np.random.RandomState(0).bytes(60 * 60 * 3), np.uint8).reshape(60, 60, 3)
    cut = encoded(noise)[:-5000]
    folder = written(
        tmp_path / "set", _classes(100) | {"cat/x1.png": cut, "dog/x2.png": b"no image"}
    )
    for _ in range(2):
        dataset = load_images(folder)
        assert sum(sizes(dataset)) == 200
        assert (
            is_noted(
                dataset.notes, "2 files do not decode and were skipped: cat/x1.png, dog/x2.png"
            )
            or large
        )
    written(folder, {"cat/x3.png": cut, "cat/x4.png": cut})
    refuses("4 of 204 images do not decode, more than 3", load_images, folder)
    assert len(store.default().ls("arrays")) == int(large), "a refused set is not kept"


def test_the_system_refusing_to_write_keeps_nothing(tmp_path, own_cache):
    """Not a stand-in: the kernel refuses files of more than 100 kB, as a full disk would."""
    folder = written(tmp_path / "set", _classes(size=(200, 200)))
    code = (
        LIGHT
        + "import resource; from pillar_core import data; from pillar_core.data import scratch\n"
        "from pillar_core.errors import StoreError\n"
        "scratch.LARGEST_IN_MEMORY = 1000\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try: data.load_images(sys.argv[1])\n"
        "except StoreError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
    )
    assert "Nothing was kept. Free space" in done.stdout
    assert not files_below(own_cache)


def test_a_full_disk_while_keeping_still_gives_the_rows(tmp_path, small_memory, monkeypatch):
    folder = written(tmp_path / "set", _classes())

    def refuse(*_, **__):
        raise StoreError("no room")

    monkeypatch.setattr("pillar_core.store.Store.put_arrays", refuse)
    dataset = load_images(folder)
    assert len(dataset.x_train) == 16
    assert not dataset.stored_rows


def test_a_damaged_store_entry_is_decoded_again(tmp_path, small_memory, own_cache):
    folder = written(tmp_path / "set", _classes())
    first = load_images(folder)
    path = next((own_cache / "arrays").rglob("*.npz"))
    content = bytearray(path.read_bytes())
    content[-200:] = bytes(200)
    path.write_bytes(content[:-100])
    assert load_images(folder).fingerprint == first.fingerprint


@pytest.mark.parametrize("cut", [10, 300, -20])
def test_a_truncated_zip_is_refused(tmp_path, cut):
    (tmp_path / "pets.zip").write_bytes(zipped(_classes())[:cut])
    refuses("damaged or incomplete", load_images, tmp_path / "pets.zip")


def test_a_zip_with_a_wrong_checksum_inside_counts_that_image(tmp_path):
    content = bytearray(zipped(_classes(100)))
    start = content.index(b"IDAT") + 8
    content[start : start + 4] = b"\x00\x00\x00\x00"
    dataset = read_images(bytes(content), filename="pets.zip")
    assert is_noted(dataset.notes, "1 files do not decode")


@pytest.mark.parametrize(
    "name",
    [
        "../a/1.png",
        "/a/1.png",
        "a/../../1.png",
        "..\\a\\1.png",
        "C:/a/1.png",
        "C:\\a\\1.png",
        "~/a/1.png",
    ],
)
def test_paths_that_lead_out_of_a_zip_are_refused(name):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path, content in _classes().items():
            archive.writestr(path, content)
        info = zipfile.ZipInfo("x")
        info.filename = name
        archive.writestr(info, picture(0, 1))
    refuses("lead out of it", read_images, stream.getvalue(), filename="pets.zip")


def test_a_class_with_one_image_and_a_class_without_test_images_are_named(tmp_path):
    folder = written(tmp_path / "set", _classes(5) | {"emu/1.png": picture(2, 1)})
    assert is_noted(load_images(folder).notes, "Classes with one train image each: emu")
    sides = {f"train/{name}": content for name, content in _classes(5).items()}
    sides |= {f"test/cat/{i}.png": picture(0, i) for i in range(2)}
    dataset = load_images(written(tmp_path / "sides", sides))
    assert is_noted(dataset.notes, "No test image of the class dog")


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_large_arrays_of_a_npz_are_unpacked_to_the_disk(
    tmp_path, small_memory, own_cache, save, order
):
    images, labels = (
        np.random.RandomState(0).randint(0, 256, (60, 7, 5), np.uint8),
        np.arange(60) % 3,
    )
    save(tmp_path / "a.npz", train_images=np.asarray(images, order=order), train_labels=labels)
    dataset = load_images(tmp_path / "a.npz")
    assert _on_disk(dataset.x_train)
    assert dataset.x_train.flags.c_contiguous
    both = all_rows(dataset)
    assert sorted(map(bytes, both)) == sorted(map(bytes, images))
    assert not files_below(own_cache)


def test_large_features_of_a_npz_are_read(tmp_path, small_memory):
    rows = np.random.RandomState(0).normal(size=(200, 9))
    np.savez(tmp_path / "a.npz", x_train=rows, y_train=np.arange(200) % 2)
    whole = without_drawn_test(load(tmp_path / "a.npz")).x_train
    np.testing.assert_array_equal(np.sort(whole, axis=0), np.sort(rows.astype(np.float32), axis=0))


def test_a_process_killed_while_decoding_leaves_nothing(tmp_path, own_cache, small_memory):
    folder = written(tmp_path / "set", _classes(40))
    code = (
        LIGHT + "import os; from pillar_core import data\n"
        "from pillar_core.data import scratch; from pillar_core.data.images import decoding\n"
        "scratch.LARGEST_IN_MEMORY, decoding.AT_ONCE = 1000, 4\n"
        "pixels, seen = decoding.pixels, []\n"
        "def killed(picture, look):\n"
        "    seen.append(picture)\n"
        "    if len(seen) > 20: os.kill(os.getpid(), 9)\n"
        "    return pixels(picture, look)\n"
        "decoding.pixels = killed\n"
        "data.load_images(sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False
    )
    assert done.returncode == -9
    assert not files_below(own_cache)
    assert len(load_images(folder).x_train) == 64
