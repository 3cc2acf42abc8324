"""Receipts of trainings: written down before a row is read, summed by the content of the rows and
by what is protected."""

import dataclasses
import math

import numpy as np
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.__main__ import main
from pillar_core.errors import StoreError
from pillar_core.runs import private_tests, rankings, receipts
from pillar_core.runs.assumptions import LOW_BITS, NOISE_EXACT
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.runs.rankings import Ranking
from pillar_core.store import Store

pytestmark = pytest.mark.usefixtures("own_cache")


def a_test(relation="add_or_remove_one", most=None):
    return PrivateTest(
        "model", "accuracy", 0.8, 0.7, 0.9, 0.95, 0.5, relation, most, 0.9, ((1, 2),)
    )


def features(n_public=0, seed=0):
    draw = np.random.default_rng(seed)
    return pc.features(draw.standard_normal((200 + n_public, 5)), np.arange(200 + n_public) % 2)


def test_trainings_of_the_same_rows_add_up_whatever_share_is_public():
    rows = features()
    for share, budget in (
        (0.1, (1.0, 1e-5, "add_or_remove_one")),
        (0.3, (0.5, 1e-5, "add_or_remove_one")),
        (0.3, (2.0, 0, "replace_one")),
    ):
        split = pc.split(rows, public_fraction=share)
        receipts.keep(
            receipts.content_of(split.features),
            receipts.training_on(split, "PILLAR", budget, data="ward"),
        )
    content = receipts.content_of(rows)
    store.default().prune(max_bytes=0)
    assert [training.rows for training in receipts.of_rows(content)] == [180, 140, 140]
    first, second = (
        "ε = 1.5, δ = 2 × 10⁻⁵ in 2 trainings",
        "ε = 2, δ = 0 in 1 training, for one row replaced",
    )
    assert (
        receipts.total(content, ())
        == f"Sum for these rows so far: {first}, for one row added or removed; {second}."
    )
    assert receipts.of_rows(receipts.content_of(features(seed=1))) == ()
    with pytest.raises(StoreError, match="another training of these rows"):
        receipts.keep(content, receipts.of_rows(content)[0], place=2)


def test_private_tests_are_in_the_sum_as_a_statement_counts_them():
    split = pc.split(features(), public_fraction=0.1)
    receipts.keep("rows", receipts.training_on(split, "PILLAR", (1.0, 1e-5, "add_or_remove_one")))
    assert "ε = 2 with 2 private tests" in receipts.total("rows", [a_test(), a_test()])
    assert "ε = 1 with 2 private tests" in receipts.total(
        "rows", [a_test(), a_test()], has_coin=True
    )
    assert "Private tests protect another unit" in receipts.total("rows", [a_test(most=3)])
    assert (
        private_tests.epsilon_together(1.0, [], ("add_or_remove_one", None), has_coin=False) is None
    )


def test_a_model_saved_from_python_is_charged_once(tmp_path):
    split = pc.split(features(), public_fraction=0.2)
    content = receipts.content_of(split.features)
    release = pc.run("pillar", split, epsilon=1.0, seed=None, relation="replace_one")
    assert receipts.of_rows(content) == ()
    for _ in range(2):
        pc.save_model(release, tmp_path / "model.zip", split=split)
    assert "ε = 1, δ = 10⁻⁵ in 1 training, for one row replaced" in receipts.total(content, ())
    pc.save_model(
        pc.run("pillar", split, epsilon=1.0, seed=None), tmp_path / "model.zip", split=split
    )
    pc.save_model(pc.run("only_public", split, seed=None), tmp_path / "model.zip", split=split)
    assert len(receipts.of_rows(content)) == 2


@pytest.mark.parametrize("command", ["run", "choose"])
def test_commands_print_the_receipt_of_a_release_and_of_nothing_else(command, tmp_path, capsys):
    x = features()
    persons = np.arange(200) // 2
    np.savez(
        tmp_path / "ward.npz",
        x_train=x.x_train,
        y_train=x.y_train,
        persons=persons,
        rows_per_person=2,
    )
    asked = [
        command,
        "--dataset",
        str(tmp_path / "ward.npz"),
        "--public-fraction",
        "0.2",
        "--epsilon",
        "1",
    ]
    assert main([*asked]) == 0
    assert "spent ε" not in capsys.readouterr().out
    for place, delta in ((1, "10⁻⁵"), (2, "2 × 10⁻⁵")):
        assert main([*asked, "--release", "--export", str(tmp_path / "model.zip")]) == 0
        said = capsys.readouterr().out
        assert "of which no person has more than 2." in said
        assert f"Sum for these rows so far: ε = {place}, δ = {delta} in {place} training" in said
        assert "for one person with up to 2 rows added or removed" in said


def test_a_training_that_could_not_be_written_down_is_not_begun(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(store.Store, "put_json", lambda *_: False)
    asked = [
        "run",
        "--dataset",
        "digits",
        "--public-fraction",
        "0.1",
        "--epsilon",
        "1",
        "--release",
        "--export",
    ]
    assert main([*asked, str(tmp_path / "model.zip")]) != 0
    assert not (tmp_path / "model.zip").exists()
    assert "another training" in capsys.readouterr().err


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_the_training_counts_every_ranking_before_it(relation: str) -> None:
    paid = [Ranking(("near", "far"), 10.0, False), Ranking(("near",), 20.0, True)]
    for one in paid:
        rankings.keep("mine", one)
    store.default().prune(max_bytes=0)
    assert rankings.of_rows("mine") == tuple(paid), "what was spent is never removed to make room"
    assert rankings.of_rows("others") == ()
    split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    record = pc.run("pillar", split, epsilon=1.0, seed=None, relation=relation)
    counted = rankings.count_rankings(record, rankings.of_rows("mine"))
    moved = 1 if relation == "add_or_remove_one" else 2
    mu = math.hypot(pc.accounting.mu_of(1.0, 1e-5), moved / 10, moved / 20)
    alone = rankings.epsilon_of(paid, delta=1e-5, relation=relation)
    assert alone == pytest.approx(
        pc.accounting.epsilon_of_mu(math.hypot(moved / 10, moved / 20), 1e-5)
    )
    said = pc.statement(counted)
    assert said.fields["gaussian_mu"] == pytest.approx(mu, rel=1e-3)
    assert counted.guarantee.epsilon.upper == pytest.approx(
        pc.accounting.epsilon_of_mu(mu, 1e-5), rel=1e-3
    )
    assert "public sets (near, far) were ranked" in said.text
    assert "every tenth row" in said.text
    assert counted.guarantee.covers_choice
    assert rankings.count_rankings(record, ()) is record
    assert LOW_BITS in counted.guarantee.assumptions, "rankings from before noise was exact"
    exactly = rankings.count_rankings(record, [dataclasses.replace(paid[0], is_exact=True)])
    assert NOISE_EXACT in exactly.guarantee.assumptions
    assert LOW_BITS not in exactly.guarantee.assumptions


def test_a_ranking_that_was_not_written_down_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "put_json", lambda *_: False)
    with pytest.raises(StoreError, match="nothing was shown"):
        rankings.keep("mine", Ranking(("near",), 10.0, False))
