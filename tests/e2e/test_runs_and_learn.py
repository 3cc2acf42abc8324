"""Runs and Lessons in a real browser: a sweep that loses its worker and its jobs process, links to
views, the lesson."""

import contextlib
import json
import re
import time
from pathlib import Path

import psutil
import pytest

from e2e import browser
from e2e.browser import expect, expect_in_link, metric, opened, until
from pillar_core import jobs


def server_of(cache: Path) -> psutil.Process:
    """The jobs process of a cache, once it has signed in."""
    end = time.monotonic() + browser.START_SECONDS
    while time.monotonic() < end:
        if (cache / "jobs" / "server.json").exists():
            return psutil.Process(json.loads((cache / "jobs" / "server.json").read_bytes())["pid"])
        time.sleep(0.1)
    pytest.fail("no jobs process was started")


def test_a_sweep_from_the_page_survives_a_dead_worker_a_dead_jobs_process_and_a_reload(
    page, address, cache, monkeypatch
):
    """A second tab sees its end, too."""
    monkeypatch.setenv("PILLAR_CACHE", str(cache))
    try:
        opened(page, f"{address}/runs?data=digits&seeds=10&runs=view:plan")
        planned = metric(page, "Runs").inner_text()
        page.get_by_role("button", name="Run", exact=False).last.click()
        page.wait_for_selector(".st-key-job-panel [data-testid='stProgress']")
        first = server_of(cache)
        workers = [
            child
            for child in first.children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]
        with contextlib.suppress(psutil.NoSuchProcess):  # it may just have ended
            for worker in workers[:1]:
                worker.kill()
        page.wait_for_timeout(1500)
        first.kill()
        page.wait_for_timeout(1500)
        page.reload()
        other = page.context.new_page()
        opened(other, page.url)
        for tab in (page, other):
            tab.wait_for_selector("text=Every run of this grid is there already")
        expect(metric(page, "In the cache")).to_have_text(planned)
        expect(metric(page, "Runs")).to_have_text(planned)
        assert [status.state for status in jobs.status()] == ["done"]
        other.close()
    finally:
        assert jobs.stop(timeout=browser.START_SECONDS)


def test_the_lesson_from_guess_to_explorer_and_back_and_places_in_one_row_that_show_their_pages(
    page, address
):
    opened(page, f"{address}/lessons?lesson=1")
    page.get_by_text("about 20", exact=True).click()
    page.get_by_role("button", name="Reveal").click()
    page.wait_for_selector("text=Right:")
    page.get_by_role("link", name="Try it live in the explorer").click()
    page.wait_for_selector("text=Step 1.")
    expect_in_link(page, "data=digits")
    expect(page).to_have_url(re.compile(r"/curves\?"))
    page.get_by_role("link", name="Back to the lesson").click()
    page.wait_for_selector("text=Step 1 of 8")
    expect(page.locator(".st-key-places a")).to_have_count(7)
    boxes = (
        "[...document.querySelectorAll('.st-key-places a')].map(link =>"
        " link.getBoundingClientRect())"
    )
    until(page, f"new Set({boxes}.map(box => Math.round(box.top))).size === 1")
    until(page, f"Math.max(...{boxes}.map(box => box.right)) <= {browser.WINDOW['width']}")
    page.get_by_role("link", name="Explore", exact=True).first.click()
    expect(page.locator(".st-key-members a")).to_have_text(["Curves", "Learners", "Why"])
