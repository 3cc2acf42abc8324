"""Receipts of trainings: written down before a row is read, summed by the content of the rows and
by what is protected."""

import dataclasses
import functools
import json
import math
import multiprocessing

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import store
from pillar_core.data import uploads
from pillar_core.errors import DataError, SettingError, StoreError
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import private_tests, receipts
from pillar_core.runs.assumptions import LOW_BITS, NOISE_EXACT
from pillar_core.runs.models import guarantee_card
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.runs.receipts import Account, Ranking, account_of, training_on
from pillar_core.runs.statement import IN_SIGHT, RANKED_IN_SIGHT
from pillar_core.studies.screening import answers
from users import output_of, raises, run_command, texts_in

pytestmark = pytest.mark.usefixtures("own_cache")

BUDGET = (1.0, 1e-5, "add_or_remove_one")


def a_test(relation="add_or_remove_one", most=None):
    return PrivateTest(
        "model", "accuracy", 0.8, 0.7, 0.9, 0.95, 0.5, relation, most, 0.9, ((1, 2),)
    )


ROWS = {"epsilon": 1.0, "delta": 1e-5, "relation": "add_or_remove_one", "privacy_unit": "row"}
"""A guarantee, as a model's card has it."""


def features(n_public=0, seed=0):
    draw = np.random.default_rng(seed)
    return pc.features(draw.standard_normal((200 + n_public, 5)), np.arange(200 + n_public) % 2)


def accounted():
    split = pc.split(features(), public_fraction=0.1)
    return split, account_of(split.features), training_on(split, "PILLAR", BUDGET)


def test_trainings_of_the_same_rows_add_up_whatever_share_is_public():
    rows = features()
    for share, budget in (
        (0.1, BUDGET),
        (0.3, (0.5, 1e-5, "add_or_remove_one")),
        (0.3, (2.0, 0, "replace_one")),
    ):
        split = pc.split(rows, public_fraction=share)
        account_of(split.features).keep(training_on(split, "PILLAR", budget, data="ward"))
    account = account_of(rows)
    store.default().prune(max_bytes=0)
    assert [training.rows for training in account.trainings] == [180, 140, 140]
    first = "ε = 1.5, δ = 2 × 10⁻⁵ in 2 trainings"
    second = "ε = 2, δ = 0 in 1 training, for one row replaced"
    assert account.total(1e-5).startswith(
        f"Sum for these rows so far: {first}, for one row added or removed; {second}. The same"
        " people in other files"
    )
    assert account_of(features(seed=1)).trainings == ()
    raises(
        StoreError, "another training of these rows", account.keep, account.trainings[0], place=2
    )


def test_forgotten_rows_leave_no_hash_and_what_was_spent_on_them():
    name = uploads.keep(features())
    data = uploads.load(name)
    training = training_on(pc.split(data), "PILLAR", BUDGET)
    account_of(data, name).keep(training)
    receipts.note_answers(np.concatenate([data.x_train[:3], features(seed=1).x_train]))
    receipts.forget_data(name)
    assert len(store.default().keys("arrays")) == 1
    assert account_of(features(seed=1)).is_answered, "other rows of the batch stay answered"
    assert not account_of(features()).is_answered
    assert account_of(features()).spent == (training,)


def test_a_service_hashes_no_more_rows_than_it_writes_down(monkeypatch):
    """Each answer of a service hashed its rows and listed the cache: 20 ms, of a model that takes 0.1."""
    monkeypatch.setattr(receipts, "MOST_ANSWERS", 2)
    monkeypatch.setattr(receipts, "_ANSWERS", set())
    monkeypatch.setattr(receipts, "_BATCHES", set())
    batches = [features(seed=seed).x_train for seed in range(3)]
    for x in (batches[0], batches[0], batches[1]):
        receipts.note_answers(x)
    with monkeypatch.context() as patch:
        patch.setattr(receipts, "hashes_of", lambda *_: pytest.fail("hashed"))
        receipts.note_answers(batches[2])
    seen = [account_of(features(seed=seed)).is_answered for seed in range(3)]
    assert seen == [True, True, False]
    assert len(store.default().keys("arrays")) == 2


def test_a_training_that_ends_before_it_releases_anything_has_spent_nothing():
    split, account, training = accounted()
    released = functools.partial(pc.run, "pillar", split, epsilon=1.0)
    for trains in (lambda: None, released):
        with pytest.raises(DataError, match="no room"), account.charged(training):
            raise DataError("no room", str(trains()))
    assert [item.is_void for item in account.trainings] == [True, False]
    assert account.spent == (training,)
    assert "ended by an error before any noise was drawn" in account.trainings[0].words
    assert "ε = 1, δ = 10⁻⁵ in 1 training" in account.total(1e-5)


