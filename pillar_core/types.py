"""The nouns of the library, frozen: budgets, guarantees, data, splits' facts, results,
specifications and records."""

import dataclasses
import enum
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from pillar_core.arrays import Array, Json
from pillar_core.errors import BudgetError, DataError, SettingError, shown
from pillar_core.events import DpEvent
from pillar_core.fingerprint import fingerprint
from pillar_core.memo import Memo
from pillar_core.numerics import number_words, round_up
from pillar_core.params import DELTA, plain_number

Values = Mapping[str, Any]
"""Values by name: of settings, of metrics, of what is known about data, of a sweep's axes."""
Form = dict[str, Any]
"""The plain form of a record, a card, a specification or a grid, as the store, jobs and links hold
it."""

MOST_ROWS = 100
"""Of one person: beyond, ε for a person promises nothing at any useful noise."""


class NeighboringRelation(enum.StrEnum):
    """Which two data sets a guarantee compares; the number of rows is public under both."""

    ADD_OR_REMOVE_ONE = "add_or_remove_one"
    REPLACE_ONE = "replace_one"

    @classmethod
    def of(cls, value: str) -> "NeighboringRelation":
        """The relation named `value`. Raises SettingError for another word."""
        try:
            return cls(value)
        except ValueError:
            raise SettingError(
                f"relation must be one of {', '.join(cls)}; got {value!r}."
            ) from None


class PublicUse(enum.StrEnum):
    """Which public data a method sees."""

    NONE = "none"
    UNLABELLED = "unlabelled"
    LABELLED = "labelled"
    OTHER_LABELS = "labelled, any classes"
    TEXT = "text"


class Provenance(enum.StrEnum):
    """Where a number comes from: the badge of every figure and of every field of a result."""

    PUBLIC = "public only"
    PRIVATE = "DP: spends ε"
    NON_PRIVATE = "non-private diagnostic, do not release"


Diagnostics = Mapping[str, tuple[Any, Provenance]]


@dataclasses.dataclass(frozen=True)
class PrivacyBudget:
    """(ε, δ) under a relation. ε in (0, ∞], δ in (0, 1). Raises BudgetError outside those ranges,
    NaN included."""

    epsilon: float
    delta: float = 1e-5
    relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", plain_number(self.epsilon))
        if (
            not isinstance(self.epsilon, int | float)
            or isinstance(self.epsilon, bool)
            or not self.epsilon > 0
        ):
            raise BudgetError(
                f"epsilon must be above 0 (math.inf for no noise); got {self.epsilon!r}."
            )
        object.__setattr__(self, "delta", DELTA.check(self.delta))
        object.__setattr__(self, "relation", NeighboringRelation.of(self.relation))


@dataclasses.dataclass(frozen=True)
class EpsilonBounds:
    """lower ≤ ε ≤ upper of the laws that bound the releases, and a best estimate; `lower` is 0
    where an accountant gives none.

    `is_bound` is False for approximations (CLT-GDP): their `upper` is not one and never calibrates.
    """

    lower: float
    estimate: float
    upper: float
    is_bound: bool = True

    def __post_init__(self) -> None:
        if not self.lower <= self.estimate <= self.upper:
            raise ValueError(f"bounds out of order: {self.lower}, {self.estimate}, {self.upper}")


@dataclasses.dataclass(frozen=True)
class Unit:
    """What ε protects, in words: one row (`rows_per_person` None), or one person of whom at most so
    many rows are used."""

    rows_per_person: int | None = None

    def __str__(self) -> str:
        """After "a" or "one"."""
        most = self.rows_per_person
        return (
            "row" if most is None else "person" if most == 1 else f"person with up to {most} rows"
        )

    @property
    def definition(self) -> str:
        """What a statement names as protected, in a full phrase."""
        most = self.rows_per_person
        used = "at most 1 is" if most == 1 else f"at most {most} are"
        return (
            "one example (a row)"
            if most is None
            else f"one person, with all of their private examples, of which {used} used"
        )

    @property
    def examples(self) -> str:
        """What neighbouring data sets differ in."""
        return "one example" if self.rows_per_person is None else "all examples of one person"


