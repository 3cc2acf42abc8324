"""The reconstruction of a row: exact without noise, noise alone at a small ε, by the mechanism's
own noise, within the guarantee."""

import math

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import accounting, plots
from pillar_core.auditing import noise
from pillar_core.errors import DataError
from pillar_core.runs.splitting import load_named_features
from pillar_core.studies.evidence import reconstruction
from pillar_core.studies.evidence.reconstruction import reconstruct
from users import refuses

EPSILONS = (math.inf, 10.0, 1.0, 0.1)


@pytest.fixture(scope="module")
def split():
    return pc.split(load_named_features("digits", "raw_pixels"), public_fraction=0.1, seed=0)


@pytest.fixture(scope="module")
def seen(split):
    return reconstruct(split, EPSILONS, row=3)


def test_what_is_left_is_the_row_and_the_mechanism_s_own_noise(split, seen):
    assert np.abs(seen.left[0] - seen.clipped).max() < 1e-6
    assert np.linalg.norm(seen.clipped) == pytest.approx(1, abs=1e-6)
    assert np.array_equal(seen.image.ravel(), split.features.x_train[split.private[3]])
    centre = split.public_x.mean(axis=0)
    pictured, image = seen.pictures[0].ravel() - centre, seen.image.ravel() - centre
    assert np.corrcoef(pictured, image)[0, 1] > 1 - 1e-6
    # Σ of 64 squared standardised residuals is chi-square.
    for part, (epsilon, std) in list(
        zip(seen.left, seen.table[["epsilon", "noise_std"]].to_numpy(), strict=True)
    )[1:]:
        assert std == pytest.approx(accounting.noise_multiplier(epsilon, delta=1e-5), rel=1e-3)
        assert noise.variance((part - seen.clipped) / std) > 1e-9


def test_at_a_small_epsilon_the_correlation_is_that_of_noise_and_other_rows_are_refused(
    split, monkeypatch
):
    monkeypatch.setattr(reconstruction, "DRAWS", 100)  # of picks, which are not looked at here
    correlations = [
        reconstruct(split, [0.1], row=row, seed=row).table["correlation"][0] for row in range(20)
    ]
    # 63 times the square of a correlation of 64 normals with a fixed row is about chi-square: with
    # such a sum, √63 of each is a normal
    assert abs(np.mean(correlations)) < 6 / math.sqrt(20 * 63)
    assert noise.variance(np.sqrt(63) * np.array(correlations)) > 1e-9
    with pytest.raises(DataError, match="pixels"):
        reconstruct(
            pc.split(
                pc.load_dataset("spiked_features", n=400, n_test=100), public_fraction=0.1, seed=0
            ),
            EPSILONS,
        )
    refuses("private row of that number", reconstruct, split, EPSILONS, row=10**6)


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_no_pick_beats_the_bound(split, relation):
    table = reconstruct(split, EPSILONS, relation=relation).table
    assert (table["right"] <= table["allowed"] + 6 * np.sqrt(table["allowed"] / 50_000)).all()
    assert table["right"].iloc[0] == 1
    pictures = np.zeros((len(table), 8, 8))
    strip = plots.reconstruction_strip(
        table, pictures[0], pictures, candidates=64, present=math.inf
    )
    assert "100 of 100 picks" in strip.layout.title.text
    assert "allows any attacker 100 of 100 at most" in strip.layout.meta["caption"]
    assert table["right"].iloc[1] > 0.05 > 0.03 > table["right"].iloc[3]
