"""The app reads a brought file or folder once, in a process of its own, and maps what it found;
nothing that a reader does ends the app.

The process may take as much memory as `room` grants. What it writes lies in a file of the cache
folder, which loses its name once mapped.
"""

import atexit
import contextlib
import functools
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any, BinaryIO

from pillar_core import installation, store
from pillar_core.data import frames, raw, reading, room
from pillar_core.data.parts import open_source, pack, unpack
from pillar_core.data.progress import TEXTS, report_progress
from pillar_core.deferred import pandas as pd
from pillar_core.errors import Cancelled, DataError, PillarError
from pillar_core.store import codec
from pillar_core.store.files import TEMPORARY, writable
from pillar_core.types import Dataset, FeatureSet

TABLES = frames.READERS
_STARTING = threading.Lock()
_READY: list[subprocess.Popen[bytes]] = []
"""The process that will read the next file: its imports take longer than most files."""


class Task:
    """What a thread makes. `share` of it is done, as `said`; `is_stopped` where somebody stopped
    it."""

    def __init__(self, said: str, make: Callable[[], Any]) -> None:
        self.share, self.is_stopped, self.said = 0.0, False, said
        self._outcome = _in_thread(make)

    def wait(self, seconds: float | None = None) -> bool:
        """Whether it ended within so many seconds."""
        return bool(wait([self._outcome], seconds).done)

    def stop(self) -> None:
        """Ends it as soon as it looks; there are then no rows."""
        self.is_stopped = True


class Reading(Task):
    """A file that a process reads, or has read: an upload's bytes, or what lies at the path `name`.

    as_written: columns of a table that stay text. keys: of rows and labels in a npz.
    """

    def __init__(
        self,
        content: bytes | None,
        name: str,
        *,
        as_written: tuple[str, ...] = (),
        keys: tuple[str, str | None] | None = None,
    ) -> None:
        self._title, self._ending, self._process = (
            Path(name).name,
            frames.ending_of(name),
            _take_process(),
        )
        request = {"name": name, "as_written": as_written, "keys": keys}
        super().__init__(f"Reading {self._title} …", lambda: self._read(content, request))

    def stop(self) -> None:
        """Ends it; its rows are then refused."""
        super().stop()
        self._process.kill()

    @property
    def table(self) -> "pd.DataFrame":
        """The table in the file. Raises DataError: why it cannot be read; or the file is no
        table."""
        if self._ending not in TABLES:
            raise DataError(
                f"{self._title} is no table: beside a private table, public rows must be a table,"
                " too."
            )
        table: pd.DataFrame = self._outcome.result()
        return table

    @functools.cached_property
    def rows(self) -> FeatureSet | Dataset:
        """What the file holds, checked. Raises DataError: why it cannot be used."""
        content = self._outcome.result()
        if self._ending in TABLES:
            content = raw.plain_features(content, name=Path(self._title).stem)
        rows: FeatureSet | Dataset = content
        return rows

    def _read(self, content: bytes | None, request: dict[str, Any]) -> Any:
        try:
            with writable(store.default().root):
                return self._map_rows(content, request)
        except DataError:
            raise
        except PillarError as error:
            raise DataError(f"{self._title} could not be read: {error}") from error

    def _map_rows(self, content: bytes | None, request: dict[str, Any]) -> Any:
        root, limit = store.default().root, room.memory_limit()
        folder = root / "arrays" / "00"  # where `store.prune` sweeps what a killed app left
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        answer: dict[str, Any] = {}
        with (
            tempfile.NamedTemporaryFile(dir=folder, prefix=TEMPORARY) as place,
            self._process as process,
        ):
            prepare()
            requests, answers = process.stdin, process.stdout
            assert requests is not None
            assert answers is not None
            request |= {
                "is_sent": content is not None,
                "into": place.name,
                "limit": limit,
                "cache": str(root),
            }
            with contextlib.suppress(BrokenPipeError), requests:
                requests.write(json.dumps(request).encode() + b"\n")
                requests.write(content or b"")
            for line in answers:
                answer = json.loads(line)
                self.share = answer.get("share", self.share)
            process.wait()
            if self.is_stopped:
                raise DataError(f"reading {self._title} was stopped.")
            if "refused" in answer:
                raise DataError(*answer["refused"])
            if process.returncode > 0:
                raise DataError(
                    f"{self._title} met an error that nobody foresaw: please report what the app"
                    " prints where it was started."
                )
            if process.returncode or "kind" not in answer:
                raise room.refusal(f"what reads {self._title} ended before it was done", limit)
            return _table(place.name) if answer["kind"] == "table" else _rows(place.name)