@dataclasses.dataclass(frozen=True)
class Guarantee:
    """What a run promises: (ε.upper, δ) under `relation`, if every assumption holds.

    `covers_choice` is False where settings were chosen on rows and the choice was not paid for: ε
    covers one run alone; None where that is not known. `chosen_in_sight` is True where settings
    were moved while something that ε does not cover was in sight. `paid_choice`: what was chosen on
    private rows within ε, by name. `event`: what ε counts, as the ledger writes it, where it is at
    hand. `rows_per_person`: neighbours differ in all rows of one person, at most so many; None
    where they differ in one row.
    """

    epsilon: EpsilonBounds
    delta: float
    relation: NeighboringRelation
    accountant: str
    assumptions: tuple[str, ...]
    events: tuple[str, ...]
    covers_choice: bool | None = True
    chosen_in_sight: bool = False
    rows_per_person: int | None = None
    paid_choice: str = ""
    event: DpEvent | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def unit(self) -> Unit:
        """What ε protects."""
        return Unit(self.rows_per_person)

    @property
    def is_private(self) -> bool:
        """Whether any finite ε is promised."""
        return self.epsilon.is_bound and math.isfinite(self.epsilon.upper)

    @property
    def has_releases(self) -> bool:
        """Whether anything of private rows was released: with much noise ε is 0 at δ, too."""
        return bool(self.events)


BY_COIN = "by coin"
"""The draw of test rows by a secret coin of each row or person alone; other draws are class by
class."""


@dataclasses.dataclass(frozen=True, eq=False)
class Persons:
    """The person of each train row: `of` (n,) int64 numbers. At `most` so many rows of one person
    are used. `named`: digests of the names of all who have rows; None where they are not known.

    `most` is declared, never counted: ε of every run on the rows is that of a person with up to so
    many.
    """

    of: Array
    most: int
    named: frozenset[bytes] | None = None

    def __post_init__(self) -> None:
        if (
            not isinstance(self.of, np.ndarray)
            or self.of.ndim != 1
            or self.of.dtype.kind not in "iu"
        ):
            raise DataError(
                f"persons must be an array of one whole number a row; got {shown(self.of)}."
            )
        if type(self.most) is not int or not 1 <= self.most <= MOST_ROWS:
            raise DataError(
                f"rows_per_person must be a whole number from 1 to {MOST_ROWS}; got"
                f" {shown(self.most)}."
            )

    def at(self, rows: Array) -> "Persons":
        """The persons of these train rows."""
        return dataclasses.replace(self, of=self.of[rows])


