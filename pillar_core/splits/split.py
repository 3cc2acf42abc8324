"""Train rows → public, validation and private rows, by one seeded stratified draw; of private rows,
fewer of each class to the rarest."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pillar_core import checks, rng
from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.grouping import by_label
from pillar_core.memo import Memo
from pillar_core.types import FeatureSet, Persons, SemiPrivateSplit


def split_features(
    features: FeatureSet,
    *,
    public_fraction: float | None = None,
    public_per_class: int | None = None,
    public: FeatureSet | None = None,
    validation_fraction: float = 0.0,
    text_embeddings: Array | None = None,
    persons: Persons | None = None,
    rows_per_person: int | None = None,
    seed: int = 0,
) -> SemiPrivateSplit:
    """The split of `features` by at most one of three sources of public rows; none leaves every
    train row private.

    public_fraction: in (0, 1), of the train rows, stratified, at least one row a class.
    public_per_class: exactly that many. public: another set's train rows. Validation rows are
    carved from the rest. persons: whose the train rows are (default: as the features declare). A
    person is public, validation or private as a whole, drawn and counted by their first row; of
    each private person the first `rows_per_person` rows (default: as many as persons declare) are
    kept and the others used nowhere.

    Raises SettingError: more than one source, a fraction out of range, or rows_per_person without
    persons or above the declared bound. DataError: too few rows of a class, another dimension,
    nothing left private.
    """
    chosen = {
        "public_fraction": public_fraction,
        "public_per_class": public_per_class,
        "public": public,
    }
    sources = [name for name, value in chosen.items() if value is not None]
    if len(sources) > 1:
        raise SettingError(
            "give one of public_fraction, public_per_class and public; got"
            f" {' and '.join(sources)}."
        )
    if not 0 <= validation_fraction < 1:
        raise SettingError(f"validation_fraction must be in [0, 1); got {validation_fraction!r}.")
    is_given, persons = persons is not None, persons or features.persons
    if persons is None and rows_per_person is not None:
        raise SettingError(
            f"rows_per_person is {rows_per_person} and no row has a person: pass persons, or leave"
            " it out."
        )
    most = None if persons is None else rows_per_person or persons.most
    if persons is not None and most is not None and most > persons.most:
        raise SettingError(
            f"rows_per_person must be at most {persons.most}, as the data declare; got {most}. More"
            " are declared where a table is read."
        ).naming(rows_per_person=())
    generator = rng.stream(seed, "split")
    order = generator.permutation(len(features.x_train))
    first, place = _by_person(persons, len(order))
    order = order[place[order] == 0]
    carved = _carve(features, order, public_fraction, public_per_class)
    is_left = np.ones(len(features.x_train), dtype=bool)
    is_left[carved] = False
    rest = order[is_left[order]]
    n_validation = round(validation_fraction * len(rest))
    validation, private = np.sort(rest[:n_validation]), np.sort(rest[n_validation:])
    if most is not None:
        carved, validation = (np.flatnonzero(np.isin(first, rows)) for rows in (carved, validation))
        private = np.flatnonzero(np.isin(first, private) & (place < most))
    if not len(private):
        raise DataError(
            "no row is left private; lower public_fraction, public_per_class or"
            " validation_fraction."
        )
    settings = chosen | {"public": None, "validation_fraction": validation_fraction, "seed": seed}
    parts = SemiPrivateSplit(
        features,
        private,
        validation,
        features.x_train[carved],
        None if features.y_train is None else features.y_train[carved],
        settings,
        None if text_embeddings is None else _checked_text(text_embeddings, features),
        rows_per_person=most,
        public_texts=tuple(features.texts[row] for row in carved if features.texts),
    )
    if public is None:
        return parts
    parts = beside(parts, public)
    return dataclasses.replace(parts, is_apart=False) if is_given else parts


def beside(split: SemiPrivateSplit, public: FeatureSet | None) -> SemiPrivateSplit:
    """The private and validation rows of a split with another set's train rows as the public ones,
    or with none.

    Raises DataError: another dimension.
    """
    features = split.features
    drawn = {
        "public_fraction": None,
        "public_per_class": None,
        "public": None if public is None else public.fingerprint,
    }
    settings = {**split.settings, **drawn}
    if public is None:
        labels = None if features.y_train is None else features.y_train[:0]
        empty = dataclasses.replace(
            split, public_x=features.x_train[:0], public_y=labels, public_name="", public_texts=()
        )
        return dataclasses.replace(
            empty, settings=settings, memo=Memo(), other_y=None, other_classes=(), is_apart=False
        )
    public_y, notes = _public_labels(features, public)
    is_other = public_y is None and public.y_train is not None
    return dataclasses.replace(
        split,
        public_x=public.x_train,
        public_y=public_y,
        settings=settings,
        notes=split.notes + notes,
        memo=Memo(),
        other_y=public.y_train if is_other else None,
        other_classes=public.classes if is_other else (),
        is_apart=features.fingerprint in public.apart_from,
        public_name=public.name,
        public_texts=public.texts[: len(public.x_train)],
    )


def _by_person(persons: Persons | None, n_rows: int) -> tuple[Array, Array]:
    """(n,) the first row of each row's person, and (n,) how many rows of that person come before
    it."""
    if persons is None:
        return np.arange(n_rows), np.zeros(n_rows, dtype=np.int64)
    _, first, number = np.unique(persons.of, return_index=True, return_inverse=True)
    by_person = np.argsort(number, kind="stable")
    place = np.empty(n_rows, dtype=np.int64)
    place[by_person] = np.arange(n_rows) - np.searchsorted(number[by_person], number[by_person])
    return first[number], place


def _carve(
    features: FeatureSet, order: Array, fraction: float | None, per_class: int | None
) -> Array:
    """Sorted indices of the rows that become public."""
    if fraction is None and per_class is None:
        return np.empty(0, dtype=np.int64)
    if fraction is not None and not 0 < fraction < 1:
        raise SettingError(f"public_fraction must be in (0, 1); got {fraction!r}.")
    if per_class is not None and (
        isinstance(per_class, bool) or per_class != int(per_class) or per_class < 1
    ):
        raise SettingError(
            f"public_per_class must be a whole number of at least 1; got {per_class!r}."
        )
    labels = (
        features.y_train
        if features.y_train is not None
        else np.zeros(len(features.x_train), dtype=np.int64)
    )
    if per_class is not None and features.y_train is None:
        raise DataError(
            "public_per_class needs labels; these train rows have none. Use public_fraction."
        )
    picked = []
    for label, places in by_label(labels[order]).items():
        rows = order[places]
        wanted = (
            per_class if per_class is not None else max(1, round((fraction or 0.0) * len(rows)))
        )
        if wanted > len(rows):
            raise DataError(
                f"public_per_class is {wanted} and class {features.classes[label]!r} has"
                f" {len(rows)} rows."
            )
        picked.append(rows[:wanted])
    return np.sort(np.concatenate(picked))


def unused_labels(public: Sequence[str], private: Sequence[str]) -> str:
    """That labels of other classes are not used, or "" for the private ones in any order."""
    if set(public) == set(private):
        return ""
    theirs, ours = (", ".join(names[:4]) + " …" * (len(names) > 4) for names in (public, private))
    classes = f"its classes are {theirs}, and the private ones {ours}"
    return (
        f"The public set's labels are not used: {classes}. If they mean the same, name them alike;"
        " else they serve pre-training alone."
    )


def _public_labels(
    features: FeatureSet, public: FeatureSet
) -> tuple[Array | None, tuple[str, ...]]:
    if public.d != features.d:
        raise DataError(
            f"public rows have {public.d} features and private rows {features.d}; extract both with"
            " one backbone."
        )
    if public.y_train is None:
        return None, ("The public rows have no labels: unlabelled methods only.",)
    if set(public.classes) != set(features.classes):
        return None, (unused_labels(public.classes, features.classes),)
    codes = {name: code for code, name in enumerate(features.classes)}
    return np.array([codes[name] for name in public.classes])[public.y_train], ()


def _checked_text(text_embeddings: Array, features: FeatureSet) -> Array:
    text = checks.arrays("c d", text_embeddings=text_embeddings)[0].astype(np.float32)
    if text.shape != (features.n_classes, features.d):
        raise DataError(
            f"text_embeddings must have shape ({features.n_classes}, {features.d}), one row a"
            f" class; got {text.shape}."
        )
    if not np.isfinite(text).all():
        raise DataError("text_embeddings hold NaN or infinite values.")
    return text


def by_size(n_classes: int) -> Array:
    """(C,) the classes from the one that keeps all its rows to the rarest: one drawn order, the
    same for every seed of a comparison."""
    return rng.stream(0, "imbalance").permutation(n_classes)


def rarest(n_classes: int) -> Array:
    """The rarest quarter of the classes, at least one."""
    order = by_size(n_classes)
    return order[-max(1, round(0.25 * n_classes)) :]


def thin_classes(split: SemiPrivateSplit, ratio: float, *, seed: int) -> SemiPrivateSplit:
    """The split whose class of rank r keeps n·ratio^(−r/(C − 1)) of its n private rows; public and
    test rows stay.

    Raises SettingError: a ratio below 1. DataError: rows without labels.
    """
    labels, count = split.features.y_train, split.features.n_classes
    if not ratio >= 1:
        raise SettingError(f"imbalance must be at least 1; got {ratio!r}.")
    if labels is None:
        raise DataError("imbalance needs labels; these train rows have none.")
    shuffled = rng.stream(seed, "imbalance rows").permutation(split.private)
    parts, places = [], by_label(labels[shuffled])
    for rank, label in enumerate(by_size(count)):
        rows = shuffled[places.get(int(label), [])]
        parts.append(rows[: int(np.ceil(len(rows) * ratio ** (-rank / max(count - 1, 1))))])
    private = np.sort(np.concatenate(parts))
    return dataclasses.replace(
        split, private=private, settings={**split.settings, "imbalance": ratio}, memo=Memo()
    )
