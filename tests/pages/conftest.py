"""The app run by Streamlit's own test driver, on a cache of its own."""

import copy
import functools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from pages.frame import memory
from pillar_core.data import reader
from pillar_core.data.cards import DatasetCard
from pillar_core.types import Dataset

REPOSITORY = Path(__file__).resolve().parents[2]
Start = Callable[..., AppTest]
DRAWN: dict[str, Dataset] = {}


@pytest.fixture(scope="session", autouse=True)
def scanned_once() -> Iterator[None]:
    """Streamlit's driver looks for components in every installed package each time it opens an app; here, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", functools.cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True)
def no_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test does on a page, the page shows no exception."""
    run = AppTest._run

    @functools.wraps(run)
    def checked(app: AppTest, *asked: Any, **named: Any) -> AppTest:
        assert not run(app, *asked, **named).exception
        return app

    monkeypatch.setattr(AppTest, "_run", checked)


@pytest.fixture(scope="module", autouse=True)
def read_here() -> Iterator[None]:
    """Brought files are read in this process; tests/unit/data/test_reader.py and the browser's tests have one started a file."""

    def read(self: reader.Reading, content: bytes | None, asked: dict[str, Any]) -> Any:
        with tempfile.NamedTemporaryFile() as out:
            kind = reader._write(asked["name"] if content is None else content, asked | {"is_sent": content is not None}, out, print)
            out.flush()
            return reader._table(out.name) if kind == "table" else reader._rows(out.name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_take_process", lambda: None)
        patch.setattr(reader, "prepare", lambda: None)
        patch.setattr(reader.Reading, "_read", read)
        yield


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """Sets that need no files are drawn once a worker, and copied for who asks: pages ask again and again."""
    load = DatasetCard.load

    def loaded(card: DatasetCard, *asked: Any, **named: Any) -> Dataset:
        if card.needs_files:
            return load(card, *asked, **named)
        key = repr((card, asked, named))
        DRAWN[key] = DRAWN.get(key) or load(card, *asked, **named)
        return copy.deepcopy(DRAWN[key])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatasetCard, "load", loaded)
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
