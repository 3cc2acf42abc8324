"""A private test: how good a model is on protected rows, from one table of noisy counts."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtr, ndtri

from pillar_core import checks, store
from pillar_core.arrays import Array
from pillar_core.auditing.membership import lower_end, upper_end
from pillar_core.data import raw
from pillar_core.data.partition import without_drawn_test
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.grouping import by_label
from pillar_core.ledger import Ledger, describe, of_person
from pillar_core.mechanisms.geometric import DENOMINATOR, GeometricMechanism, reach
from pillar_core.metrics import FIGURES
from pillar_core.numerics import round_up
from pillar_core.params import EPSILON
from pillar_core.rng import Streams
from pillar_core.runs import private_tests, receipts
from pillar_core.runs.assumptions import CLASSES_PUBLIC, NOISE_EXACT, NOISE_SECRET, in_lines
from pillar_core.runs.loaded import Model, load_model
from pillar_core.runs.loading import load_features
from pillar_core.runs.private_tests import unit_of
from pillar_core.runs.run import split_of
from pillar_core.runs.splitting import as_given
from pillar_core.splits import Transform
from pillar_core.types import (
    MOST_ROWS,
    Classifier,
    EpsilonBounds,
    FeatureSet,
    Guarantee,
    NeighboringRelation,
    RunRecord,
)

LEVEL = 0.95
BINS = 32
GIVEN = "which rows are test rows is taken as given, and the model was trained without them"
APART = "models were trained on this file here: the rows that were set apart from training count"
ADDED = "whoever has rows among the training rows, too, loses the sum of both ε"
UNSEEN = "no exact figure of these rows was shown; where one was, this ε does not cover it"
MOST = "no person has more than {} of these rows"


@dataclasses.dataclass(frozen=True)
class Released:
    """A figure of protected rows: `value` in [0, 1], with `low` and `high` at `level`, and what ε
    it cost.

    The interval holds the noise and the chance of these rows. `cells` are the noisy counts: class
    by (wrong, right), or by 32 ranges of the second class's probability; numbers that follow from
    them cost nothing more. `untold`: classes of which they say nothing. `spent`: what all tests of
    these rows cost, where there were others.
    """

    value: float
    low: float
    high: float
    level: float
    guarantee: Guarantee
    metric: str
    cells: Array
    untold: tuple[str, ...] = ()
    words: str = ""
    spent: str = ""

    @property
    def text(self) -> str:
        """The figure and its guarantee in plain words."""
        promise = self.guarantee
        secret = (
            "NOT FOR RELEASE: the seed of the noise is known.\n"
            if NOISE_SECRET in promise.assumptions
            else ""
        )
        cost = (
            f"ε ≤ {round_up(promise.epsilon.upper)}, δ = 0, for {promise.unit.definition}"
            f" ({str(promise.relation).replace('_', ' ')})."
        )
        lines = [f"{secret}{self.words}", cost, *filter(None, [self.spent])]
        return "\n".join([*lines, *in_lines(promise.assumptions)])


def private_test(
    model: Model | RunRecord | str | Path,
    rows: Any,
    *,
    epsilon: float,
    relation: str = "add_or_remove_one",
    rows_per_person: int | None = None,
    person: str | None = None,
    metric: str = "accuracy",
    seed: int | None = 0,
) -> Released:
    """How good `model` is on protected rows with labels, at ε with δ = 0.

    Each row is in one cell of a table of counts; geometric noise is added to each cell once.
    docs/accounting.md has the argument.

    Args:
        model: a run's record, a loaded model, or the file of one.
        rows: a feature set, of which the test rows count or, where it has none, the train rows; or
        a file, of which all rows count, or where models were trained on it here, the test rows that
        were set apart. epsilon: the budget in (0, ∞), of these rows alone.
        relation: add_or_remove_one or replace_one.
        rows_per_person: the most rows of one person; ε is then a person's. Where the rows say whose
        they are, the first so many count. person: the column of a table that says whose the rows
        are. metric: accuracy, balanced_accuracy, or auc (of two classes).
        seed: of the noise, for experiments; None takes the operating system's, for a figure that is
        to be shown.
    Raises DataError: rows without labels, of other classes or another width. SettingError: an
    argument out of range, persons without `rows_per_person`, or auc with more than two classes.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> record = pc.run("pillar", split, epsilon=2.0)
    >>> told = pc.private_test(record, pc.load_dataset("digits"), epsilon=1.0)
    >>> told.low <= told.value <= told.high
    True
    """
    checks.within(epsilon=(epsilon, EPSILON))
    checks.one_of(FIGURES, metric=metric)
    neighbours = NeighboringRelation.of(relation)
    if math.isinf(epsilon):
        raise SettingError(
            "epsilon must be finite: without noise, use `record.metrics`, which is not private."
        )
    if rows_per_person is not None and (
        type(rows_per_person) is not int or not 1 <= rows_per_person <= MOST_ROWS
    ):
        raise SettingError(
            f"rows_per_person must be a whole number from 1 to {MOST_ROWS}; got"
            f" {rows_per_person!r}."
        )
    if isinstance(model, str | Path):
        model = load_model(model)
    if isinstance(model, Model):
        classes, unit = model.classes, private_tests.unit_of_card(model.card["guarantee"])
    else:
        classes, unit = tuple(map(str, range(model.facts.n_classes))), unit_of(model.guarantee)
        is_named = isinstance(rows, FeatureSet) and rows.n_classes == len(classes)
        classes = rows.classes if is_named else classes
    if metric == "auc" and len(classes) != 2:
        raise SettingError(
            f"auc is for two classes, and the model tells {len(classes)} apart: use"
            " balanced_accuracy."
        )
    head = model.classifier
    if head is None:
        raise DataError("this record holds no model: run it again, or give the model's file.")
    x, y, account = _rows(model, rows, rows_per_person, person)
    if unit[1] and rows_per_person is None:
        raise SettingError(
            "the model protects a person: name the column that says whose these rows are (person)"
            " and the most rows of one of them (rows_per_person), or say 1 where no person has two."
        )
    width = getattr(head, "width", x.shape[1])
    if x.shape[1] != width:
        raise DataError(f"the model takes rows of {width} numbers; these have {x.shape[1]}.")
    counts = _counts(_scores_apart(head, x), y, len(classes), metric)
    most, is_added = rows_per_person or 1, neighbours is NeighboringRelation.ADD_OR_REMOVE_ONE
    numerator = _numerator(epsilon, most, neighbours)
    if seed is None:
        store.default().check_room()
    ledger, use = Ledger(), fingerprint(x, y, counts, metric, numerator)
    mechanism = GeometricMechanism(
        numerator, Streams(seed, use).secret("private test"), ledger, label=f"{metric} of test rows"
    )
    cells = mechanism.release(counts)
    event: Any = of_person(ledger.total_event, most)  # a `PureEvent`
    upper = event.epsilon_add_remove if is_added else event.epsilon_replace_one
    persons = (MOST.format(most),) if rows_per_person else ()
    is_apart = not isinstance(rows, FeatureSet) and account.trainings
    apart, noise = (APART,) if is_apart else (), NOISE_EXACT if seed is None else NOISE_SECRET
    assumptions = (*apart, CLASSES_PUBLIC, GIVEN, UNSEEN, ADDED, *persons, noise)
    guarantee = Guarantee(
        EpsilonBounds(upper, upper, upper),
        0.0,
        neighbours,
        "pure",
        assumptions,
        describe(event),
        rows_per_person=rows_per_person,
        event=event,
    )
    value, low, high, unclear = (_auc if metric == "auc" else _shares)(cells, mechanism.rate, most)
    test = private_tests.PrivateTest(
        private_tests.model_of(head),
        metric,
        *(value, low, high, LEVEL, float(upper), str(neighbours), rows_per_person, mechanism.rate),
        tuple(tuple(map(int, row)) for row in cells),
        tuple(classes[place] for place in unclear),
    )
    spent = ""
    if seed is None:
        account.keep(test)
        spent = (
            f"Private tests of these rows so far: {private_tests.sums_of(account.tests)}. Tests of"
            " the same rows with another column or number of rows of persons add to it."
        )
    return Released(
        *(value, low, high, LEVEL, guarantee, metric, cells, test.unclear, test.words, spent)
    )


def expected_ends(
    value: float,
    n_rows: int,
    n_classes: int,
    *,
    epsilon: float,
    metric: str = "accuracy",
    relation: str = "add_or_remove_one",
    rows_per_person: int | None = None,
) -> tuple[float, float]:
    """Where the ends of a private test are to be expected, before it is paid: of a model that
    reaches `value`, on `n_rows` rows in classes of equal size. Reads no row.

    Noise is taken as zero, which it is in the middle. The AUC is that of calibrated normal scores.
    """
    most = rows_per_person or 1
    rate = _numerator(epsilon, most, NeighboringRelation.of(relation)) / DENOMINATOR
    if metric == "auc":
        spread = math.sqrt(2) * ndtri(min(max(value, 0.51), 0.999))
        edges = logit(np.linspace(0, 1, BINS + 1))
        masses = [np.diff(ndtr(edges / spread - side * spread / 2)) for side in (-1, 1)]
        return _auc(n_rows / 2 * np.array(masses), rate, most)[1:3]
    groups = 1 if metric == "accuracy" else n_classes
    cells = np.tile(np.array([1 - value, value]) * n_rows / groups, (groups, 1))
    return _shares(cells, rate, most)[1:3]


def _numerator(epsilon: float, most: int, relation: NeighboringRelation) -> int:
    """The largest rate of noise, in 1 / DENOMINATOR, at which the counts that so many rows move
    cost at most ε: a row that is added or removed moves one, one that is replaced two."""
    moves = most * (1 if relation is NeighboringRelation.ADD_OR_REMOVE_ONE else 2)
    numerator = math.floor(epsilon / moves * DENOMINATOR)
    while numerator * moves > epsilon * DENOMINATOR:
        numerator -= 1
    return numerator


def roc(test: private_tests.PrivateTest) -> pd.DataFrame:
    """The ROC of a test whose metric is auc, with no further ε: columns false_positive_rate,
    true_positive_rate, and by the ends of both bands at once low_false_positive,
    high_true_positive, high_false_positive, low_true_positive.
    """
    clean, bands, _ = _bands(np.array(test.cells), test.rate, test.rows_per_person or 1)
    above = [1 - np.cumsum(share)[:-1] for share in clean]
    (first_low, first_high), (second_low, second_high) = bands
    columns = {"false_positive_rate": above[0], "true_positive_rate": above[1]}
    columns |= {"low_false_positive": 1 - first_high, "high_true_positive": 1 - second_low}
    columns |= {"high_false_positive": 1 - first_low, "low_true_positive": 1 - second_high}
    ends = pd.DataFrame([[1.0] * 6, [0.0] * 6], columns=list(columns))
    return pd.concat([ends[:1], pd.DataFrame(columns), ends[1:]], ignore_index=True)


def _rows(
    model: Model | RunRecord, rows: Any, most: int | None, person: str | None
) -> tuple[Array, Array, receipts.Account]:
    """The rows that count, their labels as the model's codes, and the account of the rows."""
    form = model.card.get("input") or {} if isinstance(model, Model) else {}
    if raw.is_table(
        rows
    ):  # of each person the first `most` rows, whichever of them would be test rows
        loaded = raw.read_private(
            rows, raw.Roles(person=person, recipe=form.get("recipe"), rows_per_person=most)
        )
    elif person is not None:
        raise SettingError(f"person names a column, and these rows are no table; got {person!r}.")
    else:
        is_images = isinstance(rows, str | Path) and (
            Path(rows).is_dir() or Path(rows).suffix.lower() == ".zip"
        )
        loaded = load_features(
            rows, form["backbone"]["name"] if is_images and "backbone" in form else None
        )
    if loaded.persons is not None and most is None:
        raise SettingError(
            "these rows say whose they are: say the most rows that one person has among them"
            " (rows_per_person)."
        )
    loaded = as_given(loaded) if isinstance(model, Model) else loaded
    features = loaded
    is_whole = not (isinstance(rows, FeatureSet) or receipts.account_of(loaded).trainings)
    if loaded.test_drawn and is_whole:
        if loaded.persons is None or raw.is_table(rows):
            features = without_drawn_test(loaded)
        else:  # nobody says whose the drawn rows are, so that they are left out
            features = dataclasses.replace(loaded, x_test=None, y_test=None)
    x, y = (
        (features.x_train, features.y_train)
        if features.x_test is None
        else (features.x_test, features.y_test)
    )
    if y is None or not len(x):
        raise DataError("a private test needs rows with labels, and these have none.")
    if features.persons is not None and features.x_test is None and most is not None:
        first = np.sort(
            np.concatenate([places[:most] for places in by_label(features.persons.of).values()])
        )
        x, y = x[first], y[first]
    split = split_of(model.classifier) if isinstance(model, RunRecord) else None
    if split is not None and split.features.columns is not None and features.given is None:
        x = split.features.columns(x)  # a record's classifier reads what its split's map makes
    if isinstance(model, Model):
        codes = {name: code for code, name in enumerate(model.classes)}
        if strangers := [name for name in features.classes if name not in codes]:
            raise DataError(
                f"the model has no class {', '.join(strangers[:5])}; it has"
                f" {', '.join(list(codes)[:20])}."
            )
        y = np.array([codes[name] for name in features.classes])[y]
    elif len(y) and y.max() >= model.facts.n_classes:
        raise DataError(
            f"the rows have {features.n_classes} classes and the model {model.facts.n_classes}."
        )
    return x, y, receipts.account_of(features)


