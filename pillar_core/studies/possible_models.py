"""Models that a release at ε could have been: the same learner and settings under independent noise, and what each says of one row.

Every model has a known seed: experiments, of which none may be released. A release is one further draw from the same law.
"""

import base64
import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Work
from pillar_core.errors import DataError
from pillar_core.runs.run import run_many, solve_spec
from pillar_core.types import Classifier, RunSpec, SemiPrivateSplit

EPSILONS, DRAWS = (0.1, 1.0, math.inf), 20
Models = Mapping[float, Sequence[Classifier]]
"""The possible models at each ε."""


def possible_models(spec: RunSpec, split: SemiPrivateSplit, epsilons: Sequence[float] = EPSILONS, draws: int = DRAWS) -> Models:
    """`draws` models at each ε, by seeds from the specification's on."""
    if spec.seed is None:
        raise DataError("possible models are experiments: name a seed.")
    models = {}
    for epsilon in epsilons:
        plan = solve_spec(dataclasses.replace(spec, epsilon=epsilon), split)
        records = run_many([dataclasses.replace(plan, seed=spec.seed + draw) for draw in range(draws)], split)
        models[epsilon] = [record.classifier for record in records if record.classifier is not None]
    return models


def read_drawing(picture: str, shape: Sequence[int], *, backbone: str) -> Array:
    """(d,) float32 features of an image of this shape, whose bytes are given in base64; nothing of it is kept.

    Raises DataError: another number of bytes; what the backbone raises without its weights.
    """
    try:
        images = np.frombuffer(base64.b64decode(picture, validate=True), np.uint8).reshape(1, *shape).copy()
    except ValueError as error:
        raise DataError(f"a drawing needs one grey value for each pixel of an image of shape {tuple(shape)}.") from error
    card = BACKBONES[backbone]
    return np.asarray(card.open(backbone, Work(card.weights_file(), "cpu")).encode(images)[0])


def answers(models: Models, row: Array, classes: Sequence[str]) -> pd.DataFrame:
    """What each model says of a row (d,): columns epsilon, draw (from 0), class."""
    answered = [
        (epsilon, draw, classes[int(model.predict(row[None])[0])]) for epsilon, drawn in models.items() for draw, model in enumerate(drawn)
    ]
    return pd.DataFrame(answered, columns=["epsilon", "draw", "class"])
