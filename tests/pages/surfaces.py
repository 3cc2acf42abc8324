"""Where the examples of CONTRIBUTING.md must show up. Run in a copy that followed it; see
tests/contributing."""

import subprocess
import sys

import numpy as np
import pytest
from repository import REPOSITORY, text_of

import pillar_core as pc
from page_reading import labelled, links, metric, offered
from pillar_core.jobs.kind import kind_of, payload_of
from pillar_core.store.codec import decode_json, encode_json
from pillar_core.studies.compare.view import COMPARE_VIEWS
from pillar_core.theory import CALCULATORS

TITLES = {
    "noisy_means": "Noisy means",
    "wine": "Wine cultivars",
    "quarters": "Means on a 4 × 4 grid",
    "class_counts": "Rows by class",
    "zcdp": "zCDP",
    "clip": "Clip norms",
    "advanced_composition": "Advanced composition",
    "widths": "Difference of widths",
}


@pytest.fixture(scope="module")
def listed():
    """Every word of `list`, in a process that has imported nothing else."""
    return subprocess.check_output(
        [sys.executable, "-m", "pillar_core", "list"], cwd=REPOSITORY, text=True
    ).split()


@pytest.mark.parametrize("name", TITLES)
def test_surfaces_of_the_command_line(name, listed):
    assert name in listed


def test_surfaces_of_the_documents():
    assert "`noisy_means` | Noisy means" in text_of("docs/learners.md")


def test_surfaces_of_a_learner_and_a_data_set(start):
    table = pc.sweep(
        {
            "dataset": "wine",
            "public_fraction": 0.2,
            "method": ["noisy_means", "dp_sgd"],
            "epsilon": [5.0],
            "seed": [0, 1],
        }
    )
    assert table[table["method"] == "noisy_means"]["accuracy"].mean() > 0.6
    assert TITLES["noisy_means"] in offered(start("learners", data="wine"))
    assert TITLES["wine"] in offered(start("curves", method="noisy_means"))


def test_surfaces_of_a_backbone(start):
    features = pc.load_features(pc.load_dataset("digits"), "quarters")
    assert features.x_train.shape[1] == 16
    assert TITLES["quarters"] in offered(start("rows"))


def test_surfaces_of_a_score(start):
    rng = np.random.default_rng(0)
    images = [
        pc.load_dataset("drawn_digits", n=200, seed=int(seed)) for seed in rng.integers(0, 9, 2)
    ]
    assert (
        pc.screen(
            images[0], {"other": images[1]}, scores=("widths",), n_examples=100, repeats=2, k=4
        )["value"]
        .notna()
        .all()
    )
    app = start("public_data", screen="e:no;n:100;k:4;c:drawn_noise")
    assert TITLES["widths"] in offered(app), "a score without a private form is offered without ε"


def test_surfaces_of_a_page(start):
    app = start("sizes")
    before = metric(app, "private rows")
    labelled(app, "select_slider", "Shown").set_value(50).run()
    assert metric(app, "private rows") != before
    assert "sizes-share:50" in str(app.query_params)
    assert "Sizes" in links(app)


def test_surfaces_of_an_accountant(start):
    exact = pc.epsilon(1.0, accountant="analytic_gaussian").upper
    assert exact < pc.epsilon(1.0, accountant="zcdp").upper < 2 * exact
    assert TITLES["zcdp"] in offered(start("count"))


def test_surfaces_of_a_view_and_a_theorem(start):
    assert "clip" in COMPARE_VIEWS
    assert TITLES["clip"] in offered(start("learners"))
    assert CALCULATORS["advanced_composition"]().values[0].value > 0.1
    assert TITLES["advanced_composition"] in offered(
        start("playgrounds", controls="theory-view:theorems")
    )


def test_surfaces_of_a_job():
    spec = {"kind": "class_counts", "dataset": "wine"}
    counts = kind_of(spec).run(payload_of(spec), lambda *_: None, lambda: False)
    assert sum(decode_json(encode_json(counts)).values()) == len(pc.load_dataset("wine").x_train)