def _scores_apart(head: Classifier, x: Array) -> Array:
    """(n, C) float64 scores, each of its own row alone to the last bit: else one row more could
    move others between cells."""
    if isinstance(head, LinearClassifier):
        scores = Transform(projection=head.weights)(head.transform(x)) + head.bias
    else:
        scores = np.concatenate([head.scores(row[None]) for row in x])
    return np.nan_to_num(scores.astype(np.float64))


def _counts(scores: Array, y: Array, n_classes: int, metric: str) -> Array:
    """(1, 2), (C, 2) or (2, 32) int64: each row adds one to one cell."""
    if metric == "auc":
        cell = np.minimum((BINS * expit(scores[:, 1] - scores[:, 0])).astype(np.int64), BINS - 1)
        columns = BINS
    else:
        cell, columns = (scores.argmax(axis=1) == y).astype(np.int64), 2
    groups = 1 if metric == "accuracy" else n_classes
    return np.bincount(
        columns * (y if groups > 1 else 0) + cell, minlength=groups * columns
    ).reshape(groups, columns)


def _shares(cells: Array, rate: float, most: int) -> tuple[float, float, float, list[int]]:
    """The mean over groups of the share of right rows, its ends, and the groups of which nothing is
    known.

    Half of 1 − level is for the noise of every cell at once, half for binomial chance (Clopper &
    Pearson 1934) in every group at once. Rows of one person are counted as one row.
    """
    miss = (1 - LEVEL) / 2
    noise = reach(rate, 1, miss / cells.size)
    wrong, right = (np.maximum(cells[:, side], 0.0) for side in (0, 1))
    few = [np.maximum(side - noise, 0.0) / most for side in (wrong, right)]
    many = [(side + noise) / most for side in (wrong, right)]
    each = miss / len(cells) / 2
    low = lower_end(few[1], few[1] + many[0], each)
    high = upper_end(many[1], many[1] + few[0], each)
    is_clear = (few[0] > 0) | (few[1] > 0)
    shares = right / np.maximum(right + wrong, 1.0)
    value = float(shares[is_clear].mean()) if is_clear.any() else 0.5
    ends = float(low.mean()), float(high.mean())
    return (
        min(max(value, ends[0]), ends[1]),
        *ends,
        [int(label) for label in np.flatnonzero(~is_clear)],
    )


