"""Trimming by name: the candidates of a ranking in one pool, what a release says of its rows, and
the rows that are kept."""

import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.rng import stream
from pillar_core.screening.batches import resize_images
from pillar_core.screening.trim import Trimmed, trim
from pillar_core.studies.screening.answers import (
    OWN_HALF,
    OWN_PART,
    Ask,
    feature_sets_of,
    features_at_hand,
    sets_of,
)
from pillar_core.types import Dataset, FeatureSet


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """Row i of the pool is row `rows[i]` of the set `ask.public[sources[i]]`; trimmed: what the
    release said of the pool."""

    ask: Ask
    sources: Array
    rows: Array
    trimmed: Trimmed


def question_of_pool(ask: Ask) -> Ask:
    """The question with those candidates alone that go into a pool: sets of their own, none of them
    rows of the private set."""
    return dataclasses.replace(
        ask,
        public=tuple(
            name for name in ask.public if "+" not in name and name not in (OWN_PART, OWN_HALF)
        ),
    )


def vote(ask: Ask, epsilon: float) -> Pool:
    """One release of votes for the rows of all candidates of `question_of_pool`. Raises as
    `feature_sets_of` and `trim`."""
    private, public = feature_sets_of(ask)
    counts = [len(data_set.x_train) for data_set in public.values()]
    order = stream(0, "rows of a pool").permutation(
        sum(counts)
    )  # of the last cluster the first rows are kept: of no set first
    sources = np.repeat(np.arange(len(counts)), counts)[order]
    rows = np.concatenate([np.arange(count) for count in counts])[order]
    pool = FeatureSet(
        np.concatenate([data_set.x_train for data_set in public.values()])[order],
        name="pool",
    )
    return Pool(ask, sources, rows, trim(private, pool, share=1.0, epsilon=epsilon, seed=ask.seed))


def rows_of(pool: Pool, numbers: Array) -> Dataset | FeatureSet:
    """The pool's rows of these numbers, without labels: texts, or images, square, of the private
    ones' height and colour."""
    texts = [features_at_hand(name) for name in pool.ask.public]
    if texts[0] is not None:
        chosen = [
            (source, row)
            for code, row in zip(pool.sources[numbers], pool.rows[numbers], strict=True)
            if (source := texts[code])
        ]
        return FeatureSet(
            np.stack([source.x_train[row] for source, row in chosen]),
            name="kept_rows",
            names=texts[0].names,
            recipe=texts[0].recipe,
            texts=tuple(source.texts[row] for source, row in chosen),
        )
    private, public = sets_of(pool.ask)
    size, channels = private.x_train.shape[1], 1 if private.x_train.ndim == 3 else 3
    images = np.empty((len(numbers), size, size, channels), dtype=np.uint8)
    for code, data_set in enumerate(public.values()):
        places = np.flatnonzero(pool.sources[numbers] == code)
        if len(places):
            images[places] = resize_images(
                data_set.x_train[pool.rows[numbers[places]]], size, channels=channels
            )
    is_synthetic = all(data_set.synthetic for data_set in public.values())
    return Dataset(
        "kept_rows", images[..., 0] if channels == 1 else images, None, synthetic=is_synthetic
    )
