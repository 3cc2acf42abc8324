"""The private test: the law and charge of its noise, ends that hold, and what it refuses."""

import dataclasses
import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chisquare

import pillar_core as pc
from pillar_core import rng
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, SettingError
from pillar_core.ledger import Ledger
from pillar_core.mechanisms.geometric import DENOMINATOR, GeometricMechanism, reach
from pillar_core.runs import private_tests, receipts
from pillar_core.runs.loaded import Model, with_tests
from pillar_core.runs.models import guarantee_card
from pillar_core.splits import Transform
from pillar_core.studies.private_test import APART, expected_ends, roc
from pillar_core.types import Persons
from users import output_of, raises, texts_in


@pytest.mark.parametrize("rate", [0.3, 1.7])
def test_unseeded_noise_has_the_law_that_is_charged(rate):
    mechanism = GeometricMechanism(
        round(rate * DENOMINATOR), rng.Streams(None).secret("test"), Ledger()
    )
    noise = mechanism.release(np.zeros(20_000, dtype=np.int64))
    edge = int(5 / rate)
    seen = np.bincount(np.clip(noise, -edge, edge) + edge, minlength=2 * edge + 1)
    decay = math.exp(-rate)
    law = np.array(
        [(1 - decay) / (1 + decay) * decay ** abs(place) for place in range(-edge, edge + 1)]
    )
    law[[0, -1]] = decay**edge / (1 + decay)
    assert chisquare(seen, law / law.sum() * len(noise)).pvalue > 1e-10
    other = np.array([math.exp(-1.3 * rate * abs(place)) for place in range(-edge, edge + 1)])
    assert chisquare(seen, other / other.sum() * len(noise)).pvalue < 1e-10
    event = mechanism.ledger.total_event
    assert (event.epsilon_add_remove, event.epsilon_replace_one, event.delta) == (
        mechanism.rate,
        2 * mechanism.rate,
        0.0,
    )
    sums = noise.reshape(-1, 10).sum(axis=1)
    for values, cells in ((noise, 1), (sums, 10)):
        assert (
            binom.sf((np.abs(values) > reach(rate, cells, 0.05)).sum() - 1, len(values), 0.05)
            > 1e-10
        )


@pytest.fixture(scope="module")
def record():
    return pc.run("non_private", pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1))


def drawn(n, seed):
    """Rows of two classes that overlap, a head for them, and what it reaches on all such rows."""
    generator = np.random.default_rng(seed)
    y = (generator.random(n) < 0.3).astype(np.int64)
    x = (generator.standard_normal(n) + 1.5 * y)[:, None].astype(np.float32)
    return pc.features(x, y, classes=["no", "yes"])


def with_head(record, weight=1.5):
    head = LinearClassifier(
        Transform(None, None, None, False),
        np.array([[0.0, weight]], np.float32),
        np.array([0.9, 0.0], np.float32),
    )
    return dataclasses.replace(record, classifier=head)


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "auc"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_ends_hold_what_the_model_reaches_on_fresh_rows(record, metric, epsilon):
    model = with_head(record)
    large = drawn(200_000, 0)
    exact = pc.private_test(model, large, epsilon=50.0, metric=metric)
    assert exact.high - exact.low < (0.02 if metric != "auc" else 0.2)
    low, high = expected_ends(exact.value, 1500, 2, epsilon=epsilon, metric=metric)
    missed, widths = 0, []
    for seed in range(40):
        found = pc.private_test(
            model, drawn(1500, seed + 1), epsilon=epsilon, metric=metric, seed=seed
        )
        missed += not found.low <= exact.value <= found.high
        widths.append(found.high - found.low)
        assert found.low <= found.value <= found.high
        assert found.guarantee.epsilon.upper <= epsilon
    assert 0.7 < np.median(widths) / (high - low) < 1.3, "classes of 0.3 and 0.7 are not equal"
    assert missed <= 13  # of 40 at 5 %: more by chance with probability 4e-9


