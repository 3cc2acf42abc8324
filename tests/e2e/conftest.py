"""A browser, a server and a tab for the tests in a real browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from e2e import browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for all tests of a file."""
    browser.require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server for the tests that do not mind its age."""
    browser.require_chromium()
    with browser.server(tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Opens a tab in a browser profile of its own, which ends with the test."""
    contexts = []

    def open_page(**options: Any) -> Any:
        contexts.append(chromium.new_context(**{"viewport": {"width": 1280, "height": 900}} | options))
        contexts[-1].set_default_timeout(browser.PATIENCE_MS)
        return contexts[-1].new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_page: Callable[[], Any]) -> Any:
    """A fresh tab."""
    return new_page()
