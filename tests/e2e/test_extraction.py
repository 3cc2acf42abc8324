"""Extraction in a real browser: asked for, watched, reloaded in the middle, and used by the next page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from e2e import browser

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_MS = 180_000


def test_an_extraction_survives_a_reload_and_feeds_the_other_pages(tmp_path: Path) -> None:
    browser.require_chromium()
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(0)
    labels = np.arange(1500) % 2
    pixels = rng.integers(0, 120, (1500, 28, 28, 3), dtype=np.uint8) + (labels * 100).astype(np.uint8)[:, None, None, None]
    np.savez(tmp_path / "blots.npz", x_train=pixels[:1200], y_train=labels[:1200], x_test=pixels[1200:], y_test=labels[1200:])
    cache = tmp_path / "cache"
    try:
        with browser.server(cache) as address, sync_playwright() as driver:
            chromium = driver.chromium.launch(executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS)
            tab = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
            tab.set_default_timeout(PATIENCE_MS)
            tab.goto(f"{address}/data?data=digits")
            tab.get_by_role("tab", name="Bring your own").click()
            place = tab.get_by_role("textbox", name="Or a path on the machine")
            place.fill(str(tmp_path / "blots.npz"))
            place.press("Enter")
            tab.get_by_text("A random share of them is public").click()
            tab.get_by_text("of these 1,200 train rows become public").wait_for()
            tab.get_by_role("button", name="Use these rows as private data").click()
            tab.wait_for_url("**data=stored*")
            tab.goto(tab.url.replace("backbone=auto", "backbone=scattering"))
            tab.get_by_role("button", name="Extract").click()
            tab.get_by_text("Features through Scattering transform").first.wait_for()
            tab.reload()
            tab.get_by_text("every page uses the features of Scattering transform").wait_for()
            tab.get_by_role("link", name="Explore").first.click()
            tab.get_by_text("Test accuracy").first.wait_for()
            chromium.close()
    finally:
        program = "from pillar_core import jobs; jobs.stop()"
        subprocess.run([sys.executable, "-c", program], env=os.environ | {"PILLAR_CACHE": str(cache)}, check=True)