def test_trainings_with_other_numbers_of_rows_of_a_person_are_one_sum():
    _, account, training = accounted()
    for most in (1, 3, 2, None):
        account.keep(dataclasses.replace(training, rows_per_person=most))
    said = account.total(1e-5)
    assert "ε = 3, δ = 3 × 10⁻⁵ in 3 trainings, for one person with up to 3 rows" in said
    assert "ε = 1, δ = 10⁻⁵ in 1 training, for one row" in said


def test_fits_that_end_together_are_all_written_down(monkeypatch):
    _, account, training = accounted()
    account.keep(training)
    with monkeypatch.context() as patch:
        patch.setattr(Account, "_entries", lambda *_: ())  # as another fit saw it before
        account.keep(training)
    assert len(account.trainings) == 2


def test_private_tests_are_in_the_sum_as_a_statement_counts_them():
    _, account, training = accounted()
    apart = Account(trained="rows", tested="persons")
    for each in (account, apart):
        each.keep(training)
    for _ in range(2):
        account.keep(a_test())
    apart.keep(a_test(most=3))
    assert account.tests == (a_test(), a_test())
    assert "ε = 2 with 2 private tests" in account.total(1e-5)
    assert "ε = 1 with 2 private tests" in account.total(1e-5, has_coin=True)
    assert "Private tests of another unit are not in it" in apart.total(1e-5)
    of_both = [*account.tests, *apart.tests]
    lines, _ = private_tests.stated(of_both, "", ROWS, has_coin=False, is_shown=False)
    assert lines[0].endswith(
        ": 2, with ε ≤ 1 together, for one row added or removed; 1, with ε ≤ 0.5 together, for one"
        " person with up to 3 rows added or removed."
    )
    assert lines[1:] == [private_tests.UNITS_APART]


