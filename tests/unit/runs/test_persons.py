"""Persons with several rows: who is on which side, how many rows are kept, and that ε, noise and
statement are a person's."""

import dataclasses
import io

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import accounting, ledger, store
from pillar_core.data import uploads
from pillar_core.data.npz import npz_of
from pillar_core.data.parts import NAMED, pack, unpack
from pillar_core.data.persons import persons_of
from pillar_core.errors import DataError, SettingError
from pillar_core.methods import METHODS
from pillar_core.runs import sweep
from pillar_core.runs.assumptions import PERSON_APART, PERSON_STATED
from pillar_core.runs.statement import spent_event, statement
from pillar_core.screening import mixture, trim
from pillar_core.studies import tuning as selection
from pillar_core.studies.screening import answers
from pillar_core.studies.screening.answers import Ask, _every, answer
from pillar_core.types import Dataset, Persons, RunSpec
from users import is_noted, output_of, raises, refuses, run_command

ROWS, PERSONS = 600, 150


def _brought():
    generator = np.random.default_rng(3)
    y = np.arange(ROWS) % 3
    x = generator.normal(size=(ROWS, 8)).astype(np.float32) + 3 * np.eye(8, dtype=np.float32)[y]
    return pc.features(x, y, x[:60], y[:60]), generator.integers(PERSONS, size=ROWS)


def _split(rows_per_person: int, **settings):
    data, persons = _brought()
    settings |= {"public_fraction": 0.2, "validation_fraction": 0.1}
    return pc.split(data, persons=persons, rows_per_person=rows_per_person, **settings), persons


@pytest.mark.parametrize("most", [1, 3])
def test_a_person_is_on_one_side_and_keeps_their_first_rows(most):
    split, persons = _split(most)
    private, validation = set(persons[split.private]), set(persons[split.validation])
    assert not private & validation
    public = set(persons) - private - validation
    assert len(split.public_x) == np.isin(persons, list(public)).sum()
    assert len(public) == pytest.approx(0.2 * PERSONS, abs=3)
    for person in private:
        rows = np.flatnonzero(persons == person)
        assert [row for row in split.private if persons[row] == person] == rows[:most].tolist()


def test_names_of_any_kind_mean_the_same_and_a_bound_needs_them():
    data, persons = _brought()
    by_number, by_word = (
        pc.split(data, persons=names, rows_per_person=2)
        for names in (persons, [f"p{one:04}" for one in persons])
    )
    assert by_number.private.tolist() == by_word.private.tolist()
    assert by_number.fingerprint != pc.split(data, persons=persons, rows_per_person=3).fingerprint
    split, _ = _split(2)
    replaced = pc.run("dp_sgd", split, epsilon=1.0, batch_size=20, steps=5, relation="replace_one")
    event = ledger.of_person(
        METHODS["dp_sgd"].cost(METHODS["dp_sgd"].settings(**replaced.settings), replaced.facts), 2
    )
    assert (
        accounting.epsilon(event, delta=1e-5, relation="add_or_remove_one").upper
        < replaced.guarantee.epsilon.upper
        <= 1.0
    )
    refuses("each of the 600 train rows", pc.split, data, persons=persons[:-1])
    raises(SettingError, "rows_per_person", pc.split, data, persons=persons, rows_per_person=0)
    raises(
        SettingError,
        "pass persons",
        pc.split,
        _brought()[0],
        public_fraction=0.2,
        rows_per_person=3,
    )


@pytest.mark.parametrize("method", ["dp_sgd", "noisy_gd", "pillar_one_shot"])
def test_the_budget_is_a_persons(method):
    split, _ = _split(3)
    record = pc.run(method, split, epsilon=2.0)
    event = METHODS[method].cost(METHODS[method].settings(**record.settings), record.facts)
    upper = accounting.epsilon(
        ledger.of_person(event, 3), delta=1e-5, relation="add_or_remove_one"
    ).upper
    assert upper == record.guarantee.epsilon.upper <= 2.0
    # a row is far better protected
    assert accounting.epsilon(event, delta=1e-5, relation="add_or_remove_one").upper < 1.0
    assert spent_event(record) == ledger.of_person(event, 3)


