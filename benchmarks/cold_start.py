"""Seconds to the first result of Start and Curves, and from a moved slider to its result: `python
benchmarks/cold_start.py [repeats]`.

Each repeat starts a server of its own on an empty cache (the starter's records are there), waits
until its health check answers and opens a page in real Chromium. A second visit to the same server
finds everything imported and computed: what is left of the time is the browser's and the script's
own, the difference is imports and first results. The CPU seconds of server and browser until the
last landmark change little with what else the machine does; the wall times are right only on idle
cores. Medians.

On Curves the k slider is then moved by its keys, step by step to the right and back: from the key
to the first frame that shows the new accuracy and the star on its way; on the way there trained
anew where no starter record answers, on the way back read from memory.
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
    (
        "import pillar_core, one pc.epsilon",
        "import pillar_core as pc; pc.epsilon(1.1, sampling_probability=0.02, steps=1000)",
    ),
    ("import torch", "import torch"),
)
SHELL = '[data-testid="stApp"]'
LANDMARKS = {
    "": (
        ("shell", SHELL),
        ("heading", '[data-testid="stMain"] h1'),
        ("hero", ".st-key-hero-pulled .dot"),
    ),
    "curves": (
        ("shell", SHELL),
        ("heading", '[data-testid="stMain"] h1'),
        ("accuracy", '[data-testid="stMetricValue"]'),
        ("figure", ".st-key-chart-accuracy_against_k .main-svg"),
    ),
}
PATIENCE_MS = 120_000
FIRST_K, MOVES, SETTLE_MS = 1, 12, 500
"""Steps of the slider to the right, from the smallest k; as many back."""
MOVED = """() => {
  const shown = () => [".st-key-result", ".st-key-chart-accuracy_against_k .annotation:last-of-type"].map(
    (place) => { const found = document.querySelector(place); return found && found.textContent + found.getBoundingClientRect().x; });
  window.moved = new Promise((done) => document.addEventListener("keydown", () => {
    const began = performance.now(), before = shown();
    const look = () => {
      const now = shown();
      if (now.every((one, place) => one && one !== before[place])) requestAnimationFrame(() => done(performance.now() - began));
      else requestAnimationFrame(look);
    };
    look();
  }, {capture: true, once: true}));
}"""
BACKGROUND_SECONDS = 8.0
"""For the imports in the background, so that the second visit does not share its cores with
them."""


def main(repeats: int) -> None:
    """Prints CPU seconds of imports, then for each page the seconds until each landmark, first and
    second visit."""
    for words, code in IMPORTS:
        print(f"{words}: {statistics.median(_cpu(code) for _ in range(repeats)):.2f} s of CPU time")
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(
            executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS
        )
        for page, landmarks in LANDMARKS.items():
            visits = [_visits(chromium, page, landmarks) for _ in range(repeats)]
            for which, words in enumerate(("first visit", "second visit")):
                medians = {
                    name: statistics.median(visit[which][name] for visit in visits)
                    for name in visits[0][which]
                }
                line = ", ".join(f"{name} {median:.2f} s" for name, median in medians.items())
                print(f"/{page}, {words}: {line} (load {os.getloadavg()[0]:.1f})", flush=True)
        _moves(chromium)
        chromium.close()


def _moves(chromium: Any) -> None:
    """Prints the seconds from a key on the k slider to its result, and what a move costs the server
    and the browser."""
    with tempfile.TemporaryDirectory() as folder, browser.server(Path(folder)) as address:
        tab = chromium.new_page(viewport={"width": 1280, "height": 900})
        tab.goto(f"{address}/curves?k={FIRST_K}", wait_until="commit")
        tab.wait_for_selector(LANDMARKS["curves"][-1][1], state="attached", timeout=PATIENCE_MS)
        time.sleep(BACKGROUND_SECONDS)
        slider = tab.locator('[class*="st-key-control-k"] input[type=range]')
        for words, key in (("there", "ArrowRight"), ("back, from memory", "ArrowLeft")):
            before, seconds = _spent(), []
            for _ in range(MOVES):
                browser.settled(tab)
                tab.wait_for_timeout(SETTLE_MS)
                tab.evaluate(MOVED)
                slider.press(key)
                seconds.append(tab.evaluate("window.moved") / 1000)
            spent = ", ".join(
                f"{name} {(now - before[name]) / MOVES:.2f} s" for name, now in _spent().items()
            )
            line = (
                f"median {statistics.median(seconds):.2f} s, longest {max(seconds):.2f} s; {spent}"
                " a move"
            )
            print(f"slider, {words}: {line} (load {os.getloadavg()[0]:.1f})", flush=True)


def _visits(
    chromium: Any, page: str, landmarks: tuple[tuple[str, str], ...]
) -> tuple[dict[str, float], dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder, browser.server(Path(folder)) as address:
        first = _visit(chromium, f"{address}/{page}", landmarks)
        time.sleep(BACKGROUND_SECONDS)
        return first, _visit(chromium, f"{address}/{page}", landmarks)


def _visit(chromium: Any, url: str, landmarks: tuple[tuple[str, str], ...]) -> dict[str, float]:
    """Seconds from the request until each landmark is there, in a browser session without a cache;
    CPU seconds until the last one."""
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
            spent[
                "CPU of the server" if "streamlit" in process.cmdline() else "CPU of the browser"
            ] += times.user + times.system
    return spent


def _cpu(code: str) -> float:
    """User and system seconds of a Python that runs `code`, less those of one that runs nothing."""

    def spent(code: str) -> float:
        before = os.times()
        subprocess.run([sys.executable, "-c", code], check=True, cwd=browser.REPOSITORY)
        after = os.times()
        return (
            after.children_user
            + after.children_system
            - before.children_user
            - before.children_system
        )

    return spent(code) - spent("pass")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:] or ["3"]))
