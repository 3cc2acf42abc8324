"""Runs and Learn in a real browser: a sweep that loses its worker and its jobs process, links to views, the lesson."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from e2e import browser
from pillar_core import jobs

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PATIENCE_MS = 180_000
BUSY = '[data-testid="stStatusWidget"], [data-testid="stSpinner"], [data-stale="true"]'


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for all tests of this file."""
    browser.require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS)
        yield started
        started.close()


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    """A fresh tab."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    tab = context.new_page()
    tab.set_default_timeout(PATIENCE_MS)
    yield tab
    context.close()


def settled(tab: Any) -> None:
    """Waits until the app has nothing left to do."""
    tab.wait_for_timeout(1200)
    tab.wait_for_function("selector => document.querySelectorAll(selector).length === 0", arg=BUSY)


def opened(tab: Any, url: str) -> None:
    """Opens an address and waits for the page's title."""
    tab.goto(url)
    tab.wait_for_selector('[data-testid="stMain"] h1')
    settled(tab)


def metric(tab: Any, label: str) -> str:
    """The value under a label."""
    box = tab.locator('[data-testid="stMetric"]').filter(has=tab.locator(f'label:has-text("{label}")')).first
    return str(box.locator('[data-testid="stMetricValue"]').inner_text())


def server_of(cache: Path) -> psutil.Process:
    """The jobs process of a cache, once it has signed in."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if (cache / "jobs" / "server.json").exists():
            return psutil.Process(json.loads((cache / "jobs" / "server.json").read_bytes())["pid"])
        time.sleep(0.1)
    pytest.fail("no jobs process was started")


def test_a_sweep_from_the_page_survives_the_death_of_a_worker_and_of_the_jobs_process(
    page: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setenv("PILLAR_CACHE", str(cache))
    try:
        with browser.server(cache) as address:
            opened(page, f"{address}/runs?data=digits&seeds=10&runs=view:plan")
            planned = metric(page, "Runs")
            page.get_by_role("button", name="Run", exact=False).last.click()
            page.wait_for_selector(".st-key-job-panel [data-testid='stProgress']")
            first = server_of(cache)
            workers = [child for child in first.children(recursive=True) if "spawn_main" in " ".join(child.cmdline())]
            for victim in (*workers[:1], first):
                os.kill(victim.pid, signal.SIGKILL)
                page.wait_for_timeout(1500)
            page.reload()
            page.wait_for_selector("text=Every run of this grid is there already")
            assert metric(page, "In the cache") == planned == metric(page, "Runs")
            assert [status.state for status in jobs.status()] == ["done"]
    finally:
        assert jobs.stop()


def test_the_lesson_from_guess_to_explorer_and_back(page: Any, tmp_path: Path) -> None:
    with browser.server(tmp_path / "cache") as address:
        opened(page, f"{address}/learn?lesson=1")
        page.get_by_text("about 20", exact=True).click()
        settled(page)
        page.get_by_role("button", name="Reveal").click()
        page.wait_for_selector("text=Right:")
        page.get_by_role("link", name="Try it live in the explorer").click()
        page.wait_for_selector("text=Step 1.")
        settled(page)
        assert "/explore?" in page.url
        assert "data=digits" in page.url
        page.get_by_role("link", name="Back to the lesson").click()
        page.wait_for_selector("text=Step 1 of 6")


def test_the_pages_stand_in_one_row(page: Any, tmp_path: Path) -> None:
    with browser.server(tmp_path / "cache") as address:
        opened(page, f"{address}/?data=digits")
        boxes = [link.bounding_box() for link in page.locator(".st-key-navigation a").all()]
        assert len(boxes) == 11
        assert len({round(box["y"]) for box in boxes}) == 1
        assert max(box["x"] + box["width"] for box in boxes) <= 1280
