"""The app run by Streamlit's own test driver, on a cache of its own."""

import copy
import functools
import sys
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import streamlit as st
from repository import REPOSITORY
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner import script_cache
from streamlit.testing.v1 import AppTest, local_script_runner

from page_reading import coded
from pages.frame import jobs, memory
from pages.parts.lessons import steps
from pillar_core.backbones import extraction, shipped
from pillar_core.data import reader
from pillar_core.data.cards import DatasetCard
from pillar_core.fingerprint import fingerprint
from pillar_core.methods import METHODS
from pillar_core.screening import class_signal
from pillar_core.splits import view
from pillar_core.studies import playgrounds
from pillar_core.studies.advice import free, simulation
from pillar_core.types import FeatureSet, PrivacyBudget, SemiPrivateSplit

FOUND: dict[str, Any] = {}


@pytest.fixture(scope="session", autouse=True)
def driven_once():
    """Streamlit's driver looks for components in every installed package, and compiles every
    script, at each run; here, once.

    It also looks a thousand times a second whether a run has ended; here, it waits for its thread.
    """
    read = functools.partial(script_cache.ScriptCache.get_bytecode, script_cache.ScriptCache())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner,
            "scan_component_manifests",
            functools.cache(manifest_scanner.scan_component_manifests),
        )
        patch.setattr(script_cache.ScriptCache, "get_bytecode", lambda _, path: read(path))
        patch.setattr(
            local_script_runner,
            "require_widgets_deltas",
            lambda runner, timeout: runner._script_thread.join(timeout),
        )
        yield


@pytest.fixture(autouse=True)
def no_exception(monkeypatch):
    """Whatever a test does on a page, the page shows no exception, and no number in a sentence as
    code writes it."""
    run = AppTest._run

    @functools.wraps(run)
    def checked(app, *asked, **named):
        assert not run(app, *asked, **named).exception
        assert coded(app) == []
        return app

    monkeypatch.setattr(AppTest, "_run", checked)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # else that of the page


@pytest.fixture(scope="module", autouse=True)
def read_here():
    """Brought files are read in this process; tests/unit/data/test_reader.py and the browser's
    tests have one started a file."""

    def read(self, content, asked):
        with tempfile.NamedTemporaryFile() as out:
            kind = reader._write(
                asked["name"] if content is None else content,
                asked | {"is_sent": content is not None},
                out,
                print,
            )
            out.flush()
            return reader._table(out.name) if kind == "table" else reader._rows(out.name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader, "_take_process", lambda: None)
        patch.setattr(reader, "prepare", lambda: None)
        patch.setattr(reader.Reading, "_read", read)
        yield


def once(make: Callable[..., Any], content: Callable[..., Any]) -> Callable[..., Any]:
    """`make` with what it found of equal `content` kept for the whole worker, and copied for who
    asks; found anew where that is None."""

    @functools.wraps(make)
    def made(*asked: Any, **named: Any) -> Any:
        if (what := content(*asked, **named)) is None:
            return make(*asked, **named)
        key = fingerprint(make.__qualname__, what)
        FOUND[key] = FOUND[key] if key in FOUND else make(*asked, **named)
        return copy.deepcopy(FOUND[key])

    return made


def _content_of_play(
    method: str, rows: SemiPrivateSplit, budget: PrivacyBudget, *rest: Any, **wanted: Any
) -> Any:
    spent = budget if METHODS[method].is_private else None
    rows_are = (rows.public_x, rows.public_y, rows.facts, rows.features.classes)
    return method, *rows_are, spent, rest, sorted(wanted.items(), key=str)


def _content_of_ranking(private: FeatureSet, public: Mapping[str, FeatureSet], **named: Any) -> Any:
    prints = {name: rows.fingerprint for name, rows in public.items()}
    return None if named["seed"] is None else (private.fingerprint, prints, named)


ONCE: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    (
        DatasetCard,
        "load",
        lambda card, *asked, **named: None if card.needs_files else repr((card, asked, named)),
    ),
    (simulation, "plays", _content_of_play),
    (
        extraction,
        "_encode_batch",
        lambda plan, _, at: (
            plan.dataset.rows_fingerprint,
            plan.backbone.name,
            plan.batch_size,
            at,
        ),
    ),
    (class_signal, "ranking", _content_of_ranking),
    (view, "public_basis", lambda *asked, **named: (asked, named)),
    (steps.Step, "table", repr),
    (playgrounds, "run", lambda method, rows, **named: (method, rows.fingerprint, named)),
)
"""What known seeds, rows and settings decide and pages ask for again and again."""


@pytest.fixture(scope="module", autouse=True)
def computed_once(one_play):
    """Once a worker: what `ONCE` names, and features that ship, unpacked."""
    with pytest.MonkeyPatch.context() as patch:
        for owner, name, content in ONCE:
            patch.setattr(owner, name, once(getattr(owner, name), content))
        patch.setattr(shipped, "unpack_features", functools.lru_cache(3)(shipped.unpack_features))
        yield


@pytest.fixture
def handed(monkeypatch):
    """What a page offers to download, by key: the bytes, or what makes them."""
    files = {}

    def offer(*_, data=None, key="", file_name="", **__):
        files[key], files[f"{key} is called"] = data, file_name

    monkeypatch.setattr(st, "download_button", offer)
    return files


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Opens a page with settings from a link, on an empty cache; the small real set `digits` unless
    the link says otherwise or is whole.

    Every page is a session of its own, unless `token` is that of another. Answer weighs two
    budgets, and opening trains little.
    """
    monkeypatch.setattr(free, "BUDGETS", (0.3,))
    monkeypatch.setattr(jobs, "FIRST_SECONDS", 0.5)
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(REPOSITORY)
    for memo in memory.MEMOS:
        memo.clear()

    def open_page(page="curves", *, token="", **query):
        app = AppTest.from_file(str(REPOSITORY / "app.py"), default_timeout=600)
        if token:
            app.session_state["session.token"] = token
        for name, value in (query if "v" in query else {"data": "digits"} | query).items():
            app.query_params[name] = value
        if page != "start":
            app.switch_page(f"pages/{page}.py")
        return app.run()

    return open_page
