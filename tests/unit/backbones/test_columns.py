"""Maps of a table's columns: what they hang on, what they make, and what a model's file holds."""

import dataclasses
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pillar_core as pc
from pillar_core import plots, rng
from pillar_core.backbones import columns
from pillar_core.backbones.cards import Layout, fit_of
from pillar_core.backbones.column_map import ColumnMap
from pillar_core.data import raw
from pillar_core.errors import DataError, SettingError, UnsupportedError
from pillar_core.runs import receipts, splitting, sweep
from pillar_core.runs.curves import _in_few_digits, by_spread, table_of
from pillar_core.runs.repeated import command_of
from pillar_core.studies.advice import maps
from pillar_core.studies.advice.free import advise_as_it_is
from pillar_core.types import FeatureSet, Form, PrivacyBudget

MAPS = ("ramps", "bins", "fourier")
NUMBERS = Layout(*(np.zeros(3, dtype=bool) for _ in range(3)))


def rows(n: int, seed: int = 0) -> np.ndarray:
    return rng.stream(seed, "rows").standard_normal((n, 3)).astype(np.float32)


def patients(n: int, seed: int) -> pd.DataFrame:
    """Sick are those of middle age: no line of the age tells them apart."""
    generator = rng.stream(seed, "patients")
    age = generator.uniform(20, 80, n).round(1)
    ward, dose = generator.choice(["north", "south"], n), generator.gamma(2, 3, n).round(2)
    sick = (np.abs(age - 50) < 15).astype(int)
    label = np.where(generator.random(n) < 0.05, 1 - sick, sick)
    return pd.DataFrame({"age": age, "ward": ward, "dose": dose, "label": label})


def brought(name: str | None = "bins") -> FeatureSet:
    return pc.load_features(patients(900, 1), name, public=patients(300, 2))


@pytest.fixture(scope="module")
def split():
    """Patients through bins of the public ones' columns."""
    return pc.split(brought(), public=patients(300, 2))


@pytest.fixture(scope="module")
def record(split):
    return pc.run("pillar_kalman", split, epsilon=3.0)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_takes_each_row_by_itself_and_stays_within_its_bounds(name):
    made = fit_of(name)(rows(100), NUMBERS)
    x = np.vstack([rows(4100, 1), np.full((1, 3), 3e38, dtype=np.float32)])
    z = made(x)
    assert z.shape == (len(x), made.width)
    assert z.dtype == np.float32
    assert np.abs(z).max() <= 2 * columns.FAR * columns.LINE
    for place in (0, 7, 4096, 4100):
        np.testing.assert_array_equal(made(x[place : place + 1])[0], z[place])
    np.testing.assert_array_equal(made(x[::-1])[::-1], z)


@pytest.mark.parametrize("name", MAPS)
def test_words_pass_as_they_are(name):
    layout = dataclasses.replace(NUMBERS, is_kept=np.array([False, True, False]))
    x = rows(50)
    np.testing.assert_array_equal(fit_of(name)(x, layout)(x)[:, 0], x[:, 1])


def test_bins_say_whether_a_number_exceeds_a_quantile_of_public_rows():
    public = np.arange(17, dtype=np.float32)[:, None]
    layout = Layout(*(np.zeros(1, dtype=bool) for _ in range(3)))
    made = fit_of("bins")(public, layout)
    assert made.width == 1 + columns.STEPS
    np.testing.assert_array_equal(4 * made(public)[:, 1:].sum(axis=1), np.arange(17))
    two = fit_of("bins")((public > 3).astype(np.float32), layout)
    said = two(np.array([[0.0], [1.0]], dtype=np.float32))
    np.testing.assert_array_equal(said[:, 1], [0, 0.25])
    assert -said[0, 0] == said[1, 0] > 0
    rare = fit_of("bins")((np.arange(100)[:, None] > 3).astype(np.float32), layout)
    cells = np.float32([[0.0], [1e-45], [1.0]])
    np.testing.assert_array_equal(rare(cells), [[0], [0.25], [0.25]], "above 0 by the least")


