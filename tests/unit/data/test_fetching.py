"""Fetching over HTTP from a server of our own, through torchvision: cut lines, wrong files, and what is fetched again."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.server
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from pillar_core.arrays import Array
from pillar_core.data import DATASETS, load_dataset, places
from pillar_core.errors import DataError
from unit.image_files import images_of, written


def _idx(values: Array) -> bytes:
    head = struct.pack(">HBB", 0, 8, values.ndim) + struct.pack(f">{values.ndim}I", *values.shape)
    return head + values.astype(np.uint8).tobytes()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Sends files from memory; those in `cut` stop half-way, as a dead line does."""

    files: dict[str, bytes]
    cut: set[str]
    asked: Counter[str]

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        name = self.path.strip("/")
        self.asked[name] += 1
        content = self.files[name]
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if name in self.cut else content)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextlib.contextmanager
def _server(files: dict[str, bytes]) -> Iterator[tuple[str, type[_Handler]]]:
    handler = type("Handler", (_Handler,), {"files": files, "cut": set(), "asked": Counter()})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", handler
        server.shutdown()
        thread.join()


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[tuple[type[_Handler], Array]]:
    """MNIST's four archives on a server, with their sums in place of the published ones."""
    x, y = images_of(60, (28, 28), 10)
    parts = {"train": (x[:40], y[:40]), "t10k": (x[40:], y[40:])}
    files = {}
    for side, (rows, labels) in parts.items():
        files[f"{side}-images-idx3-ubyte.gz"] = gzip.compress(_idx(rows), mtime=0)
        files[f"{side}-labels-idx1-ubyte.gz"] = gzip.compress(_idx(labels), mtime=0)
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path / "data"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with _server(files) as (address, handler):
        monkeypatch.setattr("torchvision.datasets.MNIST.mirrors", [address])
        sums = [(name, hashlib.md5(content).hexdigest()) for name, content in files.items()]
        monkeypatch.setattr("torchvision.datasets.MNIST.resources", sums)
        yield handler, x


def test_a_set_is_fetched_once_and_read_offline(served: tuple[type[_Handler], Array]) -> None:
    handler, x = served
    found = load_dataset("torchvision:mnist", download=True)
    np.testing.assert_array_equal(found.x_train, x[:40])
    assert DATASETS["torchvision:mnist"].is_here()
    asked = handler.asked.copy()
    load_dataset("torchvision:mnist", download=True)
    load_dataset("torchvision:mnist")
    assert handler.asked == asked


def test_a_cut_line_is_not_read_and_only_the_missing_archive_is_fetched_again(served: tuple[type[_Handler], Array]) -> None:
    handler, x = served
    last = "t10k-images-idx3-ubyte.gz"
    handler.cut.add(last)
    with pytest.raises(DataError, match=r"MNIST could not be fetched.*fetched anew.*Without a network"):
        load_dataset("torchvision:mnist", download=True)
    with pytest.raises(DataError, match="A download was interrupted there"):
        load_dataset("torchvision:mnist")
    handler.cut.clear()
    asked = handler.asked.copy()
    np.testing.assert_array_equal(load_dataset("torchvision:mnist", download=True).x_test, x[40:])
    assert handler.asked["train-images-idx3-ubyte.gz"] == asked["train-images-idx3-ubyte.gz"]
    assert handler.asked[last] > asked[last]


def test_what_a_killed_process_half_unpacked_is_unpacked_again(served: tuple[type[_Handler], Array]) -> None:
    """A kill between archive and unpacked file leaves the mark; the half file must not count as there."""
    _, x = served
    load_dataset("torchvision:mnist", download=True)
    place = places.home("torchvision:mnist")
    raw = place / "MNIST" / "raw"
    half = raw / "train-images-idx3-ubyte"
    half.write_bytes(half.read_bytes()[:1000])
    written(place, {places.UNFINISHED: b""})
    np.testing.assert_array_equal(load_dataset("torchvision:mnist", download=True).x_train, x[:40])
    assert not (place / places.UNFINISHED).exists()


def test_another_file_under_the_same_name_is_refused(served: tuple[type[_Handler], Array]) -> None:
    handler, _ = served
    name = "train-labels-idx1-ubyte.gz"
    handler.files[name] = gzip.compress(_idx(np.zeros(40)), mtime=0)
    with pytest.raises(DataError, match="could not be fetched"):
        load_dataset("torchvision:mnist", download=True)
    assert not DATASETS["torchvision:mnist"].is_here()


def test_the_command_fetches_and_reads(served: tuple[type[_Handler], Array], capsys: pytest.CaptureFixture[str]) -> None:
    from pillar_core.__main__ import main

    assert main(["data", "torchvision:mnist", "--download"]) == 0
    assert "40 train and 20 test rows of 28 × 28" in capsys.readouterr().out
