"""What leaves the app with a figure, reached and pressed by the keyboard alone."""

from collections.abc import Callable
from typing import Any

from e2e.browser import expect, opened, settled

FOCUSED = """() => {
  let found = document.activeElement;
  while (found.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found.matches("button, summary") ? found.innerText : "";
}"""
FARTHEST = 300
"""Presses of Tab that go round a page more than once, where something came late."""
SAVED = {"PNG": b"\x89PNG", "SVG": b"<svg", "CSV": b"", "Settings": b"version: '2'", "HTML": b"<!doctype html>"}
"""How the files begin, by button."""
COPIED = "() => navigator.clipboard.read().then((items) => items.some((one) => one.types.includes('image/png')))"


def go(tab: Any, name: str) -> None:
    """Presses Tab until what has the focus says `name`."""
    for _ in range(FARTHEST):
        tab.keyboard.press("Tab")
        if name in tab.evaluate(FOCUSED):
            return
    raise AssertionError(f"{name!r} is out of the keyboard's reach")


def test_exports_need_no_mouse(new_page: Callable[[], Any], address: str) -> None:
    page, name = new_page(), "accuracy_against_k"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened(page, f"{address}/explore")
    expect(page.locator(f".st-key-figure-{name} summary")).to_be_visible()
    settled(page)
    go(page, "Table, description and exports")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Add to report")).to_be_visible()
    expect(page.get_by_role("button", name="Copy picture")).to_be_visible()
    settled(page)
    for label, begins in SAVED.items():
        go(page, label)
        with page.expect_download() as waiting:
            page.keyboard.press("Enter")
        assert waiting.value.suggested_filename.startswith(f"{name}.")
        assert waiting.value.path().read_bytes()[: len(begins)] == begins
        if label == "SVG":
            go(page, "Copy picture")
            page.keyboard.press("Enter")
            page.wait_for_function(COPIED)
    page.locator('[data-testid="stDataFrame"]:visible').first.hover()
    page.locator('[aria-label="Search"]:visible').first.wait_for()
    assert page.locator('[aria-label="Download as CSV"]:visible').count() == 0, "it writes formulas as they are"
    go(page, "Add to report")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Report (1)")).to_be_visible()
    settled(page)
    go(page, "Report (1)")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename == "report.html"
