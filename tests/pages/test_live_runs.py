"""A live run and a sweep's cell of the same settings are one run: asked for by one value, kept
under one key, trained once."""

import math

import pytest

import pillar_core as pc
from page_reading import look, metric, unfold
from pages.frame import core
from pages.frame.settings import Settings
from pages.parts.curves import grid
from pillar_core.data import uploads
from pillar_core.runs import run as running
from pillar_core.runs import splitting, sweep
from users import table_of

GRID = {
    "dataset": "digits",
    "public_fraction": 0.1,
    "method": "pillar",
    "k": 12,
    "epsilon": 0.9,
    "seed": 0,
}


@pytest.fixture
def trained(monkeypatch):
    """The learners that were trained from here on."""
    calls = []
    train = running.run_many

    def counting(solved, split):
        calls.extend(one.method.name for one in solved)
        return train(solved, split)

    monkeypatch.setattr(running, "run_many", counting)
    return calls


@pytest.mark.parametrize(
    ("settings", "grid"),
    [
        (Settings(data="digits", k=12, epsilon=0.9), GRID),
        (
            Settings(data="digits", epsilon=math.inf, seed=3),
            {**GRID, "k": None, "epsilon": "inf", "seed": 3},
        ),
        (
            Settings(data="digits", method="dp_sgd", k=12, epsilon=0.9),
            {**GRID, "method": ["dp_sgd", "pillar"]},
        ),
        (
            Settings(data="digits", method="non_private", k=12),
            {**GRID, "method": "non_private", "k": None},
        ),
        (
            Settings(
                data="digits",
                backbone="raw_pixels",
                public="mnist",
                k=5,
                delta=1e-6,
                relation="replace_one",
                accountant="rdp",
            ),
            {
                "dataset": "digits",
                "backbone": "raw_pixels",
                "public": "mnist",
                "method": "pillar",
                "k": 5,
                "epsilon": Settings().epsilon,
                "delta": 1e-6,
                "relation": "replace_one",
                "accountant": "rdp",
            },
        ),
    ],
)
def test_what_a_page_asks_for_is_the_cell_of_a_sweep(settings, grid):
    cell = sweep.specs_of(grid)[0]
    assert core.spec(settings) == cell
    assert core.run_key(settings) == sweep.run_key(cell)


def test_a_sweeps_cell_is_shown_without_training_and_attacked_with_one(start, trained):
    table = pc.sweep(GRID)
    trained.clear()
    app = start("curves", k="12", epsilon="0.9")
    assert metric(app, "Test accuracy") == f"{100 * table.accuracy[0]:.1f} %"
    assert float(metric(app, "ε")) == pytest.approx(table.epsilon_upper[0], rel=1e-3)
    assert trained == []
    app = start("audit", k="12", epsilon="0.9")
    assert 0 < float(metric(app, "Attack's AUC")) < 1
    assert trained == ["pillar"]
    app.run()
    assert trained == ["pillar"]


def test_a_learner_that_weighs_all_directions_says_so_where_k_is_chosen(start):
    app = start("curves", data="digits", method="pillar_kalman")
    assert metric(app, "Directions") == "all"
    (directions,) = (one for one in app.metric if one.label == "Directions")
    assert "Effective dimension" in directions.help
    app = start("curves", data="digits", method="pillar_kalman", k="5")
    assert metric(app, "Directions") == "5"


def test_rows_that_were_brought_are_offered_a_first_curve_and_start_no_job_unasked(
    start, monkeypatch
):
    start("start")
    submitted = []
    monkeypatch.setattr(pc.jobs, "submit", submitted.append)
    app = start("curves", data=uploads.keep(splitting.load_named_features("digits")), epsilon="0.7")
    assert submitted == []
    look(app).button("first-run").click().run()
    ((axes,),) = ([spec["grid"] for spec in submitted],)
    assert (len(set(axes["k"])), axes["epsilon"], axes["seed"]) == (grid.FIRST, [0.7], [0])
    assert not [one for one in start("curves", data="digits").button if one.key == "first-run"]


def test_the_table_below_the_curves_holds_the_run_that_the_sliders_describe(start):
    app = start("curves", data="fashion_mnist_2k", k="3", epsilon="0.7")
    unfold(app, "below-accuracy_against_k")
    (shown,) = (item.value for item in app.dataframe if "split_seed" in item.value)
    here = shown[(shown["k"] == 3) & (shown["epsilon"] == 0.7)]
    assert [f"{100 * value:.1f} %" for value in here["accuracy"]] == [metric(app, "Test accuracy")]


def test_rows_of_a_file_that_changed_are_read_anew(start, tmp_path, monkeypatch):
    """A page kept the rows of a name for as long as its process lived, and the runs of it for as
    long as the cache."""
    monkeypatch.setenv("PILLAR_DATA", str(tmp_path))
    (tmp_path / "openml-mine").mkdir()
    for n in (600, 300):
        (tmp_path / "openml-mine" / "mine.csv").write_text(table_of(n))
        start("curves", data="openml:mine", method="dp_sgd")
        settings = Settings(data="openml:mine", method="dp_sgd")
        # a fifth are test rows, a tenth of the others public
        assert (
            core.run(settings).facts.n_private
            == core.split(settings).facts.n_private
            == pytest.approx(0.72 * n, abs=3)
        )