class Encoding(Task):
    """The features of a table of texts, which a thread makes."""

    def __init__(self, make: Callable[[], FeatureSet]) -> None:
        super().__init__("Reading the rows …", lambda: self._run(make))

    @property
    def rows(self) -> FeatureSet:
        """The rows. Raises Cancelled: it was stopped. DataError: why they cannot be used."""
        rows: FeatureSet = self._outcome.result()
        return rows

    def _run(self, make: Callable[[], FeatureSet]) -> FeatureSet:
        with report_progress(lambda unit: functools.partial(self._tell, unit)):
            return make()

    def _tell(self, unit: str, done: int, total: int, message: str = "", /) -> None:
        far = f"{done:,} of {total:,} {unit}"
        self.share = done / total
        self.said = f"{far} {'became numbers' if unit == TEXTS else message} …"
        if self.is_stopped:
            raise Cancelled(f"Stopped after {far}: nothing was kept.")


def _in_thread(make: Callable[[], Any]) -> Future[Any]:
    """What `make` gives, to come from a thread that keeps nobody from ending."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(make())
        except BaseException as error:  # noqa: BLE001 - whoever asks for the outcome raises it
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return outcome


def prepare() -> None:
    """Starts the process that reads the next file, unless there is one, or the machine starts
    none."""
    with _STARTING, contextlib.suppress(OSError):
        if not _READY:
            _READY.append(_start())


def _table(path: str) -> "pd.DataFrame":
    import pyarrow

    with pyarrow.memory_map(path) as mapped:
        table: pd.DataFrame = pyarrow.ipc.open_file(mapped).read_all().to_pandas()
    return table


def _rows(path: str) -> FeatureSet | Dataset:
    arrays = codec.map_npz(path)
    for name in arrays.get("stored_rows", ()):  # decoding keeps large sets in the store
        stored = store.default().get_arrays(str(name), mmap=True)
        if stored is None:
            raise DataError("the cache is too small for these rows: raise PILLAR_CACHE_BYTES.")
        arrays["x_train"] = stored["rows_0"]
        if "y_test" in arrays:
            arrays["x_test"] = stored["rows_1"]
    return unpack(arrays)


def _take_process() -> subprocess.Popen[bytes]:
    with _STARTING:
        while _READY:
            process = _READY.pop()
            if process.poll() is None:
                return process
            process.communicate()
    try:
        return _start()
    except OSError as error:
        raise DataError(
            f"this machine starts no process that could read the file ({error}): try again later."
        ) from error


@atexit.register
def _end() -> None:
    while _READY:
        _READY[-1].kill()
        _READY.pop().communicate()


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", "from pillar_core.data.reader import serve; serve()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=installation.environment() | {"ARROW_DEFAULT_MEMORY_POOL": "system"},
    )


def serve() -> None:
    """Waits for a file on standard input, reads it within its memory, writes what it holds, and
    ends."""
    import pandas  # noqa: F401  # while nobody waits
    import PIL.Image  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a reader prints is no answer
    request = json.loads(requests.readline() or "null")
    if request is None:  # whoever would have asked has ended
        return
    os.environ["PILLAR_CACHE"] = request["cache"]
    shares = [0]

    def tell(**answer: Any) -> None:
        print(json.dumps(answer), file=answers, flush=True)

    def progress(done: int, total: int, _message: str = "", /) -> None:
        if done * 100 // total > shares[-1]:
            shares[:] = [done * 100 // total]
            tell(share=shares[-1] / 100)

    try:
        content = requests.read() if request["is_sent"] else request["name"]
        with (
            room.limited(request["limit"], Path(request["name"]).name),
            open(request["into"], "wb") as out,
        ):
            kind = _write(content, request, out, progress)
        tell(kind=kind)
    except PillarError as error:
        tell(refused=error.problems)


def _write(content: bytes | str, request: dict[str, Any], out: BinaryIO, progress: Any) -> str:
    """Writes the table or the rows that were read, and says which."""
    import pyarrow

    ending = frames.ending_of(request["name"])
    if ending in TABLES:
        frame = frames.frame_of(open_source(content), ending, as_written=request["as_written"])
        table = pyarrow.Table.from_pandas(frame, preserve_index=False)
        with pyarrow.ipc.new_file(out, table.schema) as sink:
            sink.write_table(table)
        return "table"
    keys = request["keys"]
    rows = reading.load(
        content,
        raw.Roles(keys=None if keys is None else tuple(keys)),
        filename=request["name"] if request["is_sent"] else "",
        progress=progress,
    )
    arrays = pack(rows)
    if isinstance(rows, Dataset) and rows.stored_rows:
        del arrays["x_train"]
        arrays.pop("x_test", None)
    codec.write_npz(arrays, out)
    return "rows"
