"""Files that are whole or not there, and locks that go with their process."""

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from pillar_core.errors import StoreError

R = TypeVar("R")
TEMPORARY: Final = ".writing-"


def write_whole(
    path: Path, fill: Callable[[BinaryIO], object], *, claim: Callable[[Path], R], sync: bool = True
) -> R:
    """What `claim` says of the finished file beside `path` that `fill` wrote, for its owner alone;
    `claim` gives it its name.

    sync: whether it is on the disk before that, as what outlives a power cut must be.
    Raises OSError: nothing is left behind.
    """
    temporary = path.with_name(f"{TEMPORARY}{os.getpid()}-{secrets.token_hex(6)}")
    try:
        with os.fdopen(
            os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b"
        ) as file:
            fill(file)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        return claim(temporary)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


@contextlib.contextmanager
def writable(place: Path | str, kept: str = "") -> Iterator[None]:
    """Around work on files at `place`. Raises StoreError: what the disk refused, what of the work
    is `kept`, and what to do."""
    try:
        yield
    except (BrokenPipeError, StoreError):
        raise
    except OSError as error:
        is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        way = (
            "Free space on that disk, for instance with"
            " `pillar_core.store.default().prune(max_bytes)`, or name"
            if is_full
            else "Name"
        )
        raise StoreError(
            f"{place} could not be read or written ({error.strerror or error}). {kept}{way} a place"
            " on another disk or in another folder; for the cache with PILLAR_CACHE."
        ) from error


def check_room(path: Path, n_bytes: int) -> None:
    """Refuses a place that takes no file of this size now; what lies there stays as it is.

    Raises StoreError: what the disk would refuse, and what to do.
    """
    with writable(path):
        if path.is_file() or path.is_dir():
            os.close(os.open(path, os.O_WRONLY))
        elif not path.exists():
            write_whole(path, lambda file: None, claim=lambda written: None, sync=False)
        if shutil.disk_usage(path.parent).free < n_bytes:
            raise OSError(
                errno.ENOSPC,
                f"less than the {n_bytes / 2**20:,.1f} MiB are free that may be needed",
            )


def try_lock(path: Path) -> int | None:
    """A file descriptor that holds the lock at `path`, or None while somebody else does.

    The kernel drops the lock with its last holder, however that one ends.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


@contextlib.contextmanager
def waiting_for(lock: Callable[[], int | None], *, told: Callable[[], object]) -> Iterator[None]:
    """Holds what `lock` gives (as `try_lock`); `told` is called five times a second while somebody
    else has it; it may raise."""
    while (descriptor := lock()) is None:
        told()
        time.sleep(0.2)
    try:
        yield
    finally:
        os.close(descriptor)
