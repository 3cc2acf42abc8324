"""The explorer in one file: its numbers are the records', its policy lets its own script run alone,
and it holds no row or path."""

import base64
import dataclasses
import hashlib
import json
import math
import re

import pytest

from pillar_core import metrics
from pillar_core.numerics import signed
from pillar_core.plots import promise
from pillar_core.runs import records, starter
from pillar_core.studies import portable
from users import refuses, run_command

DATA = starter.SHARED["dataset"]
ALL = ("dp_sgd", 0.3, 0), ("dp_sgd", 1.0, 0)
CLAIMS = {
    "few-directions": [(("pillar", 0.1, 10), ("pillar", 0.1, k)) for k in (3, 5, 20, 40, 80, 160)],
    "best-k-moves": [(("pillar", 0.1, 10), ("pillar", 0.1, 160))],
    "many-rows": [(ALL[0], ("pillar", 0.3, k)) for k in (3, 10, 20, 40)],
    "digits": [(ALL[1], ("pillar", 1.0, 10))],
    "handwriting": [(ALL[1], ("pillar", 1.0, 20))],
}
"""What the words of a story say besides its gap: in each pair the first setting is the better
one."""


@pytest.fixture(scope="module")
def text():
    return portable.page(DATA)


def learner(text, name):
    return next(one for one in content(text)["learners"] if one["name"] == name)


def content(text):
    return json.loads(
        re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1]
    )


def test_points_are_the_means_and_intervals_of_the_records(text):
    table = starter.hero_table(starter.GRIDS)
    pillar = learner(text, "pillar")
    measured = {
        (epsilon, k): ends
        for measure, epsilon, k, asked, *ends in pillar["points"]
        if measure == "accuracy" and asked
    }
    assert set(measured) == {
        (epsilon, k) for epsilon in starter.HERO_EPSILONS for k in starter.HERO_K
    }
    for (epsilon, k), (*ends, seeds) in measured.items():
        rows = table[
            (table["method"] == "pillar") & (table["epsilon"] == epsilon) & (table["k"] == k)
        ]["accuracy"]
        assert ends == pytest.approx(
            [100 * end for end in metrics.over_runs(rows.to_list())], abs=0.006
        )
        assert seeds == 5


def test_the_file_says_which_k_is_best_and_the_odds_in_at_most_300_kb(text):
    pillar = learner(text, "pillar")
    curve = (
        starter.hero_table(starter.GRIDS)
        .query("method == 'pillar' and epsilon == 0.3")
        .groupby("k")["accuracy"]
        .mean()
    )
    said = dict(pillar["best"])[0.3]
    assert said.startswith(f"Best measured k: {curve.idxmax():g}. The seeds do not tell k from")
    assert not learner(text, "dp_sgd")["best"]
    odds = {epsilon: (alone, gaussian) for epsilon, alone, gaussian, *_ in content(text)["budgets"]}
    assert odds[0.3] == (30, promise(7.1 / 400, "you"))
    assert len(text.encode()) < 300_000
    assert str(records.store.default().root) not in text


def test_only_its_own_script_and_style_may_run_and_names_with_markup_are_text(text, monkeypatch):
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for tag, source in (("script", "script-src"), ("style", "style-src")):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert not re.search(r'(src|href)="http|https?://(?!www\.w3\.org)[^"]*\.js', text)
    monkeypatch.setattr(records, "data_words", lambda *_: "</title><script>alert(1)</script>")
    assert "<script>alert" not in portable.page(DATA, link='"><script>alert(2)</script>')


def test_one_seed_has_no_interval_and_a_run_that_is_missing_no_point(monkeypatch):
    runs = records.all_runs(shipped=True)
    holes = runs[
        (runs["dataset"] == DATA)
        & (runs["seed"] == 0)
        & ~((runs["method"] == "pillar") & (runs["k"] == 40))
    ]
    monkeypatch.setattr(records, "all_runs", lambda **_: holes)
    shown = content(portable.page(DATA, methods=["pillar"]))["learners"]
    assert [learner["name"] for learner in shown] == ["pillar"]
    assert all(
        low is None and high is None and seeds == 1 for *_, low, high, seeds in shown[0]["points"]
    )
    assert 40 not in {point[2] for point in shown[0]["points"]}


def test_a_setup_or_story_without_runs_is_refused():
    refuses("no runs of digits that fit", portable.page, "digits", public_fraction=0.37)
    story = next(story for story in portable.STORIES if story.name == "public-labels")
    refuses(
        "needs runs of only_public",
        portable.page,
        story.dataset,
        methods=["pillar", "adamix"],
        story=story,
    )


def test_the_command_writes_the_file(tmp_path):
    link = "https://example.org/explore"
    assert run_command(f"html {tmp_path / 'digits.html'} --dataset digits --link {link}") == 0
    written = (tmp_path / "digits.html").read_text(encoding="utf-8")
    assert 'href="https://example.org/explore"' in written
    assert {epsilon for epsilon, *_ in content(written)["budgets"]} == set(starter.HERO_EPSILONS)
    assert not any(math.isinf(epsilon) for epsilon, *_ in content(written)["budgets"])


@pytest.mark.parametrize("story", portable.STORIES, ids=lambda story: story.name)
def test_a_story_holds_by_the_records_that_ship_and_opens_at_a_measured_point(story, monkeypatch):
    runs = portable._runs(story.dataset, (), {})
    monkeypatch.setattr(portable, "_runs", lambda *_: runs)
    page = portable.page(story.dataset, story=story, link="https://example.org/explore?v=2&k=0")
    told, shown = page.split("</details>")[0], content(page)
    pairs = [story.compared, *CLAIMS.get(story.name, ())]
    assert all(
        portable.gaps(dataclasses.replace(story, compared=pair), runs).mean() > 0.5
        for pair in pairs
    )
    assert "Seed by seed: " + ", ".join(map(signed, portable.gaps(story, runs))) in page
    assert story.question.split("'")[0] in told
    assert "{gap" not in told
    assert len(page.encode()) < 300_000
    name, epsilon, k = shown["opening"]
    assert any(
        point[1] == epsilon and (point[2] == k if k else not point[3])
        for point in learner(page, name)["points"]
    )
