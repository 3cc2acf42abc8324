"""Two seeded asks share no noise: with common normals, the sum that both released could be solved
for exactly."""

import copy
from typing import Any

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.accounting import noise_multiplier
from pillar_core.geometry import bases
from pillar_core.geometry.rows import rows_of
from pillar_core.rng import Streams
from pillar_core.runs.run import run_many, solve

N_NORMALS = 8
ASK: dict[str, Any] = {"method": "pillar", "epsilon": 1.0, "k": 10, "steps": 2}


@pytest.fixture(scope="module")
def features():
    return pc.load_dataset("digits")


@pytest.fixture
def drawn(monkeypatch):
    """The first normals of every secret stream that is opened, by purpose."""
    found = {}
    real = Streams.secret

    def secret(self, purpose, *, device="cpu"):
        stream = real(self, purpose, device=device)
        found.setdefault(purpose, []).append(copy.deepcopy(stream).standard_normal(N_NORMALS))
        return stream

    monkeypatch.setattr(Streams, "secret", secret)
    return found


def assert_others_between_equals(normals):
    first, other, again = normals
    np.testing.assert_array_equal(first, again)
    assert not np.isclose(first, other).any()


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 2.0},
        {"k": 20},
        {"method": "dp_raft_pillar"},
        {"steps": 3},
        {"l2_clip_norm": 0.5},
        {"public_fraction": 0.2},
    ],
)
def test_asks_that_differ_share_no_normals(features, drawn, change):
    for ask in (ASK, ASK | change, ASK):
        ask = {"public_fraction": 0.1} | ask
        split = pc.split(features, public_fraction=ask.pop("public_fraction"))
        run_many([solve(ask.pop("method"), split, seed=0, **ask)], split)
    assert_others_between_equals(drawn["noise"])


def test_other_asks_share_samples_by_seed_and_no_normals(features, drawn):
    split = pc.split(features, public_fraction=0.1)
    for epsilon in (0.5, 2.0, 0.5):
        noise = noise_multiplier(epsilon)
        bases.basis_of(rows_of(split), kind="dp_pca", noise_multiplier=noise)
    assert_others_between_equals(drawn["geometry second moment"])
    private = pc.load_dataset("drawn_shapes", n=200)
    public = {"textures": pc.load_dataset("drawn_textures", n=200)}
    for epsilon in (0.5, 2.0, 0.5):
        pc.screen(
            private, public, epsilon=epsilon, k=2, repeats=1, model="linear_head", n_examples=100
        )
    assert_others_between_equals(drawn["screening noise moment"])
    first, other = (Streams(3, ask).sampling().random(N_NORMALS) for ask in ("one", "two"))
    np.testing.assert_array_equal(first, other)
