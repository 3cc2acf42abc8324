"""Models that a release could have been: as many as wanted, the first the record's own, equal
without noise; and dots of what they say."""

import base64
import dataclasses
import math

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import plots
from pillar_core.errors import DataError
from pillar_core.studies import one_training
from pillar_core.types import RunSpec
from users import refuses


def test_possible_models_differ_by_noise_alone_and_each_is_one_dot():
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1, seed=0)
    spec = RunSpec.of("pillar", epsilon=1.0, k=8)
    models = one_training.possible_models(spec, split, (0.1, math.inf), 4)
    own = pc.run("pillar", split, epsilon=0.1, k=8).classifier
    weights = {
        epsilon: np.stack([model.weights for model in drawn]) for epsilon, drawn in models.items()
    }
    assert np.allclose(weights[0.1][0], own.weights, atol=1e-5)
    assert np.ptp(weights[math.inf], axis=0).max() < 1e-5
    assert len(np.unique(weights[0.1].reshape(4, -1), axis=0)) == 4
    table = one_training.answers(models, split.features.x_test[0], split.features.classes)
    assert table.groupby("epsilon").size().to_dict() == {0.1: 4, math.inf: 4}
    assert table[np.isinf(table["epsilon"])]["class"].nunique() == 1
    refuses("seed", one_training.possible_models, dataclasses.replace(spec, seed=None), split)
    import pandas as pd

    said = [(0.1, draw, "<script>x" if draw % 3 else "b") for draw in range(20)] + [
        (math.inf, draw, "b") for draw in range(20)
    ]
    table = pd.DataFrame(said, columns=["epsilon", "draw", "class"])
    figure = plots.possible_answers(table, label="b")
    assert sum(len(trace.x) for trace in figure.data) == 40
    assert (
        len({(x, y) for trace in figure.data for x, y in zip(trace.x, trace.y, strict=True)}) == 40
    )
    assert figure.layout.xaxis.ticktext[0] == "b"
    assert "<script" not in figure.to_json()


def test_a_drawing_is_read_as_the_row_whose_pixels_it_has_and_anything_else_is_refused():
    images, rows = (
        pc.load_dataset("digits").x_test,
        pc.load_features(pc.load_dataset("digits")).x_test,
    )
    picture = base64.b64encode(images[7].tobytes()).decode()
    assert np.array_equal(
        one_training.read_drawing(picture, (8, 8), backbone="raw_pixels"), rows[7]
    )
    for bad in (picture[4:], "<script>", ""):
        with pytest.raises(DataError, match="one grey value for each pixel"):
            one_training.read_drawing(bad, (8, 8), backbone="raw_pixels")
