"""Memory of the app over ten browser sessions of fifty changes each: `python
benchmarks/app_memory.py [sessions] [changes]`.

A server of its own on an empty cache; real Chromium tabs, all open at once, move k and ε on Curves
and wait for each answer. What the server holds must stay flat once every session has made its first
changes.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from pathlib import Path

import psutil
from playwright.sync_api import sync_playwright

for folder in (".", "e2e"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / folder))
browser = importlib.import_module("browser")  # the end-to-end tests' server and browser

BUSY = '[data-testid="stStatusWidget"], [data-testid="stSpinner"], [data-stale="true"]'
SLIDERS = '[data-testid="stSidebar"] [data-testid="stSlider"] input[type="range"]'
WARM = 10
GROWTH = 1.10


def main(sessions: int, changes: int) -> int:
    """Prints megabytes after every ten changes; 1 where they grew by more than a tenth after the
    first ten."""
    with (
        tempfile.TemporaryDirectory() as folder,
        browser.server(Path(folder)) as address,
        sync_playwright() as driver,
    ):
        server = next(
            child for child in psutil.Process().children() if "streamlit" in child.cmdline()
        )
        chromium = driver.chromium.launch(
            executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS
        )
        tabs = []
        for session in range(sessions):
            tab = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
            tab.set_default_timeout(180_000)
            tab.goto(f"{address}/curves?data=digits&k=5&epsilon=1&seed={session}&view=why")
            tab.wait_for_selector('[data-testid="stMetric"]')
            tabs.append(tab)
        held = []
        began = time.monotonic()
        for change in range(changes):
            for tab in tabs:
                _change(tab, change)
            if (change + 1) % WARM == 0:
                held.append(server.memory_info().rss / 1e6)
                words = (
                    f"{sessions} sessions, {change + 1} changes each, after"
                    f" {time.monotonic() - began:.0f} s"
                )
                print(f"{words}: {held[-1]:.0f} MB", flush=True)
        chromium.close()
    is_flat = held[-1] <= GROWTH * held[0]
    print(
        f"{'flat' if is_flat else 'NOT flat'}: {held[0]:.0f} MB after {WARM} changes each,"
        f" {held[-1]:.0f} MB at the end"
    )
    return 0 if is_flat else 1


def _change(tab: object, change: int) -> None:
    """One move of k or ε, to and fro, and its answer."""
    slider = tab.locator(SLIDERS).nth(1 + change % 2)  # type: ignore[attr-defined]  # the first slider is the public share
    slider.press("ArrowRight" if change % 20 < 10 else "ArrowLeft")
    tab.wait_for_timeout(150)  # type: ignore[attr-defined]
    tab.wait_for_function("selector => document.querySelectorAll(selector).length === 0", arg=BUSY)  # type: ignore[attr-defined]


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(numbers + [10, 50][len(numbers) :])))