def test_statement_and_store_keep_a_run_a_persons(own_cache):
    split, _ = _split(3)
    found = statement(pc.run("noisy_gd", split, epsilon=1.0))
    assert "Unit of protection: one person" in found.text
    assert "at most 3" in found.fields["privacy_unit"]
    assert "noise measured against all rows of one person" in found.text
    assert "every row names its person rightly" in found.text
    assert (
        "example (a row)"
        in statement(pc.run("noisy_gd", pc.split(_brought()[0]), epsilon=1.0)).fields[
            "privacy_unit"
        ]
    )
    (cell,) = sweep.specs_of({"dataset": "breast_cancer", "method": "noisy_gd", "epsilon": 2.0})
    first, again = (sweep.read_or_run(cell, split) for _ in range(2))
    assert first.guarantee.rows_per_person == again.guarantee.rows_per_person == 3
    assert "at most 3" in statement(again).fields["privacy_unit"]
    assert spent_event(again) is not None
    row = sweep.table([store.default().get_json("record", sweep.run_key(cell))]).iloc[0]
    assert row["rows_per_person"] == 3


def test_the_command_counts_the_persons_of_a_file(tmp_path, capsys):

    data, persons = _brought()
    rows = {
        "x_train": data.x_train,
        "y_train": data.y_train,
        "x_test": data.x_test,
        "y_test": data.y_test,
    }
    np.savez(tmp_path / "rows.npz", **rows)
    np.savez(tmp_path / "visits.npz", **rows, persons=persons, rows_per_person=2)
    asked = "run --method noisy_gd --epsilon 1 --json --dataset"
    assert (
        '"privacy_unit": "person with up to 2 rows"'
        in output_of(f"{asked} {tmp_path / 'visits.npz'} --rows-per-person 2").out
    )
    assert run_command(f"{asked} {tmp_path / 'rows.npz'} --rows-per-person 3") != 0
    assert "no row has a person" in capsys.readouterr().err


def test_python_declares_the_rows_of_a_tables_persons_as_the_command_does(tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame(x, columns=["a", "b"])
    table = table.assign(whose=np.arange(60) // 4, label=np.arange(60) // 4 % 2)
    table.to_csv(tmp_path / "visits.csv", index=False)
    for rows in (table, tmp_path / "visits.csv"):
        data = pc.load_features(rows, label="label", person="whose", rows_per_person=3)
        assert data.persons.most == pc.split(data).rows_per_person == 3
        assert len(data.x_train) + len(data.x_test) == 45
    once = pc.load_features(table, label="label", person="whose")
    raises(SettingError, "rows_per_person=", pc.split, once, rows_per_person=3)
    for rows, most, roles in (
        (table, 3, {"label": "label"}),
        ((x, table["label"]), 3, {}),
        (table, 0, {"label": "label", "person": "whose"}),
    ):
        raises(
            SettingError, "rows_per_person", pc.load_features, rows, rows_per_person=most, **roles
        )


def test_who_has_public_rows_is_found_in_either_order(own_cache):
    """A public table that came later was said to be compared, and was not."""
    x = np.random.default_rng(0).normal(size=(80, 2))
    table = pd.DataFrame(x, columns=["a", "b"])
    table = table.assign(whose=[f"p{row}" for row in range(80)], label=np.arange(80) % 2)
    both = table[40:].assign(a=x[40:, 0] + 1)
    others = both.assign(whose="x" + both["whose"])
    read = {"label": "label", "person": "whose"}
    together = pc.load_features(table, public=both, **read)
    assert is_noted(together.notes, "80 rows of 80 persons: 40 of them have public rows, too")
    assert pc.split(together, public=both).is_apart
    alone, twice = pc.load_features(table, **read), "40 persons have public and private"
    kept = uploads.load(uploads.keep(alone))
    for private in (alone, kept):
        refuses(twice, pc.split, private, public=both)
        assert pc.split(private, public=others).is_apart
        for epsilon in (None, 1.0):
            ask = {"scores": ["class_signal"], "epsilon": epsilon, "allow_overlap": True}
            refuses(twice, pc.screen, private, {"open": pc.load_features(both, **read)}, **ask)
            assert len(pc.screen(private, {"open": pc.load_features(others, **read)}, **ask)) == 1
        refuses(twice, trim, private, pc.load_features(both, **read), share=0.5, epsilon=1.0)
    saved = unpack({name: rows for name, rows in pack(kept).items() if name != NAMED})
    assert not pc.split(saved, public=both).is_apart, "nobody can tell, and the statement says so"
    assert not {NAMED} & set(np.load(io.BytesIO(npz_of(kept)))), "no file has them"


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("p0", "write each person in one way"),
        ("P\u200b0", "unseen signs"),
        ("", "is empty in rows 1"),
        (" ", "is empty in rows 1"),
    ],
)
def test_each_person_is_named_in_one_way(second, message):
    """Another way to write it made another person: both rows of P0 counted where one may."""
    refuses(message, persons_of, ["P0", second, "P1"], 1, n_rows=3)


