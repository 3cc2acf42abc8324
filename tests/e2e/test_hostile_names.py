"""A saved figure in a real browser: it asks nobody for anything, and names of classes in it are text."""

from pathlib import Path
from typing import Any

import pandas as pd

from pillar_core import plots


def test_a_figures_own_page_asks_nobody(page: Any, tmp_path: Path) -> None:
    bait = "http://127.0.0.1:9"
    names = [f"![m]({bait}/image)", f"<img src={bait}/tag>", f"{bait}/bare", "http://hostile.test", "www.hostile.test", "me@hostile.test"]
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    table = pd.DataFrame({"class": names, "part": "private", "rows": range(1, 7)})
    (tmp_path / "figure.html").write_text(plots.class_balance(table).to_html(), encoding="utf-8")
    page.goto(f"file://{tmp_path / 'figure.html'}")
    page.locator(".xtick").nth(5).wait_for()
    assert bait in page.locator(".xaxislayer-above").text_content()
    assert page.locator("a[href*='hostile'], a[href*='127.0.0.1']").count() == 0
    buttons = {button.get_attribute("data-title") or button.get_attribute("aria-label") for button in page.locator(".modebar-btn").all()}
    assert "Zoom" in buttons
    assert not [title for title in buttons if "Share" in str(title)], "it uploads the figure"
    assert not [url for url in requested if not url.startswith(("file:", "data:", "blob:"))]
