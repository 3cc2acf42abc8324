"""A brought file is read in a process of its own: with the same report, and never more than its size allows."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pillar_core.data import reports, trial
from pillar_core.errors import DataError
from unit.image_files import picture, written

TABLE = b"height,kind,label\n" + b"".join(b"%d,%s,%d\n" % (row, [b"a", b"b"][row % 2], row % 3) for row in range(60))
NUMBERS = b"a,b,label\n" + b"".join(b"%d.5,%d,%d\n" % (row, row % 7, row % 3) for row in range(60))


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (npz(x_train=np.arange(200, dtype=np.float32).reshape(50, 4), y_train=np.arange(50) % 2, classes=["ä", "<b>"]), "rows.npz"),
        (npz(x_train=np.zeros((50, 5, 5), np.uint8), y_train=np.arange(50) % 2), "images.npz"),
        (npz(x_train=np.full((50, 4), np.nan), y_train=np.arange(50) % 2), "holes.npz"),
        (NUMBERS, "numbers.csv"),
        (TABLE, "words.csv"),
        (b"no archive", "broken.zip"),
        (b"", "empty.parquet"),
        (b"1", "strange.xyz"),
    ],
)
def test_the_report_is_that_of_the_library(content: bytes, name: str, tmp_path: Path) -> None:
    assert trial.dry_run(content, name, public_fraction=0.3) == reports.dry_run(content, name, public_fraction=0.3)
    (tmp_path / name).write_bytes(content)
    path = str(tmp_path / name)
    assert trial.dry_run(None, path, public_fraction=None) == reports.dry_run(path, public_fraction=None)


def test_a_folder_is_read_where_it_lies(tmp_path: Path) -> None:
    written(tmp_path, {f"{'ab'[number % 2]}/{number}.png": picture(number % 2, number) for number in range(20)})
    report = trial.dry_run(None, str(tmp_path), public_fraction=None)
    assert report.ok
    assert report.is_images


@pytest.mark.parametrize("name", ["/nowhere/at/all.npz", "/nowhere/at/all", "~nobody-of-that-name/rows.npz", "x" * 5000])
def test_a_path_to_nowhere_is_refused_in_the_library_s_words(name: str) -> None:
    report = trial.dry_run(None, name, public_fraction=None)
    assert not report.ok
    assert report == reports.dry_run(name, public_fraction=None)
    with pytest.raises(DataError):
        trial.check_table(None, name)


def test_a_table_of_words_can_be_read_and_no_table_cannot() -> None:
    trial.check_table(TABLE, "words.csv")
    with pytest.raises(DataError, match="cannot be read"):
        trial.check_table(b"\0\1\2", "words.parquet")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
@pytest.mark.parametrize("limits", [{"SECONDS": 0}, {"MEMORY": 0, "TIMES_HELD": 0}])
def test_reading_ends_at_its_limits(limits: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert trial.dry_run(NUMBERS, "numbers.csv", public_fraction=None).ok
    for name, value in limits.items():
        monkeypatch.setattr(trial, name, value)
    report = trial.dry_run(NUMBERS, "numbers.csv", public_fraction=None)
    assert not report.ok
    assert "reading numbers.csv takes more than" in report.problems[0]
    with pytest.raises(DataError, match="takes more than"):
        trial.check_table(NUMBERS, "numbers.csv")


def test_a_reader_that_ends_its_process_refuses_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-c", "import os, signal, sys; sys.stdin.readline(); os.kill(os.getpid(), signal.SIGSEGV)"]
    trial._end()
    monkeypatch.setattr(trial, "_start", lambda: subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    with pytest.raises(DataError, match="or ends the program that reads it"):
        trial.check_table(NUMBERS, "numbers.csv")
    trial._end()


def test_a_machine_that_starts_no_process_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    trial._end()
    monkeypatch.setattr(trial, "_start", refused)
    trial.prepare()
    assert "no process" in trial.dry_run(NUMBERS, "numbers.csv", public_fraction=None).problems[0]
    with pytest.raises(DataError, match="no process"):
        trial.check_table(NUMBERS, "numbers.csv")


def test_a_prepared_process_that_has_ended_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    trial.prepare()
    trial._READY[0].kill()
    trial._READY[0].wait()
    assert trial.dry_run(NUMBERS, "numbers.csv", public_fraction=None).ok


def test_a_prepared_process_ends_with_who_prepared_it() -> None:
    with trial._start() as process:
        process.communicate(b"")
        assert process.returncode == 0