@pytest.mark.parametrize(
    "names",
    [
        *(
            [0.5, 1, 2],
            [True, False, True],
            [[1], [1, 2], [3]],
            [2.0**60, 1, "a"],
            ["a", None, "b"],
            ["a", float("nan"), "b"],
        ),
        *(
            np.zeros((3, 1)),
            np.array([1.0, np.nan, 2.0]),
            np.array([1e300, 1, 2]),
            [b"a", b"b", b"c"],
            3,
            [1, 2],
            ["a", "A", "b"],
        ),
    ],
)
def test_what_names_no_person_for_sure_is_refused(names):
    with pytest.raises(DataError):
        persons_of(names, 1, n_rows=3)


@pytest.mark.parametrize(
    "names",
    [
        [7, 7, 8],
        [7.0, 7.0, 8.0],
        ["7", " 7", "8"],
        [7, "7", 8],
        np.array([b"7", b"7", b"8"]),
        pd.Series(["a", "a", "b"]),
    ],
)
def test_persons_are_read_from_words_and_whole_numbers(names):
    assert persons_of(names, 1, n_rows=3).of.tolist() == [0, 0, 1]


def _declared(most: int = 3):
    data, persons = _brought()
    return dataclasses.replace(data, persons=Persons(persons, most))


def test_data_that_declare_persons_are_split_by_them_with_as_few_rows_as_asked():
    data, persons = _brought()
    told = pc.split(_declared(), public_fraction=0.2)
    given = pc.split(data, public_fraction=0.2, persons=persons, rows_per_person=3)
    assert told.rows_per_person == 3
    assert told.private.tolist() == given.private.tolist()
    assert pc.split(data, public_fraction=0.2).rows_per_person is None
    assert _declared().fingerprint not in (data.fingerprint, _declared(2).fingerprint)
    asked = pc.split(_declared(5), public_fraction=0.2, rows_per_person=2)
    given = pc.split(data, public_fraction=0.2, persons=persons, rows_per_person=2)
    assert asked.rows_per_person == 2
    assert asked.private.tolist() == given.private.tolist()
    assert np.bincount(persons[asked.private]).max() == 2
    assert pc.run("noisy_gd", asked, epsilon=1.0).guarantee.rows_per_person == 2
    for wrong, says in ((0, "from 1 to 100"), (6, "at most 5")):
        raises(
            SettingError, says, pc.split, _declared(5), public_fraction=0.2, rows_per_person=wrong
        )


@pytest.mark.parametrize("is_image", [False, True])
def test_rows_that_are_kept_stay_their_persons(own_cache, is_image):
    data = _declared()
    if is_image:
        pixels = np.random.default_rng(0).integers(256, size=(ROWS, 4, 4)).astype(np.uint8)
        data = Dataset(
            "xrays",
            pixels,
            data.y_train,
            pixels[:60],
            data.y_test,
            data.classes,
            persons=data.persons,
        )
    name = uploads.keep(data)
    card, kept = uploads.card(name), uploads.load(name)
    assert card.rows_per_person == 3
    assert kept.fingerprint == data.fingerprint
    split = pc.split(kept, public_fraction=0.2)
    assert split.rows_per_person == 3
    assert pc.run("noisy_gd", split, epsilon=1.0).guarantee.rows_per_person == 3
    other = uploads.keep(dataclasses.replace(data, persons=None))
    assert other != name
    assert uploads.card(other).rows_per_person is None


