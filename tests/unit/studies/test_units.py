"""A public table in another unit: what is said of it, and what the choice then takes."""

import json
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import commands, rng
from pillar_core.data.encoding import MISFITS
from pillar_core.data.recipes import ranges_of
from pillar_core.errors import DataError
from pillar_core.runs.splitting import public_features
from pillar_core.screening.class_signal import ClassSums
from pillar_core.screening.elsewhere import column_elsewhere
from users import output_of, refuses, run_command


def visits(n, seed):
    """Visits of a ward, four columns of numbers and a label."""
    draw = rng.stream(seed, "visits")
    sick = draw.integers(2, size=n)
    return pd.DataFrame(
        {
            "age": draw.normal(55 + 8 * sick, 14, n).round(),
            "hb": draw.normal(14 - 1.2 * sick, 1.4, n).round(1),
            "crp": draw.gamma(2 + 3 * sick, 4, n).round(1),
            "bmi": draw.normal(26 + sick, 4, n).round(1),
            "sick": np.where(sick, "yes", "no"),
        }
    )


def harmed(rows):
    return {
        "tenfold": rows.assign(hb=10 * rows["hb"]),
        "shifted": rows.assign(hb=rows["hb"] + 100),
        "swapped": rows.rename(columns={"hb": "crp", "crp": "hb"}),
    }


PRIVATE, PUBLIC = visits(3000, 0), visits(300, 1)


@pytest.mark.parametrize("harm", ["tenfold", "shifted", "swapped"])
def test_a_paid_choice_names_the_column_of_a_harmed_table_and_takes_the_right_one(harm):
    bad = harmed(visits(300, 2))[harm]
    private = pc.load_features(PRIVATE, public=PUBLIC)
    alone = pc.choose(private, {harm: bad}, epsilon=1.0)
    said = [reason for reason in alone.reasons if "lies elsewhere" in reason]
    assert alone.public == "none"
    assert len(said) == 1
    assert said[0].startswith(f"{harm} lies elsewhere")
    assert "'hb'" in said[0] or (harm == "swapped" and "'crp'" in said[0])
    beside = pc.choose(private, {harm: bad, "right": PUBLIC}, epsilon=1.0)
    assert beside.public == "right"
    assert [reason for reason in beside.reasons if "lies elsewhere" in reason] == said


def test_a_paid_choice_says_nothing_of_an_unharmed_table():
    choice = pc.choose(pc.load_features(PRIVATE, public=PUBLIC), {"right": PUBLIC}, epsilon=1.0)
    assert choice.public == "right"
    assert "elsewhere" not in " ".join(choice.reasons)


def test_the_command_names_the_column_that_lies_elsewhere(tmp_path):
    PRIVATE.to_csv(tmp_path / "ward.csv", index=False)
    harmed(PUBLIC)["tenfold"].to_csv(tmp_path / "public.csv", index=False)
    asked = f"choose --dataset {tmp_path / 'ward.csv'} --epsilon 1 --json"
    said = json.loads(output_of(f"{asked} --candidates {tmp_path / 'public.csv'}").out)
    assert said["public"] == "none"
    assert "lies elsewhere" in said["reasons"][0]
    assert "'hb'" in said["reasons"][0]


@pytest.mark.parametrize("is_labelled", [True, False])
def test_rows_of_one_kind_are_hardly_ever_said_to_lie_elsewhere(is_labelled):
    """400 draws at a chance of 1 % each: more than 13 come with a chance of 1e-4 (α). Rows at ten
    times a column's mean are named in all of 20 (β below 1e-6)."""
    draw, n, m, named = rng.stream(0, "one kind"), 2000, 60, 0
    columns = np.arange(5)
    for number in range(420):
        y = draw.integers(3, size=n + m)
        x = draw.gamma(1.0 + y[:, None], 1.0, (n + m, 5))
        x[:, 4] = draw.random(n + m) < 0.005
        if number >= 400:
            x[n:, 0] *= 10
        u = (x - x[n:].mean(axis=0)) / (x[n:].std(axis=0) + 0.1)
        u /= np.linalg.norm(u, axis=1, keepdims=True)
        sums = np.stack([u[:n][y[:n] == code].sum(axis=0) for code in range(3)], axis=1)
        release = ClassSums(sums + 8.0 * draw.standard_normal(sums.shape), 8.0, n)
        labels = y[n:] if is_labelled else None
        column = column_elsewhere(release, u[n:], labels, columns, n_sets=1)
        named += number < 400 and column is not None
        assert number < 400 or column == 0
    assert named <= 13


