"""The page for a data protection officer says what the model's file states, each number is the
record's, and nothing leaves the page."""

import dataclasses
import html
import json
import math
import re
import zipfile

import numpy as np
import pytest

import pillar_core as pc
from pillar_core.runs import assumptions, evidence, private_tests
from pillar_core.runs.loaded import with_tests
from pillar_core.runs.models import model_bytes
from pillar_core.runs.private_tests import PrivateTest
from pillar_core.runs.statement import in_sight
from users import output_of, refuses, run_command, texts_in

FIXED = {"800", "226", "50", "256", "5"}
"""Of the guideline's name, of a coin, of SHA-256."""


@pytest.fixture(scope="module")
def record(split):
    return pc.run("pillar", split, epsilon=2.0, seed=None)


def page_of(record, split, path, tests=(), **words):
    path.write_bytes(model_bytes(record, split=split))
    if tests:
        path.write_bytes(with_tests(path, tests, has_coin=False, is_shown=True))
    page = evidence.evidence_page(path, **words)
    return html.unescape(re.sub(r"<[^>]+>", " ", page.partition("<h1>")[2])), texts_in(path), page


def numbers(text):
    return set(re.findall(r"\d+(?:[.,]\d+)*(?:e-?\d+)?", text))


@pytest.mark.parametrize(
    "kind", ["release", "persons", "in sight", "tested", "replaced", "only public"]
)
def test_each_line_of_the_statement_stands_on_the_page_and_no_number_has_another_source(
    record, split, tmp_path, kind
):
    tests = []
    if kind == "persons":
        data = pc.load_dataset("digits")
        split = pc.split(
            data, public_fraction=0.1, persons=np.arange(len(data.x_train)) // 3, rows_per_person=2
        )
        record = pc.run("dp_sgd", split, epsilon=1.0, batch_size=128, seed=None)
    elif kind == "in sight":
        record = in_sight(record)
    elif kind == "tested":
        model = private_tests.model_of(record.classifier)
        ends = (0.91, 0.88, 0.94, 0.95)
        of = ("add_or_remove_one", None, 1.0, ((1, 2), (3, 4)))
        test = PrivateTest(model, "accuracy", *ends, 0.7, *of)
        tests = [test, dataclasses.replace(test, model="another")]
    elif kind == "replaced":
        record = pc.run("pillar", split, epsilon=2.0, relation="replace_one", seed=None)
    elif kind == "only public":
        record = pc.run("only_public", split, seed=None)
    text, files, _ = page_of(record, split, tmp_path / "model.zip", tests)
    card = json.loads(files["model.json"])
    for line in files["statement.txt"].splitlines():
        if line.startswith("It holds if"):
            assert all(assumption in text for assumption in card["guarantee"]["assumptions"])
        elif line.startswith("- "):
            told, _, owner = line.removeprefix("- ").removesuffix(")").rpartition(" (")
            assert owner == assumptions.owner_of(told)
            assert f"{told}  {owner}" in text
        elif line.startswith("Releases charged"):
            assert all(event in text for event in record.guarantee.events)
            assert (
                ("against all rows of one person" in text)
                == (kind == "persons")
                == ("against all rows of one person" in line)
            )
        else:
            assert text.count(line) == 1, line
    upper, delta = record.guarantee.epsilon.upper, record.guarantee.delta
    alone = (math.exp(upper) - 1 + 2 * delta) / (math.exp(upper) + 1) / 2
    said = pc.plots.promise(alone, f"one {record.guarantee.unit}")  # Kairouz, Oh & Viswanath 2015
    assert said in text
    assert "{'" not in text  # Python's own writing
    shown = numbers(
        " ".join(
            [
                files["statement.txt"],
                files["SHA256SUMS"],
                card["command"],
                *card["versions"].values(),
            ]
        )
    )
    shown |= numbers(json.dumps({**card["deployment"], "n": card["n_private"]}))
    assert numbers(text) - shown - FIXED <= numbers(f"{said} {card['n_private']:,} CC BY 4.0")
    assert (f"The model was trained on {record.facts.n_private:,} private examples." in text) == (
        kind != "only public"
    )
    assert (evidence.NOTHING in text) == (kind == "only public")
    assert "Private rows: digits. Licence: CC BY 4.0." in text
    assert "Public rows: a part of digits. Licence: CC BY 4.0." in text


def test_the_page_needs_no_network_and_runs_nothing_and_names_are_text(record, split, tmp_path):
    _, _, page = page_of(record, split, tmp_path / "model.zip")
    assert not re.search(r"<(script|link|img|iframe)|https?:|url\(|@import", page)
    assert "default-src 'none'" in page
    assert "@media print" in page
    named = dataclasses.replace(split.features, name="<img src=x onerror=alert(1)>")
    hostile = dataclasses.replace(split, features=named)
    record = pc.run("pillar", hostile, epsilon=2.0, seed=None)
    text, _, page = page_of(
        record,
        hostile,
        tmp_path / "model.zip",
        attacks=["<script>alert(2)</script>"],
        spent="<b>all</b>",
    )
    assert "<img" not in page
    assert "<script" not in page
    assert "<b>" not in page
    assert "Private rows: <img src=x onerror=alert(1)>. Licence: this library knows none." in text


def test_assumptions_have_owners_and_nameless_public_rows_are_not_passed_over(
    record, split, tmp_path
):
    assert assumptions.owner_of(assumptions.NOISE_EXACT) == assumptions.LIBRARY
    assert assumptions.owner_of(assumptions.LOW_BITS) == assumptions.NOBODY
    assert assumptions.owner_of(assumptions.FORM_SEEN.format("decided <a>")) == assumptions.DATA
    assert assumptions.owner_of(assumptions.FOREIGN.format("other")) == assumptions.MAKERS
    assert (
        assumptions.owner_of(assumptions.SPLIT_GIVEN)
        == assumptions.owner_of("anything else")
        == assumptions.TRAINER
    )
    assert all(
        start
        for starts in assumptions._OWNERS.values()
        for start in (line.partition("{")[0] for line in starts)
    )
    path = tmp_path / "model.zip"
    path.write_bytes(model_bytes(record, classes=split.features.classes))
    assert "Public rows: the file names none." in evidence.evidence_page(path)
    text, _, _ = page_of(record, split, path)
    assert "Public rows: a part of digits. Licence: CC BY 4.0." in text


def test_attacks_and_the_sum_stand_on_the_page_or_it_says_that_there_are_none(
    record, split, tmp_path
):
    text, _, _ = page_of(record, split, tmp_path / "model.zip")
    assert "The file holds no attack on the model and no audit of it." in text
    assert evidence.UNKNOWN in text
    text, _, _ = page_of(
        record,
        split,
        tmp_path / "model.zip",
        attacks=["Of a trial: finds 3 %."],
        spent="Sum for these rows: ε = 7.",
    )
    assert "Of a trial: finds 3 %." in text
    assert "Sum for these rows: ε = 7." in text
    assert "holds no attack" not in text


def test_the_command_writes_it_and_a_changed_file_is_refused(record, split, tmp_path):
    model, page = tmp_path / "model.zip", tmp_path / "page.html"
    model.write_bytes(model_bytes(record, split=split))
    assert run_command(f"evidence {model} --output {page}") == 0
    assert page.read_text(encoding="utf-8") == evidence.evidence_page(model)
    with zipfile.ZipFile(model, "a") as archive:
        archive.writestr("added.txt", "x")
    refuses(r"not as it was written: added\.txt was added", evidence.evidence_page, model)
    assert "added.txt" in output_of(f"evidence {model} --output {page}", status=2).err