def test_ramps_say_how_far_a_number_is_from_one_quantile_of_public_rows_to_the_next():
    public = np.array([0, 1, 2, 4, 8], dtype=np.float32)[:, None]
    layout = Layout(*(np.zeros(1, dtype=bool) for _ in range(3)))
    made = fit_of("ramps")(public, layout)
    cells = np.array([-1, 0, 0.5, 3, 6, 8, 9], dtype=np.float32)[:, None]
    line, ramps = made(cells)[:, 0], made(cells)[:, 1:]
    np.testing.assert_array_equal(2 * ramps.sum(axis=1), [0, 0, 0.5, 2.5, 3.5, 4, 4])
    np.testing.assert_array_equal(2 * ramps[3], [1, 1, 0.5, 0])
    from_middle = cells[:, 0].clip(0, 8) - 4
    np.testing.assert_allclose(line, columns.LINE * from_middle / public.std(), rtol=1e-6)
    alone = fit_of("ramps")(np.full((5, 1), 3.0, dtype=np.float32), layout)
    np.testing.assert_array_equal(alone(np.array([[3.0], [3.1]], dtype=np.float32)), [[0], [0.5]])


@pytest.mark.parametrize("name", ["ramps", "bins"])
def test_the_line_ends_at_public_numbers_within_three_deviations_of_the_mean(name):
    public = np.append(rng.stream(0, "far").standard_normal(99), 50).astype(np.float32)[:, None]
    made = fit_of(name)(public, Layout(*(np.zeros(1, dtype=bool) for _ in range(3))))
    assert (made.steps[0], made.stops[0]) == (public.min(), np.sort(public[:, 0])[-2])


@pytest.mark.parametrize("name", ["ramps", "bins"])
def test_a_map_of_an_older_file_makes_what_it_made(name):
    """A file held widths of ramps, and of bins their steps alone."""
    arrays = {"map_kept": np.arange(0), "map_cut": np.zeros(2, dtype=np.int64)}
    arrays["map_steps"] = np.float32([1, 3])
    if name == "ramps":
        arrays["map_widths"] = np.float32([2, 4])
    old = ColumnMap.of_arrays(arrays, 1)
    said = old(np.array([[1.0], [2.0], [3.5], [9.0]], dtype=np.float32))
    ramps = [[0, 0], [0.5, 0], [1, 0.125], [1, 1]]
    np.testing.assert_array_equal(said, ramps if name == "ramps" else np.ceil(ramps))


@pytest.mark.parametrize("name", MAPS)
def test_declared_ranges_fit_a_map_without_public_rows_and_nothing_else_does(name):
    ranged = dataclasses.replace(NUMBERS, is_ranged=np.ones(3, dtype=bool))
    made = fit_of(name)(rows(0), ranged)
    x = rng.stream(0, "unit").random((200, 3)).astype(np.float32)
    assert np.ptp(made(x), axis=0).min() > 0
    with pytest.raises(DataError, match="3 of 3 have none"):
        fit_of(name)(rows(0), NUMBERS)
    with pytest.raises(DataError, match="these rows have none"):
        fit_of(name)(rows(5), dataclasses.replace(NUMBERS, is_kept=np.ones(3, dtype=bool)))


@pytest.mark.parametrize("low", [0.0, 0.1])
def test_bins_of_ranges_lie_closer_where_a_range_starts_at_0_or_near_it(low):
    """Amounts of which nine in ten lay below the first even step: all rows were alike. Areas of 7
    to 144,000 were cut so still."""
    ranges = {"age": (20.0, 80.0), "dose": (low, 600.0)}
    recipe = pc.load_features(patients(900, 1), public=patients(300, 2), ranges=ranges).recipe
    features = pc.load_features(patients(900, 1), "bins", recipe=recipe)
    for split in (pc.split(features), pc.split(features, public="made_up")):
        names = split.features.names
        steps = {
            name: [float(each.split("> ")[1]) for each in names if each.startswith(f"{name} >")]
            for name in ranges
        }
        even = np.arange(1, 17) / 17
        np.testing.assert_allclose(steps["age"], even, rtol=1e-5)
        np.testing.assert_allclose(steps["dose"], even**2, rtol=1e-5)
        assert "fitted on declared ranges alone" in split.notes[-1]
        doses = split.features.x_train[:, [name.startswith("dose >") for name in names]]
        shares = (doses > 0).mean(axis=0)
        assert shares[0] > 0.5 > shares[-1]
        lines = [name for name in names if " from " in name]
        assert lines == ["age from 0 to 1"], "no line where numbers crowd"


