"""What a page shows, read out of Streamlit's test driver."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.frame import settings as codec

REPOSITORY = Path(__file__).resolve().parents[1]
Start = Callable[..., AppTest]


def metric(app: AppTest, label: str) -> str:
    """The value that a page shows under `label`."""
    return next(item.value for item in app.metric if item.label.startswith(label))


def linked(app: AppTest) -> dict[str, str]:
    """Every setting that the link of a page says, those that it leaves out too."""
    return {**codec.LEFT_OUT[codec.VERSION], **{name: app.query_params[name] for name in app.query_params}}


def words(app: AppTest) -> str:
    """Everything that a page says in running text and messages, as people read it: a sign behind a backslash is that sign."""
    kinds = (app.markdown, app.caption, app.warning, app.error, app.info, app.title, app.header)
    shown = "\n".join(str(item.value) for items in kinds for item in items)
    return re.sub(r"\\([!-/:-@\[-`{-~])|\u2060", r"\1", shown)


def offered(app: AppTest) -> str:
    """Every option of every control that offers some, as shown, and the page's words."""
    controls = [*app.selectbox, *app.multiselect, *app.radio, *app.button_group, *app.select_slider]
    return "\n".join([words(app), *(str(option) for control in controls for option in control.options)])
