"""Names out of data, files and messages are text everywhere: no image, link, icon, formula or
markup in them is read."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from page_reading import VIEWS, choose, press, send
from pages.frame import exports
from pages.frame.plain import text
from pillar_core import plots
from unit.image_files import npz_of_squares

SMALL = "m:linear_head;n:100;k:2;e:no;s:gsd;v:angles;c:drawn_noise"
IMAGE = "![m](http://hostile.test/x.png)"
FILE = IMAGE.replace("/", "&#47;")
LINK = "<a href='http://hostile.test/'>cat</a>"
CHARTS = ("PlotlyChart", "BidiComponent")
SHOWN_AS_THEY_ARE = {
    "Code",
    "ArrowDataFrame",
    "Arrow",
    "Dataframe",
    "Text",
    "Html",
    "PlotlyChart",
    "FileUploader",
    "TextInput",
    "TextArea",
}
CHOICES_AS_THEY_ARE = {"Selectbox", "MultiSelect"}


def _texts(message: Any) -> Iterator[str]:
    """Every text of a message to the browser that is read as Markdown."""
    kind = type(message).__name__
    if kind in SHOWN_AS_THEY_ARE:
        return
    for field, value in message.ListFields():
        if kind in CHOICES_AS_THEY_ARE and field.name not in ("label", "help"):
            continue
        if kind == "Image" and field.name == "alt":
            continue
        for item in (
            value if isinstance(value, (list, tuple)) or hasattr(value, "extend") else [value]
        ):
            if isinstance(item, str):
                yield item
            elif hasattr(item, "ListFields"):
                yield from _texts(item)


def _messages(node: Any) -> Iterator[Any]:
    proto = getattr(node, "proto", None)
    if proto is not None:
        yield proto
    for child in getattr(node, "children", {}).values():
        yield from _messages(child)


def _assert_inert(app: Any, where: str) -> int:
    """The number of texts that quote a hostile name, none of them raw."""
    messages = list(_messages(app._tree))
    found = [word for message in messages for word in _texts(message)]
    assert [
        word for word in found if "[m](" in word or "<a href" in word.replace("\\<", "")
    ] == [], where
    charts = [
        str(getattr(message, "spec", "") or message.json)
        for message in messages
        if type(message).__name__ in CHARTS
    ]
    assert not any("<a href" in chart for chart in charts), where
    return sum("hostile.test" in word.replace("\u2060", "") for word in found)


def test_hostile_names_of_classes_and_files_are_text(start):
    app = start("rows", screen=SMALL)
    send(app, "upload", {f"{FILE}.npz": npz_of_squares(classes=np.array([IMAGE, LINK]))})
    _assert_inert(app, "dry run")
    choose(app, "upload-public", 0)
    press(app, "use-upload")
    assert _assert_inert(app, "rows")
    for page in VIEWS:
        app.switch_page(f"pages/{page}.py").run()
        _assert_inert(app, page)


def test_a_report_that_quotes_columns_is_text(start):
    app = start("rows")
    content = f'"{IMAGE}",b,label\n' + "\n".join(f"x{index},2,{index % 2}" for index in range(20))
    send(app, "upload", {f"{FILE}.csv": content})
    choose(app, "upload-public", 0)
    assert _assert_inert(app, "report")


def test_text_is_markdown_that_shows_it_and_no_page_of_figures_loads_anything(tmp_path):
    shown = {
        IMAGE: "!\\[m\\](http\\:\u2060//hostile.test/x.png)",
        "Https://a.b www.a.b me@a.b c@d": "Https\\:\u2060//a.b www\u2060.a.b me@\u2060a.b c@d",
        ":red[x] :material/key: $a$ `b`": "\\:red\\[x\\] \\:\u2060material/key: \\$a\\$ \\`b\\`",
        "# a\n\n1. b\n- c": "\\# a  \n1\\. b  \n\\- c",
        "x_train, _a_ and __b__ <b> &lt; c & d": r"x_train, \_a\_ and \_\_b\_\_ \<b> \&lt; c & d",
        "x-rays (2).npz: 3 files at 10:30": r"x-rays (2).npz: 3 files at 10\:30",
    }
    assert {name: text(name) for name in shown} == shown
    sources = [path for folder in ("pages", "pillar_core") for path in Path(folder).rglob("*.py")]
    assert [path for path in sources if "cdn" in path.read_text(encoding="utf-8")] == []


def test_a_csv_holds_no_formulas():
    table = pd.DataFrame(
        {"=1+1": ["=cmd()", "+a", "-a", "@x", "\tx", "\rx", "-1.5"], "n": [-1.5] * 7}
    )
    read = pd.read_csv(io.BytesIO(exports.csv(table)), dtype=str)
    assert list(read.columns) == ["'=1+1", "n"]
    assert [cell[0] for cell in read.iloc[:, 0]] == ["'"] * 6 + ["-"]
    assert set(read["n"]) == {"-1.5"}
    cells = ["a;=cmd()", "1;@x", "a\n=cmd()", "a\r-b", "a\t+b", "＝cmd()"]
    assert not [
        cell
        for cell in cells
        if re.search(r"[;\t\r\n\"][=+\-@＝]", exports.csv(pd.DataFrame({"a": [cell]})).decode())
    ]
    assert (
        exports.csv(pd.DataFrame({"a": ["-1.5;+2e-3", "a-b=c"]})).decode()
        == "a\n-1.5;+2e-3\na-b=c\n"
    )
    table = pd.DataFrame(
        {"class": [LINK, "<b>b</b>"], "part": ["private", "private"], "rows": [3, 4]}
    )
    drawn = json.loads(plots.class_balance(table).to_json())
    assert "<a" not in json.dumps(drawn["data"])
    assert LINK.replace("<", "&lt;") in list(drawn["data"][0]["x"])
    assert drawn["data"][0]["hovertemplate"].endswith("<extra>private</extra>")
