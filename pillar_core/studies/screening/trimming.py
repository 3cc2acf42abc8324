"""Trimming by name: the candidates of a ranking in one pool, what a release says of its rows, and the images that are kept."""

import dataclasses

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.rng import stream
from pillar_core.screening.batches import image_batches
from pillar_core.screening.trim import Trimmed, trim
from pillar_core.studies.screening.answers import OWN_HALF, OWN_PART, Ask, feature_sets_of, sets_of
from pillar_core.types import Dataset, FeatureSet, Progress, unwatched


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """Row i of the pool is row `rows[i]` of the set `names[sources[i]]`; trimmed: what the release said of the pool."""

    names: tuple[str, ...]
    sources: Array
    rows: Array
    trimmed: Trimmed

    def by_source(self, share: float) -> pd.DataFrame:
        """A row a set, in the order of `names`: public, rows, kept."""
        counts = [np.bincount(codes, minlength=len(self.names)) for codes in (self.sources, self.sources[self.trimmed.at(share)])]
        return pd.DataFrame({"public": self.names, "rows": counts[0], "kept": counts[1]})


def pool_of(ask: Ask) -> tuple[str, ...]:
    """The candidates that can be pooled: sets of their own, none of them rows of the private set."""
    return tuple(name for name in ask.public if "+" not in name and name not in (OWN_PART, OWN_HALF))


def trimmed(ask: Ask, progress: Progress = unwatched) -> Pool:
    """One release at the question's ε over its pool.

    Raises:
        As `feature_sets_of` and `trim`; SettingError without ε.
    """
    if ask.epsilon is None:
        raise SettingError("votes are released with noise: choose an ε.")
    private, public = feature_sets_of(dataclasses.replace(ask, public=pool_of(ask)), progress)
    features = [one.x_train for one in public.values()]
    sources = np.repeat(np.arange(len(features)), [len(one) for one in features])
    rows = np.concatenate([np.arange(len(one)) for one in features])
    order = stream(0, "rows of a pool").permutation(len(rows))  # of the last cluster the first rows are kept: of no set first
    pool = FeatureSet(np.concatenate(features)[order], None, None, None, (), name="pool")
    return Pool(tuple(public), sources[order], rows[order], trim(private, pool, share=1.0, epsilon=ask.epsilon, seed=ask.seed))


def images_of(pool: Pool, ask: Ask, numbers: Array) -> Dataset:
    """The pool's images of these numbers, square, of the private images' height and colour, without labels."""
    private, public = sets_of(dataclasses.replace(ask, public=pool.names))
    size, channels = private.x_train.shape[1], 1 if private.x_train.ndim == 3 else 3
    images = np.empty((len(numbers), size, size, channels), dtype=np.uint8)
    for code, one in enumerate(public.values()):
        places = np.flatnonzero(pool.sources[numbers] == code)
        if len(places):
            pixels = torch.cat(list(image_batches(one.x_train[pool.rows[numbers[places]]], size, channels=channels))) * 127.5 + 127.5
            images[places] = pixels.permute(0, 2, 3, 1).round().clamp(0, 255).byte().numpy()
    return Dataset("kept_rows", images[..., 0] if channels == 1 else images, None, synthetic=all(one.synthetic for one in public.values()))
