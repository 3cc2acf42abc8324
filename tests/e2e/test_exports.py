"""What leaves the app with a figure, reached and pressed by the keyboard alone."""

from typing import Any

import pytest
from PIL import Image

from e2e.browser import expect, opened, settled, until
from pillar_core.studies import portable

FOCUSED = """() => {
  let found = document.activeElement;
  while (found.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
  return found.matches("button, summary") ? found.innerText : "";
}"""
FARTHEST = 300
"""Presses of Tab that go round a page more than once, where something came late."""
SAVED = {
    "PNG": b"\x89PNG",
    "SVG": b"<svg",
    "CSV": b"",
    "Settings": b"link: ",
    "HTML": b"<!doctype html>",
}
"""How the files begin, by button."""
COPIED = (
    "() => navigator.clipboard.read().then((items) => items.some((one) =>"
    " one.types.includes('image/png')))"
)

PRINT = "if (top !== window) window.print = () => { top.printed = document.body.innerHTML; }"
"""Shows a test what would be printed."""


def go(tab: Any, name: str) -> None:
    """Presses Tab until what has the focus says `name`."""
    for _ in range(FARTHEST):
        tab.keyboard.press("Tab")
        if name in tab.evaluate(FOCUSED):
            return
    raise AssertionError(f"{name!r} is out of the keyboard's reach")


def test_exports_need_no_mouse(page, address):
    """In the dark mode, whose colours must not be in what leaves."""
    name = "accuracy_against_k"
    page.emulate_media(color_scheme="dark")
    page.add_init_script(PRINT)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=address)
    opened(page, f"{address}/curves")
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
        if label == "PNG":
            assert Image.open(waiting.value.path()).convert("RGBA").getpixel((2, 2)) == (
                255,
                255,
                255,
                255,
            ), "the ground is white"
        if label == "SVG":
            drawing = waiting.value.path().read_text(encoding="utf-8")
            assert "@font-face" in drawing, "the font is inside"
            assert "rgb(35, 35, 58)" in drawing, "the light mode's text"
            assert "rgb(236, 236, 244)" not in drawing, "the dark mode's text"
            go(page, "Copy picture")
            page.keyboard.press("Enter")
            until(page, COPIED)
            go(page, "Print or PDF")
            page.keyboard.press("Enter")
            until(page, "() => window.printed?.startsWith('<svg')")
    page.locator('[data-testid="stDataFrame"]:visible').first.hover()
    page.locator('[aria-label="Search"]:visible').first.wait_for()
    assert page.locator('[aria-label="Download as CSV"]:visible').count() == 0, (
        "it writes formulas as they are"
    )
    go(page, "Add to report")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Report (1)")).to_be_visible()
    settled(page)
    go(page, "Report (1)")
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    assert waiting.value.suggested_filename == "report.html"


@pytest.mark.parametrize(
    "policy", ["allow-scripts", ""], ids=["in a frame", "where scripts are forbidden"]
)
def test_an_explorer_in_one_file_works_without_a_server(new_page, tmp_path, policy):
    (tmp_path / "explorer.html").write_text(portable.page("digits"), encoding="utf-8")
    (tmp_path / "host.html").write_text(
        f'<iframe sandbox="{policy}" src="explorer.html" width="390" height="844"></iframe>'
    )
    tab, problems = new_page(), []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto((tmp_path / "host.html").as_uri())
    frame = tab.frame_locator("iframe")
    if not policy:
        expect(frame.get_by_text("The table below holds every number")).to_be_visible()
        frame.get_by_text("Every number", exact=True).click()
        expect(frame.get_by_role("cell", name="DP-SGD").first).to_be_visible()
        return
    answer, k = frame.locator("#answer"), frame.get_by_role("slider", name="k", exact=True)
    expect(answer).to_contain_text("become right by seeing the model")
    before = answer.inner_text()
    k.focus()
    k.press("Home")
    expect(answer).not_to_have_text(before)
    expect(frame.locator("#k-value")).to_have_text("3")
    expect(frame.locator("#curves svg")).to_be_visible()
    assert not problems
