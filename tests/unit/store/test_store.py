"""The store: whole entries or misses with a note, first writer wins, nothing is ever unpickled."""

import ast
import errno
import inspect
import math
import os
import pickle
import re
import sqlite3
import stat
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import diskcache
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pillar_core import store as stores
from pillar_core.errors import StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.store import Store, codec, entry, files, index
from users import is_noted, raises

KEY = fingerprint("one")
OTHER = fingerprint("other")
BLOB = b"\x00\xff" * 50

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.fixture
def cache(tmp_path):
    return Store(tmp_path / "cache")


def place(cache: Store, kind: str, key: str) -> Path:
    return entry.entry_path(cache.root, kind, key)


@settings(max_examples=50)
@given(JSON)
@example([math.inf, -math.inf, "$inf", "$", "$$", "inf", {"$inf": ["$-inf"]}])
def test_json_comes_back_as_it_went(value):
    back = codec.decode_json(codec.encode_json(value))
    assert back == value
    assert type(back) is type(value)


@pytest.mark.parametrize(
    "value", [math.nan, [np.float64("nan")], {1: 2}, object(), b"bytes", np.zeros(2)]
)
def test_what_json_lacks_is_refused(cache, value):
    with pytest.raises(StoreError):
        cache.put_json("record", KEY, value)
    assert not cache.has("record", KEY)


@pytest.mark.parametrize("payload", [b"NaN", b"[Infinity]", b'"$nan"', b"\xff", b"{"])
def test_json_that_is_not_ours_is_an_error_for_the_store_to_catch(payload):
    raises(ValueError, r".+", codec.decode_json, payload)


def test_records_come_back_and_the_first_writer_wins(cache):
    assert cache.get_json("record", KEY) is None
    assert cache.put_json("record", KEY, {"accuracy": 0.5, "epsilon": math.inf})
    assert not cache.put_json("record", KEY, {"accuracy": 0.9})
    assert cache.get_json("record", KEY) == {"accuracy": 0.5, "epsilon": math.inf}
    assert cache.notes() == ()
    assert cache.delete("record", KEY)
    assert not cache.delete("record", KEY)
    assert cache.get_json("record", KEY) is None


@pytest.mark.parametrize("mmap", [True, False])
def test_arrays_come_back_aligned_and_typed(cache, mmap):
    arrays = {
        "x": np.arange(15, dtype=np.float32).reshape(5, 3),
        "y": np.array([[1, 2], [3, 4]], order="F"),
        "scalar": np.float64(2.5),
        "empty": np.zeros((0, 4)),
        "names": np.array(["a", "ßb"]),
        "flags": np.array([True, False]),
        "strided": np.arange(10)[::2],
    }
    assert cache.put_arrays(KEY, **arrays)
    back = cache.get_arrays(KEY, mmap=mmap)
    assert set(back) == set(arrays)
    for name, value in arrays.items():
        assert_array_equal(back[name], value)
        assert back[name].dtype == np.asarray(value).dtype
        assert back[name].shape == np.shape(value)
        if mmap and back[name].size:
            assert back[name].ctypes.data % codec.ALIGNMENT == 0
    assert isinstance(back["x"], np.memmap) == mmap


def test_a_mapped_array_does_not_reach_the_disk_and_numpy_opens_it_after_its_header(cache):
    cache.put_arrays(KEY, x=np.zeros(4))
    first = cache.get_arrays(KEY, mmap=True)
    first["x"][:] = 7
    second = cache.get_arrays(KEY)
    assert_array_equal(second["x"], np.zeros(4))
    with place(cache, "arrays", KEY).open("rb") as file:
        file.seek(entry.HEADER_SIZE)
        with np.load(file, allow_pickle=False) as archive:
            assert_array_equal(archive["x"], np.zeros(4))


def test_arrays_of_objects_and_odd_names_are_refused(cache):
    raises(StoreError, "Python objects", cache.put_arrays, KEY, x=np.array([{}, []], dtype=object))
    raises(StoreError, "identifiers", cache.put_arrays, KEY, **{"../x": np.zeros(2)})
    assert list(cache.root.rglob("*.npz")) == []


@pytest.mark.parametrize("key", ["", "../x", "A", "a/b", ".a", "a" * 97, "a.json", None, 3])
def test_keys_that_are_no_file_names_are_refused(cache, key):
    raises(StoreError, "key", cache.get_json, "record", key)
    raises(StoreError, "kind", cache.get_json, "../record", KEY)


