"""An explorer in one HTML file: measured results of one data set over k and ε, to read without a
server, a network or a row."""

import base64
import hashlib
import html
import json
import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from pillar_core import metrics, store
from pillar_core.accounting.risk import turned_guesses
from pillar_core.arrays import Json
from pillar_core.data import DATASETS
from pillar_core.errors import DataError
from pillar_core.methods import METHODS
from pillar_core.numerics import number_words, signed
from pillar_core.plots import intervals
from pillar_core.plots.odds import promise, turned
from pillar_core.plots.picture import PICTURE
from pillar_core.plots.theme import INK, epsilon_colour, in_mode, method_style
from pillar_core.runs import records
from pillar_core.runs.versions import VERSION
from pillar_core.studies.portable.stories import STORIES, Story
from pillar_core.types import Form, Unit, Values

MEASURES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
"""What a file shows of each run: column of the records, and words."""
SETUP = ("backbone", "public_fraction", "public_per_class", "public", "delta", "relation")
"""What all runs of one file have in common."""
_FOLDER = Path(__file__).parent
_RELATIONS = {
    "add_or_remove_one": "adding or removing one example",
    "replace_one": "replacing one example",
}


def page(
    dataset: str,
    *,
    methods: Sequence[str] = (),
    link: str = "",
    story: Story | None = None,
    **setup: Json,
) -> str:
    """The explorer of a data set as HTML, from the records in the cache and those that ship; with a
    story, one that tells it.

    methods: learners to show; by default all that have records. setup: values of SETUP that the
    runs must have; where several setups fit, the one with the most runs is taken. link: an address
    that the file leads back to. No row is in the file, only counts, settings and measured results.
    Raises DataError: no record fits.
    """
    runs = _runs(dataset, methods, setup)
    content: Form = _content(runs) | ({} if story is None else {"opening": story.opening})
    data = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    script = PICTURE + (_FOLDER / "explorer.js").read_text(encoding="utf-8")
    style = (_FOLDER / "explorer.css").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    title = records.data_words(dataset) if story is None else story.question
    words = {
        "title": html.escape(title),
        "story": _story_html(story, runs),
        "about": _about(dataset, runs, link),
    }
    template = Template((_FOLDER / "explorer.html").read_text(encoding="utf-8"))
    return template.substitute(
        words,
        table=_table(content["learners"]),
        policy=policy,
        style=style,
        script=script,
        data=data,
    )


def gaps(story: Story, runs: pd.DataFrame) -> pd.Series:
    """Points of accuracy of the first compared setting above the second, for each seed. Raises
    DataError: runs of one are missing."""
    measured = []
    for method, epsilon, k in story.compared:
        rows = runs[(runs["method"] == method) & (runs["epsilon"] == epsilon)]
        rows = rows[rows["wanted_k"].isna() if k == 0 else rows["wanted_k"] == k]
        measured.append(100 * rows.groupby("seed")["accuracy"].mean())
    points = (measured[0] - measured[1]).dropna()
    if points.empty:
        needed = " and ".join(
            f"{method} at ε = {epsilon:g}" for method, epsilon, _ in story.compared
        )
        raise DataError(
            f"the story {story.name} needs runs of {needed} with the same seeds: leave `methods`"
            " and the setup as they are."
        )
    return points


def shipped_gap(story: Story) -> float:
    """The mean of `gaps` by the records at hand. Raises DataError: they lack some."""
    return float(gaps(story, _runs(story.dataset, (), {})).mean())


def _story_html(story: Story | None, runs: pd.DataFrame) -> str:
    """The story as a paragraph of HTML; its surprise waits to be opened, and says what each seed
    measured."""
    if story is None:
        return ""
    points = gaps(story, runs)
    by_seed = f" Seed by seed: {', '.join(map(signed, points))} points."
    surprise = html.escape(story.surprise.format(gap=points.mean()) + by_seed)
    return (
        f'<p class="lede">{html.escape(story.see)}</p><details><summary>A'
        f" surprise</summary><p>{surprise}</p></details>"
    )


def _runs(dataset: str, methods: Sequence[str], setup: Values) -> pd.DataFrame:
    """The runs of one setup that differ in learner, ε, seed and k alone; `wanted_k` is None where
    the learner's rule chose k."""
    words = (
        f"the cache holds no runs of {dataset} that fit. Measure some on the page Curves, or with"
        " `python -m pillar_core sweep`."
    )
    runs = pd.concat([records.all_runs(), records.all_runs(shipped=True)])
    if runs.empty:
        raise DataError(words)
    runs = runs.drop_duplicates("key")
    runs = runs[(runs["dataset"] == dataset) & runs["error_message"].isna()]
    runs = runs[runs["method"].isin(methods)] if methods else runs
    for name, value in setup.items():
        if value is not None:
            runs = runs[runs[name] == value] if name in runs else runs.iloc[:0]
    stored = [store.default().get_json("record", key) for key in runs["key"]]
    specs = [record["cell"] for record in stored]
    assumptions = [record["guarantee"]["assumptions"] for record in stored]
    runs = runs.assign(
        wanted_k=[spec["settings"].get("k") for spec in specs], assumptions=assumptions
    )
    runs = runs[[set(spec["settings"]) <= {"k"} and spec["preset"] is None for spec in specs]]
    if runs.empty:
        raise DataError(words)
    groups = runs.groupby([name for name in SETUP if name in runs], dropna=False)
    return groups.get_group(groups.size().idxmax())


