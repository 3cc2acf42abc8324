"""The public face's `run` and `advise` as an estimator of scikit-learn.

A module of its own, because its class extends theirs: nothing else imports it.
"""

import dataclasses
import functools
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from pillar_core import checks, data, splits
from pillar_core.arrays import Array
from pillar_core.data import frames, raw, recipes
from pillar_core.data.arrays import MISSING, as_array, codes, plain
from pillar_core.data.wording import join
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, SettingError
from pillar_core.runs.loaded import Model
from pillar_core.runs.loading import load_features
from pillar_core.runs.models import input_of
from pillar_core.runs.receipts import Account, account_of, note_answers
from pillar_core.runs.run import run
from pillar_core.runs.splitting import beside, mapped, unmapped
from pillar_core.runs.splitting import split as split_of
from pillar_core.runs.statement import in_sight
from pillar_core.studies.advice import advise
from pillar_core.studies.advice.maps import GIVEN
from pillar_core.studies.advice.prediction import NONE, OWN
from pillar_core.types import Dataset, FeatureSet, Form, RunRecord, SemiPrivateSplit, Values

AUTO = "auto"
EXACT = (
    "score is an exact figure of the rows that it is given: where they are private, no ε covers it."
    " pc.private_test has one within ε."
)
UNUSED = (
    "auto uses no public row, not even as a scale, because nobody knows whether they are like the"
    " private ones. If you state that they are (alike=True), it may; a learner that you name does."
)
ALONE = "ε is of this training alone, and these rows, or some of them, were trained on before. {}"


class PublicRowsUnused(UserWarning):
    """Says that auto took no public row, because nobody states that they are like the private
    ones."""


class ExactScore(UserWarning):
    """Says that a score is an exact figure of rows, which no ε covers."""


