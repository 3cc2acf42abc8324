"""A web server on the loopback that sends files from memory, well or badly, and data sets in the
layouts of their sources."""

import contextlib
import dataclasses
import gzip
import hashlib
import http.server
import io
import json
import pickle
import re
import struct
import tarfile
import threading
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import numpy as np
import pytest

from pillar_core.arrays import Array

PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
HUB_FILE = re.compile(r"/(?:datasets/)?([\w.-]+/[\w.-]+)/resolve/[^/]+/(.+)")
HUB_API = re.compile(r"/api/(?:datasets|models)/([\w.-]+/[\w.-]+)(/.*)?")
COMMIT = "0123456789abcdef0123456789abcdef01234567"
PAGE = b"<!DOCTYPE html><html><body>Please log in to the network.</body></html>"


@dataclasses.dataclass
class Served:
    """Files by name, and how badly they are sent. `asked` counts requests, `sent` the bytes of
    answers.

    A name is the end of an address, its whole path, or for a repository of a hub
    `<owner>/<name>/<file>`. cut: a dead line after half of what is left; stalled: the same, but the
    line stays open (a hub's breaks once); typed: content types by name; pages: repositories for
    which a proxy answers; published: checksums that a hub says wrongly.
    """

    files: dict[str, bytes]
    address: str = ""
    has_ranges: bool = False
    cut: set[str] = dataclasses.field(default_factory=set)
    stalled: set[str] = dataclasses.field(default_factory=set)
    typed: dict[str, str] = dataclasses.field(default_factory=dict)
    pages: set[str] = dataclasses.field(default_factory=set)
    published: dict[str, str] = dataclasses.field(default_factory=dict)
    asked: Counter[str] = dataclasses.field(default_factory=Counter)
    sent: Counter[str] = dataclasses.field(default_factory=Counter)
    released: threading.Event = dataclasses.field(default_factory=threading.Event)
    gate: threading.Event = dataclasses.field(default_factory=threading.Event)


