"""Where real data sets lie on this machine, and what to say when one is not there or cannot be
fetched.

`PILLAR_DATA`, else `datasets` in the cache folder, holds one folder for each data set. The setting
`root` of a data set names another place: a folder, or the file that the source hands out.
"""

import collections
import contextlib
import dataclasses
import functools
import http.client
import itertools
import os
import shutil
import struct
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

from pillar_core import store
from pillar_core.data import downloading
from pillar_core.data.parts import IMAGE_ENDINGS, place_of
from pillar_core.errors import DataError, MissingDependencyError, PillarError
from pillar_core.extras import how_to_get, needed
from pillar_core.fingerprint import fingerprint
from pillar_core.params import Param, setting
from pillar_core.store.files import try_lock, waiting_for
from pillar_core.types import Dataset

ROOT = Param(
    "root",
    str,
    None,
    "Folder or file that holds the data set, as its source hands it out.",
    none_means="its place in the data folder",
)
LOOKED_AT, MOST_LISTED = 200, 5_000
"""Files and folders of a folder that are looked at for a change, and names of one folder that are
read: pages and runs ask often."""
UNFINISHED = ".download-unfinished"
FOREIGN = (
    ("scipy.io.matlab", "MatReadError"),
    ("datasets.exceptions", "DatasetsError"),
    ("httpx", "HTTPError"),
    ("httpx2", "HTTPError"),
)
FETCHING_FAILS: tuple[type[Exception], ...] = (
    OSError,
    RuntimeError,
    ValueError,
    EOFError,
    http.client.HTTPException,
    zlib.error,
)
READING_FAILS: tuple[type[Exception], ...] = (
    *FETCHING_FAILS,
    LookupError,
    TypeError,
    AssertionError,
    struct.error,
)
FETCH_COMMAND = "python -m pillar_core data {name} --download"


@dataclasses.dataclass(frozen=True)
class RootSettings:
    """The one setting of a data set that lies in files: where they are."""

    root: str | None = setting(ROOT)


def folder() -> Path:
    """The data folder: PILLAR_DATA, else `datasets` in the cache folder."""
    variable = os.environ.get("PILLAR_DATA")
    return Path(variable).expanduser().absolute() if variable else store.default().root / "datasets"


def home(name: str, root: str | None = None) -> Path:
    """Where the data set `name` is looked for: `root`, else a folder of its own in the data
    folder."""
    if root:
        return Path(root).expanduser().absolute()
    return folder() / name.replace(":", "-").replace("/", "--")


def is_filled(place: Path) -> bool:
    """Whether there is a file at `place`, or a folder that holds one and no unfinished download."""
    if place.is_dir():
        return not (place / UNFINISHED).exists() and any(
            path.is_file() for path in place.rglob("*")
        )
    return place.is_file()


def state_of(path: str | Path) -> str:
    """Text that changes when the file does, or one of the first LOOKED_AT files of the folder; ""
    where nothing can be looked at."""
    try:
        place = place_of(path)
        statuses = [place.stat(), *itertools.islice(_stamps(place), LOOKED_AT)]
    except (DataError, OSError, ValueError):
        return ""
    return (
        f"{len(statuses)}"
        f" {fingerprint(str(sorted((status.st_mtime_ns, status.st_size) for status in statuses)))}"
    )


def _stamps(folder: Path) -> Iterator[os.stat_result]:
    """The status of what lies in a folder, level by level, where links lead too; lists, tables and
    folders come before images.

    A folder's own status shows what was added to it or removed.
    """
    levels = collections.deque([folder] if folder.is_dir() else [])
    while levels:
        with contextlib.suppress(OSError), os.scandir(levels.popleft()) as entries:
            for member in sorted(
                itertools.islice(entries, MOST_LISTED),
                key=lambda member: member.name.lower().endswith(IMAGE_ENDINGS),
            ):
                with contextlib.suppress(
                    OSError
                ):  # a link to nowhere, or what this process may not look at
                    if member.is_dir():
                        levels.append(Path(member.path))
                    yield member.stat()


