"""The app run by Streamlit's own test driver, on a cache of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pages.frame import memory

REPOSITORY = Path(__file__).resolve().parents[2]
Start = Callable[..., AppTest]


@pytest.fixture(scope="session", autouse=True)
def scanned_once() -> Iterator[None]:
    """Streamlit's driver looks for components in every installed package each time it opens an app; here, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", functools.cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Start:
    """Opens a page with settings from a link, on an empty cache; the small real set `digits` unless the link says otherwise or is whole.

    Every page is a session of its own, unless `token` is that of another.
    """
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(REPOSITORY)
    for memo in memory.MEMOS:
        memo.clear()

    def open_page(page: str = "explore", *, token: str = "", **query: str) -> AppTest:
        app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=600)
        if token:
            app.session_state["session.token"] = token
        for name, value in (query if "v" in query else {"data": "digits"} | query).items():
            app.query_params[name] = value
        if page != "home":
            app.switch_page(f"pages/{page}.py")
        return app.run()

    return open_page