def test_a_private_test_of_persons_is_in_their_sum_whatever_the_number_of_rows():
    """Tests with another `rows_per_person` were left out as of another unit; trainings were not."""
    rows = features()
    split = pc.split(rows, persons=np.arange(200) // 4, rows_per_person=2)
    account = account_of(split.features)
    account.keep(training_on(split, "PILLAR", BUDGET))
    tests = [a_test(most=3), a_test(most=1)]
    for test in tests:
        account.keep(test)
    said = account.total(1e-5)
    assert "ε = 2 with 2 private tests, for one person with up to 3 rows added" in said
    assert "another unit" not in said
    record = pc.run("dp_raft", split, epsilon=1.0)
    tested = pc.private_test(record, split.features, epsilon=1.0, rows_per_person=2, seed=None)
    assert "so far: 3, with ε ≤ 2 together, for one person with up to 3 rows" in tested.spent
    promise = guarantee_card(record.guarantee)
    _, filed = private_tests.stated(tests, "model", promise, has_coin=False, is_shown=False)
    assert filed["epsilon_with_tests"] == pytest.approx(2.0)


def test_a_model_saved_from_python_is_charged_once(tmp_path):
    split = pc.split(features(), public_fraction=0.2)
    account = account_of(split.features)
    release = pc.run("pillar", split, epsilon=1.0, seed=None, relation="replace_one")
    assert account.trainings == ()
    for _ in range(2):
        pc.save_model(release, tmp_path / "model.zip", split=split)
    assert "ε = 1, δ = 10⁻⁵ in 1 training, for one row replaced" in account.total(1e-5)
    pc.save_model(
        pc.run("pillar", split, epsilon=1.0, seed=None), tmp_path / "model.zip", split=split
    )
    pc.save_model(pc.run("only_public", split, seed=None), tmp_path / "model.zip", split=split)
    assert len(account.trainings) == 2
    named = pc.run("pillar", split, epsilon=1.0, seed=None)
    pc.save_model(named, tmp_path / "model.zip", classes=("a", "b"))
    assert len(account.trainings) == 3


def test_a_model_is_saved_with_the_split_of_its_training_alone(tmp_path):
    split, other = (pc.split(features(seed=seed), public_fraction=0.2) for seed in (0, 1))
    release = pc.run("pillar", split, epsilon=1.0, seed=None)
    for wrong in (other, pc.split(split.features, public_fraction=0.3)):
        raises(
            SettingError,
            "another split",
            pc.save_model,
            release,
            tmp_path / "model.zip",
            split=wrong,
        )
    assert not (tmp_path / "model.zip").exists()
    assert not account_of(other.features).trainings
    same = pc.split(features(), public_fraction=0.2)
    pc.save_model(release, tmp_path / "model.zip", split=same)
    assert len(account_of(split.features).trainings) == 1


def test_a_table_has_one_sum_however_it_becomes_numbers(tmp_path):
    draw = np.random.default_rng(0)
    ward, public = (
        pd.DataFrame(
            {
                "age": draw.integers(18, 90, n),
                "dose": draw.random(n).round(3),
                "ward": draw.choice(["north", "south", "west"], n),
                "sick": draw.choice(["no", "yes"], n),
            }
        )
        for n in (300, 200)
    )
    others = {
        "beside fewer categories": (ward, public[public["ward"] != "west"], {}),
        "with a range": (ward, public, {"ranges": {"age": (0, 120)}}),
        "in another order": (ward[["sick", "ward", "dose", "age"]], public, {}),
        "a part of it": (ward[50:], public, {}),
    }
    split = pc.split(pc.load_features(ward, label="sick", public=public), public=public)
    pc.save_model(pc.run("dp_raft", split, epsilon=1.0, seed=None), tmp_path / "model.zip")
    for name, (rows, beside, more) in others.items():
        features = uploads.load(
            uploads.keep(pc.load_features(rows, label="sick", public=beside, **more))
        )
        assert "ε = 1, δ = 10⁻⁵ in 1 training" in account_of(features).total(1e-5), name
    x, y = ward.drop(columns="sick"), ward["sick"]
    model = pc.PrivateClassifier("dp_raft", public=public).fit(x, y)
    assert "ε = 2, δ = 2 × 10⁻⁵ in 2 trainings" in model.account_.total(1e-5)


@pytest.mark.parametrize("command", ["run", "choose"])
def test_commands_print_the_receipt_of_a_release_and_of_nothing_else(command, tmp_path):
    x = features()
    persons = np.arange(200) // 2
    np.savez(
        tmp_path / "ward.npz",
        x_train=x.x_train,
        y_train=x.y_train,
        persons=persons,
        rows_per_person=2,
    )
    asked = f"{command} --dataset {tmp_path / 'ward.npz'} --public-fraction 0.2 --epsilon 1"
    assert "spent ε" not in output_of(f"{asked}").out
    for place, delta in ((1, "10⁻⁵"), (2, "2 × 10⁻⁵")):
        said = output_of(f"{asked} --release --export {tmp_path / 'model.zip'}").out
        assert "of which no person has more than 2." in said
        assert f"Sum for these rows so far: ε = {place}, δ = {delta} in {place} training" in said
        assert "for one person with up to 2 rows added or removed" in said


def test_a_training_that_could_not_be_written_down_is_not_begun(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(store.Store, "put_json", lambda *_: False)
    asked = "run --dataset digits --public-fraction 0.1 --epsilon 1 --release --export"
    assert run_command(f"{asked} {tmp_path / 'model.zip'}") != 0
    assert not (tmp_path / "model.zip").exists()
    assert "another training" in capsys.readouterr().err


@pytest.mark.parametrize("relation", ["add_or_remove_one", "replace_one"])
def test_the_training_counts_every_ranking_before_it(split, relation):
    paid = [Ranking(("near", "far"), 10.0, False), Ranking(("near",), 20.0, True)]
    account = Account("mine")
    for one in paid:
        account.keep(one)
    store.default().prune(max_bytes=0)
    assert account.rankings == tuple(paid), "what was spent is never removed to make room"
    assert Account("others").rankings == ()
    record = pc.run("pillar", split, epsilon=1.0, seed=None, relation=relation)
    counted = account.count(record)
    moved = 1 if relation == "add_or_remove_one" else 2
    mu = math.hypot(pc.accounting.mu_of(1.0, 1e-5), moved / 10, moved / 20)
    alone = account.epsilon_of_rankings(delta=1e-5, relation=relation)
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
    assert Account("others").count(record) is record
    assert LOW_BITS in counted.guarantee.assumptions, "rankings from before noise was exact"
    Account("others").keep(dataclasses.replace(paid[0], is_exact=True))
    exactly = Account("others").count(record)
    assert NOISE_EXACT in exactly.guarantee.assumptions
    assert LOW_BITS not in exactly.guarantee.assumptions


def test_files_of_earlier_versions_still_count():
    """Their keys and content, written out: a later module that spells them otherwise would forget
    what was charged."""
    training = {"learner": "PILLAR", "data": "ward", "rows": 9, "epsilon": 1.0, "delta": 1e-5}
    training |= {"relation": "add_or_remove_one", "rows_per_person": None}
    forms = {
        ("training", "rows"): {"training": training},
        ("private test", "tested"): {"test": dataclasses.asdict(a_test())},
        ("paid ranking", "chexpert"): {
            "ranking": {"public": ["near"], "noise_multiplier": 10.0, "has_part": False}
        },
    }
    for (kind, rows), form in forms.items():
        store.default().put_json("record", "spent-" + fingerprint(kind, rows, 0), form)
    store.default().put_json("record", fingerprint("in sight", "chexpert"), {"in_sight": True})
    account = Account("chexpert:3", "rows", "tested")
    assert [entry.data for entry in account.trainings] == ["ward"]
    assert account.tests == (a_test(),)
    assert account.rankings == (Ranking(("near",), 10.0, False),)
    assert account.sight == IN_SIGHT


def test_a_look_is_not_forgotten_to_make_room():
    """Its mark was a record like others: a small cache removed it, and the next model said that
    nobody had looked."""
    Account("mine").look(is_ranking=True)
    store.default().prune(max_bytes=0)
    assert Account("mine").sight == RANKED_IN_SIGHT
    Account("mine").look()
    store.default().prune(max_bytes=0)
    assert Account("mine").sight == IN_SIGHT
    assert not Account("others").sight


def test_a_command_counts_what_pages_paid_for_the_same_rows_and_saw_of_them(tmp_path, capsys):
    """Its model's ε left the ranking out, and its statement said that nobody had looked."""
    path, rows = tmp_path / "digits.npz", features()
    np.savez(path, x_train=rows.x_train, y_train=rows.y_train)
    account = Account(uploads.keep(pc.load_features(path)))
    line = f"run --dataset {path} --public-fraction 0.2 --epsilon 1"
    line += f" --release --export {tmp_path / 'model.zip'}"

    def promise(options=""):
        assert run_command(f"{line} {options}") == 0
        return json.loads(texts_in(tmp_path / "model.zip")["model.json"])["guarantee"]

    alone = promise()
    assert not alone["chosen_in_sight"], "a set of the library has the file's name, no more"
    account.keep(Ranking(("near",), 10.0, False, is_exact=True))
    account.look()
    capsys.readouterr()
    counted = promise()
    assert "Rankings that you paid for on Public data come on top" in capsys.readouterr().out
    assert counted["epsilon"] > alone["epsilon"]
    assert counted["chosen_in_sight"]
    assert not promise("--chosen-beforehand")["chosen_in_sight"]
    theirs = account_of(pc.load_features(path))
    n_trainings = len(theirs.trainings)
    assert "give --delta" in output_of(f"{line} --delta 0", status=2).err
    assert len(theirs.trainings) == n_trainings == 3, "a refusal spends nothing"


SCREEN = "screen --private {rows} --public {other} --score class_signal"


@pytest.mark.parametrize(
    ("command", "sight"),
    [
        ("run --dataset {rows} --public {other} --epsilon 1", IN_SIGHT),
        ("choose --dataset {rows} --candidates {other} --epsilon 1", IN_SIGHT),
        ("compare --dataset {rows} --public {other} --methods dp_sgd --seeds 1", IN_SIGHT),
        (SCREEN, IN_SIGHT),
        (f"{SCREEN} --epsilon 1", RANKED_IN_SIGHT),
        (f"{SCREEN} --epsilon 1 --release", ""),
    ],
)
def test_what_a_command_shows_of_rows_is_on_their_account(command, sight, tmp_path):
    """A seeded run showed test accuracy, and the next model's statement said that nobody looked."""
    paths = {name: tmp_path / f"{name}.csv" for name in ("rows", "other")}
    for seed, path in enumerate(paths.values()):
        rows = features(seed=seed)
        pd.DataFrame(rows.x_train).assign(label=rows.y_train).to_csv(path, index=False)
    assert run_command(command.format(**paths)) == 0
    rows = pc.load_features(paths["rows"], public=paths["other"])
    account = account_of(rows, str(paths["rows"]))
    assert account.sight == sight
    assert len(account.rankings) == (sight == "")


def test_a_ranking_by_gradients_that_a_command_releases_is_in_the_sum():
    sets = "--private drawn_shapes --public drawn_textures --model linear_head"
    said = output_of(f"screen {sets} --k 2 --examples 100 --repeats 1 --epsilon 1 --release").out
    assert said.split()[-1] == "0.9995", "0.99941, rounded up"
    account = account_of(answers.images_of("drawn_shapes", n=400), "drawn_shapes")
    assert not account.sight
    assert "ε = 0.9995, δ = 10⁻⁵ in 1 training" in account.total(1e-5)


def _keep_tests(rows: str) -> None:
    """Keeps twenty entries, each again where another process was ahead."""
    account, kept = Account(tested=rows), 0
    while kept < 20:
        try:
            account.keep(a_test())
        except StoreError:
            continue
        kept += 1


def test_two_processes_that_write_at_once_lose_nothing():
    processes = [
        multiprocessing.get_context("spawn").Process(target=_keep_tests, args=("rows",))
        for _ in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert len(Account(tested="rows").tests) == 40