def test_persons_are_counted_and_one_row_moves_one_cell_by_one(record):
    model, rows = with_head(record), drawn(1200, 3)
    whose = dataclasses.replace(rows, persons=Persons(np.repeat(np.arange(300), 4), 4))
    raises(SettingError, "rows_per_person", pc.private_test, model, whose, epsilon=1.0)
    promise = dataclasses.replace(model.guarantee, rows_per_person=3)
    of_persons = dataclasses.replace(model, guarantee=promise)
    raises(SettingError, "protects a person", pc.private_test, of_persons, rows, epsilon=1.0)
    card = {"guarantee": guarantee_card(promise)}
    of_file = Model(model.classifier, card | {"classes": rows.classes})
    raises(SettingError, "protects a person", pc.private_test, of_file, rows, epsilon=1.0)
    assert pc.private_test(of_persons, rows, epsilon=1.0, rows_per_person=1).value
    found = pc.private_test(model, whose, epsilon=30.0, rows_per_person=2)
    assert abs(found.cells.sum() - 600) < 40
    assert found.guarantee.unit.rows_per_person == 2
    assert 29.9 < found.guarantee.epsilon.upper <= 30
    for relation, factor in (("add_or_remove_one", 1), ("replace_one", 2)):
        one = pc.private_test(model, rows, epsilon=0.7, relation=relation)
        assert one.guarantee.event.epsilon_add_remove * factor == pytest.approx(0.7)
        assert one.guarantee.epsilon.upper <= 0.7
    model, rows = with_head(record), drawn(50, 1)
    for metric in ("accuracy", "balanced_accuracy", "auc"):
        sets = [
            pc.features(rows.x_train[:n], rows.y_train[:n], classes=rows.classes) for n in (49, 50)
        ]
        less, more = (
            pc.private_test(model, one, epsilon=500.0, metric=metric).cells for one in sets
        )
        assert np.abs(more - less).sum() == 1


def test_rows_on_the_boundary_stay_in_their_cells_as_rows_come(record):
    """Sums in floating point hang on how many rows there are: rows moved to the other side as one
    more came."""
    generator = np.random.default_rng(0)
    weights, x = (
        generator.standard_normal(shape).astype(np.float32) for shape in ((1024, 2), (60, 1024))
    )
    apart = weights[:, 0].astype(float) - weights[:, 1]
    for _ in range(3):
        x = (x - (x.astype(float) @ apart / (apart @ apart))[:, None] * apart).astype(np.float32)
    head = LinearClassifier(Transform(None, None, None, False), weights, np.zeros(2, np.float32))
    model = dataclasses.replace(record, classifier=head)
    y = np.arange(60) % 2
    request = {"epsilon": 500.0, "metric": "balanced_accuracy"}
    cells = [
        pc.private_test(model, pc.features(x[:n], y[:n], classes=["no", "yes"]), **request).cells
        for n in range(2, 61)
    ]
    assert all(np.abs(after - before).sum() == 1 for before, after in itertools.pairwise(cells))


def test_what_cannot_be_tested_is_refused(record):
    rows, head = drawn(100, 0), with_head(record)
    three = pc.run("non_private", pc.split(pc.load_dataset("digits"), public_fraction=0.1))
    for model, tested, asked, error, said in (
        (three, rows, {"metric": "auc"}, SettingError, "two classes"),
        (record, rows, {}, DataError, "rows of 30 numbers"),
        (record, pc.features(rows.x_train, None), {}, DataError, "labels"),
        (head, rows, {"epsilon": 0.0}, SettingError, "epsilon"),
        (head, rows, {"epsilon": math.inf}, SettingError, "epsilon"),
        (head, rows, {"metric": "recall"}, SettingError, "metric"),
        (head, rows, {"rows_per_person": 0}, SettingError, "rows_per_person"),
    ):
        raises(error, said, pc.private_test, model, tested, **{"epsilon": 1.0, **asked})
    scarce = pc.private_test(head, drawn(12, 0), epsilon=0.05, metric="balanced_accuracy")
    assert (scarce.low, scarce.high) == (0.0, 1.0)
    assert scarce.untold


def test_a_released_model_is_tested_by_name_on_the_command_line(tmp_path):
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1)
    released = pc.run("dp_sgd", split, epsilon=2.0, seed=None)
    zipped = pc.save_model(released, tmp_path / "model.zip", classes=("0", "1"))
    np.savez(tmp_path / "rows.npz", x_train=split.features.x_test, y_train=split.features.y_test)
    arguments = f"private-test {zipped} {tmp_path / 'rows.npz'} --epsilon 1"
    found = json.loads(output_of(f"{arguments} --json").out)
    assert found["low"] <= found["value"] <= found["high"]
    assert found["epsilon"] <= 1
    assert "NOT FOR RELEASE" in output_of(f"{arguments} --seed 3").out


