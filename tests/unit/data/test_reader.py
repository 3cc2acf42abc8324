"""A brought file is read once, in a process of its own: as the library reads it, within its memory,
and never to the app's end."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from pillar_core.data import load as read
from pillar_core.data import read_images, reader, room, scratch
from pillar_core.data.reader import Reading
from pillar_core.errors import DataError, SettingError
from unit.image_files import npz, picture, written, zipped
from users import raises, refuses

TABLE = b"height,kind,who,label\n" + b"".join(
    b"%d,%s,1.%d0,%d\n" % (row, [b"a", b""][row % 2], row % 4, row % 3) for row in range(60)
)
NUMBERS = b"a,b,label\n" + b"".join(b"%d.5,%d,%d\n" % (row, row % 7, row % 3) for row in range(60))
PICTURES = {f"{'ab'[number % 2]}/{number}.png": picture(number % 2, number) for number in range(20)}
ROWS = npz(
    x_train=np.arange(200.0).reshape(50, 4),
    y_train=np.arange(50) % 2,
    classes=["ä", "<b>"],
    persons=np.arange(50),
)


@pytest.mark.parametrize(
    ("content", "name"), [(ROWS, "rows.npz"), (zipped(PICTURES), "pictures.zip")]
)
def test_what_is_read_is_what_the_library_reads(content, name, own_cache, tmp_path):
    (tmp_path / name).write_bytes(content)
    expected = read(content, filename=name)
    brought = (
        Reading(None, str(tmp_path / name)) if name.endswith(".zip") else Reading(content, name)
    )
    rows = brought.rows
    assert type(rows) is type(expected)
    assert (rows.fingerprint, rows.name, rows.notes) == (
        expected.fingerprint,
        expected.name,
        expected.notes,
    )
    assert brought.share == name.endswith(".zip"), "the images that are decoded are counted"
    assert not list(own_cache.glob("arrays/00/.*")), "the file has no name any more"
    with pytest.raises(DataError, match="is no table"):
        _ = brought.table


def test_what_is_no_data_is_refused_in_the_library_s_words():
    content = NUMBERS.replace(b",1\n", b",0\n").replace(b",2\n", b",0\n")
    with pytest.raises(DataError, match="two classes"):
        _ = Reading(content, "one.csv").rows


def test_a_table_of_words_and_gaps_comes_whole():
    brought = Reading(TABLE, "words.csv", as_written=("who",))
    assert brought.wait(600)
    pd.testing.assert_frame_equal(brought.table, pd.read_csv(io.BytesIO(TABLE), dtype={"who": str}))


def test_a_large_folder_is_mapped_from_where_decoding_keeps_it(tmp_path, monkeypatch):
    root = written(tmp_path / "pets", PICTURES)
    program = (
        "from pillar_core.data import reader, scratch; scratch.LARGEST_IN_MEMORY = 1000;"
        " reader.serve()"
    )
    reader._end()
    monkeypatch.setattr(reader, "prepare", lambda: None)
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda line, **named: start([*line[:2], program], **named)
    )
    rows = Reading(None, str(root)).rows
    monkeypatch.setattr(scratch, "LARGEST_IN_MEMORY", 1000)
    assert rows.stored_rows
    assert rows.fingerprint == read_images(str(root)).fingerprint


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (
            npz(x_train=np.zeros((50, 100_000))),
            "wide.npz",
            r"x_train.npy, of shape \(50, 100000\), takes 57 MiB",
        ),
        (
            b"a,label\n" + b"1,x\n0,y\n" * 2_000_000,
            "long.csv",
            "long.csv takes more memory than that",
        ),
    ],
)
def test_what_takes_more_memory_is_told_with_the_number_and_the_way_on(
    content, name, problem, monkeypatch
):
    monkeypatch.setenv("PILLAR_MEMORY", "50M")
    with pytest.raises(
        DataError, match=rf"{problem}.*at most 50 MiB.*set PILLAR_MEMORY=16G before"
    ):
        _ = Reading(content, name).rows


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_a_memory_that_is_set_holds_for_a_command_too(tmp_path, monkeypatch):
    (tmp_path / "long.csv").write_bytes(b"a,label\n" + b"1,x\n0,y\n" * 2_000_000)
    np.savez(tmp_path / "wide.npz", x_train=np.zeros((50, 100_000)))
    monkeypatch.setenv("PILLAR_MEMORY", "50M")
    for name in ("long.csv", "wide.npz"):
        refuses(r"takes.*at most 50 MiB.*set PILLAR_MEMORY=16G before", read, tmp_path / name)
    assert len(np.ones(2**25)) == 2**25, "what computes has no limit"
    (tmp_path / "short.csv").write_bytes(b"a,label\n" + b"1,x\n0,y\n" * 20)
    assert len(read(tmp_path / "short.csv").x_train) == 32


def test_memory_is_half_of_what_is_free_or_as_set(monkeypatch):
    assert 2**26 < room.memory_limit() < 2**43
    for text, size in (
        ("4G", 2**32),
        ("1.5 gb", 3 * 2**29),
        ("500MiB", 500 * 2**20),
        ("1000", 1000),
    ):
        monkeypatch.setenv("PILLAR_MEMORY", text)
        assert room.memory_limit() == size
    for text in ("much", "0", "-4G"):
        monkeypatch.setenv("PILLAR_MEMORY", text)
        raises(SettingError, "PILLAR_MEMORY must be a size above 0", room.memory_limit)


@pytest.mark.parametrize(
    "program", ["os.kill(os.getpid(), signal.SIGSEGV)", "time.sleep(600)", "sys.exit(1)"]
)
def test_a_reader_that_dies_or_is_stopped_refuses_the_file(program, monkeypatch):
    line = [sys.executable, "-c", f"import os, signal, sys, time; sys.stdin.readline(); {program}"]
    reader._end()
    monkeypatch.setattr(
        reader,
        "_start",
        lambda: subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE),
    )
    read = Reading(NUMBERS, "numbers.csv")
    if "sleep" in program:
        read.stop()
    why = r"ended before it was done.*PILLAR_MEMORY" if "kill" in program else "nobody foresaw"
    with pytest.raises(DataError, match="was stopped" if read.is_stopped else why):
        _ = read.rows
    reader._end()


def test_a_machine_that_starts_no_process_says_so(monkeypatch):
    def refused():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    reader._end()
    monkeypatch.setattr(reader, "_start", refused)
    reader.prepare()
    refuses("no process", Reading, NUMBERS, "numbers.csv")


def test_a_prepared_process_that_has_ended_is_replaced_and_ends_with_who_prepared_it():
    reader.prepare()
    reader._READY[0].kill()
    reader._READY[0].wait()
    assert (
        Reading(NUMBERS, "numbers.csv").rows.fingerprint
        == read(NUMBERS, filename="numbers.csv").fingerprint
    )
    with reader._READY.pop() as process:
        process.communicate(b"")
        assert process.returncode == 0
