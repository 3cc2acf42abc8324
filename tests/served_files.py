"""A web server on the loopback that sends files from memory, well or badly, and data sets in the layouts of their sources."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import hashlib
import http.server
import io
import pickle
import struct
import tarfile
import threading
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from pillar_core.arrays import Array

PROXIES = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
PAGE = b"<!DOCTYPE html><html><body>Please log in to the network.</body></html>"


@dataclasses.dataclass
class Served:
    """Files by name, and how badly they are sent. `asked` counts requests, `sent` the bytes of answers.

    cut: a dead line after half of what is left; stalled: the same, but the line stays open; typed: content types by name.
    """

    files: dict[str, bytes]
    address: str = ""
    has_ranges: bool = False
    cut: set[str] = dataclasses.field(default_factory=set)
    stalled: set[str] = dataclasses.field(default_factory=set)
    typed: dict[str, str] = dataclasses.field(default_factory=dict)
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
        def do_GET(self) -> None:
            name = self.path.partition("?")[0].strip("/").rpartition("/")[2]
            served.asked[name] += 1
            if name not in served.files:
                self.send_error(404)
                return
            content, begin = served.files[name], 0
            asked = self.headers.get("Range")
            if served.has_ranges and asked:
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(content):
                    self.send_error(416)
                    return
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
            else:
                self.send_response(200)
            rest = content[begin:]
            self.send_header("Content-Length", str(len(rest)))
            self.send_header("Content-Type", served.typed.get(name, "application/octet-stream"))
            self.end_headers()
            is_short = name in served.cut | served.stalled
            part = rest[: max(1, len(rest) // 2)] if is_short else rest
            with contextlib.suppress(ConnectionError):
                self.wfile.write(part[: len(part) // 2])
                served.gate.wait()
                self.wfile.write(part[len(part) // 2 :])
                served.sent[name] += len(part)
                if name in served.stalled:
                    self.wfile.flush()
                    served.released.wait()

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


def cifar10(x: Array, y: Array) -> bytes:
    """CIFAR-10's tar of pickled batches: five for training, the last sixth for the test."""
    flat = np.ascontiguousarray(x.transpose(0, 3, 1, 2)).reshape(len(x), -1)
    parts = np.array_split(np.arange(len(x)), 6)
    names = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]
    files = {name: pickle.dumps({"data": flat[rows], "labels": y[rows].tolist()}, 2) for name, rows in zip(names, parts, strict=True)}
    files["batches.meta"] = pickle.dumps({"label_names": [f"class{code}" for code in range(10)]}, 2)
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in files.items():
            about = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
    return stream.getvalue()


def checksums(content: bytes) -> dict[str, str]:
    """The checksums of the files in a tar, by their last names."""
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return {name.rpartition("/")[2]: md5(archive.extractfile(name).read()) for name in archive.getnames()}


def medmnist(x: Array, y: Array) -> bytes:
    """A npz with MedMNIST's keys; two images for validation, half of the rest for the test."""
    half = len(y) // 2
    stream = io.BytesIO()
    sides = {"train": slice(2, half), "val": slice(2), "test": slice(half, None)}
    arrays = {f"{side}_{what}": value[rows] for side, rows in sides.items() for what, value in (("images", x), ("labels", y[:, None]))}
    np.savez(stream, **arrays)
    return stream.getvalue()
