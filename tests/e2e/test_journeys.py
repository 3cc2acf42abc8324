"""From own files to a model: a hospital's table, x-rays with three public image sets."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pillar_core as pc
from e2e import browser
from e2e.browser import expect, opened, settled
from pillar_core import rng
from pillar_core.data import encoding
from pillar_core.types import Dataset
from unit.image_files import npz
from users import texts_in


def images(data: Dataset, n: int) -> bytes:
    return npz(
        x_train=data.x_train[:n],
        y_train=data.y_train[:n],
        x_test=data.x_test[:200],
        y_test=data.y_test[:200],
    )


def hospital() -> pd.DataFrame:
    """The breast cancer table with words, gaps and identifiers, as a hospital's export has them."""
    data = pc.load_dataset("breast_cancer")
    x, y = np.concatenate([data.x_train, data.x_test]), np.concatenate([data.y_train, data.y_test])
    generator = rng.stream(0, "hospital")
    frame = pd.DataFrame(x[:, :12], columns=[f"measure {place}" for place in range(12)])
    frame.insert(0, "patient id", 100_000 + generator.permutation(len(frame)))
    frame["size"] = np.where(x[:, 20] > np.median(x[:, 20]), "large", "small")
    frame["ward"] = generator.choice(["north", "south", "east"], len(frame))
    frame.loc[generator.permutation(len(frame))[:60], "measure 3"] = np.nan
    frame["diagnosis"] = np.array(["malignant", "benign"])[y]
    frame["split"] = np.where(np.arange(len(frame)) < len(data.x_train), "train", "test")
    return frame


def bring(page: Any, field: str, *files: tuple[str, bytes]) -> None:
    page.locator(f".st-key-{field} input[type=file]").set_input_files(
        [
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
            for name, content in files
        ]
    )
    settled(page)


def prediction(page: Any) -> tuple[float, float]:
    """(low, high) that the sentence promises, in [0, 1]."""
    heading = page.locator(".st-key-answer h3")
    expect(heading).to_contain_text("at ε = 1.")
    settled(page)
    low, high = re.findall(r"\d+ \((\d+) to (\d+)\) %", heading.inner_text())[0]
    return float(low) / 100, float(high) / 100


def downloaded(page: Any, key: str, folder: Path) -> Any:
    page.locator(f".st-key-{key} button").first.click()
    with page.expect_download() as download:
        page.locator(".st-key-model-file button").first.click()
    place = folder / "model.zip"
    download.value.save_as(place)
    assert "NOT FOR RELEASE" not in texts_in(place)["statement.txt"]
    return pc.load_model(place)


def test_a_hospitals_table_with_words_gaps_and_identifiers(page, address, tmp_path):
    frame = hospital()
    opened(page, f"{address}/?v=2&epsilon=1")
    page.get_by_role("link", name="Ask about my data").click()
    page.get_by_text("From your data to an answer").first.wait_for()
    settled(page)
    bring(page, "upload", ("ward.csv", frame.to_csv(index=False).encode()))
    browser.edit(page, "upload-columns", list(frame).index("measure 11"), 1, "leave out")
    page.get_by_text("A random share of them is public").click()
    expect(page.get_by_text("and ε protects a person").first).to_be_visible()
    page.get_by_text("Ready.").wait_for()
    page.get_by_role("button", name="Use these rows as private data").click()
    page.wait_for_url("**data=stored*")
    settled(page)
    low, high = prediction(page)
    model = downloaded(page, "answer-train", tmp_path)
    page.get_by_role("tab", name="Paid").click()
    page.locator("[class*=train-again-answer-paid] label").first.click()
    settled(page)
    expect(page.get_by_role("tab", name="Paid")).to_have_attribute("aria-selected", "true")
    columns = encoding.columns_of(frame.drop(columns="patient id"), "diagnosis")
    whole, public = encoding.split_off_public(frame, "diagnosis", 0.1, person="patient id")
    recipe = encoding.learn_recipe(public, columns, label="diagnosis", left_out=["measure 11"])
    test = encoding.private_parts(whole, dataclasses.replace(recipe, person="patient id"))
    accuracy = (np.array(model.classes)[model.predict(test.x_test)] == test.y_test).mean()
    assert low - 0.05 <= accuracy <= high + 0.05
    new = frame.drop(columns=["diagnosis", "patient id"])
    new.to_csv(tmp_path / "new.csv", index=False)
    named = np.array(model.classes)[model.predict(tmp_path / "new.csv")]
    assert (named == frame["diagnosis"]).mean() >= low - 0.05


def test_private_x_rays_with_three_public_image_sets(page, address, tmp_path):
    sets = {
        name: pc.load_dataset(name)
        for name in ("pneumonia_mnist", "mnist", "fashion_mnist", "digits")
    }
    opened(page, f"{address}/answer?v=2&epsilon=1")
    bring(page, "upload", ("x-rays.npz", images(sets["pneumonia_mnist"], 600)))
    page.get_by_text("Ready.").wait_for()
    bring(
        page,
        "upload-candidates",
        *(
            (f"{name}.npz", images(sets[name], 300))
            for name in ("mnist", "fashion_mnist", "digits")
        ),
    )
    expect(page.get_by_text("300 public rows")).to_have_count(3)
    page.get_by_role("button", name="Use these rows as private data").click()
    page.wait_for_url("**data=stored*")
    settled(page)
    low, high = prediction(page)
    page.get_by_role("tab", name="Paid").click()
    model = downloaded(page, "answer-paid", tmp_path)
    x, y = sets["pneumonia_mnist"].x_test[:200], sets["pneumonia_mnist"].y_test[:200]
    accuracy = (model.predict(x) == y).mean()
    assert low - 0.05 <= accuracy <= high + 0.05
    assert model.card["guarantee"]["epsilon"] <= 1.0
    assert any("chosen on private rows" in line for line in model.card["guarantee"]["assumptions"])