def test_parts_trims_choices_and_tuning_count_persons():
    data = _declared()
    others, part = _every(10, data)
    assert len(part.persons.of) == len(part.x_train)
    assert len(part.x_train) + len(others.x_train) == ROWS
    assert not set(part.persons.of) & set(others.persons.of)
    assert 5 < len(set(part.persons.of)) < 25
    data, public = _declared(), _brought()[0]
    found, expected = (
        trim(one, public, share=0.5, epsilon=1.0) for one in (data, _first_of_each(data))
    )
    assert found.votes["votes"].tolist() == expected.votes["votes"].tolist()
    assert "a row is a person" in found.guarantee
    public = _brought()[0]
    record = pc.choose(
        _declared(), {"a": dataclasses.replace(public, x_train=public.x_train + 1)}, epsilon=2.0
    ).record
    assert record.guarantee.rows_per_person == 3
    assert record.guarantee.epsilon.upper <= 2.0
    # the noise of the choice is that of single rows three times over, on a sum of the same norm
    alone = pc.choose(
        public, {"a": dataclasses.replace(public, x_train=public.x_train + 1)}, epsilon=2.0
    )
    assert len(record.guarantee.events) == len(alone.guarantee.events) == 2
    asked, split = RunSpec.of("noisy_gd", epsilon=2.0), pc.split(_declared(), public_fraction=0.3)
    found = selection.tune(asked, split, [{"learning_rate": 1.0}, {"learning_rate": 2.0}])
    assert found.guarantee.epsilon.upper <= 2.0
    assert found.guarantee.rows_per_person == found.record.guarantee.rows_per_person == 3


_MODEL = {"class_signal": {}, "gsd": {"n_examples": 100, "k": 4, "model": "linear_head"}}


@pytest.mark.parametrize("score", list(_MODEL))
def test_a_private_screening_reads_one_row_of_each_person(score):
    data, public = _declared(), _brought()[0]
    settings = {"scores": (score,), "epsilon": 1.0, "allow_overlap": True, **_MODEL[score]}
    found = pc.screen(data, {"other": public}, **settings)
    expected = pc.screen(_first_of_each(data), {"other": public}, **settings)
    assert found["value"].tolist() == expected["value"].tolist()
    assert found.attrs["guarantee"].startswith(expected.attrs["guarantee"])
    assert "a row is a person" in found.attrs["guarantee"]
    assert "if no person has public rows" in found.attrs["guarantee"]


def _first_of_each(data):
    first = np.sort(np.unique(data.persons.of, return_index=True)[1])
    return dataclasses.replace(
        data, x_train=data.x_train[first], y_train=data.y_train[first], persons=None
    )


def test_a_ranking_by_name_reads_one_row_of_each_person(own_cache):
    data, public = _declared(), {"other": _brought()[0]}
    asked = Ask("ranking", "own", ("other",), score="class_signal", epsilon=1.0)
    found, expected = (
        answer(dataclasses.replace(asked, private=name), sets=(one, public))
        for name, one in (("own", data), ("first", _first_of_each(data)))
    )
    assert found["value"].tolist() == expected["value"].tolist()
    assert "a row is a person" in found.attrs["guarantee"]


def _images(seed: int, persons: Persons | None = None) -> Dataset:
    pixels = np.random.default_rng(seed).integers(256, size=(120, 8, 8)).astype(np.uint8)
    labels = np.arange(120) % 3
    return Dataset(
        f"images {seed}", pixels, labels, pixels[:9], labels[:9], ("a", "b", "c"), persons=persons
    )


@pytest.mark.parametrize("way", ["screen", "trim", "gsd by name", "class_signal by name"])
def test_under_epsilon_a_mixture_is_no_private_set(monkeypatch, own_cache, way):
    """How many of its rows are drawn of each set hangs on the sizes of all: one row less changes
    several."""
    monkeypatch.setattr(answers, "BACKBONE", "raw_pixels")
    mixed = mixture([_images(0), _images(1)], name="both", size=8)
    public = mixture([_images(2)], name="other", size=8)
    names = [uploads.keep(_images(seed)) for seed in range(3)]
    asked = Ask("ranking", "+".join(names[:2]), (names[2],), n_examples=60, k=4, repeats=1)
    ways = {
        "screen": lambda epsilon: pc.screen(
            mixed, {"other": public}, epsilon=epsilon, model="probe", n_examples=60, k=4
        ),
        "trim": lambda epsilon: trim(
            pc.load_features(mixed), pc.load_features(public), share=0.5, epsilon=epsilon
        ),
        "gsd by name": lambda epsilon: answer(dataclasses.replace(asked, epsilon=epsilon)),
        "class_signal by name": lambda epsilon: answer(
            dataclasses.replace(asked, score="class_signal", epsilon=epsilon)
        ),
    }
    refuses("Name one private set", ways[way], 2.0)
    if way == "gsd by name":
        assert len(answer(asked)) == 1


