"""Recipes as files: how a table became numbers, as JSON that pages, commands and `load_features`
write and read alike."""

import dataclasses
import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pillar_core import texts
from pillar_core.data.encoding import (
    MISFITS,
    NUMBERS,
    OF_WORDS,
    TEXT,
    WORDS,
    Column,
    Recipe,
    columns_outside,
)
from pillar_core.data.parts import place_of
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import MOST_ROWS

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "pillar-recipe-1"


def form_of(recipe: Recipe) -> dict[str, Any]:
    """The recipe as JSON holds it; null stands for categories, fills and ranges that nobody
    named."""
    columns = []
    for column in recipe.columns:
        is_words = column.categories or column.kind in OF_WORDS
        kind = TEXT if column.kind == TEXT else WORDS if is_words else NUMBERS
        low, high = column.range or (None, None)
        columns.append(
            {"name": column.name, "kind": kind, "categories": list(column.categories) or None}
            | {"fill": column.fill, "low": low, "high": high}
            | ({} if column.centre is None else {"centre": column.centre})
            | ({"encoder": dict(recipe.encoder)} if kind == TEXT else {})
        )
    form: dict[str, Any] = {
        "format": FORMAT,
        "label": recipe.label,
        "classes": list(recipe.classes),
        "person": recipe.person,
    }
    form |= {"left_out": list(recipe.left_out), "columns": columns}
    more = {"gaps": list(recipe.gaps)} if recipe.gaps else {}
    return (
        form
        | more
        | ({"rows_per_person": recipe.rows_per_person} if recipe.rows_per_person > 1 else {})
    )


def ranges_of(text: str) -> dict[str, tuple[float, float]]:
    """Ranges by column, from "hb=5:20, age=0:120", as pages and commands take them. Raises
    DataError: what cannot be read."""
    ranges = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, ends = part.rpartition("=")
        try:
            low, high = map(float, ends.split(":"))
        except ValueError:
            raise DataError(
                f"ranges are written COLUMN=LOW:HIGH, with commas between them; got {part!r}."
            ) from None
        ranges[name.strip()] = (low, high)
    return ranges


def with_ranges(
    recipe: Recipe, ranges: Mapping[str, tuple[float, float]], public: "pd.DataFrame | None"
) -> tuple[Recipe, list[str]]:
    """The recipe with the ranges that somebody states of its columns of numbers, without those that
    the public table does not fit, which may be in another unit; and notes on these.

    Raises DataError: another column, a range whose ends are no two numbers, the smaller first, or
    no column that fits.
    """
    numbers = [
        column.name for column in recipe.columns if column.kind == NUMBERS and not column.categories
    ]
    for name, ends in ranges.items():
        if name not in numbers:
            raise DataError(
                f"a range is stated of {name!r}, which is no column of numbers that is used; these"
                f" are {join(numbers)}."
            )
        if len(ends) != 2 or not -math.inf < ends[0] < ends[1] < math.inf:
            raise DataError(
                f"the range of column {name!r} must be two numbers, the smaller first; got {ends}."
            )
    columns = tuple(
        dataclasses.replace(column, range=ranges.get(column.name, column.range))
        for column in recipe.columns
    )
    stated = dataclasses.replace(recipe, columns=columns)
    misfits = {} if public is None or not ranges else columns_outside(public, stated)
    if not misfits:
        return stated, []
    said = f"{MISFITS}: {join(misfits.values())}."
    fitting = tuple(column for column in columns if column.name not in misfits)
    if not fitting:
        raise DataError(f"{said} Convert these columns, or correct their ranges.")
    return (
        dataclasses.replace(stated, columns=fitting, left_out=(*recipe.left_out, *misfits)),
        [f"{said} Left out; convert these columns, or correct their ranges, to use them."],
    )


