"""Reading costs in proportion to the columns: calls are counted at three widths; the benchmark
`reading.py` has large ones and memory."""

import cProfile
import dataclasses
import functools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core.data import raw, recipes
from pillar_core.runs import use
from users import is_noted

WIDTHS = (60, 120, 180)
ROWS = 12
MORE_THAN_LINEAR = 1.005
"""What the last third of the columns may cost beside the second: two name comparisons of each pair
of columns are 1.01."""


def table(width: int, *, seed: int, is_text: bool = False) -> pd.DataFrame:
    numbers = np.random.default_rng(seed).normal(size=(ROWS, width)).round(2)
    frame = pd.DataFrame(numbers, columns=[f"g{place}" for place in range(width)])
    return (frame.map("{:.2f}".format) if is_text else frame).assign(
        label=["t", "u", "v"] * (ROWS // 3)
    )


def _predicted(width: int, folder: Path) -> Callable[[], object]:
    recipe = recipes.recipe_of(
        pc.load_features(table(width, seed=0), public=table(width, seed=1)).recipe or {}
    )
    form = {"kind": "table", "recipe": recipes.form_of(recipe)}
    place = folder / "new.csv"
    table(width, seed=2, is_text=True).drop(columns="label").to_csv(place, index=False)
    words = table(width, seed=3, is_text=True).astype(object)
    return lambda: (list(use.read(place, form, width)), raw.new_rows(words, recipe))


def _with_recipe(width: int, folder: Path) -> Callable[[], object]:
    form = dict(pc.load_features(table(width, seed=0), public=table(width, seed=1)).recipe or {})
    place = folder / "recipe.json"
    place.write_text(json.dumps(form | {"gaps": ["x"]}))
    return lambda: pc.load_features(
        table(width, seed=4), recipe=place, leave_out=[f"g{column}" for column in range(width // 2)]
    )


def _by_name(width: int, folder: Path) -> Callable[[], object]:
    private, public = (pc.load_features(table(width, seed=seed)) for seed in (0, 1))
    public = dataclasses.replace(public, names=(public.names or ())[::-1])
    return lambda: pc.split(private, public=public, allow_overlap=True)


def _of_files(ending: str, width: int, folder: Path) -> Callable[[], object]:
    places = [folder / f"{seed}{ending}" for seed in (0, 1)]
    for seed, place in enumerate(places):
        frame = table(width, seed=seed)
        if ending == ".csv":
            frame.to_csv(place, index=False, sep=";")
        else:
            frame.to_parquet(place, index=False)
    return lambda: (pc.load_features(places[0]), pc.load_features(places[0], public=places[1]))


WAYS = {ending: functools.partial(_of_files, ending) for ending in (".csv", ".parquet")}
WAYS |= {"new rows": _predicted, "a recipe": _with_recipe, "public rows by name": _by_name}


@pytest.mark.parametrize("way", WAYS)
def test_reading_is_linear_in_the_columns(way, tmp_path):
    calls = []
    WAYS[way](20, tmp_path)()  # imports, and what is made once
    for width in WIDTHS:
        profile = cProfile.Profile()
        profile.runcall(WAYS[way](width, tmp_path))
        calls.append(sum(line.callcount for line in profile.getstats()))
    assert calls[2] - calls[1] <= MORE_THAN_LINEAR * (calls[1] - calls[0]), calls


def test_a_header_longer_than_the_start_of_a_file_still_says_what_stands_between_cells(tmp_path):
    frame = table(600, seed=0).rename(
        columns=lambda name: name if name == "label" else f"{name} {'x' * 500}"
    )
    frame.to_csv(tmp_path / "genes.csv", sep="\t", index=False)
    assert pc.load_features(tmp_path / "genes.csv").d == 600


def test_an_index_that_is_left_out_is_said_and_is_no_column_of_words(tmp_path):
    words = table(3, seed=0).set_index(pd.Index([f"sample {row}" for row in range(ROWS)]))
    words.to_parquet(tmp_path / "words.parquet")
    words.to_csv(tmp_path / "words.csv")
    numbered = words.reset_index(drop=True).sample(frac=1, random_state=0)
    numbered.to_parquet(tmp_path / "numbers.parquet")
    for source in (
        words,
        *(tmp_path / name for name in ("words.parquet", "words.csv", "numbers.parquet")),
    ):
        for public in (None, source):
            features = pc.load_features(source, public=public)
            assert features.names == ("g0", "g1", "g2")
            assert any(
                "index was left out" in note or "unnamed first column" in note
                for note in features.notes
            ), source
    assert not is_noted(pc.load_features(numbered).notes, "index"), "row numbers hold nothing"
    named = words.rename_axis("sample")
    named.to_parquet(tmp_path / "named.parquet")
    assert pc.load_features(tmp_path / "named.parquet", leave_out=["sample"]).names == (
        "g0",
        "g1",
        "g2",
    ), "a named one is a column"