@pytest.mark.parametrize("kind", ["record", "arrays", "blob"])
@pytest.mark.parametrize(
    "fault", ["flip", "truncate", "append", "empty", "foreign", "header", "directory"]
)
def test_a_damaged_entry_is_a_miss_with_a_note_and_can_be_written_again(cache, kind, fault):
    write, read = {
        "record": (
            lambda: cache.put_json("record", KEY, {"value": 1.25}),
            lambda: cache.get_json("record", KEY),
        ),
        "arrays": (lambda: cache.put_arrays(KEY, x=np.arange(100)), lambda: cache.get_arrays(KEY)),
        "blob": (lambda: cache.put_bytes(KEY, BLOB), lambda: cache.get_bytes(KEY)),
    }[kind]
    assert read() is None
    assert write()
    assert read() == BLOB if kind == "blob" else read() is not None
    path = place(cache, kind, KEY)
    damage(path, fault)
    assert read() is None
    assert len(cache.notes()) == 1
    assert KEY in cache.notes()[0]
    assert [where for where, _ in cache.verify().damaged] == (
        [] if fault == "directory" else [path]
    )
    if fault == "directory":
        path.rmdir()
    assert write()
    assert read() is not None


def damage(path: Path, fault: str) -> None:
    content = path.read_bytes()
    if fault == "directory":
        path.unlink()
        path.mkdir()
        return
    changed = {
        "flip": content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
        "truncate": content[:-5],
        "append": content + b"more",
        "empty": b"",
        "foreign": b'{"value": 2}',
        "header": b"pillar-store-9" + content[14:],
    }
    path.write_bytes(changed[fault])


def test_keys_of_other_names_and_nested_json_are_a_miss(cache):
    cache.put_json("record", KEY, 1)
    cache.put_json("record", OTHER, 2)
    place(cache, "record", OTHER).write_bytes(place(cache, "record", KEY).read_bytes())
    assert cache.get_json("record", OTHER) is None
    entry.write_entry(
        cache.root, "record", fingerprint("nested"), lambda out: out.write(b"[" * 10**6)
    )
    assert cache.get_json("record", fingerprint("nested")) is None


@pytest.mark.parametrize("payload", [b"not a zip", b"", pickle.dumps({"x": 1})])
def test_a_well_summed_entry_that_is_no_npz_is_a_miss(cache, payload):
    entry.write_entry(cache.root, "arrays", KEY, lambda out: out.write(payload))
    assert cache.get_arrays(KEY) is None
    assert len(cache.notes()) == 1


class Planted:
    """Unpickling this creates a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.target),)


def test_a_pickle_in_an_npz_does_not_run(cache, tmp_path):
    target = tmp_path / "ran"
    evil = np.array([Planted(target)], dtype=object)

    def fill(out):
        np.savez(out, allow_pickle=True, x=evil)

    entry.write_entry(cache.root, "arrays", KEY, fill)
    assert cache.get_arrays(KEY) is None
    assert cache.get_arrays(KEY, mmap=True) is None
    assert not target.exists()


@pytest.mark.parametrize("place_of_pickle", ["key", "value", "file"])
def test_a_pickle_in_the_index_does_not_run(cache, tmp_path, place_of_pickle):
    cache.put_json("record", KEY, 1)
    cache.flush()
    target = tmp_path / "ran"
    planted = pickle.dumps(Planted(target))
    outside = tmp_path / "outside"
    outside.write_bytes(planted)
    rows = {
        "key": (planted, 0, 1, None, "12 1.0"),
        "value": ("record/" + KEY, 1, 4, None, planted),
        "file": ("record/" + KEY, 1, 4, "../../outside", None),
    }
    database = sqlite3.connect(cache.root / "index" / "cache.db")
    with database:
        database.execute("DELETE FROM Cache")
        database.execute(
            "INSERT INTO Cache (key, raw, mode, filename, value, store_time) VALUES (?, ?, ?, ?,"
            " ?, 0)",
            rows[place_of_pickle],
        )
    database.close()

    again = Store(cache.root)
    assert [item.key for item in again.ls()] == [KEY]
    again.prune(0)
    assert not target.exists()
    assert outside.exists()
    assert is_noted(again.notes(), "index")


def test_no_line_of_diskcache_that_reads_a_pickle_is_reachable():
    """CVE-2025-69872: each function of diskcache that unpickles is a method of `Disk` which the
    store's own class replaces."""
    tree = ast.parse(Path(diskcache.core.__file__).read_text(encoding="utf-8"))
    folder = Path(diskcache.__file__).parent
    assert [
        path.name
        for path in folder.glob("*.py")
        if "pickle.load" in path.read_text(encoding="utf-8")
    ] == ["core.py"]
    (disk,) = [item for item in tree.body if isinstance(item, ast.ClassDef) and item.name == "Disk"]
    assert ast.unparse(tree).count("pickle.load") == ast.unparse(disk).count("pickle.load") > 0
    readers = {
        item.name
        for item in disk.body
        if isinstance(item, ast.FunctionDef) and "pickle.load" in ast.unparse(item)
    }
    assert readers == {"get", "fetch"} <= set(vars(index.PlainDisk))
    assert all(
        "super()" not in inspect.getsource(getattr(index.PlainDisk, name)) for name in readers
    )


