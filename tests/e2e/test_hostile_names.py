"""Names out of a table in a real browser: nothing that they name is asked for, and nothing links to it."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from e2e.browser import opened, settled
from pillar_core import plots

PAGES = ("explore", "compare", "runs", "data", "screen", "geometry", "evidence")


class _Bait(http.server.BaseHTTPRequestHandler):
    def __init__(self, asked: list[str], *arguments: Any) -> None:
        self.asked = asked
        super().__init__(*arguments)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def bait() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that nobody should ask, and what it was asked for."""
    asked: list[str] = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Bait, asked)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def _names(bait: str) -> list[str]:
    return [f"![m]({bait}/image)", f"<img src={bait}/tag>", f"{bait}/bare", "http://hostile.test", "www.hostile.test", "me@hostile.test"]


def _table(bait: str, n: int = 300) -> bytes:
    """Rows whose columns and classes are called as nobody should be."""
    names = _names(bait)
    values = np.random.default_rng(0).normal(size=(n, len(names)))
    rows = [
        ",".join([*(f"{value:.3f}" for value in row), f'"{names[index % 6]}"'])
        for index, row in enumerate(values + np.arange(n)[:, None] % 6)
    ]
    return "\n".join([",".join([*(f'"{name}"' for name in names), "label"]), *rows]).encode()


def _watched(page: Any, bait: str) -> list[str]:
    """What the page asks the bait for, from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.url.startswith(bait) else None)
    return found


def _assert_no_links(page: Any, where: str) -> None:
    script = "[...document.querySelectorAll('a[href], img[src]')].map(one => one.href || one.src)"
    own = ("/".join(page.url.split("/")[:3]), "data:", "blob:")
    assert [found for found in page.evaluate(script) if not found.startswith(own)] == [], where


def test_names_in_a_table_reach_nobody(page: Any, address: str, bait: tuple[str, list[str]], tmp_path: Path) -> None:
    target, asked = bait
    requested = _watched(page, target)
    opened(page, f"{address}/data?data=digits")
    page.get_by_role("tab", name="Bring your own").click()
    uploader = page.locator(".st-key-upload input[type=file]")
    broken = _table(target).replace(b"\n0.", b"\nx")
    uploader.set_input_files({"name": "www.hostile.test.csv", "mimeType": "text/csv", "buffer": broken})
    page.get_by_text("Not a matrix of numbers yet").wait_for()
    settled(page)
    page.get_by_text("/image)' holds").first.wait_for()
    _assert_no_links(page, "report")
    uploader.set_input_files({"name": "hostile.csv", "mimeType": "text/csv", "buffer": _table(target)})
    page.get_by_text("Ready.").wait_for()
    page.locator('[data-testid="stDataFrame"]:visible').last.hover()
    page.locator('[aria-label="Search"]:visible').first.wait_for()
    assert page.locator('[aria-label="Download as CSV"]:visible').count() == 0, "it writes formulas as they are"
    page.get_by_text("A random share of them is public").click()
    page.get_by_role("button", name="Use these rows as private data").click()
    page.wait_for_url("**data=stored*")
    for name in PAGES:
        settled(page)
        _assert_no_links(page, name)
        opened(page, f"{address}/{name}?{page.url.partition('?')[2]}")
    assert (requested, asked) == ([], [])


def test_a_figures_own_page_asks_nobody(page: Any, bait: tuple[str, list[str]], tmp_path: Path) -> None:
    target, asked = bait
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    table = pd.DataFrame({"class": _names(target), "part": "private", "rows": range(1, 7)})
    (tmp_path / "figure.html").write_text(plots.class_balance(table).to_html(), encoding="utf-8")
    page.goto(f"file://{tmp_path / 'figure.html'}")
    page.locator(".xtick").nth(5).wait_for()
    assert target in page.locator(".xaxislayer-above").text_content()
    assert page.locator("a[href*='hostile'], a[href*='127.0.0.1']").count() == 0
    buttons = {button.get_attribute("data-title") or button.get_attribute("aria-label") for button in page.locator(".modebar-btn").all()}
    assert "Zoom" in buttons
    assert not [title for title in buttons if "Share" in str(title)], "it uploads the figure"
    assert ([url for url in requested if not url.startswith(("file:", "data:", "blob:"))], asked) == ([], [])
