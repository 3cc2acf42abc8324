"""What an upload holds, in words: the text of the app's upload panel."""

import itertools
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.encoding import beginnings
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.types import Dataset, FeatureSet, is_of_text

PREVIEW_ROWS, PREVIEW_COLUMNS = 5, 40
FEWEST_PUBLIC = 3
"""Two directions, and so the map of the public rows, need three of them."""


def count_rows(data: Dataset | FeatureSet) -> int:
    """How many train and test rows there are."""
    return len(data.x_train) + data.n_test


def understood(data: Dataset | FeatureSet) -> str:
    """One sentence on what a set means: what is predicted, from what, and how many rows are for
    testing."""
    n_train, n_rows = len(data.x_train), count_rows(data)
    n_test = n_rows - n_train
    recipe = data.recipe if isinstance(data, FeatureSet) else None
    if data.x_train.ndim > 2:
        height, width = data.x_train.shape[1:3]
        source = (
            f"{'colour' if data.x_train.ndim == 4 else 'grey'} pictures, {width} wide and {height}"
            " high"
        )
    elif recipe is not None:
        names = [column["name"] for column in recipe["columns"]]
        source = f"{len(names):,} column{'s' * (len(names) > 1)}: {join(names, most=6)}"
    else:
        source = f"{data.x_train.shape[1]:,} numbers a row"
    label = recipe["label"] if recipe is not None else "one of " + f"{len(data.classes):,} classes"
    target = (
        f"Predicts {label} ({join(data.classes, most=4)}) from {source}"
        if data.y_train is not None
        else f"No labels; {source}"
    )
    share = (
        f"{n_rows:,} rows: {n_train:,} to learn from, {n_test:,} ({n_test / n_rows:.0%}) to test on"
        if n_test
        else f"{n_rows:,} rows"
    )
    return f"{target}. {share}."


def public_rows(labels: Array | None, n_train: int, public_fraction: float) -> int:
    """How many train rows a stratified share makes public: at least one of each class, as the split
    draws them."""
    counts = [n_train] if labels is None else np.unique(labels, return_counts=True)[1].tolist()
    return sum(max(1, round(public_fraction * count)) for count in counts)


def share_words(data: Dataset | FeatureSet, public_fraction: float | None) -> str:
    """What a share of the train rows means that the split would make public; None: none, because
    public rows come from elsewhere.

    Raises DataError: a share that makes too few of them public, or leaves no private one.
    """
    counted, labels, unit = len(data.x_train), data.y_train, "train rows"
    if data.persons is not None:  # who is public is so as a whole
        first = np.unique(data.persons.of, return_index=True)[1]
        counted, unit = len(first), "persons with train rows"
        labels = labels if labels is None else labels[first]
    if public_fraction is None:
        return f"All {counted:,} {unit} are private: public rows come from elsewhere."
    n_public = public_rows(labels, counted, public_fraction)
    if not FEWEST_PUBLIC <= n_public < counted:
        raise DataError(
            f"A share of {public_fraction:.0%} of {counted} train rows makes {n_public} of them"
            f" public; the directions and their map need at least {FEWEST_PUBLIC} public rows,"
            " and a private one must remain. Bring more rows, raise the share, or take public"
            " rows from another data set."
        )
    return (
        f"{n_public:,} of these {counted:,} {unit} become public: ε does not protect them,"
        f" and what is released may show them. The other {counted - n_public:,} are"
        " private."
    )


def lone_rows(data: Dataset | FeatureSet) -> list[str]:
    """What becomes of classes with one train row, where there are some."""
    if data.y_train is None:
        return []
    labels, counts = np.unique(data.y_train, return_counts=True)
    if not (names := [data.classes[label] for label in labels[counts == 1]]):
        return []
    return [
        f"One train row alone has the class {join(names)}: under noise it is not learnt, and a"
        " public share takes that row."
    ]


def preview(data: Dataset | FeatureSet) -> list[dict[str, Any]]:
    """The first train rows of numbers, as tidy mappings."""
    return [_row(data, number) for number in range(min(PREVIEW_ROWS, len(data.x_train)))]


def _row(data: Dataset | FeatureSet, number: int) -> dict[str, Any]:
    label = "" if data.y_train is None else data.classes[int(data.y_train[number])]
    row = data.x_train[number]
    names = (data.names if isinstance(data, FeatureSet) else None) or [
        f"x{column}" for column in range(len(row))
    ]
    text = {"text": beginnings([data.texts[number]])[0]} if data.texts else {}
    numbers = {
        name: float(value)
        for name, value in zip(names, row, strict=True)
        if not (text and is_of_text(name))
    }
    return (
        {"row": number, "label": label}
        | text
        | dict(itertools.islice(numbers.items(), PREVIEW_COLUMNS))
    )
