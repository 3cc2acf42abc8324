"""From whatever the user has to a feature set: files are read by `data`, images go through
`features`."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core import checks, data, texts
from pillar_core.arrays import Array
from pillar_core.backbones import extract
from pillar_core.backbones.cards import fit_of, identity_of
from pillar_core.backbones.names import address
from pillar_core.data import encoding, recipes
from pillar_core.data.progress import TEXTS, progress_of
from pillar_core.data.raw import Roles
from pillar_core.errors import DataError, SettingError, StoreError
from pillar_core.params import COUNT
from pillar_core.types import (
    Dataset,
    FeatureSet,
    Progress,
    StopRequested,
    Values,
    names_of_text,
)


def load_features(
    source: Any,
    backbone: str | Array | Sequence[Any] | None = None,
    *,
    weights: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
    label: str | None = None,
    person: str | None = None,
    leave_out: Sequence[str] = (),
    keys: tuple[str, str | None] | None = None,
    recipe: str | Path | Values | None = None,
    public: Any = None,
    text: str | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    rows_per_person: int | None = None,
) -> FeatureSet:
    """The feature set of a file, a folder or zip of images, or a dataset, checked.

    A source without test rows of its own, but with labels, gets a stratified fifth of its rows as
    such, the same every time.

    Args:
        source: npz (x_train, y_train, x_test, y_test, classes) or table of features; npz, folder or
        zip of images; a DataFrame;
            a pair (rows, labels) of arrays, texts or .npy files; a list of texts; a Bunch,
            TensorDataset or data set of the library datasets; or a dataset.
            A feature set comes back as it is.
        backbone: a key of `BACKBONES`; None takes raw_pixels for images and identity for numbers.
        Of numbers also a map of columns: ramps, bins or fourier, which `split` fits on the public
        rows.
        What a network makes is kept
            in the cache, and extracted only where it is not there. In its place,
            load_features(rows, labels) is the pair (rows, labels).
        weights: a local file for backbones that have weights.
        device: auto, cpu, cuda or mps.
        batch_size: images at a time.
        label, person, leave_out: columns of a table: what is predicted (default: the one named so,
        or the only one of words), whose the
            rows are (the first of each person counts, or as many as `rows_per_person` or the recipe
            says), and what is not used.
        keys: the names of rows and labels in a npz; None for no labels.
        recipe: a file or mapping that says how a table with words and gaps becomes numbers (`python
        -m pillar_core recipe` writes it). public: a table whose rows say that instead. Persons who
        have rows there lose theirs here. text: the column of a table whose texts become numbers,
        each by itself (default: the one that alone can be it, where nothing else
            is to learn from or `backbone` names an encoder of texts); a list of texts, or a pair
            (texts, labels), needs no name.
        ranges: (low, high) of columns of numbers of a table, as anybody may know them, in their
            unit: numbers outside count as the nearest end; a column that `public` does not fit
            is left out, with a note.

    Raises DataError: a file or rows that cannot be used, every reason with row numbers; or weights
    of another network. SettingError: a backbone for what is features already, or a device, batch
    size or weights out of range. UnknownNameError: no such backbone. StoreError: a disk that
    refuses; what was extracted is kept.

    >>> table = pd.DataFrame({"height": [1.6, 1.8] * 5, "label": ["a", "b"] * 5})
    >>> rows = pc.load_features(table)
    >>> rows.names, rows.classes, len(rows.x_train), len(rows.x_test)
    (('height',), ('a', 'b'), 8, 2)
    """
    if backbone is not None and not isinstance(backbone, str):
        source, backbone = (source, backbone), None
    checks.within(batch_size=(batch_size, COUNT), rows_per_person=(rows_per_person, COUNT))
    checks.one_of(("auto", "cpu", "cuda", "mps"), device=device)
    encoder = str(backbone) if texts.is_encoder(backbone) else None
    most = None if rows_per_person is None else int(rows_per_person)
    roles = Roles(label, person, tuple(leave_out), recipe, most, text, encoder, ranges or {}, keys)
    rows = data.load(source, roles, () if public is None else (public,))
    if most is not None and (rows.persons is None or rows.persons.most != most):
        raise SettingError(
            f"rows_per_person goes with a table whose persons a column names; got {most}."
        ).naming(person=(), recipe=())
    return through_backbone(rows, backbone, weights=weights, device=device, batch_size=batch_size)


def through_backbone(
    rows: Dataset | FeatureSet,
    backbone: str | None = None,
    *,
    weights: str | Path | None = None,
    device: str = "auto",
    batch_size: int = 64,
    progress: Progress | None = None,
    cancelled: StopRequested | None = None,
) -> FeatureSet:
    """`load_features` of a dataset, or of features for whose texts another encoder is named,
    telling how far it is and stopping when asked. Raises as `load_features`; and Cancelled."""
    if texts.is_encoder(backbone) and weights is None:
        as_read = rows if isinstance(rows, FeatureSet) else through_backbone(rows)
        as_given = as_read.given or as_read
        return _through_encoder(as_given, str(backbone), progress, cancelled)
    if isinstance(rows, FeatureSet):
        if fit_of(backbone) is not None and weights is None:
            return dataclasses.replace(
                rows.given or rows, backbone=address(str(backbone)).canonical
            )
        if backbone not in (None, "identity") or weights is not None:
            raise SettingError(
                f"backbone must be none or identity for what is features already; got {backbone!r},"
                f" weights {weights!r}."
            )
        return rows
    chosen = backbone or ("raw_pixels" if rows.is_images else "identity")
    x_train, x_test, notes = extract(
        rows,
        backbone=chosen,
        weights=weights,
        device=device,
        batch_size=batch_size,
        progress=progress,
        cancelled=cancelled,
    )
    checked = data.features(x_train, rows.y_train, x_test, rows.y_test, rows.classes or None)
    same = (
        "name",
        "synthetic",
        "known",
        "persons",
        "caveats",
        "test_drawn",
        "texts",
        "recipe",
        "cells",
    )
    return dataclasses.replace(
        checked,
        **{field: getattr(rows, field) for field in same},
        backbone=address(chosen).canonical,
        notes=rows.notes + checked.notes + notes,
        images=rows if rows.is_images else None,
        made_by=identity_of(chosen, weights) if rows.is_images else None,
        names=None if rows.is_images else rows.names,
    )


def _through_encoder(
    rows: FeatureSet, encoder: str, progress: Progress | None, cancelled: StopRequested | None
) -> FeatureSet:
    """Rows that were texts, their numbers by the encoder of this name in the place of those that
    another one made; other columns stay.

    Raises DataError: rows that were no texts, or of whose texts an earlier version kept the
    beginnings alone.
    """
    identity, own = texts.identity_of(encoder, network=True), texts.encoder_of(rows.recipe)
    if own == identity:
        return rows
    columns = rows.text_columns
    if own is None or columns is None or not rows.texts:
        raise DataError(f"{rows.name!r} holds no texts, which the backbone {encoder} takes.")
    _refuse_beginnings(rows, own, columns)
    watch, n_train = progress or progress_of(TEXTS), len(rows.x_train)
    try:
        train, test, _ = extract(rows, backbone=encoder, progress=watch, cancelled=cancelled)
    except StoreError:  # nothing can be kept here
        made = texts.encode(rows.texts, identity)
        train, test = made[:n_train], made[n_train:]

    def in_place(x: Array, block: Array) -> Array:
        return np.hstack([x[:, : columns.start], block, x[:, columns.stop :]])

    names, block_names = rows.names or (), names_of_text(texts.width_of(identity))
    recipe = dataclasses.replace(recipes.recipe_of(rows.recipe or {}), encoder=identity)
    before, after = (f"{texts.width_of(of)} numbers through {of['name']}" for of in (own, identity))
    return dataclasses.replace(
        rows,
        x_train=in_place(rows.x_train, train),
        x_test=None if rows.x_test is None or test is None else in_place(rows.x_test, test),
        names=(*names[: columns.start], *block_names, *names[columns.stop :]),
        recipe=recipes.form_of(recipe),
        backbone=encoder,
        notes=tuple(note.replace(before, after) for note in rows.notes),
        given=None,
        columns=None,
    )


def _refuse_beginnings(rows: FeatureSet, own: Values, block: slice) -> None:
    """Raises DataError: the longest text did not make the numbers of its row."""
    row = max(range(len(rows.texts)), key=lambda row: len(rows.texts[row]))
    if len(rows.texts[row]) != encoding.BEGINNING:
        return
    n_train = len(rows.x_train)
    x = rows.x_train[row] if row < n_train else np.asarray(rows.x_test)[row - n_train]
    if not np.array_equal(texts.encode([rows.texts[row]], own)[0], x[block]):
        raise DataError(
            f"of the texts of {rows.name!r} an earlier version kept the beginnings alone: bring"
            " them again to take another encoder."
        )
