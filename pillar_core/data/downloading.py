"""The one place where files of data sets come over the network: bounded, resumed, checked before
they take their name.

A file grows as `<name>.partial`. `PILLAR_MIRROR`, an address, is asked for every file by its name
in place of the file's source (OpenML's by the path of their address); the checksums stay those of
the source. What a hub holds is fetched by its own library, which has a setting for mirrors
(HF_ENDPOINT) and resumes by itself.
"""

import contextlib
import dataclasses
import errno
import hashlib
import http.client
import os
import shutil
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import urllib.response
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from pillar_core.errors import Cancelled
from pillar_core.types import Progress, StopRequested

PARTIAL = ".partial"
MIRROR_VARIABLE = "PILLAR_MIRROR"
STALLED_SECONDS, PAUSE_SECONDS = 30.0, 1.0
BOUND = 2.0
"""A file larger than this many times what the card says of the set is another file."""
_PAGE = (
    "sent a web page in place of the file: a proxy, a login or a firewall answers for the source."
    " Open the address in a browser"
)


class DownloadFailedError(RuntimeError):
    """A file could not be had; `places.fetching` adds what else to do."""


@dataclasses.dataclass
class _Watch:
    progress: Progress
    cancelled: StopRequested
    bytes_before: int = 0


_WATCH: ContextVar[_Watch | None] = ContextVar("watch", default=None)
_CHANGED = threading.RLock()
"""Held while a function of another package is ours."""


@contextlib.contextmanager
def report_progress(progress: Progress, cancelled: StopRequested = lambda: False) -> Iterator[None]:
    """Meanwhile downloads tell `progress` their bytes, and stop with `Cancelled` where `cancelled`
    says so."""
    watch = _Watch(progress, cancelled)
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
    if watch.bytes_before:
        progress(watch.bytes_before, watch.bytes_before)


def report(count: int = 0, total: int = 0, message: str = "") -> None:
    """Tells whoever watches how far it is. Raises Cancelled: they want it stopped."""
    watch = _WATCH.get()
    if watch is None:
        return
    if watch.cancelled():
        raise Cancelled(
            "the download was stopped; what came is kept, and the next one goes on from there."
        )
    if total:
        watch.progress(watch.bytes_before + count, max(total, watch.bytes_before + count), message)


def has(path: Path, checksum: str) -> bool:
    """Whether the file is there with this checksum: "md5:<hex>", or "git:<hex>" for what git calls
    the content."""
    if not path.is_file():
        return False
    kind, _, wanted = checksum.partition(":")
    state = hashlib.new("sha1" if kind == "git" else kind, usedforsecurity=False)
    if kind == "git":
        state.update(f"blob {path.stat().st_size}\0".encode())
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: state).hexdigest() == wanted


def get(
    url: str, path: Path, *, checksum: str = "", size: int | None = None, mirrored: str = ""
) -> None:
    """Puts the file at `url` to `path`, whole or not at all, and goes on with what an earlier call
    left.

    size: bytes of the data set that it is part of, as its card says. mirrored: what a mirror is
    asked for, where not for the name.

    Raises DownloadFailedError: the source or the line does not give it, it is another file, or it
    does not fit on the disk. Cancelled: who watches wants it stopped.
    """
    mirror = os.environ.get(MIRROR_VARIABLE, "").rstrip("/")
    url = f"{mirror}/{mirrored or path.name}" if mirror else url
    if not url.startswith(("http://", "https://")):
        raise DownloadFailedError(f"{url} is no address of a web server; see {MIRROR_VARIABLE}.")
    partial, tries = path.with_name(path.name + PARTIAL), 0
    while reason := _try_stream(url, partial, had := _length(partial), size):
        if tries == 3:  # tries in a row that bring nothing new
            raise DownloadFailedError(f"{url}: {reason}, after {_megabytes(_length(partial))}")
        tries = 0 if _length(partial) > had else tries + 1
        if tries:
            time.sleep(PAUSE_SECONDS)
        report()
    if checksum and not has(partial, checksum):
        partial.unlink()
        raise DownloadFailedError(
            f"what {url} sent has another checksum than published: it was damaged on the way, or"
            " replaced"
        )
    watch = _WATCH.get()
    if watch is not None:
        watch.bytes_before += partial.stat().st_size
    partial.replace(path)


@contextlib.contextmanager
def for_torchvision(size: int | None) -> Iterator[None]:
    """Meanwhile torchvision's downloads go through `get`. It has no setting for that: its own
    opener has no timeout and no resume."""
    from unittest.mock import patch

    from torchvision.datasets import utils

    def retrieve(url: str, filename: str, **_: Any) -> None:
        get(url, Path(filename), size=size)

    with (
        _CHANGED,
        patch.multiple(utils, _get_redirect_url=lambda url, **_: url, _urlretrieve=retrieve),
    ):
        yield