class _Sides:
    """What images and features have in common: train rows, and test rows where there are any."""

    x_train: Array
    y_train: Array | None
    x_test: Array | None
    y_test: Array | None
    classes: tuple[str, ...]
    persons: Persons | None

    def __post_init__(self) -> None:
        if self.persons is None or self.x_train is None:  # rows that lie elsewhere are none here
            return
        if len(self.persons.of) != len(self.x_train):
            raise DataError(
                f"persons must name the person of each of the {len(self.x_train):,} train rows; got"
                f" {len(self.persons.of):,}."
            )

    @property
    def n_test(self) -> int:
        """How many test rows there are."""
        return 0 if self.x_test is None else len(self.x_test)

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of rows and labels, and of their persons where these are declared."""
        parts = (self.x_train, self.y_train, self.x_test, self.y_test, self.classes)
        persons = () if self.persons is None else (self.persons.of, self.persons.most)
        return fingerprint(*parts, *persons)


@dataclasses.dataclass(frozen=True, eq=False)
class Dataset(_Sides):
    """Train and test rows as loaded: images (n, h, w[, 3]) uint8 or numbers (n, d) float32, labels
    int64 or None.

    `caveats`: what the rows themselves decided of their form, each after "decided"; every guarantee
    on them as private rows names it. `texts`: what counts of the text of each train row and then
    each test row, where texts became numbers. `recipe`: see `FeatureSet`. `cells`: (n,) uint64,
    of a table a hash of each train row as it was read, whatever the recipe.
    """

    how: ClassVar[str] = "pc.load_dataset and pc.load_images give one"
    """For messages, as in the classes below: what it is, or how to get one."""
    name: str
    x_train: Array
    y_train: Array | None
    x_test: Array | None = None
    y_test: Array | None = None
    classes: tuple[str, ...] = ()
    title: str = ""
    synthetic: bool = False
    notes: tuple[str, ...] = ()
    known: Values = dataclasses.field(default_factory=dict)
    version: int = 1
    stored_rows: tuple[str, ...] = ()
    """Keys of the store's arrays that hold these rows decoded: they go when the data set is
    forgotten."""
    persons: Persons | None = None
    caveats: tuple[str, ...] = ()
    test_drawn: bool | str = False
    """Whether the test rows were drawn while reading, because the source named none: as a public
    set, it has them all; or `BY_COIN`."""
    names: tuple[str, ...] | None = None
    """See `FeatureSet`, as for the next two."""
    texts: tuple[str, ...] = ()
    recipe: Values | None = None
    cells: Array | None = None

    def __repr__(self) -> str:
        """Name and shapes: no row, no label."""
        sides = (
            f"train {_about(self.x_train, self.y_train)}; test {_about(self.x_test, self.y_test)}"
        )
        return f"Dataset({self.name!r}: {sides}; {len(self.classes)} classes)"

    @property
    def is_images(self) -> bool:
        """Whether rows are uint8 images."""
        return self.x_train.ndim >= 3

    @cached_property
    def rows_fingerprint(self) -> str:
        """Content hash of the rows alone, whatever their labels."""
        sides = (self.x_train, self.x_test)
        return fingerprint(
            *(x.tolist() if x is not None and x.dtype.hasobject else x for x in sides)
        )


def names_of_text(width: int) -> list[str]:
    """The names of the columns that a text becomes."""
    return [f"text[{place}]" for place in range(width)]


def is_of_text(name: str) -> bool:
    """Whether a column of this name is one that a text became."""
    return name.startswith("text[")


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureSet(_Sides):
    """Frozen features: x (n, d) float32 C-contiguous and finite; y (n,) int64 in 0 … C−1, or None
    for unlabelled rows.

    Build one with `pillar_core.backbones` or `load_features`, which check; this class only holds.
    `images` keeps the uint8 originals where there are any (deep methods and thumbnails need them).
    `caveats`, `texts`: see `Dataset`. `apart_from`: fingerprints of private features of whose
    persons, compared by name, none has one of these (public) rows. `names`: those of the columns,
    in order; None for images and arrays without names. `recipe`: how the table that the rows come
    from became numbers, as `data.recipes` writes it. `made_by`: see `backbones.cards.identity_of`.
    `test_drawn`, `cells`: see `Dataset`. `given`: these features before a map of columns,
    `columns`, which `backbone` names; None where there is none, or no split has fitted it so far.
    None of these is part of the fingerprint.
    """

    how: ClassVar[str] = "pc.load_features gives one"
    x_train: Array
    y_train: Array | None = None
    x_test: Array | None = None
    y_test: Array | None = None
    classes: tuple[str, ...] = ()
    name: str = "features"
    backbone: str = "identity"
    synthetic: bool = False
    notes: tuple[str, ...] = ()
    images: Dataset | None = None
    known: Values = dataclasses.field(default_factory=dict)
    persons: Persons | None = None
    caveats: tuple[str, ...] = ()
    apart_from: tuple[str, ...] = ()
    names: tuple[str, ...] | None = None
    recipe: Values | None = None
    made_by: Values | None = None
    test_drawn: bool | str = False
    texts: tuple[str, ...] = ()
    given: "FeatureSet | None" = None
    columns: Any = None
    cells: Array | None = None

    def __repr__(self) -> str:
        """Name, backbone and shapes: no row, no label."""
        sides = (
            f"train {_about(self.x_train, self.y_train)}; test {_about(self.x_test, self.y_test)}"
        )
        return (
            f"FeatureSet({self.name!r} through {self.backbone}: {sides}; {self.n_classes} classes)"
        )

    @property
    def d(self) -> int:
        """Feature dimension."""
        return int(self.x_train.shape[1])

    @property
    def n_classes(self) -> int:
        """C, from the declared classes."""
        return len(self.classes)

    @property
    def pixel_shape(self) -> tuple[int, ...] | None:
        """(h, w) or (h, w, 3) where the rows are the images' own pixels in [0, 1]; None for any
        other features."""
        if self.images is None or self.backbone != "raw_pixels":
            return None
        return tuple(int(size) for size in self.images.x_train.shape[1:])

    @property
    def text_columns(self) -> slice | None:
        """The columns that a text became."""
        places = [place for place, name in enumerate(self.names or ()) if is_of_text(name)]
        return slice(places[0], places[-1] + 1) if places else None

    @property
    def text_block(self) -> slice | None:
        """The columns that a text became, where other columns stand beside them."""
        columns = self.text_columns
        return columns if columns and 1 < columns.stop - columns.start < self.d else None


@dataclasses.dataclass(frozen=True)
class PublicFacts:
    """What a cost may depend on: all of it public. n_private is nominal: one example more or less
    leaves it."""

    how: ClassVar[str] = "split.facts"
    n_private: int
    n_public: int
    d: int
    n_classes: int
    extra: Mapping[str, int | float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_private < 1 or self.d < 1 or self.n_classes < 2 or self.n_public < 0:
            raise DataError(
                f"facts need at least one private row, one feature and two classes; got {self}."
            )


class Progress(Protocol):
    """A report of running work: steps done, steps in total, and a few words."""

    def __call__(self, step: int, total: int, message: str = "", /) -> None: ...


def ignore_progress(step: int, total: int, message: str = "") -> None:
    """Takes reports of progress and shows none."""


StopRequested = Callable[[], bool]
"""True once the work should stop; it then raises `errors.Cancelled`."""


@runtime_checkable
class Classifier(Protocol):
    """What training returns: scores for rows in the original feature space."""

    def scores(self, x: Array) -> Array:
        """(n, C) float32 scores, higher for likelier classes, from x (n, d)."""
        ...

    def predict(self, x: Array) -> Array:
        """(n,) int64 labels from x (n, d)."""
        ...


@dataclasses.dataclass(frozen=True)
class TrainResult:
    """A classifier, and facts about its training by provenance.

    `diagnostics` maps a name to (value, provenance); NON_PRIVATE values never enter a release.
    """

    classifier: Classifier
    diagnostics: Diagnostics = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class RunSpec:
    """The specification of one run: the learner, the budget, settings that no rule may choose, and
    in a sweep the rows.

    epsilon: None where the noise itself is set, and for methods that spend nothing. seed: None for
    a release. data, split: the axes of a sweep that name the rows and say which are public; empty
    where a split is at hand. metric: the number that is wanted; accuracy alone changes a run.
    """

    method: str
    epsilon: float | None = None
    delta: float = 1e-5
    relation: str = "add_or_remove_one"
    accountant: str = "auto"
    seed: int | None = 0
    preset: str | None = None
    settings: Values = dataclasses.field(default_factory=dict)
    data: Values = dataclasses.field(default_factory=dict)
    split: Values = dataclasses.field(default_factory=dict)
    metric: str | None = None

    @classmethod
    def of(cls, method: str, **arguments: Any) -> "RunSpec":
        """The specification from `run`'s keyword arguments; those that are no field are settings of
        the method."""
        own = ("epsilon", "delta", "relation", "accountant", "seed", "preset", "metric")
        fields = {name: arguments.pop(name) for name in own if name in arguments}
        return cls(method, **fields, settings=arguments)

    @property
    def form(self) -> dict[str, Json]:
        """The plain mapping that records, jobs and cache keys hold; `RunSpec(**form)` reads it."""
        form = dict(vars(self))
        return form if self.follows_shares else {n: form[n] for n in form if n != "metric"}

    @property
    def follows_shares(self) -> bool:
        """Whether classes shall be answered as often as public labels have them."""
        return self.metric == "accuracy"


@dataclasses.dataclass(frozen=True)
class RunRecord:
    """One finished run. `metrics` are fractions on test rows, a non-private release of them; None
    without test rows. `device`: where its heads or networks were trained."""

    how: ClassVar[str] = 'record = pc.run("pillar", split, epsilon=2)'
    method: str
    settings: Values
    guarantee: Guarantee
    accuracy: float | None
    metrics: Values
    seconds: float
    seed: int | None
    facts: PublicFacts
    data: str
    public_use: PublicUse
    notes: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    device: str = "cpu"
    diagnostics: Diagnostics = dataclasses.field(default_factory=dict)
    classifier: Classifier | None = dataclasses.field(default=None, compare=False)

    def __repr__(self) -> str:
        """Specification, guarantee and accuracy: no diagnostic, no weight."""
        accuracy = "none" if self.accuracy is None else f"{self.accuracy:.3f} (non-private)"
        guarantee = (
            f"ε ≤ {round_up(self.guarantee.epsilon.upper)} at δ ="
            f" {number_words(self.guarantee.delta)}"
        )
        rows = (
            f"{self.facts.n_private} private and {self.facts.n_public} public rows of {self.data!r}"
        )
        return (
            f"RunRecord({self.method} on {rows}: {guarantee}, accuracy {accuracy}, seed"
            f" {self.seed})"
        )


@dataclasses.dataclass(frozen=True, eq=False)
class SemiPrivateSplit:
    """One data set's rows by role. ε protects the private rows alone; validation and test rows are
    not protected.

    `private` and `validation` index `features.x_train`. `public_x` (m, d) float32 and `public_y`
    (m,) int64 or None are the public rows, carved from the same train rows or brought from
    elsewhere; m = 0 where there are none. Public rows whose classes are others have `public_y` None
    and their labels (m,) int64 in `other_y`, numbered in `other_classes`. `memo` keeps what public
    rows decide (eigenbasis, projected rows) for as long as the split lives. `rows_per_person`: no
    person has more private rows than this; None where persons were not declared. `is_apart`: their
    names were compared with those of the public set's persons. `public_name`: of the public set,
    where it is another one. `public_given`: the public rows
    before a map of columns. `public_texts`: how the text of each public row begins, where texts
    became numbers.
    """

    how: ClassVar[str] = (
        "which says what rows are private and public: split = pc.split(data, public_fraction=0.1)"
    )
    features: FeatureSet
    private: Array
    validation: Array
    public_x: Array
    public_y: Array | None
    settings: Values
    text_embeddings: Array | None = None
    notes: tuple[str, ...] = ()
    memo: Memo = dataclasses.field(default_factory=Memo)
    other_y: Array | None = None
    other_classes: tuple[str, ...] = ()
    rows_per_person: int | None = None
    is_apart: bool = False
    public_name: str = ""
    public_texts: tuple[str, ...] = ()
    public_given: Array | None = None

    def __repr__(self) -> str:
        """The features and how many rows have each role: no row, no label."""
        roles = (
            f"{len(self.private)} private, {len(self.public_x)} public and {len(self.validation)}"
            " validation rows"
        )
        return f"SemiPrivateSplit({roles} of {self.features!r})"

    @property
    def facts(self) -> PublicFacts:
        """The public facts of this split; n_private is its nominal size."""
        return PublicFacts(
            len(self.private), len(self.public_x), self.features.d, self.features.n_classes
        )

    @property
    def carved(self) -> Array:
        """(m,) int64 places of the public rows among the train rows; none where they came from
        elsewhere or persons were declared."""
        rest = np.setdiff1d(
            np.arange(len(self.features.x_train)), np.concatenate([self.private, self.validation])
        )
        return (
            rest
            if len(rest) == len(self.public_x) and self.settings["public"] is None
            else rest[:0]
        )

    @property
    def has_public_labels(self) -> bool:
        """Whether labelled methods can use the public rows."""
        return self.public_y is not None and len(self.public_x) > 0

    @cached_property
    def fingerprint(self) -> str:
        """Content hash of the features and of how they were split."""
        extra: tuple[object, ...] = (
            () if self.other_y is None else (self.other_y, self.other_classes)
        )
        extra += () if self.rows_per_person is None else (self.rows_per_person,)
        parts = (self.private, self.validation, self.public_x, self.public_y, self.text_embeddings)
        return fingerprint(self.features.fingerprint, *parts, *extra)


def _about(x: Array | None, y: Array | None) -> str:
    """Shape, type and whether there are labels."""
    return (
        "none" if x is None else f"{x.shape} {x.dtype}, {'unlabelled' if y is None else 'labelled'}"
    )
