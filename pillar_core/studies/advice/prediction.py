"""What a learner with a public set should reach, from public facts and public rows alone, and which
learner to name with it."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.data import raw
from pillar_core.metrics import guess
from pillar_core.registry import toml_tables
from pillar_core.runs.statement import expecting
from pillar_core.studies.advice import simulation
from pillar_core.types import PrivacyBudget, RunRecord, SemiPrivateSplit

OWN, NONE = "own", "none"
"""The names of a part of the private rows that is public, and of no public rows at all."""
IN_WORDS = {"accuracy": "", "balanced_accuracy": " balanced accuracy", "auc": " AUC"}
"""Of a metric after a number of percent."""
UNUSED = "unused"
"""The source of a prediction for labelled public rows that are left unused."""
CLEARLY, TELLING = 0.02, 50
"""By how much more than `luck` rehearsals without public rows must be ahead for these to be left
unused, and labelled rows of a table a class from which they tell: with fewer, always saying the
largest class was rehearsed ahead of learners that ended above it (research/tables.md)."""
MARGIN = 0.05
"""By how much plays must put another learner above the first one: measured regret is least there
(docs/public_data.md)."""
OF_TABLES = ("pillar_kalman", "dp_raft", "pillar_kalman_labelled")
"""Of a table the first one is to be named unless another of them is ahead by more than `luck`
(research/tables.md): AdaMix leans too much on few labels, and the more are compared, the more luck
decides."""
FEW_OF_KALMAN = 40
"""Public rows of a table below which the second one comes first."""
LUCK = 5.0
"""Times √(p(1 − p)) over the public rows, for two classes: chosen on cells with 21 to 360 of them
(research/tables.md)."""
FEW_PUBLIC = 100
"""Unlabelled public rows below which PILLAR was ahead of PILLAR Kalman."""
FEW_A_CLASS = 8
"""Labelled public rows a class below which plays are far off and choose no learner."""
FEW_OF_TABLE = 20
"""Labelled public rows a class of a table below which plays still choose, and are far off."""
WIDEST = 0.5
"""Width of a range beyond which it says nothing; nor does one that reaches down to guessing."""
BASIS = {
    "labelled": "rehearsals on the labelled public rows",
    "labelled, table": "rehearsals on the labelled public rows of a table",
    "labelled, few": f"rehearsals on fewer than {FEW_A_CLASS} labelled public rows a class",
    "unlabelled": "the public rows' spectrum and the sizes, by a table fitted on other data sets",
    "none": "the sizes alone, by a table fitted on other data sets",
    "made_up": "the sizes alone, by a table fitted on other tables with rows made up from ranges",
    UNUSED: "rehearsals in which labelled public rows play private ones, and none is public",
    "foreign": (
        "the sizes alone, by a table fitted on public rows of other classes: those help little"
    ),
    "": "nothing: this learner was not measured on other data sets",
}
FITTED: Mapping[str, Any] = toml_tables(Path(__file__).with_name("fitted.toml"))


@dataclasses.dataclass(frozen=True)
class Prediction:
    """What one learner with one public set should reach on rows like the public ones: `middle` and
    a range around it, in [0, 1].

    `held`: on how many of how many data sets such a range held in every run, each set left out of
    the fit in turn. `metric`: the number that was asked for; else accuracy, or balanced accuracy
    unless public labels say that no class has more than 60 % of the rows. `source`: what it was
    predicted from, as `kind_of`; "labelled, few" below `FEW_A_CLASS`, else "labelled, table" of
    columns with names; "unused"; or "" where nothing was measured. `most_common`: the share of the
    most common label of the public rows that it was predicted from. `is_table`:
    its columns have names.
    """

    public: str
    method: str
    accuracy: tuple[float, float]
    middle: float
    metric: str
    held: tuple[int, int] = (0, 0)
    source: str = ""
    n_classes: int = 2
    most_common: float | None = None
    is_table: bool = False

    @property
    def guess(self) -> float:
        """What guessing reaches; of accuracy the most common class of the public rows, where these
        have labels."""
        share = self.most_common if self.metric == "accuracy" else None
        return guess(self.metric, self.n_classes) if share is None else share

    @property
    def is_useful(self) -> bool:
        """Whether the range lies above guessing, and is no wider than `WIDEST`."""
        low, high = self.accuracy
        return low > self.guess and high - low <= WIDEST

    @property
    def range_words(self) -> str:
        """The prediction with its range, in percent, and the metric where it is not accuracy, with
        what guessing reaches."""
        low, high = (100 * end for end in self.accuracy)
        is_by_labels = self.metric == "accuracy" and self.most_common is not None
        how = " the most common class of the public rows" if is_by_labels else ""
        is_said = how or IN_WORDS[self.metric] or not self.is_useful
        said = f" (guessing{how}: {100 * self.guess:.0f} %)" if is_said else ""
        return f"{100 * self.middle:.0f} ({low:.0f} to {high:.0f}) %{IN_WORDS[self.metric]}{said}"

    @property
    def words(self) -> str:
        """What to expect, or why nothing can be said."""
        if self.is_useful:
            return f"expect {self.range_words}"
        why = (
            "is too wide a range" if self.accuracy[0] > self.guess else "does not exclude guessing"
        )
        return f"no useful prediction, because {self.range_words} {why}"

    @property
    def narrower(self) -> tuple[str, ...]:
        """What would say more, where the range says nothing."""
        near, rows = ("table", FEW_OF_TABLE) if self.is_table else ("range", FEW_A_CLASS)
        error = 100 * FITTED[self.metric]["labelled"][near]["error"]
        labels = (
            f"{rows} labelled public rows of each class, like yours (± {error:.0f} points), or "
        )
        low, high = self.accuracy
        has_labels = self.source in ("labelled", "labelled, table") and high - low <= WIDEST
        more = labels * (not has_labels)
        said = f"what would tell: {more}a private test of the trained model"
        return () if self.is_useful else (said,)

    def state(self, record: RunRecord) -> RunRecord:
        """The record of such a training, its statement saying what was expected of it, and from
        what."""
        low, high = self.accuracy
        numbers = {
            "metric": self.metric,
            "predicted": self.middle,
            "low": low,
            "high": high,
            "is_useful": self.is_useful,
            "most_common": self.most_common,
        }
        metric = "" if IN_WORDS[self.metric] else " accuracy"
        words = f"{self.range_words}{metric}" if self.is_useful else self.words
        source = f"predicted from {BASIS[self.source]}"
        return expecting(
            record,
            f"{words}; {source}. {held_words(self.held).capitalize()}",
            numbers | {"source": source},
        )


class Predicted:
    """What an advice and a choice say of what they expect."""

    expected: Prediction

    @property
    def expected_accuracy(self) -> tuple[float, float]:
        """A range in [0, 1] around `predicted`, of accuracy or what `metric` names."""
        return self.expected.accuracy

    @property
    def predicted(self) -> float:
        """What is expected, in [0, 1]."""
        return self.expected.middle

    @property
    def metric(self) -> str:
        """What `predicted` is of, as in `Prediction`."""
        return self.expected.metric


def held_words(counts: tuple[int, int]) -> str:
    """How far a range can be relied on: a count of data sets, for so few carry no level in
    percent."""
    inside, n_sets = counts
    return (
        f"the range held on {inside} of {n_sets} data sets that the fit had not seen"
        if n_sets
        else "no range was measured"
    )


def kind_of(rows: SemiPrivateSplit) -> str:
    """Of public rows: "foreign", of other classes, "made_up", "labelled", "unlabelled" or
    "none"."""
    if rows.other_y is not None:
        return "foreign"
    if rows.public_name == raw.MADE_UP_NAME:
        return "made_up"
    return (
        "labelled" if simulation.can_play(rows) else "unlabelled" if len(rows.public_x) else "none"
    )


def predict(
    name: str,
    method: str,
    rows: SemiPrivateSplit,
    budget: PrivacyBudget,
    seed: int,
    metric: str,
    kind: str = "",
    *,
    wanted: str | None = None,
) -> Prediction:
    """What one learner of the fitted table should reach with these public rows; of the kind
    "unused" without them. wanted: as in `plays`.

    Guarantee: as `advise`, for rows without private ones.
    """
    kind = kind or kind_of(rows)
    fitted, is_unused = FITTED[metric][kind], kind == UNUSED
    sizes: dict[str, float] = {}
    if kind in ("labelled", UNUSED):
        reached = simulation.plays(method, rows, budget, seed, is_unused=is_unused, wanted=wanted)
        sizes = {"plays": reached[metric]}
    if kind == "unlabelled":
        sizes = {
            "directions": rows.memo.get("directions", lambda: simulation.effective_directions(rows))
        }
    signal = simulation.class_signal(rows.facts, budget)
    terms = simulation.regressors(rows.facts, signal, sizes)
    share = 1 / (
        1
        + math.exp(
            -sum(weight * terms[term] for term, weight in fitted["learners"][method].items())
        )
    )
    part = _part_of(rows, fitted)
    is_far_off = kind == "labelled" and part == "table" and _a_class(rows) < FEW_OF_TABLE
    measured = fitted["few_table" if is_far_off else part]
    ends = max(share - measured["error"], 0.0), min(share + measured["error"], 1.0)
    source = f"labelled, {part}" if kind == "labelled" and part != "range" else kind
    return Prediction(
        name,
        method,
        ends,
        share,
        metric,
        (measured["inside"], measured["sets"]),
        source,
        rows.facts.n_classes,
        simulation.largest_share(rows),
        rows.features.names is not None,
    )


def levelled(predictions: Sequence[Prediction]) -> tuple[list[tuple[float, ...]], float]:
    """(mean, low and high of each of rising budgets, how far rehearsals were off the means at
    most), in [0, 1]: more ε loses nothing, because it can be left unspent (isotonic regression)."""
    from scipy.optimize import isotonic_regression

    middles = np.array([each.middle for each in predictions])
    means = isotonic_regression(middles).x
    ends = np.array([each.accuracy for each in predictions])
    moved = ends + (means - middles)[:, None] * ((ends > 0) & (ends < 1))  # cut ends stay
    rows = np.column_stack([means, moved.clip(0, 1)])
    return [tuple(row) for row in rows.tolist()], float(np.abs(means - middles).max())


def in_order(predictions: list[Prediction], rows: SemiPrivateSplit) -> list[Prediction]:
    """Of one public set's predictions first that of the learner to name, then the others, best
    first."""
    first = preferred_prediction(predictions, rows)
    return sorted(predictions, key=lambda prediction: (prediction is not first, -prediction.middle))


def preferred_prediction(predictions: list[Prediction], rows: SemiPrivateSplit) -> Prediction:
    """Of one public set's predictions the learner that did best on other data sets, of a table
    among three, unless plays put another clearly above it."""
    by_method = {prediction.method: prediction for prediction in predictions}
    if kind_of(rows) in ("none", "made_up", "foreign"):
        return predictions[0]  # the fitted table has the one to name first
    if "adamix" not in by_method:
        return by_method.get(
            "pillar" if rows.facts.n_public < FEW_PUBLIC else "pillar_kalman", predictions[0]
        )
    shares, facts = {name: each.middle for name, each in by_method.items()}, rows.facts
    is_table = rows.features.names is not None
    return by_method[preferred(shares, facts.n_public, facts.n_classes, is_table=is_table)]


def preferred(shares: Mapping[str, float], n_public: int, n_classes: int, *, is_table: bool) -> str:
    """The learner to name, by what each should reach with so many labelled public rows."""
    firsts = OF_TABLES if is_table else ("adamix",)
    usual = firsts[is_table and n_public < FEW_OF_KALMAN]
    lucky = luck(shares[usual], n_public, n_classes) if is_table else 0.0
    first = max(firsts, key=lambda name: shares[name] + lucky * (name == usual))
    best = max(shares, key=lambda name: shares[name])
    is_clear = shares[best] > shares[first] + max(MARGIN, lucky)
    return best if is_clear and n_public >= FEW_A_CLASS * n_classes else first


def luck(share: float, n_public: int, n_classes: int) -> float:
    """By how much plays on so few labelled rows of a table put a map or a learner above the one
    that did best on other tables though it is not better; `share` is what that one reached.

    It falls as one over the rows, faster than the plays' error, because what others may be ahead by
    stays the same. With more classes plays differ by more: it is shared among all but one.
    """
    return LUCK * math.sqrt(share * (1 - share)) / (n_public * (n_classes - 1))


def can_tell_unused(best: Prediction, rows: SemiPrivateSplit) -> bool:
    """Whether rehearsals can tell that public rows are better left unused: on other sets, and with
    fewer rows a class, following them lost points."""
    return best.source == "labelled, table" and _a_class(rows) >= TELLING


def _a_class(rows: SemiPrivateSplit) -> float:
    return rows.facts.n_public / rows.facts.n_classes


def _part_of(rows: SemiPrivateSplit, fitted: Mapping[str, Any]) -> str:
    """Which range of a kind's fitted table is that of such rows."""
    parts = {"few": _a_class(rows) < FEW_A_CLASS, "table": rows.features.names is not None}
    return next((part for part, holds in parts.items() if holds and part in fitted), "range")
