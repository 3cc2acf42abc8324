"""The class signal: what it ranks first, what it costs, its intervals and its verdict, and what it
refuses."""

import dataclasses
import math

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.errors import DataError, SettingError
from pillar_core.rng import stream
from pillar_core.screening import class_signal
from pillar_core.types import Dataset, FeatureSet
from users import raises, refuses

D, CLASSES, N = 40, 4, 1200
ASKED = {"scores": ("class_signal",)}


def spread_along(places, n, *, seed, labelled, offset=0.0):
    """Rows that vary along the axes `places` most; labelled ones have their classes there."""
    generator = stream(seed, "rows")
    x = 0.2 * generator.standard_normal((n, D))
    x[:, places] += 1.5 * generator.standard_normal((n, len(places)))
    y = np.arange(n) % CLASSES
    if labelled:
        x[np.arange(n), np.array(places)[y]] += 2.0
    classes = tuple("abcd") if labelled else ()
    return FeatureSet(
        (x + offset).astype(np.float32),
        y if labelled else None,
        classes=classes,
        name=f"rows {seed}",
    )


@pytest.fixture(scope="module")
def private():
    return spread_along(range(4), N, seed=0, labelled=True)


@pytest.fixture(scope="module")
def public():
    return {
        "elsewhere": spread_along(range(20, 24), 300, seed=2, labelled=False),
        "same": spread_along(range(4), 300, seed=1, labelled=False),
        "far": spread_along(range(4), 300, seed=3, labelled=False, offset=3.0),
    }


@pytest.mark.parametrize("epsilon", [None, 1.0])
def test_the_set_with_the_classes_directions_comes_first(private, public, epsilon):
    table = pc.screen(private, public, epsilon=epsilon, **ASKED)
    assert table["public"].iloc[0] == "same"
    assert list(table["rank"]) == [1, 2, 3]
    assert (table["low"] <= table["value"]).all()
    assert (table["value"] <= table["high"]).all()
    assert (table["epsilon_upper"] <= (math.inf if epsilon is None else epsilon)).all()
    assert ("guarantee" in table.attrs) == (epsilon is not None)


def test_rows_close_around_a_mean_have_scores_below_zero_in_the_right_order():
    """As on tables in raw units: the signal is divided by a small distance, so that it is no share
    of 1."""
    generator = np.random.default_rng(0)
    labels = generator.integers(2, size=900)
    x = generator.standard_normal((900, 5)) + 2 * labels[:, None] * np.eye(5)[0] + 4
    half, far = (FeatureSet(rows.astype(np.float32)) for rows in (x[600:], -x[600:]))
    private = FeatureSet(x[:600].astype(np.float32), labels[:600], classes=("a", "b"))
    table = class_signal.ranking(private, {"far": far, "half": half}, epsilon=None)
    assert list(table["public"]) == ["half", "far"]
    assert table["value"].iloc[0] < 0 < table["value"].iloc[1]


def test_labels_decide(private, public):
    """With labels at random there is no signal to keep, and nothing is clear."""
    mixed = dataclasses.replace(private, y_train=stream(9, "labels").permutation(private.y_train))
    own, without = (pc.screen(rows, public, epsilon=1.0, **ASKED) for rows in (private, mixed))
    assert own["value"].min() < without["value"].min() - 0.1
    assert own.attrs["rivals"] == ()
    assert without.attrs["rivals"]


def test_a_yardstick_takes_no_part_in_the_verdict(private, public):
    """Two sets that tie behind a yardstick which is far ahead of both still tie."""
    weak = dict.fromkeys(("one", "two"), public["elsewhere"])
    table = class_signal.ranking(
        private, {"half": public["same"], **weak}, epsilon=None, aside="half"
    )
    assert list(table["public"]) == ["half", "one", "two"]
    assert table.attrs["rivals"] == ("two",)
    assert (
        class_signal.ranking(private, {"half": public["same"]}, epsilon=None, aside="half").attrs[
            "rivals"
        ]
        == ()
    )