def test_a_file_that_says_whose_rows_it_holds_gives_each_person_so_many(record, tmp_path):
    """A drawn test took the persons away, and with them the limit: a person with three rows had
    three under an ε for one."""
    rows, model = drawn(90, 0), with_head(record)
    x, y = rows.x_train, rows.y_train
    np.savez(tmp_path / "rows.npz", x_train=x, y_train=y, persons=np.arange(90) // 3)
    frame = pd.DataFrame(x, columns=[f"c{place}" for place in range(x.shape[1])]).assign(
        label=y, patient=np.arange(90) // 3
    )
    frame.to_csv(tmp_path / "rows.csv", index=False)
    for file, named, most_rows in (("rows.npz", {}, 80), ("rows.csv", {"person": "patient"}, 90)):
        raises(
            SettingError,
            "say the most rows",
            pc.private_test,
            model,
            tmp_path / file,
            epsilon=1.0,
            **named,
        )
        for most in (1, 2):
            tested = pc.private_test(
                model, tmp_path / file, epsilon=1e3, rows_per_person=most, **named
            )
            assert most * most_rows / 5 < tested.cells.sum() <= most * 30
    raises(
        SettingError,
        "these rows are no table",
        pc.private_test,
        model,
        tmp_path / "rows.npz",
        epsilon=1.0,
        person="patient",
    )


def test_a_statement_names_the_tests_of_its_rows_and_what_they_cost_together(monkeypatch, tmp_path):
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path))
    split = pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.1)
    released = pc.run("dp_sgd", split, epsilon=2.0, seed=None)
    account = receipts.account_of(split.features)
    pc.private_test(released, split.features, epsilon=1.0, seed=3)
    assert not account.tests
    for epsilon, metric in ((0.5, "accuracy"), (1.0, "auc")):
        pc.private_test(released, split.features, epsilon=epsilon, metric=metric, seed=None)
    pc.private_test(
        pc.run("dp_sgd", split, epsilon=1.0, seed=None), split.features, epsilon=4.0, seed=None
    )
    tests = account.tests
    assert [test.metric for test in tests] == ["accuracy", "auc", "accuracy"]
    upper, spent = released.guarantee.epsilon.upper, sum(test.epsilon for test in tests)
    assert 5.499 < spent <= 5.5
    zipped = pc.save_model(released, tmp_path / "model.zip", split=split)
    assert private_tests.model_of(pc.load_model(zipped).classifier) == tests[0].model
    before = texts_in(zipped)["README.md"]
    for has_coin, total in ((False, upper + spent), (True, max(upper, spent))):
        tested = tmp_path / "tested.zip"
        tested.write_bytes(with_tests(zipped, tests, has_coin=has_coin, is_shown=has_coin))
        assert pc.load_model(tested).card["method"] == "dp_sgd", "its sums are right"
        files = texts_in(tested)
        fields, said = json.loads(files["statement.json"]), files["statement.txt"]
        assert fields == json.loads(files["model.json"])["deployment"]
        assert fields["epsilon_with_tests"] == pytest.approx(total)
        assert [test["epsilon"] for test in fields["private_tests"]] == pytest.approx([0.5, 1.0])
        assert ("as you state that" if has_coin else private_tests.SUM) in said
        assert (private_tests.SHOWN in said) is has_coin
        assert "Private tests of other models on these test rows: 1" in said
        assert "Not protected: public and validation rows; that" in said
        assert "test rows are not protected" not in said + files["statement.json"]
        lines = set(said.splitlines())
        assert lines <= set(files["README.md"].splitlines())
        assert not lines <= set(before.splitlines())
    elsewhere = guarantee_card(released.guarantee) | {"relation": "replace_one"}
    _, filed = private_tests.stated(tests, "", elsewhere, has_coin=True, is_shown=False)
    assert filed["epsilon_with_tests"] is None
    table = roc(tests[1])
    assert (table.iloc[[0, -1]].to_numpy() == [[1.0] * 6, [0.0] * 6]).all()
    for rate in ("false_positive", "true_positive"):
        assert (table[f"low_{rate}"] <= table[f"high_{rate}"]).all()


@pytest.mark.usefixtures("own_cache")
def test_of_a_file_that_trained_a_model_the_rows_apart_are_tested(tmp_path):
    x = rng.stream(4, "trained file").standard_normal((300, 3))
    table = pd.DataFrame(x, columns=list("abc")).assign(label=(x[:, 0] > 0).astype(int))
    table.to_csv(tmp_path / "rows.csv", index=False)
    split = pc.split(pc.load_features(tmp_path / "rows.csv"))
    record = pc.run("dp_raft", split, epsilon=1.0, seed=None)
    assert pc.private_test(record, tmp_path / "rows.csv", epsilon=50.0, seed=0).cells.sum() == 300
    pc.save_model(record, tmp_path / "model.zip", split=split)
    told = pc.private_test(tmp_path / "model.zip", tmp_path / "rows.csv", epsilon=50.0, seed=0)
    assert told.cells.sum() == len(split.features.x_test) == 60
    assert APART in told.guarantee.assumptions