def recipe_of(source: str | Path | Mapping[str, Any]) -> Recipe:
    """The recipe in a file, or in the JSON form at hand. Raises DataError: no such file, no recipe,
    or a damaged one."""
    title = "the recipe" if isinstance(source, Mapping) else str(source)
    try:
        return _read(
            source
            if isinstance(source, Mapping)
            else json.loads(place_of(source).read_text(encoding="utf-8-sig"))
        )
    except OSError as error:
        raise DataError(
            f"the recipe {title} could not be read ({error.strerror}): check its path."
        ) from error
    except KeyError as error:
        raise DataError(
            f"{title} is a damaged recipe: it has no {error}. Write it again with `python -m"
            " pillar_core recipe`."
        ) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(
            f"{title} is no recipe, or a damaged one: {error} Write it again with `python -m"
            " pillar_core recipe`."
        ) from error


def _read(form: Any) -> Recipe:
    if not isinstance(form, Mapping) or form.get("format") != FORMAT:
        raise ValueError(f"its format must be {FORMAT!r}.")
    columns, encoder = list[Column](), texts.IDENTITY
    for number, column in enumerate(form["columns"]):
        name, kind = column["name"], column["kind"]
        if not isinstance(name, str) or kind not in (NUMBERS, WORDS, TEXT):
            raise ValueError(
                f"column {number} must have a name, and numbers, words or text as its kind; got"
                f" {name!r}, {kind!r}."
            )
        if (
            kind == TEXT
            and (encoder := column.get("encoder", texts.IDENTITY)) not in texts.OWN.values()
            and not (
                str(encoder["name"]).startswith(f"{texts.FAMILY}:")
                and 0 < int(encoder["width"]) < 2**15
            )
        ):
            raise ValueError(
                f"the encoder of the texts in column {name!r} is {encoder}, and {texts.IDENTITY}"
                " here."
            )
        low, high, fill, centre = (
            _number(column.get(key), f"{key} of column {name!r}")
            for key in ("low", "high", "fill", "centre")
        )
        ends = None if low is None or high is None or not low < high else (low, high)
        if ends is None and (low, high) != (None, None):
            raise ValueError(
                f"low and high of column {name!r} must be two numbers, the smaller first; got {low}"
                f" and {high}."
            )
        categories = _texts(column.get("categories"), f"the categories of column {name!r}")
        columns.append(Column(name, kind, 0, categories, fill, ends, centre))
    label, person, most = form["label"], form.get("person"), form.get("rows_per_person", 1)
    if not isinstance(label, str) or not isinstance(person, str | None):
        raise ValueError(
            f"label and person must be names of columns; got {label!r} and {person!r}."
        )
    if type(most) is not int or not 1 <= most <= MOST_ROWS:
        raise ValueError(
            f"rows_per_person must be a whole number from 1 to {MOST_ROWS}; got {most!r}."
        )
    left_out = _texts(form.get("left_out"), "left_out")
    roles = [
        *(column.name for column in columns),
        *left_out,
        label,
        *([person] if person and person not in left_out else []),
    ]
    if repeated := sorted(name for name, count in Counter(roles).items() if count > 1):
        raise ValueError(f"each column has one place in it; {join(repeated)} have several.")
    if not columns:
        raise ValueError("it names no column to learn from.")
    gaps = form.get("gaps", [])
    if not isinstance(gaps, list | tuple) or not all(
        isinstance(gap, str | int | float) and not isinstance(gap, bool) for gap in gaps
    ):
        raise ValueError(f"gaps must be a list of words and numbers; got {gaps!r}.")
    classes = _texts(form.get("classes"), "classes")
    return Recipe(label, left_out, tuple(columns), person, most, classes, tuple(gaps), encoder)


def _texts(values: Any, title: str) -> tuple[str, ...]:
    if values is None:
        return ()
    if (
        not isinstance(values, list | tuple)
        or not all(isinstance(value, str) for value in values)
        or len(set(values)) < len(values)
    ):
        raise ValueError(f"{title} must be a list of different words; got {str(values)[:80]}.")
    return tuple(values)


def _number(value: Any, title: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{title} must be a number or null; got {value!r}.")
    return float(value)