@functools.cache
def warn_once() -> None:
    """Warns of `EXACT` at the first score of a process; each of scikit-learn's folds would warn
    again."""
    warnings.warn(EXACT, ExactScore, stacklevel=3)


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # theirs has no types
    """A classifier trained within (ε, δ) by `pc.run`, on all rows that `fit` gets, as private ones.

    method: a learner of `METHODS`, or auto, which takes what `pc.advise` says. epsilon, delta,
    relation, settings: as in `pc.run`. public: rows that anybody may see, as in `pc.split`: a
    DataFrame, whose labels are in a column named like y (else label), a pair (rows, labels), an
    array, made_up. alike: whether you state that public rows are like the private ones: auto takes
    none of others. classes: the labels that there can be, by default those of the public rows;
    without either they are read off y, as `guarantee_` then says. recipe, ranges: what words, gaps
    and sizes of a DataFrame mean, as in `load_features`; public rows say it else. backbone: a map
    of columns, by default as advised with auto, else none. metric: the number that auto and the
    intercept follow, as in `pc.advise` and `pc.run`. rows_per_person: how many rows of each
    of `fit`'s groups are used, the first ones. random_state: the seed of an experiment; None, a
    release, draws secret noise.

    After `fit`: `classes_`; `guarantee_`, of this training; `record_`, which `pc.save_model` takes;
    `advice_` with auto; `account_`, what all trainings of this cache with secret noise that share
    a row with it spent, as the folds of `cross_val_score` do. A fit after a score or an answer on
    some of its rows declares that these were in sight. What stands before it in a pipeline must be
    fitted on public rows: no ε covers that. ε is of one row, and of one person only where `fit`
    itself gets groups: `cross_val_score` passes its own on by `params={"groups": …}`, a pipeline by
    `fit(X, y, privateclassifier__groups=…)`.

    Errors are raised by `fit`: DataError, SettingError, BudgetError, UnknownNameError, as in
    `pc.run`.

    >>> digits = pc.split(pc.load_dataset("digits"), public_fraction=0.1)
    >>> public = digits.public_x, digits.public_y
    >>> x, y = (part[digits.private] for part in (digits.features.x_train, digits.features.y_train))
    >>> model = pc.PrivateClassifier("pillar", epsilon=2.0, public=public, random_state=0).fit(x, y)
    >>> model.guarantee_.epsilon.upper <= 2.0, model.predict_proba(x[:3]).shape
    (True, (3, 10))
    """

    def __init__(
        self,
        method: str = AUTO,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        relation: str = "add_or_remove_one",
        public: Any = None,
        alike: bool = False,
        classes: Any = None,
        recipe: Any = None,
        ranges: Mapping[str, tuple[float, float]] | None = None,
        backbone: str | None = None,
        metric: str | None = None,
        rows_per_person: int = 1,
        settings: Values | None = None,
        random_state: int | None = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.relation = relation
        self.public = public
        self.alike = alike
        self.classes = classes
        self.recipe = recipe
        self.ranges = ranges
        self.backbone = backbone
        self.metric = metric
        self.rows_per_person = rows_per_person
        self.settings = settings
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> "PrivateClassifier":
        """Trains on the rows X (n, d), an array or a DataFrame, with labels y (n,).

        groups: (n,) whose each row is, a word or a whole number; ε is then of a person.
        """
        checks.of(str, method=self.method, relation=self.relation)
        checks.of(float, epsilon=self.epsilon, delta=self.delta)
        checks.of(int | None, random_state=self.random_state)
        checks.of(int, rows_per_person=self.rows_per_person)
        checks.of(bool, alike=self.alike)
        checks.of(str | None, backbone=self.backbone, metric=self.metric)
        checks.of(Mapping | None, settings=self.settings, ranges=self.ranges)
        features, public = self._rows(X, y)
        split = split_of(
            features, public=public, persons=groups, rows_per_person=self.rows_per_person
        )
        method, settings = self.method, dict(self.settings or {})
        if method == AUTO:
            split, method, settings = self._advised(split, settings)
        seed = None if self.random_state is None else int(self.random_state)
        record = run(
            method,
            split,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            seed=seed,
            **{"metric": self.metric, **settings},
        )
        self._account = account_of(features)
        if seed is None:
            self._account.keep_saved(record, split)
            if self._account.is_answered and record.guarantee.covers_choice is not False:
                record = in_sight(record)
            if len(self.account_.trainings) > 1:
                record = _of_training_alone(record, self.account_)
        self.record_, self.guarantee_, self._split = record, record.guarantee, split
        self._model = _model(record, split)
        return self

    @property
    def account_(self) -> Account:
        """What was spent on these rows, or on some of them beside others: no row of them spent
        more."""
        check_is_fitted(self, "_account")
        return dataclasses.replace(self._account, others=self._account.sharing)

    def predict(self, X: Any) -> Array:
        """(n,) the likeliest of `classes_` for each row."""
        places = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[places])

    def predict_proba(self, X: Any) -> Array:
        """(n, C) float64: the softmax of the classes' scores, in the order of `classes_`."""
        check_is_fitted(self)
        rows = _checked(self, X)
        is_table = frames.is_frame(X) and self._model.card["input"]["kind"] == "table"
        x = self._model.features(rows if is_table else as_array(rows))
        if hasattr(self, "_split"):
            note_answers(x)
        return self._model.predict_proba(x)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy on these rows, an exact figure of them: no ε covers it."""
        warn_once()
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> Form:
        """What a file of the estimator holds: no row of the split."""
        state = super().__getstate__()
        return {name: state[name] for name in state if name != "_split"}

    def _rows(self, X: Any, y: Any) -> tuple[FeatureSet, Any]:
        """The private rows, all of them train rows, and the public ones as `split` takes them; sets
        `classes_`."""
        is_frame = frames.is_frame(X)
        given = y
        X, y = _checked(self, X, y)
        check_classification_targets(y)
        label = getattr(y, "name", None) or "label"
        is_boolean = "b" in {getattr(getattr(ys, "dtype", 0), "kind", "") for ys in (given, y)}
        public, y = self.public, plain(y, name="y")
        is_free = not (is_frame and "label" in X)
        if is_free and frames.is_frame(public) and label not in public:
            label = "label"
        if isinstance(public, tuple) and len(public) == 2 and frames.is_frame(public[0]):
            public = public[0].assign(**{label: np.asarray(public[1])})
        declared = _labels_of(public, label) if self.classes is None else self.classes
        names = np.unique(plain(y.values if declared is None else declared, name="classes").values)
        places = codes(dataclasses.replace(y, values=y.values.astype(str)), names.astype(str))
        if strangers := sorted(set(y.values[places == MISSING].tolist())):
            whose = "public rows show" if self.classes is None else "declared classes are"
            raise DataError(
                f"y holds {join(strangers)}, and the {whose} {join(names)}: declare all (classes=)."
            )
        self.classes_ = names.astype(bool if is_boolean else y.values.dtype)
        classes = tuple(map(str, names))
        if not is_frame:
            if self.recipe is not None or self.ranges is not None:
                raise SettingError("recipe and ranges are of a DataFrame's columns: give X as one.")
            rows = data.features(X, places, classes=classes)
            return load_features(rows, self.backbone), public
        if self.recipe is not None:
            label = recipes.recipe_of(self.recipe).label
        if label in X.columns:
            raise DataError(f"X has a column {label!r}, which is that of the labels: leave it out.")
        rows = load_features(
            X.assign(**{label: None}),
            self.backbone,
            label=label,
            recipe=self.recipe,
            public=public if frames.is_frame(public) else None,
            ranges=self.ranges,
        )
        if len(rows.x_train) != len(places):
            raise DataError(
                "X names persons or test rows, which fit does not tell apart: leave these columns"
                " out, and give persons as fit(X, y, groups=…)."
            )
        return dataclasses.replace(rows, y_train=places, classes=classes), public

    def _advised(
        self, split: SemiPrivateSplit, settings: Form
    ) -> tuple[SemiPrivateSplit, str, Form]:
        """Split, learner and settings as advised; sets `advice_`."""
        advice = self.advice_ = advise(
            split,
            epsilon=self.epsilon,
            delta=self.delta,
            relation=self.relation,
            alike=(OWN,) if self.alike else (),
            metric=self.metric,
        )
        if advice.public is None and len(split.public_x):
            warnings.warn(UNUSED, PublicRowsUnused, stacklevel=3)
        if advice.expected.public == NONE:
            split = splits.beside(unmapped(split), None)
        elif advice.expected.public == raw.MADE_UP:
            split = beside(split, raw.made_up(unmapped(split).features))
        if self.backbone is None and advice.backbone != GIVEN:
            split = mapped(split, advice.backbone)
        return split, advice.method, {**advice.settings, **settings}


def _checked(estimator: PrivateClassifier, X: Any, *y: Any) -> Any:
    """X, and y where it is given, as scikit-learn has them; a DataFrame as it is, whose cells the
    library reads."""
    if is_frame := frames.is_frame(X):
        frames.refuse_repeated(X.columns)
    how: Form = {"ensure_min_samples": 1 + len(y), "accept_sparse": True}
    if is_frame and y:
        validate_data(estimator, y=y[0], reset=True)
    return validate_data(estimator, X, *y, reset=bool(y), skip_check_array=is_frame, **how)


def _labels_of(public: Any, label: str) -> Any:
    """The labels of public rows, or their classes; None where there are none."""
    if frames.is_frame(public):
        return public[label].dropna() if label in public.columns else None
    if isinstance(public, FeatureSet | Dataset):
        return public.classes or None
    is_pair = isinstance(public, tuple) and len(public) == 2
    return public[1] if is_pair else None


def _model(record: RunRecord, split: SemiPrivateSplit) -> Model:
    """The classifier before which rows become features, as an exported one has them."""
    head: Any = record.classifier
    if isinstance(head, LinearClassifier):
        transform = dataclasses.replace(head.transform, columns=split.features.columns)
        head = dataclasses.replace(head, transform=transform)
    elif split.features.columns is not None:
        raise SettingError("a network behind a map of columns is not applied; leave backbone out.")
    card = {"classes": split.features.classes, "input": input_of(record, split.features)}
    return Model(head, card)


def _of_training_alone(record: RunRecord, account: Account) -> RunRecord:
    """The record, its guarantee saying what all trainings on the rows spent."""
    guarantee = record.guarantee
    line = ALONE.format(account.total(guarantee.delta))
    after = dataclasses.replace(guarantee, assumptions=(*guarantee.assumptions, line))
    return dataclasses.replace(record, guarantee=after)