@contextlib.contextmanager
def for_openml(place: Path) -> Iterator[None]:
    """Meanwhile scikit-learn's downloads of OpenML go through `get`, by files in `place`: its own
    opener has no timeout and no resume.

    What it keeps and deletes by the path of an address, which a table names itself, lies in
    `place`.
    """
    from unittest.mock import patch

    from sklearn.datasets import _openml

    original_path = _openml._get_local_path

    def open_url(request: urllib.request.Request) -> urllib.response.addinfourl:
        name = urllib.parse.urlsplit(request.full_url).path.strip("/")
        path = place / name.replace("/", "-")
        try:
            get(request.full_url, path, mirrored=name)
        except DownloadFailedError as error:
            if (
                isinstance(error.__cause__, urllib.error.HTTPError)
                and error.__cause__.code == http.HTTPStatus.PRECONDITION_FAILED
            ):
                # OpenML's way to say that there is no such table, which scikit-learn understands
                raise error.__cause__ from error
            raise
        stream = path.open("rb")
        path.unlink()
        return urllib.response.addinfourl(stream, http.client.HTTPMessage(), request.full_url)

    def local_path(name: str, data_home: str) -> str:
        path: str = original_path(name, data_home)
        if not Path(path).resolve().is_relative_to(place.resolve()):
            raise DownloadFailedError(
                "the table names an address whose file would lie outside its folder: refused"
            )
        return path

    with _CHANGED, patch.multiple(_openml, urlopen=open_url, _get_local_path=local_path):
        yield


@contextlib.contextmanager
def for_hub() -> Iterator[None]:
    """Meanwhile whoever watches is told what huggingface_hub fetches, whichever package calls it,
    and can stop it."""
    from unittest.mock import patch

    from huggingface_hub.utils.tqdm import tqdm

    original, count, totals = tqdm.update, 0, {}

    def update(bar: Any, n: float = 1) -> Any:
        nonlocal count
        count, totals[id(bar)] = count + int(n), int(bar.total or 0)
        report(count, max(count, sum(totals.values())), _megabytes(count))
        return original(bar, n)

    with _CHANGED, patch.object(tqdm, "update", update):
        yield


def _try_stream(url: str, partial: Path, had: int, size: int | None) -> str:
    """ "" when the file is whole; else why it is not, though another try may help."""
    try:
        _stream(url, partial, had, size)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and had:
            partial.unlink()
            return "the file has changed"
        if error.code < 500 and error.code != http.HTTPStatus.TOO_MANY_REQUESTS:
            raise DownloadFailedError(
                f"{url} answers {error.code} {error.reason}: the file has moved, or needs a login"
            ) from error
        return f"the server answers {error.code} {error.reason}"
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise _full(partial, f"{_megabytes(_length(partial))} are kept") from error
        return f"the line broke ({error})"
    return ""


def _stream(url: str, partial: Path, had: int, size: int | None) -> None:
    request = urllib.request.Request(
        url,
        headers={"User-Agent": "pillar-explorer", **({"Range": f"bytes={had}-"} if had else {})},
    )
    with urllib.request.urlopen(request, timeout=STALLED_SECONDS) as answer:
        start = had if answer.status == http.HTTPStatus.PARTIAL_CONTENT else 0
        if start and not answer.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            partial.unlink()
            raise ConnectionError("the server sent another part than asked for")
        total = None if answer.length is None else start + answer.length
        _refuse(url, answer.headers.get_content_type() == "text/html", total, size)
        free = shutil.disk_usage(partial.parent).free
        if total is not None and free < total - start:
            raise _full(
                partial, f"{_megabytes(total - start)} are to come, {_megabytes(free)} are free"
            )
        count = start
        with partial.open("ab" if start else "wb") as file:
            while chunk := answer.read1(2**18):
                count += len(chunk)
                _refuse(
                    url,
                    count == len(chunk)
                    and chunk.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")),
                    count,
                    size,
                )
                file.write(chunk)
                of_all = f" of {_megabytes(total)}" if total else ""
                report(
                    count,
                    max(size or 0, total or count),
                    f"{partial.name.removesuffix(PARTIAL)}: {_megabytes(count)}{of_all}",
                )
    if total is not None and count < total:
        raise ConnectionError(f"{count:,} of {total:,} bytes came")


def _refuse(url: str, is_page: bool, length: int | None, size: int | None) -> None:
    if is_page:
        raise DownloadFailedError(f"{url} {_PAGE}")
    if size is not None and length is not None and length > BOUND * size:
        raise DownloadFailedError(
            f"{url} sends {_megabytes(length)} or more where the whole set has {_megabytes(size)}:"
            " it is another file"
        )


def _full(partial: Path, words: str) -> DownloadFailedError:
    return DownloadFailedError(
        f"the disk of {partial.parent} is full ({words}): free space there, or set PILLAR_DATA to a"
        " folder on another disk"
    )


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _megabytes(count: int) -> str:
    return f"{count / 2**20:,.1f} MB"
