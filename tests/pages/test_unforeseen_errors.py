"""An error that nobody foresaw: our own sentence on the page, its kind and place in the log, and no
value in either."""

import asyncio
import logging
from typing import Any
from unittest import mock

import pytest
from streamlit.runtime.backend_operation_handler import DeferredFileHandler
from streamlit.runtime.scriptrunner import RerunException, StopException
from streamlit.testing.v1 import AppTest

from page_reading import fill, words
from pages.frame import core, failures, session
from pillar_core.errors import DataError

VALUE = "3.14159 in /srv/secret.csv"


@pytest.fixture
def log(caplog):
    streamlit = logging.getLogger("streamlit.error_util")
    streamlit.addHandler(caplog.handler)
    yield caplog
    streamlit.removeHandler(caplog.handler)


def _raise(error: BaseException) -> Any:
    def raising(*_: Any, **__: Any) -> None:
        raise error

    return raising


@pytest.mark.parametrize("page", ["curves", "rows"])
def test_a_page_says_its_own_sentence(start, page, monkeypatch, log):
    monkeypatch.setattr(core, "raw" if page == "rows" else "split", _raise(RuntimeError(VALUE)))
    app = start(page)
    assert "an error that nobody foresaw" in words(app)
    assert "3.14159" not in words(app) + log.text
    assert "RuntimeError at" in log.text
    assert "test_unforeseen_errors.py:" in log.text


def test_a_callback_leaves_no_message_in_the_log(start, monkeypatch, log, capfd):
    monkeypatch.setattr(AppTest, "_run", AppTest._run.__wrapped__)  # an exception is wanted
    monkeypatch.setattr(session, "keep_widget", _raise(RuntimeError(VALUE)))
    app = start("curves")
    fill(app, "control.method", "dp_sgd")
    assert app.exception
    assert "3.14159" not in str(app.exception)
    assert "RuntimeError at" in log.text
    assert "3.14159" not in log.text + "".join(capfd.readouterr())


def test_a_download_leaves_no_message_in_the_log(caplog):
    with failures.catch_errors():
        pass
    streamlit = logging.getLogger("streamlit.runtime.backend_operation_handler")
    streamlit.addHandler(caplog.handler)
    files = mock.Mock(execute_deferred=_raise(RuntimeError(VALUE)))
    answer = asyncio.run(
        DeferredFileHandler(lambda: files).handle(mock.MagicMock(request_id="1"), "session")
    )
    streamlit.removeHandler(caplog.handler)
    assert "RuntimeError at" in caplog.text
    assert "3.14159" not in caplog.text + str(answer)


def test_refusals_keep_their_words(start, monkeypatch, log):
    monkeypatch.setattr(core, "split", _raise(DataError("seven rows are too few")))
    assert "**Choose or mend the rows.**  \nseven rows are too few" in words(start("why"))
    assert "DataError" not in log.text


@pytest.mark.parametrize("signal", [StopException(), RerunException(None)])
def test_signals_pass(signal):
    with pytest.raises(type(signal)), failures.catch_errors():
        raise signal


def test_a_page_that_meets_torch_half_imported_waits_and_runs_again(start, monkeypatch):
    drawn = core.split
    calls = []

    def half(*arguments, **settings):
        calls.append(len(calls))
        if len(calls) == 1:
            raise AttributeError(
                "partially initialized module 'torch' has no attribute 'Tensor' (most likely due to"
                " a circular import)"
            )
        return drawn(*arguments, **settings)

    monkeypatch.setattr(core, "split", half)
    app = start("curves")
    assert len(calls) > 1
    assert "nobody foresaw" not in words(app)