@pytest.mark.parametrize("score", ["gsd", "class_signal"])
def test_a_mixture_does_not_drop_persons(monkeypatch, own_cache, score):
    monkeypatch.setattr(answers, "BACKBONE", "raw_pixels")
    plain, of_persons = (
        uploads.keep(_images(seed, persons))
        for seed, persons in ((0, None), (1, Persons(np.arange(120) // 5, 5)))
    )
    for names in ((plain, of_persons), (of_persons, plain)):
        refuses(
            "whose rows are whose",
            answer,
            Ask("ranking", "+".join(names), (plain,), score=score, n_examples=60, k=4, repeats=1),
        )


@pytest.mark.parametrize("names", [True, False])
def test_that_no_person_has_public_rows_is_assumed_of_every_public_set(names):
    data, (public, persons) = _declared(), _brought()
    public = dataclasses.replace(
        public, x_train=public.x_train + 1, persons=Persons(persons, 3) if names else None
    )
    assumed = "no person of the private rows has public rows"
    record = pc.run("pillar_one_shot", pc.split(data, public=public), epsilon=2.0)
    assert (
        f"you state that {assumed}: their names were not compared" in record.guarantee.assumptions
    )
    assert assumed in statement(record).text
    for split in (pc.split(data, public_fraction=0.2), pc.split(_brought()[0], public=public)):
        assert assumed not in pc.run("pillar_one_shot", split, epsilon=2.0).guarantee.assumptions


def test_names_of_a_public_table_are_compared_and_said_to_be(tmp_path):
    visits = pd.DataFrame({"person": [f"p{row // 2}" for row in range(80)], "a": range(80)})
    visits = visits.assign(label=np.where(visits.index % 4 < 2, "yes", "no"))
    apart = visits[:20].assign(a=visits.a + 0.5)
    (public := tmp_path / "open.csv").write_text(apart.to_csv(index=False))
    private = pc.load_features(visits, person="person", public=public)
    assert len(private.x_train) + len(private.x_test) == 30
    record = pc.run("pillar_one_shot", pc.split(private, public=public), epsilon=2.0)
    assert PERSON_APART in record.guarantee.assumptions
    assert PERSON_STATED not in record.guarantee.assumptions
    alone, theirs = (pc.load_features(table, person="person") for table in (visits, apart))
    raises(DataError, "10 persons have public", pc.split, alone, public=theirs)


def test_public_rows_that_are_private_too_are_not_promised_anything():
    """Boolean rows, and overlap that one allows, said in no word that rows on both sides are
    public."""
    bits = np.random.default_rng(0).integers(0, 2, (300, 8))
    data = pc.features(bits, bits[:, 0])
    for split in (
        pc.split(data, public=data),
        pc.split(_brought()[0], public=_brought()[0], allow_overlap=True),
    ):
        record = pc.run("pillar_one_shot", split, epsilon=2.0)
        assert "no private row is among the public ones" in statement(record).text
    inside = pc.run("pillar_one_shot", pc.split(data, public_fraction=0.1), epsilon=2.0)
    assert "among the public ones" not in statement(inside).text


@pytest.mark.parametrize(
    "of",
    [
        None,
        "x",
        [0, 1],
        np.zeros((ROWS, 2), dtype=int),
        np.full(ROWS, np.nan),
        np.array(["a"] * ROWS),
        np.arange(3),
    ],
)
def test_persons_that_are_no_numbers_of_rows_are_refused(of):
    data, _ = _brought()
    with pytest.raises(DataError, match="persons"):
        pc.split(dataclasses.replace(data, persons=Persons(of, 2)), public_fraction=0.2)


@pytest.mark.parametrize("most", [None, "x", 1.5, np.nan, True, 0, 101, np.zeros(3), {}])
def test_persons_count_from_one_to_a_hundred_rows(most):
    refuses(r"rows_per_person must be .* 1 to 100", Persons, np.arange(ROWS), most)
