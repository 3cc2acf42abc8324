"""A browser, a server and a tab for the tests in a real browser."""

import pytest

from e2e import browser


@pytest.fixture(scope="package")
def chromium():
    """A browser for all tests of this folder."""
    browser.require_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        started = driver.chromium.launch(
            executable_path=str(browser.CHROMIUM), args=browser.CHROMIUM_OPTIONS
        )
        yield started
        started.close()


@pytest.fixture(scope="package")
def cache(tmp_path_factory):
    """The server's cache: empty at first, then it holds what the tests before brought and
    trained."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="package")
def address(cache):
    """The server of all tests of this folder."""
    browser.require_chromium()
    with browser.server(cache) as found:
        yield found


@pytest.fixture
def new_page(chromium):
    """Opens a tab in a browser profile of its own, which ends with the test."""
    contexts = []

    def open_page():
        contexts.append(chromium.new_context(viewport=browser.WINDOW))
        contexts[-1].set_default_timeout(browser.PATIENCE_MS)
        return contexts[-1].new_page()

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="package")
def only_tab(chromium):
    """A tab for all tests: a tab that was here before has the app's scripts compiled, which takes a
    new one 5 s of CPU time."""
    tab = chromium.new_context().new_page()
    tab.context.set_default_timeout(browser.PATIENCE_MS)
    tab.add_init_script(browser.STILL)
    return tab


@pytest.fixture
def page(only_tab):
    """A tab as a new visitor's: what the test before stored in it, allowed or set is gone."""
    only_tab.set_viewport_size(browser.WINDOW)
    yield only_tab
    only_tab.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    only_tab.goto("about:blank")
    only_tab.emulate_media(color_scheme="null")
    only_tab.context.clear_cookies()
    only_tab.context.clear_permissions()
