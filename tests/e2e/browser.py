"""A server of our own and a real browser, started and ended by the test that asks."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
CHROMIUM = Path(os.environ.get("PILLAR_CHROMIUM", "/usr/bin/chromium"))
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]
START_SECONDS = 60.0
PATIENCE_MS = 120_000


def require_chromium() -> None:
    """Skips the test, saying why, where there is no browser or no driver."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM} (set PILLAR_CHROMIUM)")


@contextlib.contextmanager
def server(cache: Path) -> Iterator[str]:
    """The address of a fresh app whose cache is `cache`; it ends with the block."""
    port = _free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(REPOSITORY / "app.py"), "--server.port", str(port)]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none"]
    environment = os.environ | {"PILLAR_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, cwd=REPOSITORY, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, process)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the app ended at its start with status {process.returncode}")
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
            if answer.status == 200:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the app did not answer at {address} within {START_SECONDS:.0f} s")
