"""Classes of unequal size: public labels set centre and intercept, and what is below the largest
class is said."""

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import load_digits

import pillar_core as pc
from pillar_core.engine.logistic import fitted_intercept
from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.memo import Memo
from pillar_core.runs.private_tests import BELOW, PrivateTest
from pillar_core.runs.run import solve
from pillar_core.runs.statement import BY_LABELS, BY_SHARES
from pillar_core.splits.basis import centre_weights
from pillar_core.types import RunSpec
from users import raises


@pytest.fixture(scope="module")
def threes():
    """Digits that are a 3 or not, a fifth public."""
    x, y = load_digits(return_X_y=True)
    labels = np.where(y == 3, "yes", "no")
    return pc.split(pc.load_features((x, labels)), public_fraction=0.2)


def unlabelled(split):
    return dataclasses.replace(split, public_y=None, memo=Memo())


def with_shares(split, times):
    """The split with so many times the public rows of the rare class in the other one."""
    rare = np.flatnonzero(split.public_y == 1)
    rows = np.r_[np.flatnonzero(split.public_y == 0)[: times * len(rare)], rare]
    public = {"public_x": split.public_x[rows], "public_y": split.public_y[rows]}
    return dataclasses.replace(split, **public, memo=Memo())


@pytest.mark.parametrize("method", ["pillar", "dp_raft", "pillar_kalman", "dp_ls"])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_public_labels_lift_every_number_whatever_their_shares(threes, method, epsilon):
    before = pc.run(method, unlabelled(threes), epsilon=epsilon).metrics
    for split in (threes, with_shares(threes, 4)):
        record = pc.run(method, split, epsilon=epsilon)
        assert record.metrics["accuracy"] > before["accuracy"] + 0.1
        assert record.metrics["balanced_accuracy"] > before["balanced_accuracy"] + 0.05
        assert record.metrics["auc"] > before["auc"]
        assert BY_LABELS in record.notes
        assert "labels for centre and intercept" in pc.statement(record).text


def test_only_labels_of_unequal_classes_that_centre_rows_do_anything(split, threes):
    known = pc.run("pillar", split, epsilon=1.0)
    blind = pc.run("pillar", unlabelled(split), epsilon=1.0)
    assert BY_LABELS not in known.notes
    assert known.settings == blind.settings
    assert centre_weights(with_shares(threes, 2).public_y) is None
    raw = pc.run("pillar", threes, epsilon=1.0, centre=False)
    assert BY_LABELS not in raw.notes
    assert not raw.classifier.bias.any()
    learnt = pc.run("pillar", threes, epsilon=1.0, bias=True)
    assert BY_LABELS in learnt.notes
    [result] = pc.METHODS["pillar"].fit_many(*_asked("pillar", threes, epsilon=1.0, bias=True))
    assert np.array_equal(learnt.classifier.bias, result.classifier.bias)


@pytest.fixture(scope="module")
def late():
    """Rows that say little of a label that a quarter has, a tenth public, as late flights are."""
    drawn = np.random.default_rng(0)
    labels = np.where(drawn.random(6000) < 0.25, "late", "in time")
    rows = drawn.standard_normal((6000, 6)).astype(np.float32)
    rows[:, 0] += 0.6 * (labels == "late")
    return pc.split(pc.load_features((rows, labels)), public_fraction=0.1)


@pytest.mark.parametrize("method", ["pillar", "dp_raft", "pillar_kalman_labelled", "only_public"])
def test_a_wanted_accuracy_reaches_the_largest_class_and_moves_no_ranking(late, method):
    """Flights (76 % in time) ended at 62 %: each class counted alike, whatever was asked for."""
    spent = {"epsilon": 1.0} if pc.METHODS[method].is_private else {}
    usual, wanted = (pc.run(method, late, **spent, metric=name) for name in (None, "accuracy"))
    largest = np.bincount(late.features.y_test).max() / len(late.features.y_test)
    assert usual.accuracy < largest - 0.05
    assert wanted.accuracy > largest - 0.01
    assert wanted.metrics["auc"] == usual.metrics["auc"]
    assert np.array_equal(wanted.classifier.weights, usual.classifier.weights)
    assert BY_SHARES in wanted.notes
    assert "labels for centre and intercept" in pc.statement(wanted).text
    for name in ("auc", "balanced_accuracy"):
        assert np.array_equal(
            pc.run(method, late, **spent, metric=name).classifier.bias, usual.classifier.bias
        )


def test_only_accuracy_changes_a_run_and_its_key(late):
    forms = [RunSpec("pillar", metric=name).form for name in (None, "auc", "accuracy")]
    assert forms[0] == forms[1] == {n: forms[2][n] for n in forms[2] if n != "metric"}
    assert RunSpec(**forms[2]).follows_shares
    bare = pc.run("pillar", unlabelled(late), epsilon=1.0)
    assert np.array_equal(
        pc.run("pillar", unlabelled(late), epsilon=1.0, metric="accuracy").classifier.bias,
        bare.classifier.bias,
    )
    raises(
        SettingError, "metric must be one of", pc.run, "pillar", late, epsilon=1.0, metric="error"
    )


def _asked(method, split, **settings):
    """What `fit_many` of a method is called with."""
    plan = solve(method, split, **settings)
    return [plan.settings], plan.view, [plan.streams(0)], [Ledger()]


def test_an_experiment_says_what_is_below_the_largest_class_and_a_release_does_not(threes):
    rows = unlabelled(threes)
    seeded = pc.run("pillar", rows, epsilon=0.5)
    [said] = [note for note in seeded.notes if note.startswith("Below the largest class")]
    assert said == (
        "Below the largest class: always saying 'no' is right in 89.7 % of the test rows, this"
        f" model in {100 * seeded.accuracy:.1f} %."
    )
    assert not any("largest class" in note for note in pc.run("pillar", threes, epsilon=2.0).notes)
    release = pc.run("pillar", rows, epsilon=0.5, seed=None)
    assert not any("largest class" in note for note in release.notes)


def test_a_private_test_says_it_from_noisy_cells_alone():
    about = ("", "balanced_accuracy", 0.8, 0.7, 0.9, 0.95, 1.0, "add_or_remove_one", None, 1.0)
    below = PrivateTest(*about, cells=((300, 600), (10, 90)))  # right in 690, largest 900
    above = PrivateTest(*about, cells=((50, 850), (10, 90)))
    within_noise = PrivateTest(*about, cells=((95, 805), (10, 90)))  # 895 of 900
    assert below.words.endswith(f"{BELOW}, and balanced in 50 %.")
    assert BELOW not in above.words + within_noise.words
    other = dataclasses.replace(below, metric="accuracy", cells=((300, 700),))
    assert BELOW not in other.words


def test_the_intercept_counts_each_class_alike():
    labels = np.repeat([0, 1], [900, 100])
    middle = np.where(labels == 1, 3.0, 1.0) + np.tile([-0.9, -0.3, 0.3, 0.9], 250)
    scores = np.column_stack([np.zeros(1000), middle])
    added = fitted_intercept(scores, labels, is_even=True)
    assert added[0] - added[1] == pytest.approx(2.0, abs=0.05)  # halfway between 1 and 3
    fewer = np.r_[0:900:9, 900:1000]  # of the large class a ninth
    few = fitted_intercept(scores[fewer], labels[fewer], is_even=True)
    assert few == pytest.approx(added, abs=0.1)
