"""Recipes as JSON, and tables that become features through them."""

import dataclasses
import json

import numpy as np
import pytest

from pillar_core.data import recipes, uploads
from pillar_core.data.arrays import features
from pillar_core.data.encoding import NUMBERS, WORDS, Column, Recipe
from pillar_core.data.packing import packed, unpacked
from pillar_core.errors import DataError

RECIPE = Recipe(
    "sick",
    ("note",),
    {"sex": ("female", "male")},
    {"age": 50.0},
    {"age": (0.0, 120.0)},
    (Column("age", NUMBERS, 0), Column("sex", WORDS, 0)),
    "patient",
    2,
    ("no", "yes"),
    ("?", -999),
)


def test_a_recipe_is_the_same_after_a_file(tmp_path) -> None:
    form = recipes.form_of(RECIPE)
    assert form["columns"][0] == {"name": "age", "kind": "numbers", "categories": None, "fill": 50.0, "low": 0.0, "high": 120.0}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(form), encoding="utf-8")
    assert recipes.recipe_of(path) == recipes.recipe_of(form) == RECIPE


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "pillar-recipe-9"}, "pillar-recipe-1"),
        ({"columns": [{"name": "age", "kind": "dates"}]}, "numbers or words as its kind"),
        ({"columns": [{"name": "age", "kind": "numbers", "low": 3, "high": 1}]}, "the smaller first"),
        ({"columns": [{"name": "age", "kind": "numbers", "fill": float("nan")}]}, "a number or null"),
        ({"columns": [{"name": "sick", "kind": "numbers"}]}, "sick have several"),
        ({"columns": []}, "no column to learn from"),
        ({"rows_per_person": 0}, "from 1 to 100"),
        ({"label": None}, "names of columns"),
        ({"columns": 3}, "damaged"),
    ],
)
def test_damaged_recipes_are_refused(change, said) -> None:
    with pytest.raises(DataError, match=said):
        recipes.recipe_of(recipes.form_of(RECIPE) | change)


def test_a_file_that_is_no_recipe_is_refused(tmp_path) -> None:
    (tmp_path / "r.json").write_text("{", encoding="utf-8")
    for path, said in ((tmp_path / "r.json", "no recipe"), (tmp_path / "none.json", "could not be read")):
        with pytest.raises(DataError, match=said):
            recipes.recipe_of(path)
    with pytest.raises(DataError, match="no 'label'"):
        recipes.recipe_of({"format": recipes.FORMAT, "columns": []})


def test_names_and_recipe_stay_with_the_rows_and_change_no_key() -> None:
    plain = features(np.eye(4, 2), [0, 1, 0, 1])
    named = dataclasses.replace(plain, names=("age", "weight"), recipe=recipes.form_of(RECIPE), test_drawn=True)
    assert named.fingerprint == plain.fingerprint
    back = uploads.load(uploads.keep(named))
    for other in (unpacked(packed(named)), back):
        assert (other.names, other.recipe, other.test_drawn) == (named.names, named.recipe, True)
    assert unpacked(packed(plain)).names is None