def test_intervals_hold_the_value_without_noise(private, public):
    exact = pc.screen(private, public, **ASKED).set_index("public")["value"]
    draws = [
        pc.screen(private, public, epsilon=0.5, seed=seed, **ASKED).set_index("public")
        for seed in range(40)
    ]
    inside = np.mean([(draw["low"] <= exact) & (exact <= draw["high"]) for draw in draws])
    # 40 independent releases of three candidates each: two standard errors, √(0.05 · 0.95 / 40),
    # below the nominal 0.95.
    assert inside >= 0.88
    widths = np.mean([(draw["high"] - draw["low"]).mean() for draw in draws])
    spread = np.std([draw["value"] for draw in draws], axis=0).mean()
    # The power twin: intervals of 2/3 or 3/2 of the width would leave this band, that of the normal
    # law is 3.92.
    assert 3.92 * 2 / 3 < widths / spread < 3.92 * 1.5


def test_noise_alone_stays_above_its_floor(private, public):
    empty = dataclasses.replace(private, x_train=private.x_train[:0], y_train=private.y_train[:0])
    tables = [
        class_signal.ranking(empty, public, epsilon=0.3, seed=seed, n_private=N)
        for seed in range(100)
    ]
    below = np.mean([(table["value"] < table.attrs["noise_floor"]).mean() for table in tables])
    # 2.5 % at most by construction (largest candidate): 16 of 100 releases by chance with
    # probability 4e-9
    assert below <= 0.15


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"public": {}}, SettingError, "at least one public set"),
        ({"epsilon": 0.0}, SettingError, "epsilon"),
        ({"epsilon": math.nan}, SettingError, "epsilon"),
        ({"scores": ("class_signal", "gsd")}, SettingError, "ask for it alone"),
        ({"private": "unlabelled"}, DataError, "no labels"),
        ({"public": "narrow"}, DataError, "features"),
        ({"public": "equal"}, DataError, "all equal"),
        ({"public": "one"}, DataError, "two rows"),
        ({"public": "private"}, DataError, "bit by bit"),
    ],
)
def test_refusals(private, public, change, error, word):
    same = public["same"]
    sets = {
        "narrow": {"a": dataclasses.replace(same, x_train=same.x_train[:, :5].copy())},
        "equal": {"a": dataclasses.replace(same, x_train=np.zeros((20, D), np.float32))},
        "one": {"a": dataclasses.replace(same, x_train=same.x_train[:1])},
        "private": {"a": dataclasses.replace(private, y_train=None)},
    }
    asked = {"private": private, "public": public, **ASKED, **change}
    if asked["private"] == "unlabelled":
        asked["private"] = dataclasses.replace(private, y_train=None)
    if isinstance(asked["public"], str):
        asked["public"] = sets[asked["public"]]
    raises(error, word, pc.screen, asked.pop("private"), asked.pop("public"), **asked)


def test_under_epsilon_classes_are_named_and_the_private_set_is_no_candidate(private, public):
    """One row of a new class changed the number of classes, which the table tells; and a
    candidate's rows are read without noise."""
    unnamed = Dataset("unnamed", private.x_train, private.y_train)
    assert len(pc.screen(unnamed, public, scores=["class_signal"])) == len(public)
    refuses("names no classes", pc.screen, unnamed, public, scores=["class_signal"], epsilon=1.0)
    for score in ("class_signal", "gsd"):
        with pytest.raises(DataError, match="is the private set itself"):
            pc.screen(
                private,
                {**public, "self": private},
                scores=[score],
                model="linear_head",
                epsilon=1.0,
            )


def test_images_need_a_backbone_and_features_are_ranked_by_gradients_too(public, private):
    refuses("features of every set first", pc.screen, pc.load_dataset("mnist"), public, **ASKED)
    table = pc.screen(
        private, public, scores=("missed_energy",), model="linear_head", k=4, n_examples=100
    )
    assert table["public"].iloc[0] == "same"
    one = pc.screen(private, {"same": public["same"]}, epsilon=1.0, **ASKED)
    assert (
        one["epsilon_upper"].iloc[0]
        == pc.screen(private, public, epsilon=1.0, **ASKED)["epsilon_upper"].iloc[0]
    )
    assert one.attrs["rivals"] == ()
