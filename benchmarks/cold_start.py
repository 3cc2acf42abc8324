"""Seconds from the first request to the first result of Home and Explore: `python benchmarks/cold_start.py [repeats]`.

Each repeat starts a server of its own on an empty cache (the starter's records are there), waits until its health check answers and
opens a page in real Chromium. A second visit to the same server finds everything imported and computed: what is left of the time is the
browser's and the script's own, the difference is imports and first results. The CPU seconds of server and browser until the last landmark
change little with what else the machine does; the wall times are right only on idle cores. Medians.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import browser  # the end-to-end tests' server and browser
from playwright.sync_api import sync_playwright

IMPORTS = (
    ("import pillar_core", "import pillar_core"),
    ("import pillar_core, one pc.epsilon", "import pillar_core as pc; pc.epsilon(1.1, sampling_probability=0.02, steps=1000)"),
    ("import torch", "import torch"),
)
SHELL = '[data-testid="stApp"]'
LANDMARKS = {
    "": (("shell", SHELL), ("heading", '[data-testid="stMain"] h1'), ("hero", ".st-key-hero .main-svg")),
    "explore": (
        ("shell", SHELL),
        ("heading", '[data-testid="stMain"] h1'),
        ("accuracy", '[data-testid="stMetricValue"]'),
        ("figure", ".st-key-explore-figure .main-svg"),
    ),
}
PATIENCE_MS = 120_000
BACKGROUND_SECONDS = 8.0
"""For the imports in the background, so that the second visit does not share its cores with them."""


def main(repeats: int) -> None:
    """Prints CPU seconds of imports, then for each page the seconds until each landmark, first and second visit."""
    for words, code in IMPORTS:
        print(f"{words}: {statistics.median(_cpu(code) for _ in range(repeats)):.2f} s of CPU time")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS)
        for page, landmarks in LANDMARKS.items():
            visits = [_visits(chromium, page, landmarks) for _ in range(repeats)]
            for which, words in enumerate(("first visit", "second visit")):
                medians = {name: statistics.median(visit[which][name] for visit in visits) for name in visits[0][which]}
                line = ", ".join(f"{name} {median:.2f} s" for name, median in medians.items())
                print(f"/{page}, {words}: {line} (load {os.getloadavg()[0]:.1f})", flush=True)
        chromium.close()


def _visits(chromium: Any, page: str, landmarks: tuple[tuple[str, str], ...]) -> tuple[dict[str, float], dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, browser.server(Path(folder)) as address:
        first = _visit(chromium, f"{address}/{page}", landmarks)
        time.sleep(BACKGROUND_SECONDS)
        return first, _visit(chromium, f"{address}/{page}", landmarks)


def _visit(chromium: Any, url: str, landmarks: tuple[tuple[str, str], ...]) -> dict[str, float]:
    """Seconds from the request until each landmark is there, in a browser session without a cache; CPU seconds until the last one."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    tab = context.new_page()
    began, before = time.monotonic(), _spent()
    tab.goto(url, wait_until="commit")
    found = {}
    for name, selector in landmarks:
        tab.wait_for_selector(selector, state="attached", timeout=PATIENCE_MS)
        found[name] = time.monotonic() - began
    found |= {name: seconds - before[name] for name, seconds in _spent().items()}
    browser.settled(tab)
    context.close()
    return found


def _spent() -> dict[str, float]:
    """CPU seconds so far of the server and of the browser's processes."""
    spent = {"CPU of the server": 0.0, "CPU of the browser": 0.0}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            spent["CPU of the server" if "streamlit" in process.cmdline() else "CPU of the browser"] += times.user + times.system
    return spent


def _cpu(code: str) -> float:
    """User and system seconds of a Python that runs `code`, less those of one that runs nothing."""

    def spent(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=browser.REPOSITORY)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return spent(code) - spent("pass")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["3"]))