def test_a_wide_table_gets_fewer_steps_and_a_wider_one_is_refused():
    def layout(width: int) -> Layout:
        return Layout(*(np.zeros(width, dtype=bool) for _ in range(3)))

    x = rng.stream(0, "wide").random((40, 24_000)).astype(np.float32)
    assert fit_of("bins")(x[:, :500], layout(500)).width == 500 * 4
    with pytest.raises(DataError, match=r"at most 682 columns.*got 24,000"):
        fit_of("bins")(x, layout(24_000))
    assert fit_of("fourier")(x, layout(24_000)).width == columns.WAVES


@pytest.mark.parametrize("name", MAPS)
def test_no_private_row_has_a_say_in_the_map(name):
    first = pc.split(brought(name), public=patients(300, 2))
    changed = patients(900, 1).assign(age=21.5, dose=0.1)
    other = pc.split(
        pc.load_features(changed, name, public=patients(300, 2)), public=patients(300, 2)
    )
    for part, same in first.features.columns.arrays.items():
        np.testing.assert_array_equal(other.features.columns.arrays[part], same)
    assert f"fitted on {len(first.public_x)} public rows alone" in first.notes[-1]


@pytest.mark.parametrize("name", MAPS)
def test_a_map_lets_a_linear_learner_bend(name):
    accuracy = {}
    for each in (None, name):
        split = pc.split(brought(each), public=patients(300, 2))
        accuracy[each] = pc.run("pillar_kalman", split, epsilon=3.0).accuracy
    assert accuracy[name] > accuracy[None] + 0.1


def test_the_statement_the_command_and_the_account_know_the_map(split, record):
    assert any("map of columns bins was fitted" in line for line in record.guarantee.assumptions)
    assert "--backbone bins" in command_of(record, split)
    given = pc.split(brought(None), public=patients(300, 2))
    assert (
        receipts.account_of(split.features).trained == receipts.account_of(given.features).trained
    )


def test_a_split_anew_fits_the_map_anew_and_gives_the_columns_back():
    given = pc.split(brought(None), public_fraction=0.2)
    split = pc.split(brought(), public_fraction=0.2)
    assert pc.split(split.features, public_fraction=0.2).fingerprint == split.fingerprint
    assert splitting.unmapped(split).fingerprint == given.fingerprint
    beside = splitting.beside(
        split, pc.load_features(patients(200, 3), recipe=given.features.recipe)
    )
    assert beside.features.columns.d == given.features.d
    assert beside.features.backbone == "bins"
    with pytest.raises(SettingError, match="class names need columns as given"):
        pc.split(brought(), public_fraction=0.2, text_embeddings=np.zeros((2, given.features.d)))


def test_keys_of_columns_as_given_stay_and_maps_have_their_own():
    grid = {"dataset": "breast_cancer", "method": "pillar", "epsilon": 1.0, "public_fraction": 0.1}
    as_given, bins = (sweep.specs_of({**grid, "backbone": name})[0] for name in (None, "bins"))
    assert sweep.run_key(as_given) == sweep.run_key(sweep.specs_of(grid)[0])
    assert as_given.data["backbone"] is None
    assert sweep.run_key(bins) != sweep.run_key(as_given)
    features = brought(None)
    given = {
        sweep.run_key(sweep.specs_of({**grid, "dataset": data})[0])
        for data in (features, pc.load_features(features, "bins"))
    }
    assert len(given) == 2
    table = pc.sweep({**grid, "backbone": [None, "bins"], "seed": 0})
    assert set(table["backbone"].fillna("as given")) == {"as given", "bins"}
    assert table["accuracy"].notna().all()


def test_a_sweep_takes_rows_in_memory_through_each_map_that_it_names():
    """It trained on columns as given alone, and said nothing of the maps."""
    rest = {"method": "only_public", "public_fraction": 0.2}
    names = [None, "ramps", "bins"]
    table = pc.sweep({"dataset": brought(None), "backbone": names, **rest})
    assert list(table["backbone"]) == ["identity", "ramps", "bins"]
    alone = [pc.sweep({"dataset": brought(name), **rest})["accuracy"][0] for name in names]
    assert list(table["accuracy"]) == alone
    assert len({*alone}) == 3
    split = pc.split(brought("bins"), public_fraction=0.2)
    for rows, name in ((brought("bins"), "identity"), (split, "ramps"), (split, "raw_pixels")):
        with pytest.raises(SettingError, match=f"through {name}"):
            sweep.specs_of({"dataset": rows, "backbone": name, "method": "only_public"})
    with pytest.raises(SettingError, match="leave out public_fraction"):
        sweep.specs_of({"dataset": split, **rest})