def test_the_store_opens_no_cache_of_diskcache_with_another_disk():
    library = Path(index.__file__).parents[1]
    sources = {path: path.read_text(encoding="utf-8") for path in library.rglob("*.py")}
    (opened,) = [end for source in sources.values() for end in source.split("diskcache.Cache(")[1:]]
    assert "disk=PlainDisk" in opened.split("\n    def ")[0]
    assert [
        path.name
        for path, source in sources.items()
        if re.search(r"^\s*(import|from) diskcache", source, re.M)
    ] == ["index.py"]


def test_the_planted_pickle_would_have_run(tmp_path):
    pickle.loads(pickle.dumps(Planted(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


@pytest.mark.parametrize("fault", [b"", b"not a database" * 100])
def test_a_damaged_index_loses_no_entry(cache, fault):
    cache.put_json("record", KEY, 1)
    cache.flush()
    for file in (cache.root / "index").iterdir():
        file.write_bytes(fault)
    again = Store(cache.root)
    assert again.get_json("record", KEY) == 1
    assert [item.key for item in again.ls()] == [KEY]
    assert again.put_json("record", OTHER, 2)
    again.flush()
    assert {item.key for item in again.ls()} == {KEY, OTHER}


def test_an_index_that_cannot_be_opened_is_kept(cache):
    cache.put_json("record", KEY, 1)
    cache.flush()
    database = cache.root / "index" / "cache.db"
    database.rename(database.with_name("before"))
    database.mkdir()
    (database / "mark").touch()
    assert [item.key for item in Store(cache.root).ls()] == [KEY]
    assert (database / "mark").exists()


def test_folders_and_files_are_for_their_owner_alone_and_somebody_elses_refused(cache, monkeypatch):
    previous = os.umask(0)
    try:
        cache.put_json("record", KEY, 1)
        cache.put_arrays(KEY, x=np.zeros(1))
        cache.flush()
    finally:
        os.umask(previous)
    assert stat.S_IMODE(cache.root.stat().st_mode) == 0o700
    for path in [place(cache, "record", KEY), place(cache, "arrays", KEY)]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE((cache.root / "index").stat().st_mode) == 0o700
    cache.put_json("record", KEY, 1)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    raises(StoreError, "another user", cache.put_json, "record", OTHER, 1)


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_full_disk_says_what_to_do_and_leaves_nothing_readable(cache, monkeypatch, step):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    (
        monkeypatch.setattr(os, "fsync", full)
        if step == "fsync"
        else monkeypatch.setattr(entry, "_write", full)
    )
    raises(StoreError, r"prune\(max_bytes\)", cache.put_json, "record", KEY, 1)
    assert [path for path in cache.root.rglob("*") if path.is_file()] == []
    monkeypatch.undo()
    assert cache.put_json("record", KEY, 1)


def test_a_disk_without_hard_links_still_keeps_the_first_entry(cache, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert cache.put_json("record", KEY, 1)
    assert not cache.put_json("record", KEY, 2)
    assert cache.get_json("record", KEY) == 1


def test_own_entries_and_the_starter_hide_each_others_damage(tmp_path):
    Store(tmp_path / "starter").put_json("record", KEY, "starter")
    cache = Store(tmp_path / "cache", starter=tmp_path / "starter")
    assert cache.has("record", KEY)
    assert cache.get_json("record", KEY) == "starter"
    assert not cache.delete("record", KEY)
    cache.put_json("record", OTHER, "own")
    assert [item.key for item in cache.ls()] == [OTHER]
    cache.prune(0)
    assert cache.get_json("record", KEY) == "starter"
    assert cache.verify().whole == 1
    Store(tmp_path / "other").put_json("record", KEY, 1)
    cache = Store(tmp_path / "own", starter=tmp_path / "other")
    cache.put_json("record", KEY, 1)
    damage(place(cache, "record", KEY), "flip")
    assert cache.get_json("record", KEY) == 1
    assert len(cache.notes()) == 1


def test_prune_takes_arrays_first_and_the_longest_unused_of_them(cache):
    keys = [fingerprint(number) for number in range(4)]
    for age, key in enumerate(keys):
        cache.put_arrays(key, x=np.zeros(1000))
        os.utime(place(cache, "arrays", key), (1e9 + age, 1e9 + age))
    cache.put_json("record", KEY, 1)
    cache.flush()
    fresh = Store(cache.root)
    index = {f"arrays/{key}": 1e9 + age for age, key in enumerate(keys)}
    index[f"arrays/{keys[0]}"] = 2e9
    fresh._index.last_used = lambda: index  # type: ignore[method-assign]  # ages without waiting
    total = sum(item.size for item in fresh.ls())
    report = fresh.prune(total - 1)
    assert [item.key for item in report.removed] == [keys[1]]
    assert report.freed == report.removed[0].size
    fresh.prune(2000)
    assert [item.kind for item in fresh.ls()] == ["record"]
    assert fresh.prune(0).removed[0].kind == "record"
    raises(StoreError, "max_bytes", fresh.prune, math.nan)  # type: ignore[arg-type]  # that it is refused is the point


def test_reading_counts_as_use_and_notes_are_bounded(cache):
    cache.put_json("record", KEY, 1)
    os.utime(place(cache, "record", KEY), (1e9, 1e9))
    cache._index.forget([f"record/{KEY}"])
    assert cache.ls()[0].last_used == 1e9
    cache.get_json("record", KEY)
    assert cache.ls()[0].last_used > 1e9
    for number in range(80):
        cache._note(f"note {number}")
        cache._note(f"note {number}")
    assert cache.notes() == tuple(f"note {number}" for number in range(30, 80))


def test_the_size_limit_holds_after_each_array_and_counts_what_others_write(tmp_path):
    cache = Store(tmp_path / "cache", max_bytes=30_000)
    cache.put_json("record", KEY, 1)
    for number in range(10):
        cache.put_arrays(fingerprint(number), x=np.zeros(1000))
        assert sum(item.size for item in cache.ls()) <= 30_000
    assert cache.has("arrays", fingerprint(9))
    assert cache.has("record", KEY)
    # Also where the other writes into a folder that this one has read before, and has not listed
    # since.
    own, other = Store(tmp_path / "cache", max_bytes=30_000), Store(tmp_path / "cache")
    keys = [f"aa{number}" for number in range(8)]
    own.put_arrays(keys[0], x=np.zeros(1000))
    os.utime(place(own, "arrays", keys[0]).parent, (1e9, 1e9))
    own.put_arrays("bb", x=np.zeros(1))
    for key in keys[1:]:
        other.put_arrays(key, x=np.zeros(1000))
    assert sum(item.size for item in own.ls()) > 50_000
    own.put_arrays("bb1", x=np.zeros(1))
    assert sum(item.size for item in own.ls()) <= 30_000


def test_prune_sweeps_what_a_killed_writer_left(cache):
    cache.put_json("record", KEY, 1)
    left = place(cache, "record", KEY).with_name(files.TEMPORARY + "1-dead")
    left.write_bytes(b"half")
    assert [item.key for item in cache.ls()] == [KEY]
    assert cache.verify().damaged == ()
    cache.prune(10**9)
    assert left.exists()
    os.utime(left, (1e9, 1e9))
    cache.prune(10**9)
    assert not left.exists()


def test_export_carries_records_and_what_is_asked_for_and_an_own_record_stays(cache, tmp_path):
    cache.put_json("record", KEY, {"epsilon": math.inf})
    cache.put_json("record", OTHER, 2)
    cache.put_arrays(KEY, x=np.arange(3))
    damage(place(cache, "record", OTHER), "flip")
    assert cache.export(tmp_path / "runs.zip") == 1
    assert is_noted(cache.notes(), "left out")
    elsewhere = Store(tmp_path / "elsewhere")
    for added in (1, 0):
        assert elsewhere.import_(tmp_path / "runs.zip") == stores.ImportReport(
            added, 1 - added, refused=()
        )
    assert elsewhere.get_json("record", KEY) == {"epsilon": math.inf}
    assert elsewhere.get_arrays(KEY) is None
    assert elsewhere.export(tmp_path / "again.zip") == 1
    own = Store(tmp_path / "own")
    own.put_json("record", KEY, "own")
    assert cache.export(tmp_path / "all.zip", kinds=("record", "arrays"), keys=[KEY]) == 2
    assert own.import_(tmp_path / "all.zip") == stores.ImportReport(1, 1, refused=())
    assert own.get_json("record", KEY) == "own"
    assert_array_equal(own.get_arrays(KEY)["x"], np.arange(3))


def test_damaged_and_foreign_members_are_refused_one_by_one(cache, tmp_path):
    cache.put_json("record", KEY, 1)
    cache.export(tmp_path / "runs.zip")
    good = place(cache, "record", KEY).read_bytes()
    with zipfile.ZipFile(tmp_path / "runs.zip", "a") as archive:
        archive.writestr(f"record/{OTHER}", good)
        archive.writestr(f"record/{fingerprint('flipped')}", good[:-1] + b"2")
        archive.writestr("../../outside", good)
        archive.writestr("record/../../outside", good)
        archive.writestr(f"shell/{KEY}", good)
        archive.writestr("readme", b"hello")
    elsewhere = Store(tmp_path / "deep" / "elsewhere")
    report = elsewhere.import_(tmp_path / "runs.zip")
    assert (report.added, len(report.refused)) == (1, 6)
    assert len(elsewhere.notes()) == 6
    assert [item.key for item in elsewhere.ls()] == [KEY]
    assert not (tmp_path / "outside").exists()
    assert list(elsewhere.root.rglob(files.TEMPORARY + "*")) == []


def test_files_that_are_no_export_are_refused(cache, tmp_path):
    (tmp_path / "text").write_text("no zip")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("a", "b")
    cache.put_json("record", KEY, 1)
    cache.export(tmp_path / "new.zip")
    whole = (tmp_path / "new.zip").read_bytes()
    place = whole.rindex(b"PK\x01\x02") + 6  # of the version that reading its only entry takes
    (tmp_path / "new.zip").write_bytes(whole[:place] + bytes([200]) + whole[place + 1 :])
    for name in ("text", "other.zip", "new.zip", "absent"):
        with pytest.raises(StoreError):
            cache.import_(tmp_path / name)
    raises(StoreError, "kind", cache.export, tmp_path / "x.zip", kinds=("shell",))


def test_the_default_store_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "mine"))
    assert stores.default().root == tmp_path / "mine"
    assert stores.default() is stores.default()
    assert not (tmp_path / "mine").exists()
    monkeypatch.delenv("PILLAR_CACHE")
    assert stores.default().root.name == "cache"
    monkeypatch.setenv("PILLAR_CACHE_BYTES", "lots")
    raises(StoreError, "PILLAR_CACHE_BYTES", stores.default)


def test_stores_that_write_the_same_keys_at_once_agree_on_one_winner(tmp_path):
    keys, barrier = [fingerprint(number) for number in range(60)], threading.Barrier(3)

    def write(number):
        cache = Store(tmp_path / "cache")
        barrier.wait()
        wins = [
            cache.put_json("record", key, {"writer": number, "pad": "x" * 2000}) for key in keys
        ]
        seen = [cache.get_json("record", key)["writer"] for key in keys]
        cache.flush()
        return wins, seen, cache.notes()

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(write, range(3)))
    assert [sum(won) for won in zip(*(wins for wins, _, _ in results), strict=True)] == [1] * len(
        keys
    )
    assert len({tuple(seen) for _, seen, _ in results}) == 1
    assert all(notes == () for *_, notes in results)
    cache = Store(tmp_path / "cache")
    assert len(cache.ls()) == len(keys)
    assert cache.verify().damaged == ()


@pytest.mark.parametrize(
    "text", ["[" * 150_000, "[a," * 60_000, "- " * 90_000, "? " * 90_000, "{a: " * 50_000]
)
def test_yaml_that_opens_and_never_closes_is_refused_early(text, monkeypatch):
    read, seen = codec.yaml.scan, []
    monkeypatch.setattr(
        codec.yaml, "scan", lambda text: (seen.append(token) or token for token in read(text))
    )
    raises(ValueError, "levels deep", codec.decode_yaml, text)
    assert len(seen) < 1_000


@pytest.mark.parametrize(
    "text",
    [
        "a: !!bool maybe",
        "a: !!timestamp soon",
        "? !!timestamp soon\n: 1",
        'a: !!int ""',
        "a: !!float _",
    ],
)
def test_yaml_values_that_are_not_of_the_kind_they_say_are_no_yaml(text):
    raises(ValueError, "this is no YAML", codec.decode_yaml, text)
