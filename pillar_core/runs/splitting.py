"""Data by name, and the public face's `split`: any data set or feature set into rows by role,
duplicates refused."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from pillar_core import checks, splits, texts
from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Layout, fit_of
from pillar_core.data import (
    DATASETS,
    encoding,
    matching,
    raw,
    recipes,
    uploads,
)
from pillar_core.data.encoding import misfits
from pillar_core.data.images.decoding import resize
from pillar_core.data.partition import without_drawn_test
from pillar_core.data.persons import are_apart, persons_of
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.memo import Memo
from pillar_core.params import COUNT, SEED
from pillar_core.runs.loading import load_features
from pillar_core.types import MOST_ROWS, Dataset, FeatureSet, SemiPrivateSplit, Values

SENT: dict[str, FeatureSet] = {}
"""Features by the fingerprint of name, backbone and settings that another machine sent to this
process for its present task."""
_READ: dict[str, tuple[str, str]] = {}
"""State of the files and content of the rows, by name, backbone and settings, of what this process
read last."""
BACKBONE = "efficientnet_lite0"
"""The network that comes along."""
MOST_PIXELS = 3 * 64 * 64
"""Numbers of an image that somebody brings, beyond which all of them go through it: on the pixels
little is learnt, slowly."""


def split(
    data: Any,
    *,
    public_fraction: float | None = None,
    public_per_class: int | None = None,
    public: Any = None,
    validation_fraction: float = 0.0,
    text_embeddings: Array | None = None,
    persons: Array | Sequence[str] | None = None,
    rows_per_person: int = 1,
    allow_overlap: bool = False,
    seed: int = 0,
) -> SemiPrivateSplit:
    """`data` with its train rows told apart into public, validation and private ones.

    At most one of public_fraction (of train, stratified), public_per_class (exactly that many) and
    public (another set, all its train rows, and test rows that were only drawn from them); without
    any, methods that need public data say so. `data` and `public` are what `load_features` takes; a
    public table becomes numbers by the private table's recipe, and columns with names are matched
    by them, whatever their order. public="made_up" draws 1,000 unlabelled rows from the ranges and
    categories that the private table's recipe declares. A Dataset of images is taken as raw pixels;
    public images of another size or colour are brought to that of the private ones, and the notes
    say so.

    persons: the person of each train row, where one may have several (default: as the data
    declare). Each is then public, validation or private as a whole, at most `rows_per_person` of
    their private rows are kept (the first ones; where the data declare persons, 1 keeps as many as
    they declare), and ε of every run on the split is that of a person.

    Raises SettingError, DataError: see `split_features`; also where a public row that is not
    boolean is, bit by bit, a private one: of rows of at most 32 numbers, more than chance explains
    (`matching.are_by_chance`), or more than one in twenty of those drawn from `data` itself.

    >>> split = pc.split(pc.load_dataset("digits"), public_fraction=0.1, seed=1)
    >>> len(split.private), len(split.public_x)
    (1295, 143)
    """
    checks.within(seed=(seed, SEED), public_per_class=(public_per_class, COUNT))
    private = as_given(
        load_features(data, public=public if raw.is_table(data) and raw.is_table(public) else None)
    )
    if not 1 <= rows_per_person <= MOST_ROWS:
        raise SettingError(
            f"rows_per_person must be from 1 to {MOST_ROWS}; got {rows_per_person!r}."
        )
    try:
        public_rows, changes = (
            (None, ())
            if public is None
            else match_private(public_features(public, private), private)
        )
    except DataError as error:
        lines = (line if "public" in line else f"public rows: {line}" for line in error.problems)
        raise DataError(*lines).naming(**error.arguments) from error
    parts = splits.split_features(
        private,
        public_fraction=public_fraction,
        public_per_class=public_per_class,
        public=public_rows,
        validation_fraction=validation_fraction,
        text_embeddings=text_embeddings,
        persons=(
            None
            if persons is None
            else persons_of(persons, rows_per_person, n_rows=len(private.x_train))
        ),
        rows_per_person=None if rows_per_person == 1 else rows_per_person,
        seed=seed,
    )
    parts = dataclasses.replace(
        parts, notes=parts.notes + changes + (() if allow_overlap else _overlap(parts))
    )
    return mapped(parts, private.backbone)


def beside(split: SemiPrivateSplit, public: FeatureSet) -> SemiPrivateSplit:
    """The private rows of a split with another set's rows as the public ones, in place of its own.

    Raises DataError: columns that the public rows lack, or rows that are private ones, as `split`.
    """
    backbone, split = split.features.backbone, unmapped(split)
    rows, changes = match_private(public, split.features)
    parts = splits.beside(split, rows)
    parts = dataclasses.replace(parts, notes=parts.notes + changes + _overlap(parts))
    return mapped(parts, backbone)


def as_given(features: FeatureSet) -> FeatureSet:
    """The features before the map of columns that a split fitted; the next split fits it anew."""
    return (
        features
        if features.given is None
        else dataclasses.replace(features.given, backbone=features.backbone)
    )


def unmapped(split: SemiPrivateSplit) -> SemiPrivateSplit:
    """The split with its columns as given, whatever map they went through."""
    if split.features.given is None or split.public_given is None:
        return split
    return dataclasses.replace(
        split,
        features=split.features.given,
        public_x=split.public_given,
        public_given=None,
        memo=Memo(),
    )


def mapped(
    split: SemiPrivateSplit, backbone: str, *, like: FeatureSet | None = None
) -> SemiPrivateSplit:
    """The split, its columns as given, through a map of columns by this name, which its public rows
    or the declared ranges fit; the split itself for another backbone.

    like: features whose recipe says what the columns are, where the split's own have none.

    Guarantee: the map depends on no private, validation or test row, and takes each row by itself.
    Raises DataError: no column of numbers, too many, or neither public rows nor ranges.
    SettingError: a split with embeddings of class names, which lie among the columns as given.
    """
    fit = fit_of(backbone)
    if fit is None:
        return split
    if split.text_embeddings is not None:
        raise SettingError(
            f"embeddings of class names need columns as given; leave out the backbone {backbone}."
        )
    features, public = split.features, split.public_x
    layout = layout_of(like or features)
    seen = public[:0] if split.public_name == raw.MADE_UP_NAME else public  # drawn from the ranges
    columns = fit(seen, layout)
    origin = f"{len(seen):,} public rows" if len(seen) else "declared ranges"
    note = (
        f"{BACKBONES[backbone].title}: columns of numbers, {len(layout.numbers):,} in all, became"
        f" {columns.width - int(layout.is_kept.sum()):,} by a map fitted on {origin} alone."
    )
    x_test = features.x_test
    through = dataclasses.replace(
        features,
        x_train=columns(features.x_train),
        x_test=None if x_test is None else columns(x_test),
        backbone=backbone,
        names=columns.names(features.names),
        given=dataclasses.replace(features, backbone="identity"),
        columns=columns,
    )
    return dataclasses.replace(
        split,
        features=through,
        public_x=columns(public),
        public_given=public,
        notes=(*split.notes, note),
        memo=Memo(),
    )


CROWDED = 100
"""Times its low end that the high end of a range is from which numbers crowd at the low one."""


def layout_of(features: FeatureSet) -> Layout:
    """What the recipe of a table says of its columns of numbers; without one, all are numbers of
    any size."""
    is_kept, is_ranged, crowds_low = (np.zeros(features.d, dtype=bool) for _ in range(3))
    recipe = None if features.recipe is None else recipes.recipe_of(features.recipe)
    if recipe is None or encoding.width(recipe) != features.d:
        return Layout(is_kept, is_ranged, crowds_low)
    stop = 0
    for column in recipe.columns:
        start = stop
        stop += encoding.width(recipe, of=column)
        is_kept[start:stop] = column.kind == encoding.TEXT or bool(column.categories)
        is_ranged[start:stop] = column.range is not None
        low, high = column.range or (-1.0, 0.0)
        crowds_low[start:stop] = 0 <= low <= high / CROWDED
    return Layout(is_kept, is_ranged, crowds_low)


def load_named_features(
    name: str, backbone: str | None = None, settings: Values | None = None
) -> FeatureSet:
    """Features by a name that a link or a grid can carry: a data set through a backbone, or stored
    features as they are.

    Raises UnknownNameError, StoreError, DataError, SettingError.
    """
    sent = SENT.get(fingerprint(name, backbone, dict(settings or {})))
    if sent is not None:
        return sent
    before = state(name, settings)
    return remember_features(
        uploads.load_rows(name, settings), name, backbone, settings, state_=before
    )


def default_backbone(name: str, rows: Dataset | FeatureSet | None = None) -> str | None:
    """What images go through where no backbone is named: that of the set's card, or BACKBONE for
    large ones that were brought.

    None: rows are taken as they are. rows: those behind a name that is a file's.
    """
    if name in DATASETS:
        return DATASETS[name].backbone
    brought = uploads.card(name)
    shape = (
        rows.x_train.shape[1:] if rows is not None else brought.shape if brought is not None else ()
    )
    return BACKBONE if len(shape) > 1 and math.prod(shape) > MOST_PIXELS else None


def lies_in_files(name: object) -> TypeGuard[str]:
    """Whether the rows behind a name lie in files of this machine, which may become others under
    it."""
    card = DATASETS.find(name)
    return card is not None and card.needs_files


def state(name: object, settings: Values | None = None) -> str:
    """Text that changes when the files of a data set do; "" for one that has none here."""
    return DATASETS[name].state((settings or {}).get("root")) if lies_in_files(name) else ""


def states(*names: object) -> list[str]:
    """The states of those of the names behind which rows lie in files."""
    return [state(name) for name in names if lies_in_files(name)]


def remember_features(
    data: FeatureSet | Dataset,
    name: str,
    backbone: str | None,
    settings: Values | None = None,
    *,
    state_: str,
) -> FeatureSet:
    """The features of the data, whose content is remembered as what `name` stood for when its files
    had this state."""
    is_mapped = fit_of(backbone) is not None or texts.is_encoder(backbone)
    if isinstance(data, FeatureSet) and not is_mapped:
        features = data
    else:
        features = load_features(data, backbone)
    if state_:
        _READ[fingerprint(name, backbone or default_backbone(name), dict(settings or {}))] = (
            state_,
            features.fingerprint,
        )
    return features


def content(name: str, backbone: str | None, settings: Values | None = None) -> str:
    """The fingerprint of rows in files as this process last read them; "" where it has not, or the
    files are others now."""
    read = _READ.get(fingerprint(name, backbone or default_backbone(name), dict(settings or {})))
    return read[1] if read is not None and read[0] == state(name, settings) else ""


def is_known(name: str) -> bool:
    """Whether `load_named_features` can find this name here."""
    return name in DATASETS or uploads.card(name) is not None


def public_features(source: Any, private: FeatureSet, backbone: str | None = None) -> FeatureSet:
    """The features of public rows beside private ones: a table through the private table's recipe,
    "made_up" rows from what that declares, a set by its name, anything else as `load_features`.

    Raises as `load_features`; a table that lacks columns of the private one.
    """
    if isinstance(source, str) and source == raw.MADE_UP:
        return raw.made_up(private)
    if raw.is_table(source) and private.recipe is not None:
        if not texts.is_encoder(private.backbone):
            return raw.read_public(source, private)
        as_read = raw.read_public(source, private, encoder=texts.IDENTITY)
        return load_features(as_read, private.backbone)
    if isinstance(source, str) and is_known(source):
        return load_named_features(source, backbone)
    return load_features(source, backbone)


def named(sets: Mapping[str, Any] | Sequence[str]) -> Mapping[str, Any]:
    """Public sets by name, where a list of names or files says them."""
    return sets if isinstance(sets, Mapping) else {name: name for name in sets}


def match_private(public: FeatureSet, private: FeatureSet) -> tuple[FeatureSet, tuple[str, ...]]:
    """The public features as the private rows' own: with test rows that were drawn from them,
    columns matched by name, and pixels of images of the private ones' size; and notes where that
    changed them.

    Raises DataError: columns that the public rows lack, by name; persons who have rows in both.
    """
    if are_apart(private, public.persons.named if public.persons else None):
        apart_from = (*public.apart_from, private.fingerprint)
        public = dataclasses.replace(public, apart_from=apart_from)
    public, notes = matching.by_name(without_drawn_test(public), private)
    notes = (*misfits(public.notes), *notes)
    if (
        private.pixel_shape is None
        or public.images is None
        or public.pixel_shape in (None, private.pixel_shape)
    ):
        return public, notes
    images, note = resize(public.images, private.pixel_shape)
    return load_features(images), (*notes, note)


def _overlap(parts: SemiPrivateSplit) -> tuple[str, ...]:
    """A note where public rows of few numbers, or of texts, equal private ones by chance.

    Raises DataError: more rows are equal than chance explains, or longer ones.
    """
    if (
        not len(parts.public_x)
        or parts.public_name == raw.MADE_UP_NAME
        or np.isin(parts.public_x, (0, 1)).all()
    ):
        return ()  # boolean rows repeat by nature
    are_texts = bool(parts.features.texts)
    shared = matching.shared_rows(
        parts.features.x_train,
        parts.public_x,
        rows=parts.private,
        are_texts=are_texts,
        is_one_table=not parts.public_name,
    )
    if shared is None:
        return ()
    if shared.is_chance:
        what = "texts of the same words" if are_texts else "rows of few numbers"
        reason = (
            f"as {what} do by chance. If they are the same people, ε is not theirs: remove them"
            " from the public set."
        )
        return (f"{shared} equal private ones, {reason}",)
    raise DataError(
        f"{shared} are, bit by bit, private rows (train rows {shared.first}), more than chance"
        " explains. Remove them from the public set, or copies from the file where a share of it"
        " is public, or allow the overlap to study them all the same."
    ).naming(allow_overlap=())