def _alone(folder: Path, rows: Path) -> list[str]:
    """The labels of `use.py` in a process that has no library."""
    command = [sys.executable, "-I", str(folder / "use.py"), str(rows)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return [line.split(",")[1] for line in out.stdout.splitlines()[1:]]


@pytest.mark.parametrize("name", MAPS)
def test_the_model_labels_raw_rows_with_and_without_the_library(name, tmp_path):
    split = pc.split(brought(name), public=patients(300, 2))
    record = pc.run("pillar_kalman", split, epsilon=3.0, seed=None)
    path = pc.save_model(record, tmp_path / "model.zip")
    new = patients(60, 4).drop(columns="label")
    new.to_csv(tmp_path / "new.csv", index=False)
    model = pc.load_model(path)
    made = split.features.columns(model.features(new))
    expected = model.predict(new)
    scores = model.classifier.scores(model.features(new))
    np.testing.assert_allclose(scores, record.classifier.scores(made), rtol=1e-4, atol=1e-5)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    assert _alone(tmp_path, tmp_path / "new.csv") == [model.classes[label] for label in expected]
    card = json.loads((tmp_path / "model.json").read_text())
    assert card["input"]["map"]["name"] == name
    assert f"the map of columns {name}" in (tmp_path / "README.md").read_text()
    told = pc.private_test(path, patients(300, 5), epsilon=3.0)
    assert 0 <= told.value <= 1


def test_a_record_is_tested_on_rows_as_given(split, record):
    by_split = pc.private_test(record, split.features, epsilon=3.0)
    as_given = pc.private_test(record, brought(None), epsilon=3.0)
    np.testing.assert_array_equal(as_given.cells, by_split.cells)


def test_a_network_behind_a_map_is_not_exported(split, record):
    from pillar_core.methods.parts.deep.classifier import NetworkClassifier
    from pillar_core.runs.models import _taken_apart

    network = object.__new__(NetworkClassifier)
    with pytest.raises(UnsupportedError, match="behind a map of columns"):
        _taken_apart(dataclasses.replace(record, classifier=network), split.features.columns)


def test_advice_rehearses_maps_where_there_are_labels_and_rules_where_there_are_none():
    given = pc.split(brought(None), public_fraction=0.3)
    advice = pc.advise(given, epsilon=3.0)
    assert advice.backbone in MAPS
    assert f"through the backbone {advice.backbone}" in advice.sentence
    (why,) = (line for line in advice.reasons if "by rehearsals on labelled public rows" in line)
    assert re.search(r"as given \d+\.\d, .* must be \d+\.\d points ahead", why)  # digits alike
    assert advise_as_it_is(given, PrivacyBudget(3.0)).backbone == "identity"
    chosen = pc.split(brought(), public_fraction=0.3)
    assert pc.advise(chosen, epsilon=3.0).backbone == "bins"
    few = pc.split(brought(None), public_fraction=0.03)
    assert pc.advise(few, epsilon=3.0).backbone == "ramps", "where labels cannot tell"
    unlabelled = pc.split(brought(None), public=patients(300, 2).drop(columns="label"))
    unfit = pc.advise(unlabelled, epsilon=3.0)
    assert unfit.backbone == maps.GIVEN
    told = [line for line in unfit.reasons if line.startswith("columns")]
    assert told == [maps.UNFIT], "of no map that was not taken"
    assert "stay as given without public rows" in told[0], "Learners shows no sentence before it"
    for epsilon in (0.05, 3.0):
        ruled = pc.advise(unlabelled, epsilon=epsilon, alike=["own"])
        assert ruled.backbone == "ramps"
        assert any("ramps" in line.lower() and "lost least" in line for line in ruled.reasons)


def test_from_ranges_bins_come_first():
    ranges = {"age": (0.0, 100.0), "dose": (0.0, 50.0)}
    recipe = pc.load_features(patients(900, 1), public=patients(300, 2), ranges=ranges).recipe
    split = pc.split(pc.load_features(patients(900, 1), recipe=recipe))
    for epsilon in (0.05, 3.0):
        advice = pc.advise(split, epsilon=epsilon)
        assert advice.backbone == "bins"
        assert any("bins" in line and "lost least" in line for line in advice.reasons)
    bins = pc.split(pc.load_features(patients(900, 1), "bins", recipe=recipe))
    assert "fitted on declared ranges alone" in bins.notes[-1]
    sides = {"none": split}
    wide = maps.choose_map({maps.GIVEN: sides, maps.FOURIER: sides}, PrivacyBudget(3.0), 0)
    assert wide == (maps.GIVEN, (maps.TOO_WIDE,)), "of no other table"


@pytest.mark.parametrize(("low", "public"), [(10.0, "made_up"), (0.0, "none")])
def test_rows_are_made_up_from_ranges_unless_nearly_all_start_at_zero(low, public):
    table = patients(900, 1).drop(columns="ward")
    ranges = {"age": (low, 100.0), "dose": (0.0, 50.0)}
    rows = pc.load_features(table, public=patients(300, 2).drop(columns="ward"), ranges=ranges)
    advice = pc.advise(pc.split(rows), epsilon=3.0)
    assert advice.public == public
    assert advice.method == ("dp_raft" if public == "none" else "pillar_kalman")
    assert (maps.UNLIKE in advice.reasons) == (public == "none")
    candidate = {"drawn": raw.made_up(rows)}
    assert pc.advise(pc.split(rows), candidates=candidate).public == public.replace(
        "made_up", "drawn"
    )
    beside_others = candidate | {"other": dataclasses.replace(raw.made_up(rows), name="other")}
    assert pc.advise(pc.split(rows), candidates=beside_others).public is None
    model = pc.PrivateClassifier(ranges=ranges, epsilon=3.0, random_state=0, classes=[0, 1])
    model.fit(table.drop(columns="label"), table["label"])
    assert model.advice_.public == public
    assert any("made up" in line for line in model.guarantee_.assumptions) == (public != "none")


def test_a_paid_choice_takes_columns_as_given_and_says_so():
    split = pc.split(brought(), public_fraction=0.3)
    choice = pc.choose(split, {}, epsilon=2.0)
    assert choice.split.features.given is None
    assert any("not through bins" in reason for reason in choice.reasons)
    with pytest.raises(UnsupportedError, match="no comparable numbers"):
        pc.choose(split, {}, epsilon=2.0, backbones=["bins"])


def _score(curve: Form, cell: float) -> np.ndarray:
    """(C,) what a curve says of a cell; of one at a jump what it says below."""
    knots, scores = np.array(curve["knots"]), np.array(curve["scores"])
    above = np.searchsorted(knots, cell)
    if above in (0, len(knots)) or knots[above] == cell:
        return scores[min(above, len(knots) - 1)]
    far = (cell - knots[above - 1]) / (knots[above] - knots[above - 1])
    return (1 - far) * scores[above - 1] + far * scores[above]


@pytest.mark.parametrize("name", ["bins", "ramps"])
def test_the_curves_add_up_to_what_the_classes_are_told_by(name, tmp_path):
    split = pc.split(brought(name), public=patients(300, 2))
    record = pc.run("pillar_kalman", split, epsilon=3.0, seed=None)
    with zipfile.ZipFile(pc.save_model(record, tmp_path / "model.zip")) as archive:
        curves = json.loads(archive.read("curves.json"))
        page = archive.read("curves.html").decode()
    age, ward, dose = curves["columns"]
    assert (age["name"], ward["categories"], dose["name"]) == ("age", ["north", "south"], "dose")
    places = age["knots"]
    assert len(age["scores"]) == len(age["noise_std"]) == len(places)
    assert (len(places) == len({*places})) == (name == "ramps"), "bins jump"
    assert min(*age["noise_std"], *ward["noise_std"]) > 0
    assert "age: most for 1 at" in page
    assert {*np.round(places, 1)} == {*places}, "in the digits of the table"
    new = patients(50, 6)
    new.loc[: len(places) - 1, "age"] = places
    sums = np.array(
        [
            _score(age, row.age)
            + np.array(ward["scores"])[ward["categories"].index(row.ward)]
            + _score(dose, row.dose)
            for row in new.itertuples()
        ]
    )
    model = pc.load_model(tmp_path / "model.zip")
    apart = model.classifier.scores(model.features(new))
    margins = apart[:, 1] - apart[:, 0]
    constant = _constant(sums[:, 1] - sums[:, 0], margins)
    assert (np.sign(sums[:, 1] - sums[:, 0] + constant) == np.sign(margins)).all()
    fourier = pc.split(brought("fourier"), public=patients(300, 2))
    record = pc.run("pillar_kalman", fourier, epsilon=3.0, seed=None)
    with zipfile.ZipFile(pc.save_model(record, tmp_path / "waves.zip")) as archive:
        assert "curves.json" not in archive.namelist()


def test_a_column_that_holds_noise_alone_comes_after_one_that_stands_out_of_it():
    """Wide bands came first: of pima the column that tells most stood fifth."""
    told = {"name": "told", "knots": [0, 1], "scores": [[1], [-1]], "noise_std": [0.1, 0.1]}
    noise = {"name": "noise", "knots": [0, 1], "scores": [[2], [-2]], "noise_std": [2.0, 2.0]}
    exact = {"name": "exact", "knots": [0, 1], "scores": [[1], [-2]], "noise_std": [0.0, 0.0]}
    names = [curve["name"] for curve in by_spread({"columns": [noise, exact, told]})]
    assert names == ["told", "exact", "noise"]


@pytest.mark.parametrize(
    ("cell", "low", "width"), [(9.7, 0, 1), (10.5, 0, 120), (86.0, 18, 72), (1.7e9 + 0.5, 1.7e9, 1)]
)
def test_a_step_is_written_as_the_cell_that_it_stands_at(cell, low, width):
    assert str(_in_few_digits(np.float32((cell - low) / width), low, width)) == f"{cell:.12g}"


def test_a_curve_of_words_and_three_classes_is_drawn_without_a_band():
    curves = [
        {"name": "dose", "knots": [1.0, 1.0], "scores": [[1, 0, -1], [-1, 0, 1]]},
        {"name": "ward", "categories": ["north", "south"], "scores": [[3, -2, -1], [-3, 2, 1]]},
        {"name": "age", "knots": [20.0, 40.0], "scores": [[1, 0, -1], [-1, 0, 1]]},
    ]
    table = table_of(curves, ("a", "b", "c"))
    assert len(table) == 18
    assert table["low"].isna().all()
    figure = plots.column_curves(table, caption="No band.")
    assert [trace.mode for trace in figure.data] == ["lines"] * 3 + ["markers"] * 3 + ["lines"] * 3
    assert list(figure.data[0].x) == [0.9, 1, 1, 1.1]
    assert list(figure.data[0].y) == [1, 1, -1, -1]
    assert list(figure.data[0].text) == ["1", "1", "> 1", "> 1"], "which side of the jump"
    assert list(figure.data[6].x) == [18, 20, 40, 42]
    assert list(figure.data[6].y) == [1, 1, -1, -1]
    assert (
        "ward: most for a at north (+3.0), most against a at south (−3.0)."
        in (figure.layout.meta["alt"])
    )


def test_the_page_names_knots_in_all_their_digits():
    """Times in seconds read 1.69647e+09, whole hours apart."""
    curve = {"name": "time", "knots": [1696465051, 1696469999.5], "scores": [[0, 0], [1, -1]]}
    assert list(table_of([curve], ("a", "b"))["value"]) == ["1696465051", "1696469999.5"]


def test_the_curves_of_an_older_file_are_drawn():
    """Bins had steps, and a level below, between and above these: *Answer* stopped at them."""
    levels = [[0, 0], [1, -1], [3, -3]]
    old = {"name": "dose", "steps": [1.0, 2.0], "scores": levels, "noise_std": [0.1, 0.2, 0.3]}
    table = table_of(by_spread({"format": "pillar-curves-1", "columns": [old]}), ("a", "b"))
    assert list(table["place"]) == [1, 1, 2, 2]
    assert list(table["score"]) == [0, -1, -1, -3]
    assert list(table["high"] > table["score"]) == [True] * 4


def _constant(sums: np.ndarray, margins: np.ndarray) -> float:
    """Between the largest sum of one class and the smallest of the other, with the sign turned."""
    return -(sums[margins < 0].max() + sums[margins > 0].min()) / 2