@contextlib.contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Served]:
    """The server, with its address, until the block ends."""
    served = Served(files)
    served.gate.set()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = urllib.parse.parse_qs(
                self.rfile.read(int(self.headers["Content-Length"])).decode()
            )
            self._about_repository(asked.get("paths"))

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = urllib.parse.unquote(self.path.partition("?")[0])
            in_hub = HUB_FILE.fullmatch(path)
            if path.startswith("/api/") and path not in served.files:
                self._about_repository()
                return
            name = (
                "/".join(in_hub.groups())
                if in_hub
                else path
                if path in served.files
                else path.rpartition("/")[2]
            )
            served.asked[name] += 1
            if in_hub and in_hub[1] in served.pages:
                self._answer(PAGE, "text/html")
                return
            if name not in served.files:
                is_held = in_hub and any(one.startswith(f"{in_hub[1]}/") for one in served.files)
                self._answer(b"", status=404, error="EntryNotFound" if is_held else "RepoNotFound")
                return
            content, begin = served.files[name], 0
            asked = self.headers.get("Range")
            if served.has_ranges and asked:
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header(
                    "Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}"
                )
            else:
                self.send_response(200)
            rest = content[begin:]
            self.send_header("Content-Length", str(len(rest)))
            self.send_header("Content-Type", served.typed.get(name, "application/octet-stream"))
            if in_hub:
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header(
                    "ETag", f'"{served.published.get(name) or hashlib.sha256(content).hexdigest()}"'
                )
            self.end_headers()
            if self.command == "HEAD":
                return
            is_short, is_stalled = name in served.cut | served.stalled, name in served.stalled
            if in_hub:
                served.cut.discard(name)
                served.stalled.discard(name)
            part = rest[: max(1, len(rest) // 2)] if is_short else rest
            with contextlib.suppress(ConnectionError):
                self.wfile.write(part[: len(part) // 2])
                served.gate.wait()
                self.wfile.write(part[len(part) // 2 :])
                served.sent[name] += len(part)
                if is_stalled:
                    self.wfile.flush()
                    served.released.wait()

        def _about_repository(self, paths: list[str] | None = None) -> None:
            """What a hub says of a repository: its newest commit, or its files."""
            found = HUB_API.fullmatch(urllib.parse.unquote(self.path.partition("?")[0]))
            repository, what = (found[1], found[2] or "") if found else ("", "")
            start = f"{repository}/"
            held = {
                name.removeprefix(start): content
                for name, content in served.files.items()
                if name.startswith(start)
            }
            if repository in served.pages:
                self._answer(PAGE, "text/html")
            elif not held:
                self.send_error(404)
            elif what.startswith(("/tree", "/paths-info")):
                folder = what.split("/", 3)[3] + "/" if what.count("/") > 2 else ""
                folders = {
                    str(parent)
                    for name in held
                    for parent in PurePosixPath(name).parents
                    if parent.name
                }
                entries = [{"type": "directory", "path": name, "oid": COMMIT} for name in folders]
                entries += [
                    {"type": "file", "path": name, "size": len(content), "oid": COMMIT}
                    for name, content in held.items()
                ]
                listed = [
                    one
                    for one in entries
                    if (one["path"] in paths if paths else str(one["path"]).startswith(folder))
                ]
                self._answer(json.dumps(listed).encode())
            else:
                siblings = [
                    {"rfilename": name, "size": len(content)} for name, content in held.items()
                ]
                about = {
                    "id": repository,
                    "sha": COMMIT,
                    "siblings": siblings,
                    "cardData": {"license": "cc0-1.0"},
                    "private": False,
                }
                self._answer(json.dumps(about).encode())

        def _answer(
            self,
            content: bytes,
            kind: str = "application/json",
            *,
            status: int = 200,
            error: str = "",
        ) -> None:
            self.send_response(status)
            self.send_header("X-Error-Code", error)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(content if self.command != "HEAD" else b"")

        def log_message(self, *_: object) -> None:
            """Quiet."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        served.address = f"http://127.0.0.1:{server.server_address[1]}/"
        yield served
        served.released.set()
        served.gate.set()
        server.shutdown()
        thread.join()


def without_proxies(patch: pytest.MonkeyPatch) -> None:
    """Has the loopback asked directly."""
    for name in PROXIES:
        patch.delenv(name, raising=False)


def md5(content: bytes) -> str:
    """The checksum that torchvision and MedMNIST publish."""
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def mnist(x: Array, y: Array, n_train: int) -> dict[str, bytes]:
    """MNIST's four archives."""
    files = {}
    for side, rows in {"train": slice(None, n_train), "t10k": slice(n_train, None)}.items():
        files[f"{side}-images-idx3-ubyte.gz"] = gzip.compress(idx(x[rows]), mtime=0)
        files[f"{side}-labels-idx1-ubyte.gz"] = gzip.compress(idx(y[rows]), mtime=0)
    return files


def idx(values: Array) -> bytes:
    """A file of the idx format."""
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


def cifar_batch(x: Array, y: Array, key: str = "labels", protocol: int = 2) -> bytes:
    """A pickled batch of images (n, h, w, 3)."""
    flat = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).reshape(len(x), -1)
    names = ["a.png"] * len(x)
    batch = {"batch_label": "a batch", "data": flat, key: y.tolist(), "filenames": names}
    return pickle.dumps(batch, protocol)


def cifar_batches(x: Array, y: Array, protocol: int = 2) -> dict[str, bytes]:
    """CIFAR-10's batches: five for training, the last sixth for the test; and the classes' names."""
    parts = np.array_split(np.arange(len(x)), 6)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    meta = {"label_names": [f"class{code}" for code in range(10)]}
    return {
        name: cifar_batch(x[rows], y[rows], protocol=protocol)
        for name, rows in zip(names, parts, strict=True)
    } | {"batches.meta": pickle.dumps(meta, protocol)}


def cifar10(x: Array, y: Array) -> bytes:
    """CIFAR-10's tar of its batches."""
    return tarred(
        {f"cifar-10-batches-py/{name}": part for name, part in cifar_batches(x, y).items()}
    )


def tarred(files: dict[str, bytes]) -> bytes:
    """A packed tar of these files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


def checksums(content: bytes) -> dict[str, str]:
    """The checksums of the files in a tar, by their last names."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {
            name.rpartition("/")[2]: md5(archive.extractfile(name).read())
            for name in archive.getnames()
        }


def medmnist(x: Array, y: Array) -> bytes:
    """A npz with MedMNIST's keys; two images for validation, half of the rest for the test."""
    half = len(y) // 2
    stream = io.BytesIO()
    sides = {"train": slice(2, half), "val": slice(2), "test": slice(half, None)}
    arrays = {
        f"{side}_{what}": value[rows]
        for side, rows in sides.items()
        for what, value in (("images", x), ("labels", y.reshape(len(y), -1)))
    }
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet(x: Array, y: Array) -> bytes:
    """A split of a hub's images, as the library `datasets` writes it."""
    import datasets
    from PIL import Image

    pictures = []
    for pixels in x:
        stream = io.BytesIO()
        Image.fromarray(pixels).save(stream, "png")
        pictures.append({"bytes": stream.getvalue(), "path": None})
    names = datasets.ClassLabel(names=[f"class{code}" for code in range(int(y.max()) + 1)])
    table = datasets.Dataset.from_dict(
        {"image": pictures, "label": y.tolist()},
        features=datasets.Features({"image": datasets.Image(), "label": names}),
    )
    stream = io.BytesIO()
    table.to_parquet(stream)
    return stream.getvalue()


ARFF = (
    b"@relation tiny\n@attribute V1 numeric\n@attribute V2 numeric\n@attribute class {yes,"
    b" no}\n@data\n"
    + b"".join(b"%d,%d,%b\n" % (row, -row, b"yes" if row % 2 else b"no") for row in range(20))
)


def openml(number: int, name: str, rows: bytes = ARFF) -> dict[str, bytes]:
    """What openml.org answers about a table, by path."""
    place = f"/data/v1/download/{number}/{name}.arff"
    features = [("V1", "numeric"), ("V2", "numeric"), ("class", "nominal")]
    about = {
        "id": str(number), "name": name, "version": "1", "format": "ARFF", "status": "active", "file_id": str(number),
        "default_target_attribute": "class", "md5_checksum": md5(rows), "description": "tiny", "url": f"https://openml.org{place}",
    }  # fmt: skip
    plain = {"number_of_missing_values": "0", "is_ignore": "false", "is_row_identifier": "false"}
    listed = [
        {
            "index": str(at),
            "name": title,
            "data_type": kind,
            "is_target": str(title == "class").lower(),
            **plain,
        }
        for at, (title, kind) in enumerate(features)
    ]
    answers = {
        f"{number}": {"data_set_description": about},
        f"features/{number}": {"data_features": {"feature": listed}},
        f"qualities/{number}": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "20"}]}
        },
        f"list/data_name/{name}/limit/2/status/active/": {
            "data": {"dataset": [{"did": number, "version": 1}]}
        },
    }
    return {
        f"/api/v1/json/data/{path}": json.dumps(answer).encode() for path, answer in answers.items()
    } | {place: rows}
