"""Two browsers at one machine, in a real browser: what one brought the other shows; no page of another origin reaches the app."""

from __future__ import annotations

import contextlib
import http.client
import json
import urllib.request
from collections.abc import Callable
from typing import Any

from e2e import browser

TITLE = "ward-seven.csv"
NUMBERS = "a,b,label\n" + "\n".join(f"{index % 2 + 0.01 * index:.2f},{(index % 2) * 2 - 1},{index % 2}" for index in range(60))
def own_tab(tab: Any) -> Any:
    """The tab of Data for what one brings, opened."""
    tab.get_by_role("tab", name="Bring your own").click()
    return tab.get_by_role("tabpanel").filter(has=tab.get_by_text("Or a path on the machine"))


def bring(tab: Any) -> str:
    """The key of rows that were sent and are private from now on."""
    own_tab(tab).locator('input[type="file"]').first.set_input_files({"name": TITLE, "mimeType": "text/csv", "buffer": NUMBERS.encode()})
    tab.get_by_text("A random share of them is public").wait_for()
    browser.settled(tab)  # a press on what is drawn anew is lost
    tab.get_by_text("A random share of them is public").click()
    tab.get_by_role("button", name="Use these rows as private data").click()
    browser.expect_in_link(tab, "v=2")
    tab.get_by_text("Your rows are the private data").wait_for()
    browser.settled(tab)
    return str(tab.url.split("data=stored%3A")[1].split("&")[0])


def test_what_one_browser_brought_another_shows(new_page: Callable[[], Any], address: str) -> None:
    first, other = new_page(), new_page()
    browser.opened(first, f"{address}/data?data=digits")
    key = bring(first)

    browser.opened(other, f"{address}/data?data=digits")
    own_tab(other)
    browser.expect(other.locator(f".st-key-kept-{key}")).to_contain_text(TITLE)
    browser.opened(other, first.url.replace("/data?", "/explore?"))
    browser.expect(other.get_by_role("combobox", name="Private data")).to_have_value(TITLE)
    missing = f"stored:{'0' * 32}"
    browser.opened(other, f"{address}/explore?data={missing}")
    browser.expect(other.get_by_text(f"{missing} is not on this machine")).to_be_visible()


def test_no_page_of_another_origin_connects_to_frames_or_directs_the_app(address: str) -> None:
    def asked(path: str, **headers: str) -> int:
        with contextlib.closing(http.client.HTTPConnection(address.removeprefix("http://"))) as connection:
            connection.request("GET", path, headers=headers)
            with connection.getresponse() as answer:
                return answer.status

    with urllib.request.urlopen(f"{address}/_stcore/host-config") as answer:
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
        assert json.load(answer)["allowedOrigins"] == []
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    origins = {address: 101, "http://localhost:1": 403, "https://127.0.0.1": 403, "http://0.0.0.0": 403, "http://evil.example": 403}
    assert {origin: asked("/_stcore/stream", Origin=origin, **upgrade) for origin in origins} == origins
