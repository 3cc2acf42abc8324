"""No private row is in a file that leaves: rare numbers, sentences and images are planted, and
every export is read for them."""

import base64
import importlib.util
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from exported_rows import holds_image, numbers_in
from PIL import Image

import pillar_core as pc
from page_reading import VIEWS, bring_on_data, charts, linked, press, words
from pages.frame import core, exports, figures
from pages.frame.settings import Settings
from pages.parts.runs import results as runs_exports
from pillar_core import rng
from pillar_core.data import uploads
from pillar_core.errors import DataError
from pillar_core.plots.accuracy import with_runs
from pillar_core.runs import records
from pillar_core.runs.evidence import evidence_page
from pillar_core.runs.models import model_bytes
from pillar_core.runs.receipts import Account
from pillar_core.studies import portable
from pillar_core.types import Dataset
from users import run_command

ROWS, FIRST = 240, 7_310_011
MARKS = {FIRST + 37 * row for row in range(ROWS)}
SENTENCE = "The quokka of ward {} sang loudly at noon"
MARKED = "blood,iron,note,label\n" + "\n".join(
    f"{FIRST + 37 * row},{(row * 29) % 17},{SENTENCE.format(FIRST + 37 * row)},{(row * 29) % 17 > 8:d}"
    for row in range(ROWS)
)
DRAWN = [
    *((page, link) for page in ("curves", "audit", "why", "learners") for link in VIEWS[page]),
    *(("rows", {"controls": f"map-colour:{colour}"}) for colour in ("class", "model")),
]
"""Views of private rows."""


@pytest.fixture
def left(monkeypatch):
    """What the exports of each figure that a page draws hold; each is in the report, too."""
    files = []

    def keep(
        figure,
        runs,
        table,
        info,
        _,
    ):
        whole = figure if runs is None else with_runs(figure, runs)
        frame = table if isinstance(table, pd.DataFrame) else table()
        texts = (whole.to_json(), exports.settings_yaml(info.settings), frame.to_html())
        files.extend([exports.csv(frame), *map(str.encode, texts)])

        exports._add(whole, frame, info)

    monkeypatch.setattr(figures, "_show_exports", keep)
    monkeypatch.setattr(exports, "script", str)  # Plotly's own
    return files


def files_of(settings: Settings, folder: Path) -> dict[str, bytes]:
    """Every other file that the product makes of private rows: of a release, of experiments in the
    cache, and of the cache itself."""
    split = core.split(settings)
    for seed in (0, 1):
        core.run(Settings(data=settings.data, k=settings.k, seed=seed))
    release, runs = (
        pc.run("pillar", split, epsilon=2.0, k=settings.k, seed=None),
        records.all_runs(),
    )
    model = model_bytes(release, split=split, onnx=True)
    assert run_command(f"cache export {folder / 'bundle.zip'}") == 0
    for form in ("csv", "mlflow") if importlib.util.find_spec("mlflow") else ("csv",):
        assert run_command(f"cache runs --format {form} --output {folder / form}") == 0
    texts = {
        "explorer": portable.page(settings.data),
        "evidence": evidence_page(io.BytesIO(model), attacks=["an attack"]),
        "statement": pc.statement(release).text,
        "grid": runs_exports.grids(runs),
        "command": runs_exports.command(runs),
    }
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | {name: text.encode() for name, text in texts.items()} | {"model": model}


def test_no_private_row_is_in_a_file_that_leaves(start, left, tmp_path):
    name = bring_on_data(start("rows"), MARKED, "blood.csv")
    settings = Settings(data=name, k=2)
    split = core.split(settings)
    private = {int(value) for value in split.features.x_train[split.private, 0]} & MARKS
    assert len(private) > 100, "the marks are in the rows, as they are"
    Account(name).look()
    for page, link in DRAWN:
        before = len(left)
        app = start(page, data=name, k="2", v="2", **link)
        assert linked(app)["data"] == name
        for key in {"train-possible", "lira-run"} & {button.key for button in app.button}:
            press(app, key)
        entries = json.loads(app.session_state["report.figures"]) if len(left) > before else []
        for content in (*left[before:], exports.report_page(entries).encode()):
            assert not numbers_in(content, private), (page, link)
    assert len(left) > 4 * 12
    (folder := tmp_path / "files").mkdir()
    files = files_of(settings, folder)
    assert len(files) >= 8
    assert not {
        name: found for name, content in files.items() if (found := numbers_in(content, private))
    }
    with pytest.raises(DataError):
        portable.page("nothing")


def test_no_private_image_is_in_a_file_that_leaves_or_is_reconstructed(start, tmp_path):
    drawn = rng.stream(0, "planted images").integers(0, 256, (160, 28, 28), dtype=np.uint8)
    start("rows")
    name = uploads.keep(
        Dataset(
            "scans",
            drawn[:120],
            np.arange(120) % 2,
            drawn[120:],
            np.arange(40) % 2,
            ("sick", "well"),
        )
    )
    Account(name).look()
    (folder := tmp_path / "files").mkdir()
    settings = Settings(data=name, backbone="raw_pixels", k=2)
    files, split = files_of(settings, folder), core.split(settings)
    assert not [
        file
        for file, content in files.items()
        for row in split.private[:12]
        if holds_image(content, drawn[row])
    ]
    app = start(
        "audit", data=name, backbone="raw_pixels", k="2", v="2", controls="evidence-view:image"
    )
    assert "public anyway" in words(app, "info")
    assert "chart-reconstruction" not in charts(app)
    strip = charts(start("audit", controls="evidence-view:image"))["chart-reconstruction"]
    assert "A non-private diagnostic" in strip, "its picture says so, too"


def test_a_planted_row_is_found_however_it_is_packed():
    image, file, zipped = (
        rng.stream(0, "planted").integers(0, 256, (28, 28), dtype=np.uint8),
        io.BytesIO(),
        io.BytesIO(),
    )
    Image.fromarray(image).resize((112, 112)).save(file, "JPEG")
    np.savez_compressed(zipped, x=np.array([[1, 2], [3, FIRST]], np.float32), images=image[None])
    figure = pc.plots.map_2d(pd.DataFrame({"x": [1.0, FIRST], "y": [0.0, 1.0], "class": "a"}))
    page = (
        f'<img src="data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode()}">'.encode()
    )
    for content in (
        figure.to_json().encode(),
        zipped.getvalue(),
        SENTENCE.format(FIRST).encode(),
        b"a;7.310011e+06",
    ):
        assert numbers_in(content, MARKS) == {FIRST}
    assert not numbers_in(f"{FIRST + 1}".encode(), MARKS)
    for content in (page, zipped.getvalue()):
        assert holds_image(content, image)
    assert not holds_image(page, image.T.copy())
