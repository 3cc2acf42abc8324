"""No private row is in a file that leaves: figures, their tables, the report's entries and the explorer in one file."""

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from page_reading import Start, bring_on_data, linked
from pages.frame import core, exports, figures
from pages.frame.settings import Settings
from pillar_core.errors import DataError
from pillar_core.plots.accuracy import with_runs
from pillar_core.studies import portable

ROWS, FIRST = 240, 7_310_011
MARKED = "blood,iron,label\n" + "\n".join(f"{FIRST + 37 * row},{(row * 29) % 17},{(row * 29) % 17 > 8:d}" for row in range(ROWS))
VIEWS = [
    *(("explore", {"view": view}) for view in ("k", "epsilon", "plane", "costs", "noise", "classes", "rows", "odds", "why")),
    *(("evidence", {"controls": f"evidence-view:{view}"}) for view in ("attack", "rows", "image", "score", "audit")),
    *(("geometry", {"controls": f"geometry-view:{view}"}) for view in ("xi", "margins", "spectrum", "best")),
    *(("data", {"controls": f"map-colour:{colour}"}) for colour in ("class", "model")),
    ("compare", {}),
]


def numbers_in(text: str) -> set[int]:
    """The marks of rows in a text."""
    return {int(float(number)) for number in re.findall(r"\b7\d{6}(?:\.0+)?\b", text)} & {FIRST + 37 * row for row in range(ROWS)}


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the exports of each figure that a page draws hold, as text."""
    texts: list[str] = []

    def keep(figure: Any, runs: Any, table: pd.DataFrame | Callable[[], pd.DataFrame], info: figures.FigureInfo) -> None:
        whole = figure if runs is None else with_runs(figure, runs)
        frame = table if isinstance(table, pd.DataFrame) else table()
        texts.extend([whole.to_json(), exports.csv(frame).decode(), exports.settings_yaml(info.settings), frame.to_html()])

    monkeypatch.setattr(figures, "_show_exports", keep)
    return texts


def test_no_private_row_is_in_a_file_that_leaves(start: Start, left: list[str]) -> None:
    name = bring_on_data(start("data"), MARKED.encode(), "blood.csv")
    settings = Settings(data=name, k=2)
    split = core.split(settings)
    private = {int(value) for value in split.features.x_train[split.private, 0]}
    assert len(private & {FIRST + 37 * row for row in range(ROWS)}) > 100, "the marks are in the rows, as they are"
    assert numbers_in(f"7310011,\n7310048.0;{FIRST + 1}") == {FIRST, FIRST + 37}
    for page, link in VIEWS:
        before = len(left)
        app = start(page, data=name, k="2", v="2", **link)
        assert not app.exception, (page, link)
        assert linked(app)["data"] == name
        for key in {"train-possible", "lira-run"} & {button.key for button in app.button}:
            app.button(key=key).click().run()
        for text in left[before:]:
            assert not numbers_in(text) & private, (page, link)
    assert len(left) > 4 * 12
    core.run(settings)
    with pytest.raises(DataError):
        portable.page("nothing")
    assert not numbers_in(portable.page(name)) & private


def test_a_row_that_you_brought_is_not_reconstructed(start: Start) -> None:
    name = bring_on_data(start("data"), MARKED.encode(), "blood.csv")
    app = start("evidence", data=name, k="2", v="2", controls="evidence-view:image")
    assert any("public anyway" in item.value for item in app.info)
    assert not any(item.key == "chart-reconstruction" for item in app.get("plotly_chart"))