def _budget(epsilon: float, delta: float) -> list[Any]:
    """ε; of 400 guesses, how many a model turns by ε and δ alone; what a Gaussian training does, in
    words; and the colours of ε for light and dark."""
    alone, gaussian = turned_guesses(epsilon, delta)
    facts = [epsilon, turned(alone), promise(gaussian, "you")]
    for mode in INK:
        with in_mode(mode):
            facts.append(epsilon_colour(epsilon))
    return facts


def _content(runs: pd.DataFrame) -> Form:
    """What the script draws. Colours are pairs for light and dark."""
    budgets = sorted({float(epsilon) for epsilon in runs["epsilon"] if 0 < epsilon < math.inf})
    delta = float(runs["delta"].iloc[0])
    return {
        "measures": {name: words for name, words in MEASURES.items() if name in runs},
        "budgets": [_budget(epsilon, delta) for epsilon in budgets],
        "learners": [
            {
                "name": name,
                "title": METHODS[name].title,
                "idea": METHODS[name].idea,
                "colours": [method_style(name).light, method_style(name).dark],
                "points": [
                    point
                    for measure in MEASURES
                    if measure in rows
                    for point in _points(rows, measure)
                ],
                "best": [
                    [epsilon, intervals.compare_best_k(curve)]
                    for epsilon, curve in intervals.by_budget(
                        rows[rows["wanted_k"].notna()], name
                    ).items()
                    if math.isfinite(epsilon)
                ],
            }
            for name in METHODS
            if len(rows := runs[runs["method"] == name])
        ],
    }


def _points(runs: pd.DataFrame, measure: str) -> list[list[Any]]:
    """Per ε and k: measure, ε (None is ∞), k used, whether k was asked for, mean and ends of the 95
    % interval in percent, seeds."""
    points = []
    for key, rows in runs.filter(items=["epsilon", "wanted_k", "k", measure]).groupby(
        ["epsilon", "wanted_k"], dropna=False
    ):
        epsilon, wanted_k = (float(str(value)) for value in key)
        mean, low, high = metrics.over_runs(rows[measure].astype(float).to_list())
        k = rows["k"].median() if "k" in rows else math.nan
        ends = [None if math.isnan(value) else round(100 * value, 2) for value in (mean, low, high)]
        budget, used_k = (
            None if math.isinf(epsilon) else epsilon,
            (None if math.isnan(k) else int(k)),
        )  # JSON knows no ∞
        points.append([measure, budget, used_k, not math.isnan(wanted_k), *ends, len(rows)])
    return points


def _digest(text: str) -> str:
    """What the page's own content policy lets run: this text and nothing else."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _table(learners: Sequence[Form]) -> str:
    """Every point as a row of an HTML table, for readers without scripts and for print."""
    lines = []
    for learner in learners:
        for _, epsilon, k, is_wanted, mean, low, high, seeds in (
            point for point in learner["points"] if point[0] == "accuracy"
        ):
            budget = "∞" if epsilon is None else f"{epsilon:g}"
            k_words = "all" if k is None else f"{k}" if is_wanted else f"{k} (rule)"
            interval = "one seed" if low is None else f"{low:.1f} to {high:.1f}"
            cells = (
                html.escape(learner["title"]),
                budget,
                k_words,
                f"{mean:.1f}",
                interval,
                str(seeds),
            )
            lines.append(f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    return "\n".join(lines)


def _about(dataset: str, runs: pd.DataFrame, link: str) -> str:
    """What the numbers are, what they rest on and where they come from, as HTML paragraphs."""
    first, card = runs.iloc[0], DATASETS.get(dataset)
    setup = {name: first[name] for name in SETUP if name in runs and pd.notna(first[name])}
    unit = Unit(int(first["rows_per_person"]) if pd.notna(first.get("rows_per_person")) else None)
    assumptions = dict.fromkeys(
        line for lines in runs["assumptions"] for line in lines if "seed" not in line
    )
    command = [
        "python",
        "-m",
        "pillar_core",
        "html",
        f"{dataset.replace(':', '-')}.html",
        "--dataset",
        dataset,
    ]
    for name in ("public_fraction", "public"):
        command += [f"--{name.replace('_', '-')}", str(setup[name])] if name in setup else []
    chosen = "; ".join(f"{name} {value}".replace("_", " ") for name, value in setup.items())
    paragraphs = [
        f"<b>Data.</b> {first['n_private']:,.0f} private and {first['n_public']:,.0f} public"
        " training rows"
        + (
            f" of {html.escape(card.title)}. Source: {html.escape(card.source)}. Licence:"
            f" {html.escape(card.licence)}."
            if card
            else "."
        )
        + (
            " These rows are generated, so accuracies say nothing about real data."
            if card and card.synthetic
            else ""
        ),
        f"<b>Setting.</b> {html.escape(chosen)}.",
        (
            f"<b>Privacy.</b> ε protects {unit.definition}; neighbouring data differ by"
            f" {_RELATIONS[str(first['relation'])]} (or {unit}). Each ε is an upper bound at δ ="
            f" {number_words(first['delta'])} for one training with secret noise. The best attacker"
            " has even prior odds and knows all other rows."
        ),
        (
            "<b>These are experiments.</b> Each number is measured on test rows over seeds, and its"
            " interval (95 %, Student's t) holds the seeds alone. Test accuracy is not protected by"
            " ε, and k was not chosen privately."
        ),
        f"<b>It holds if</b> {html.escape('; '.join(assumptions))}.",
        f"<b>Make it again.</b> <code>{html.escape(shlex.join(command))}</code> (PILLAR explorer"
        f" {VERSION})."
        + (f' <a href="{html.escape(link, quote=True)}">Open the explorer</a>.' if link else ""),
    ]
    return "\n".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