def forget(dataset: Dataset) -> int:
    """How many entries left the cache that decoding kept of these rows. The files that they came
    from stay where they are."""
    return sum(store.default().delete("arrays", key) for key in dataset.stored_rows)


def unfinished_note(place: Path) -> str:
    """A sentence where an interrupted download left its mark, else nothing."""
    if not (place / UNFINISHED).exists():
        return ""
    return (
        f"A download was interrupted there: fetch again, or delete {place / UNFINISHED} if you have"
        " put whole files beside it. "
    )


def foreign() -> tuple[type[Exception], ...]:
    """Exceptions of packages that readers use, of those packages that are loaded: none derives from
    a builtin that says more."""
    errors = [
        getattr(sys.modules[module], name, None)
        for module, name in FOREIGN
        if module in sys.modules
    ]
    return tuple(
        error for error in errors if isinstance(error, type) and issubclass(error, Exception)
    )


@contextlib.contextmanager
def readable(place: Path) -> Iterator[None]:
    """Turns what readers raise on damaged or foreign files into a refusal that names the place.

    Raises DataError: any such error. MissingDependencyError: a package that the reader needs is
    absent.
    """
    try:
        with needed(f"reading {place}"):
            yield
    except PillarError:
        raise
    except READING_FAILS + foreign() as error:
        raise DataError(
            f"{place} cannot be read as this data set ({error}): files are damaged, incomplete or"
            " arranged differently. Delete them and fetch or copy them again; the card says how"
            " they should lie."
        ) from error


@contextlib.contextmanager
def fetching(title: str, place: Path, by_hand: str) -> Iterator[None]:
    """Marks `place` as unfinished while it is being filled, and says what to do when the network
    fails.

    A folder that already holds files of the user's own is never marked, so nothing of theirs is
    ever thrown away. One fills a place at a time: whoever asks meanwhile waits, and should look
    inside whether there is anything left to fetch.

    Raises DataError: no network, a wrong checksum, or no room. Cancelled: whoever watches
    (`downloading.report_progress`) stopped it.
    """
    marker = place / UNFINISHED
    with contextlib.ExitStack() as stack:
        try:
            locks = folder() / "locks"
            locks.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = functools.partial(try_lock, locks / fingerprint(str(place)))
            waits = functools.partial(
                downloading.report, 0, 1, f"another download of {title} is under way"
            )
            stack.enter_context(waiting_for(lock, told=waits))
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            if marker.exists():
                _keep_archives(place)
            elif not any(place.iterdir()):
                marker.touch()
            yield
            marker.unlink(missing_ok=True)
        except PillarError:
            raise
        except ImportError as error:
            raise MissingDependencyError(
                f"fetching {title} needs {how_to_get(error)}. By hand: {by_hand}"
            ) from error
        except FETCHING_FAILS + foreign() as error:
            downloading.report()  # torchvision takes a stop for one more failure of a mirror
            if (
                marker.exists()
            ):  # nothing half-unpacked stays, and no mark where nothing is left to go on from
                _keep_archives(place)
                if not any(path.is_file() for path in place.rglob("*") if path != marker):
                    shutil.rmtree(place)
            words = " ".join(str(error).split())[:500]
            raise DataError(
                f"{title} could not be fetched ({type(error).__name__}: {words}). What was half"
                " fetched is never read: ask again and it goes on, or is fetched anew. Without a"
                f" network: {by_hand} Put it into {place}, or say where it lies with the setting"
                " root."
            ) from error


ARCHIVES = (downloading.PARTIAL, ".gz", ".tgz", ".tar", ".zip", ".mat", ".npz", ".bz2", ".xz")


def _keep_archives(place: Path) -> None:
    """Throws away what an interrupted download unpacked; archives stay, since their checksums are
    compared before use."""
    for path in sorted(place.rglob("*"), reverse=True):
        if path.is_file() and path.name != UNFINISHED and not path.name.endswith(ARCHIVES):
            path.unlink()
