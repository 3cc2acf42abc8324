"""A server of our own, a real browser, and what the tests do and expect in it; every expectation
waits until it comes true."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from repository import REPOSITORY

from processes import started

CHROMIUM = Path(os.environ.get("PILLAR_CHROMIUM", "/usr/bin/chromium"))
CHROMIUM_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
    (  # a visit is too short for compiling to pay
        "--js-flags=--no-opt,--no-maglev,--no-enable-lazy-source-positions"
    ),
]
STILL = """addEventListener("DOMContentLoaded", () => document.head.append(Object.assign(document.createElement("style"), {
  textContent: "*, ::before, ::after { animation: none !important }"
})))"""
"""A sign that turns while the server works takes a fifth of a core for it."""
WINDOW = {"width": 1280, "height": 900}
START_SECONDS = 480.0
PATIENCE_MS = 480_000
ONE_LOOK_MS = 5_000
ROW_PIXELS = 35
"""Of a row of a table, and of its header."""
BUSY = '[data-testid="stStatusWidget"], [data-testid="stSpinner"], [data-stale="true"]'
ERRORS = '[data-testid="stException"], [data-testid="stAlertContentError"]'


def require_chromium() -> None:
    """Skips the test, saying why, where there is no browser or no driver."""
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM} (set PILLAR_CHROMIUM)")


@contextlib.contextmanager
def server(cache: Path) -> Iterator[str]:
    """The address of a fresh app whose cache is `cache`; it ends with the block."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "streamlit",
        "run",
        str(REPOSITORY / "app.py"),
        "--server.port",
        str(port),
    ]
    command += ["--server.headless", "true", "--server.fileWatcherType", "none"]
    environment = os.environ | {"PILLAR_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    with started(
        command,
        cwd=REPOSITORY,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        address = f"http://127.0.0.1:{port}"
        wait(address, process)
        yield address


def expect(subject: Any) -> Any:
    """Playwright's assertions, which look again until they hold, as long as a busy machine may
    need."""
    from playwright.sync_api import expect as patiently

    patiently.set_options(timeout=PATIENCE_MS)
    return patiently(subject)


def settled(tab: Any) -> None:
    """Waits until the app has nothing left to do."""
    tab.wait_for_timeout(500)
    until(tab, "selector => document.querySelectorAll(selector).length === 0", BUSY)


def until(tab: Any, condition: str, argument: Any = None) -> Any:
    """What a function of the page gives once it gives something; asked ten times a second, as each
    frame would keep the page drawing."""
    return tab.wait_for_function(condition, arg=argument, polling=100)


def opened(tab: Any, url: str) -> None:
    """Opens an address and waits for the page's title."""
    tab.goto(url)
    tab.wait_for_selector('[data-testid="stMain"] h1')
    settled(tab)


def metric(tab: Any, label: str) -> Any:
    """The value under a label."""
    box = (
        tab.locator('[data-testid="stMetric"]')
        .filter(has=tab.locator(f'label:has-text("{label}")'))
        .first
    )
    return box.locator('[data-testid="stMetricValue"]')


def move(tab: Any, name: str, key: str, *, to: str) -> None:
    """Moves a slider, given by the beginning of its name, with the keyboard until it says `to`."""
    slider = tab.get_by_role("slider", name=name)
    expect(slider).to_have_count(1)  # a page that is drawn anew may show the old one for a moment
    while (before := slider.get_attribute("aria-valuetext")) != to:
        slider.focus()
        slider.press(key)
        expect(slider).not_to_have_attribute("aria-valuetext", before)
        settled(tab)


def choose(tab: Any, field: str, option: str) -> None:
    """Takes an option of a select box; a page that is drawn anew meanwhile closes the list, which
    is then opened again."""
    from playwright.sync_api import TimeoutError as NotThere

    for _ in range(PATIENCE_MS // ONE_LOOK_MS):
        tab.locator(f".st-key-{field} input").first.click()
        with contextlib.suppress(NotThere):
            return tab.get_by_role("option", name=option, exact=True).click(timeout=ONE_LOOK_MS)
    raise AssertionError(f"no option {option!r} in {field}")


def edit(tab: Any, table: str, row: int, place: int, value: str) -> None:
    """Writes a value into a cell of a table to edit, which is drawn on a canvas: a click on the
    row's first cell, and then by keys."""
    rows = tab.locator(f"[class*=st-key-{table}] .dvn-scroller").first
    rows.click(position={"x": 40, "y": ROW_PIXELS * (row + 1) + ROW_PIXELS / 2})
    for key in (*["ArrowRight"] * place, "Enter"):
        tab.keyboard.press(key)
    tab.locator("[id^=gdg-overlay]").wait_for()
    tab.keyboard.type(value, delay=30)
    tab.keyboard.press("Enter")
    settled(tab)


def expect_in_link(tab: Any, *parts: str) -> None:
    """The address comes to hold every part."""
    each = (f"(?=.*{re.escape(part).replace(':', '(:|%3A)')}(&|;|%3B|$))" for part in parts)
    expect(tab).to_have_url(re.compile("".join(each)))


def expect_no_error(tab: Any) -> None:
    """Neither an exception nor an error box is shown."""
    expect(tab.locator(ERRORS)).to_have_count(0)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait(address: str, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the app ended at its start with status {process.returncode}")
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=20) as answer,
        ):
            if answer.status == 200:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the app did not answer at {address} within {START_SECONDS:.0f} s")
