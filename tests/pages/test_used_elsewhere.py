"""Each kind of data, free and paid, by the page Answer: the zip labels new raw rows in a process
without the library."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import pillar_core as pc
from page_reading import Start, fill, press, send
from pillar_core import rng
from unit.image_files import zipped

ALWAYS = {
    "README.md",
    "SHA256SUMS",
    "model.json",
    "model.npz",
    "model.safetensors",
    "statement.json",
    "statement.txt",
    "use.py",
}
TOKENS = ("LICENSE.txt", "safetensors", "tokenizer.json")
CLASSES = ("no", "yes")
KINDS = ("table", "persons", "images", "texts", "features")
WORDS = {
    "no": "thanks this works very well and we love it",
    "yes": "broken again please repair the device it does not start",
}


def table(n: int, first: int) -> pd.DataFrame:
    """Patients of two wards, some gaps among their ages; each person has two rows."""
    generator = rng.stream(first, "patients")
    sick = generator.integers(0, 2, n)
    frame = pd.DataFrame(
        {
            "age": generator.normal(50 + 15 * sick, 8).round(),
            "ward": generator.choice(["north", "south"], n),
        }
    )
    frame["crp"] = generator.gamma(2 + 8 * sick, 3).round(3)  # else rows are equal by chance
    frame.loc[generator.permutation(n)[: n // 20], "age"] = np.nan
    frame["patient"] = [f"p{first + place // 2}" for place in range(n)]
    frame["label"] = np.take(CLASSES, sick)
    return frame


def rows_of(kind: str, n: int, first: int) -> pd.DataFrame | dict[str, np.ndarray]:
    """`n` rows of a kind, with their labels; `first` tells sets apart."""
    generator, sick = rng.stream(first, "rows"), np.arange(n) % 2
    if kind == "images":
        bright = np.where(
            np.arange(8) < 4, 1 - sick[:, None], sick[:, None]
        )  # the left half or the right one
        images = generator.integers(0, 120, (n, 8, 8)) + 100 * bright[:, None, :]
        return {"x_train": images.astype(np.uint8), "y_train": sick}
    if kind == "features":
        return {
            "x_train": (generator.normal(size=(n, 12)) + sick[:, None]).astype(np.float32),
            "y_train": sick,
        }
    if kind == "texts":
        said = [" ".join(generator.permutation(WORDS[CLASSES[code]].split())) for code in sick]
        return pd.DataFrame(
            {
                "message": [f"{text} case {generator.integers(10**9)}" for text in said],
                "label": np.take(CLASSES, sick),
            }
        )
    return table(n, first).drop(columns=[] if kind == "persons" else "patient")


def written(
    kind: str, folder: Path, name: str, n: int, first: int, *, labelled: bool = True
) -> Path:
    """The rows as people have them: a csv, a npz, or a folder of pictures; without labels new
    ones."""
    rows = rows_of(kind, n, first)
    if isinstance(rows, pd.DataFrame):
        path = folder / f"{name}.csv"
        rows.drop(columns=[] if labelled else ["label", *({"patient"} & {*rows})]).to_csv(
            path, index=False
        )
        return path
    if kind == "features":
        path = folder / f"{name}.npz"
        np.savez(
            path, **(rows | {"classes": np.array(CLASSES)} if labelled else {"x": rows["x_train"]})
        )
        return path
    for place, (image, code) in enumerate(zip(rows["x_train"], rows["y_train"], strict=True)):
        path = folder / name / (CLASSES[code] if labelled else "") / f"{place:03}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
    return folder / name


def as_upload(path: Path) -> dict[str, bytes]:
    """A file as a browser sends it; a folder as a zip."""
    if path.is_file():
        return {path.name: path.read_bytes()}
    inside = {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*.png")}
    return {f"{path.name}.zip": zipped(inside)}


def by_page(
    kind: str, price: str, private: Path, public: Path, start: Start, handed: dict[str, Any]
) -> bytes:
    """The model that Answer hands out for files that were brought there."""
    button = {"free": "answer-train", "paid": "answer-paid"}[price]
    app = start("answer", v="2", epsilon="3")
    send(app, "upload", as_upload(private))
    send(app, "upload-candidates", as_upload(public))
    press(app, "use-upload")
    if kind == "images":
        fill(app, f"local-widget.with-onnx-{button}", True)
    press(app, button)
    assert not app.error
    return handed["model-file"]()


@pytest.mark.slow
@pytest.mark.parametrize("price", ["free", "paid"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_model_labels_new_rows_elsewhere(kind, price, start, handed, tmp_path):
    private, public = (
        written(kind, tmp_path, name, n, first)
        for name, n, first in (("private", 400, 0), ("public", 80, 1000))
    )
    new = written(kind, tmp_path, "new", 20, 2000, labelled=False)
    path = tmp_path / "model.zip"
    path.write_bytes(by_page(kind, price, private, public, start, handed))
    with zipfile.ZipFile(path) as archive:
        more = {
            "images": {"model.onnx"},
            "texts": {f"wordllama_256.{ending}" for ending in TOKENS},
        }.get(kind, {"curves.json", "curves.html"} & {*archive.namelist()})
        assert {*archive.namelist()} == ALWAYS | more
        archive.extractall(tmp_path / "alone")
    model = pc.load_model(path)
    named = np.array(model.classes)[
        model.predict(np.load(new)["x"] if kind == "features" else new)
    ].tolist()
    truth = (
        np.take(CLASSES, rows_of(kind, 20, 2000)["y_train"])
        if kind in ("images", "features")
        else rows_of(kind, 20, 2000)["label"]
    )
    assert np.mean(np.array(named) == np.array(truth)) >= 0.6
    told = subprocess.check_output(
        [sys.executable, "-I", "use.py", new], cwd=tmp_path / "alone", text=True
    )
    assert [line.split(",")[1] for line in told.splitlines()[1:]] == named
