"""Extraction in a real browser: asked for, watched, reloaded in the middle, and used by the next page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from e2e import browser
from pillar_core import jobs


def test_an_extraction_survives_a_reload_and_feeds_the_other_pages(page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(500) % 2
    pixels = rng.integers(0, 120, (500, 28, 28, 3), dtype=np.uint8) + (labels * 100).astype(np.uint8)[:, None, None, None]
    np.savez(tmp_path / "blots.npz", x_train=pixels[:400], y_train=labels[:400], x_test=pixels[400:], y_test=labels[400:])
    cache = tmp_path / "cache"
    monkeypatch.setenv("PILLAR_CACHE", str(cache))
    try:
        with browser.server(cache) as address:
            page.goto(f"{address}/data?data=digits")
            page.get_by_role("tab", name="Bring your own").click()
            place = page.get_by_role("textbox", name="Or a path on the machine")
            place.fill(str(tmp_path / "blots.npz"))
            place.press("Enter")
            page.get_by_text("A random share of them is public").click()
            page.get_by_text("of these 400 train rows become public").wait_for()
            page.get_by_role("button", name="Use these rows as private data").click()
            page.wait_for_url("**data=stored*")
            browser.settled(page)
            page.goto(f"{page.url}&backbone=scattering")
            page.get_by_role("button", name="Extract").click()
            browser.expect(page.get_by_role("button", name="Extract")).to_have_count(0)  # the press has reached the server
            page.reload()
            page.get_by_text("every page uses the features of Scattering transform").wait_for()
            page.get_by_role("link", name="Explore").first.click()
            page.get_by_text("Test accuracy").first.wait_for()
    finally:
        assert jobs.stop(timeout=browser.START_SECONDS)
