"""What a linear model does with each column of a table that went through bins: post-processing of
its weights, which costs no ε."""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.data import encoding, recipes
from pillar_core.engine import LinearClassifier
from pillar_core.types import Classifier, Form

FORMAT = "pillar-curves-1"
MEANING = (
    "In each class, the scores of a row's columns add up to the class's, but for a constant and one"
    " positive factor of the row. They are exact of this model, whose weights hold noise."
)


def curves_of(classifier: Classifier | None, columns: ColumnMap | None, form: Form) -> Form | None:
    """The curves of a linear head behind bins, by column: `scores` (C numbers a line) below the
    first of the `steps`, then above each; of words, of each of the `categories`. None for any other
    model.

    form: how rows become numbers, as a model's card says; steps are in the table's own units.
    """
    is_linear = isinstance(classifier, LinearClassifier)
    if not is_linear or columns is None or columns.steps is None or form["kind"] != "table":
        return None
    weights = _of_columns(classifier)  # type: ignore[arg-type]  # linear, as just seen
    kept, of_steps = weights[: len(columns.kept)], weights[len(columns.kept) :]
    recipe, stop, curves = recipes.recipe_of(form["recipe"]), 0, list[Form]()
    for column in recipe.columns:
        start = stop
        stop += encoding.width(recipe, of=column)
        if words := recipe.categories.get(column.name):
            scores = kept[(columns.kept >= start) & (columns.kept < stop)]
            curves.append(
                {"name": column.name, "categories": list(words), "scores": scores.tolist()}
            )
        elif column.kind != encoding.TEXT:
            low, high = recipe.ranges.get(column.name, (0.0, 1.0))
            is_its = columns.cut == start
            steps = low + (high - low) * columns.steps[is_its].astype(np.float64)
            if column.name not in recipe.ranges:
                steps += recipe.centres.get(column.name, 0.0)
            above = np.cumsum(of_steps[is_its], axis=0)
            scores = np.vstack([np.zeros((1, above.shape[1])), above])
            curves.append({"name": column.name, "steps": steps.tolist(), "scores": scores.tolist()})
    return {"format": FORMAT, "meaning": MEANING, "columns": curves}


def _of_columns(head: LinearClassifier) -> Array:
    """(d, C) float64 weights of the columns before they were scaled and projected."""
    weights = head.weights.astype(np.float64)
    if head.transform.projection is not None:
        weights = head.transform.projection.astype(np.float64) @ weights
    return weights if head.transform.scale is None else weights / head.transform.scale[:, None]
