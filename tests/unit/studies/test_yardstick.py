"""The yardstick of screening: private and public rows stay apart, the kept accuracies cover it, and
scores are judged as they should."""

import functools

import numpy as np
import pandas as pd
import pytest

import judged
import yardstick
from pages.parts.public_data import ranking
from pillar_core.rng import stream
from pillar_core.screening import class_signal
from pillar_core.types import FeatureSet
from yardstick import PUBLIC, TASKS, Yardstick

HERE = [task for task in TASKS if task.source not in yardstick.LENT]


@pytest.fixture(scope="module")
def made():
    """The yardstick with every fourth pixel of a 28 × 28 image in place of the network's features;
    a question is asked once."""

    def seen(data, backbone, *, progress):
        x, x_test = (
            (
                None
                if rows is None
                else np.ascontiguousarray(rows.reshape(len(rows), -1)[:, ::4], dtype=np.float32)
                / 255
            )
            for rows in (data.x_train, data.x_test)
        )
        return FeatureSet(x, data.y_train, x_test, data.y_test, tuple(map(str, range(10))))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yardstick, "through_backbone", seen)
        patch.setattr(judged, "Question", functools.cache(judged.Question))
        patch.setattr(
            class_signal, "ROWS", 300
        )  # of the first 1,000 the directions hardly differ, in forty times the time
        yield Yardstick()


@pytest.mark.parametrize("task", HERE, ids=lambda task: task.name)
def test_candidates_hold_no_private_row_and_labels_of_the_task(made, task):
    private, candidates = made.private(task), made.candidates(task)
    assert len(private.x_train) == task.n_private
    assert (
        set(np.unique(private.y_train))
        == set(range(len(task.groups)))
        == set(np.unique(private.y_test))
    )
    assert len(candidates) >= 10
    # The rows themselves: Fashion-MNIST repeats a few images, so position decides and not content.
    own = made.public(task.source, PUBLIC[task.source])[0]
    whole = made.source(task.source).x_train
    np.testing.assert_array_equal(own, whole[: PUBLIC[task.source]])
    assert len(private.x_train) <= len(whole) - PUBLIC[task.source]
    for name, one in candidates.items():
        assert len(one.x_train) == len(one.y_train) <= 1500, name
        assert one.y_train.max() < len(task.groups)
        assert np.isfinite(one.x_train).all()


def test_no_source_lies_on_both_sides_and_cells_without_signal_are_left_out():
    sides = {
        task.source: {other.confirms for other in TASKS if other.source == task.source}
        for task in TASKS
    }
    assert all(len(side) == 1 for side in sides.values())
    assert {task.confirms for task in TASKS} == {False, True}
    assert judged.has_signal("Fashion, 10 classes", 0.3)
    assert not judged.has_signal("CIFAR-10, 10 classes", 0.3)
    assert judged.has_signal("CIFAR-10, 10 classes", 1.0)
    assert "at ε = 0.3, a random pick 9" in ranking.yardstick_sentence(40.0, 0.4)
    assert "at ε = 3," in ranking.yardstick_sentence(40.0, 8.0)
    assert "nothing was tested" in ranking.yardstick_sentence(9.0, 0.1)


def test_kept_accuracies_cover_every_task_and_judging_knows_perfect_reversed_and_blind_scores():
    kept = judged.kept()
    assert kept["accuracy"].between(0, 1).all()
    pillar = kept[kept["learner"] == "pillar"]
    assert set(pillar["task"]) == {task.name for task in TASKS}
    assert (pillar.groupby(["task", "epsilon"])["candidate"].nunique() >= 10).all()
    assert pillar.filter(regex=judged.SEEDS).notna().all(axis=None)
    for learner in ("pillar_kalman", "gep", "pda_dpmd"):
        assert set(kept[(kept["learner"] == learner) & (kept["epsilon"] == 1)]["task"]) == {
            task.name for task in TASKS
        }
    task = "Fashion, tops"
    cell = kept[(kept["learner"] == "pillar") & (kept["task"] == task) & (kept["epsilon"] == 1)]
    names, accuracy = list(cell["candidate"]), cell["accuracy"].to_numpy()
    marks = {}
    for name, values in (
        ("best", accuracy),
        ("worst", -accuracy),
        ("blind", stream(0, "blind").random(len(names))),
    ):
        scores = pd.DataFrame(
            {
                "task": task,
                "score": "mine",
                "spent": 1.0,
                "draw": 0,
                "candidate": names,
                "value": values,
            }
        )
        table = judged.judged(scores, kept)
        marks[name] = table[table["epsilon"] == 1].iloc[0]
    assert marks["best"]["regret"] == marks["best"]["regret_of_five"] == 0
    assert marks["best"]["spearman"] == pytest.approx(1)
    assert marks["worst"]["regret"] == pytest.approx(100 * (accuracy.max() - accuracy.min()))
    assert marks["worst"]["spearman"] == pytest.approx(-1)
    # A blind choice among five loses what a random one loses: the best of five less the mean, over
    # all fives.
    ordered, n = np.sort(accuracy), len(accuracy)
    shares = (
        np.array([np.prod([(place - i) / (n - 1 - i) for i in range(4)]) for place in range(n)])
        * 5
        / n
    )
    assert marks["blind"]["regret_of_five"] == pytest.approx(
        100 * (float(shares @ ordered) - accuracy.mean()), rel=0.5
    )
    assert not marks["best"]["confirms"]


def test_the_ceiling_falls_with_the_noise_of_seeds():
    generator = stream(0, "seeds")
    truth = np.linspace(0.3, 0.9, 40)[:, None]
    ceilings = []
    for noise in (0.01, 0.3, 3.0):
        runs = pd.DataFrame(
            truth + noise * generator.standard_normal((40, 3)), columns=["seed0", "seed1", "seed2"]
        )
        table = runs.assign(
            task="t", candidate=[str(place) for place in range(40)], learner="pillar", epsilon=1.0
        )
        ceilings.append(judged.ceiling(table)["ceiling"].iloc[0])
    assert ceilings[0] > 0.99
    assert ceilings[0] > ceilings[1] > ceilings[2]


def test_every_score_ranks_the_own_rows_before_noise(made):
    task = next(task for task in HERE if task.name == "MNIST, 10 classes")
    asked = judged.Question(made, task)
    few = {name: asked.candidates[name] for name in ("own", "drawn_noise")}
    exact = asked.noised(0.0, 0)
    for title, (value, _) in judged.TRIED.items():
        assert value(exact, "own") > value(exact, "drawn_noise"), title
    assert not class_signal.rivals(
        {name: exact.default(name) for name in few}, {name: np.zeros(1) for name in few}
    )


def test_the_default_is_the_score_of_the_table_within_one_budget(made):
    task = next(task for task in HERE if task.name == "X-rays, pneumonia or not")
    private, candidates = made.private(task), made.candidates(task)
    table = class_signal.ranking(private, candidates, epsilon=None).set_index("public")["value"]
    exact = judged.Question(made, task).noised(0.0, 0)
    for name in candidates:
        assert table[name] == pytest.approx(class_signal.score_of(exact.default(name)), abs=1e-4)
    row = next(
        judged.in_one_budget(made, [task], total=1.0, spent=0.3, accuracies=judged.kept(), draws=1)
    )
    # μ(1)² − μ(0.3)² of two Gaussians composed is within the total, and most of it is left for
    # training.
    assert 0.9 < row["epsilon"] < 1.0
    assert row["lost"] + row["gain"] > 0, "the best of five is above their average"