HB = {"hb": (5.0, 20.0)}
RANGES = {"age": (0.0, 120.0), **HB}
UNFIT = "300 of 300 of 'hb' (5 to 20)"


def test_a_public_column_outside_its_stated_range_is_left_out_of_both_sides():
    bad = harmed(PUBLIC)["tenfold"]
    split = pc.split(pc.load_features(PRIVATE, public=bad, ranges=RANGES), public=bad)
    assert split.features.names == ("age", "crp", "bmi")
    assert any(note.startswith(f"{MISFITS}: {UNFIT}. Left out") for note in split.features.notes)
    advice = pc.advise(split, alike=["own"])
    low, high = advice.expected_accuracy
    record = pc.run(advice.method, split, epsilon=1.0)
    assert advice.public == "own"
    assert low <= record.accuracy <= high
    right = pc.load_features(PRIVATE, public=PUBLIC, ranges=RANGES)
    assert right.names == tuple(PUBLIC.columns[:4])
    assert MISFITS not in " ".join(right.notes)


def test_no_column_within_its_range_is_refused_with_a_way_on():
    with pytest.raises(DataError, match="Convert these columns, or correct their ranges"):
        pc.load_features(
            PRIVATE[["hb", "sick"]], public=harmed(PUBLIC)["tenfold"][["hb", "sick"]], ranges=HB
        )


def test_a_candidate_outside_a_stated_range_is_taken_by_neither_advice_nor_choice():
    private = pc.load_features(PRIVATE, public=PUBLIC, ranges=RANGES)
    sets = {"right": PUBLIC, "tenfold": harmed(PUBLIC)["tenfold"]}
    features = {name: public_features(rows, private) for name, rows in sets.items()}
    advice = pc.advise(pc.split(private), candidates=features, alike=[*sets])
    choice = pc.choose(private, sets, epsilon=1.0, methods=["pillar", "dp_raft"])
    for answer in (advice, choice):
        assert answer.public == "right"
        assert [why for why in answer.reasons if MISFITS in why] == [
            f"tenfold is left out: {MISFITS}: {UNFIT}."
        ]
    with pytest.raises(DataError, match="tenfold: Public numbers do not fit"):
        pc.choose(private, {"tenfold": sets["tenfold"]}, epsilon=1.0)
    brought = pc.split(private, public=sets["tenfold"])
    assert f"{MISFITS}: {UNFIT}." in brought.notes
    assert pc.advise(brought, alike=["own"]).public == "none"


@pytest.mark.parametrize(
    ("ranges", "said"),
    [
        ({"sick": (0.0, 1.0)}, "no column of numbers"),
        ({"ward": (0.0, 1.0)}, "no column of numbers"),
        ({"hb": (20.0, 5.0)}, "the smaller first"),
        ({"hb": (0.0, float("inf"))}, "the smaller first"),
    ],
)
def test_a_range_that_cannot_be_is_refused(ranges, said):
    refuses(said, pc.load_features, PRIVATE, public=PUBLIC, ranges=ranges)


@pytest.mark.parametrize(
    ("command", "more"),
    [
        ("advise", "--candidates"),
        ("choose", "--epsilon 1 --candidates"),
        ("run", "--epsilon 1 --method pillar --public"),
    ],
)
@pytest.mark.parametrize("harm", ["right", "tenfold"])
def test_a_command_says_what_does_not_fit_before_anything_is_spent(
    tmp_path, capsys, monkeypatch, command, more, harm
):
    PRIVATE.to_csv(tmp_path / "ward.csv", index=False)
    ({"right": PUBLIC} | harmed(PUBLIC))[harm].to_csv(tmp_path / "public.csv", index=False)
    line = f"{command} --range age=0:120 hb=5:20 --dataset {tmp_path / 'ward.csv'} {more}"
    if command == "choose":
        monkeypatch.setattr(commands.advise, "choose", Mock(side_effect=DataError("spent")))
    run_command(f"{line} {tmp_path / 'public.csv'}")
    printed = capsys.readouterr()
    assert (f"{MISFITS}: {UNFIT}." in (printed.out if command == "advise" else printed.err)) == (
        harm == "tenfold"
    )


@pytest.mark.parametrize("text", ["hb", "hb=5", "hb=5:x", "=", "hb=5:20:3"])
def test_a_range_that_cannot_be_read_is_refused(text):
    refuses("COLUMN=LOW:HIGH", ranges_of, text)


def test_ranges_are_read_as_they_are_written():
    assert ranges_of(" age=0:120 ,a=b=-1e3:.5,") == {"age": (0.0, 120.0), "a=b": (-1000.0, 0.5)}
    assert ranges_of("") == {}