def _auc(cells: Array, rate: float, most: int) -> tuple[float, float, float, list[int]]:
    """The area under the ROC curve, its ends, and the classes of which nothing is known; it rises
    as the second class moves up."""
    clean, ((first_low, first_high), (second_low, second_high)), unclear = _bands(cells, rate, most)
    value = _area(clean[1], clean[0], ties=0.5)
    least = _area(_masses(second_high), _masses(first_low), ties=0.0)
    largest = _area(_masses(second_low), _masses(first_high), ties=1.0)
    return min(max(value, least), largest), least, largest, unclear


def _bands(
    cells: Array, rate: float, most: int
) -> tuple[Array, list[tuple[Array, Array]], list[int]]:
    """(2, 32) shares of each class by range, the ends of both cumulative distributions, and the
    classes of which nothing is known.

    Bands hold each class's distribution over the ranges: half of 1 − level for the noise of all
    sums of cells, half for the chance of the rows (Dvoretzky, Kiefer & Wolfowitz with Massart's
    constant).
    """
    miss = (1 - LEVEL) / 2
    events = 2 * 2 * (BINS - 1) + 2
    bands, unclear = [], []
    sizes = np.arange(1, BINS)
    slack = np.array([reach(rate, size, miss / events) for size in range(1, BINS)])
    for label, counts in enumerate(cells):
        below, above = np.cumsum(counts)[:-1], counts.sum() - np.cumsum(counts)[:-1]
        few, many = np.maximum(below - slack, 0), np.maximum(below + slack, 1e-9)
        rest_few = np.maximum(above - slack[BINS - 1 - sizes], 0)
        rest_many = np.maximum(above + slack[BINS - 1 - sizes], 1e-9)
        n = (counts.sum() - reach(rate, BINS, miss / events)) / most
        unclear += [label] if n < 1 else []
        band = math.sqrt(math.log(4 / miss) / (2 * n)) if n >= 1 else 1.0
        low = np.maximum.accumulate(np.clip(few / (few + rest_many) - band, 0, 1))
        high = np.minimum.accumulate(np.clip(many / (many + rest_few) + band, 0, 1)[::-1])[::-1]
        bands.append((low, high))
    clean = np.maximum(cells, 0) + 1e-9
    return clean / clean.sum(axis=1, keepdims=True), bands, unclear


def _masses(below: Array) -> Array:
    return np.diff(np.concatenate([[0.0], below, [1.0]]))


def _area(positive: Array, negative: Array, *, ties: float) -> float:
    """The chance that a draw of the first is in a higher range than one of the second; ranges in
    common count `ties`."""
    before = np.concatenate([[0.0], np.cumsum(negative)[:-1]])
    return float(np.clip(positive @ (before + ties * negative), 0, 1))
