"""What ships in the starter layer, so that the first paint is a real result: features of images,
and records on them."""

import base64
import dataclasses
import io
import itertools
import json
import shutil
from collections.abc import Sequence

import numpy as np

from pillar_core import store
from pillar_core.backbones.extraction import to_ship
from pillar_core.data import embedded, load_dataset
from pillar_core.deferred import pandas as pd
from pillar_core.errors import StoreError
from pillar_core.runs.run import run
from pillar_core.runs.splitting import BACKBONE
from pillar_core.runs.sweep import (
    cached_records,
    group_specs,
    run_group,
    run_key,
    specs_of,
    split_of,
    table,
)
from pillar_core.types import Form, Progress, RunSpec, Values

SHARED: Values = {"dataset": "fashion_mnist_2k", "public_fraction": 0.1, "seed": [0, 1, 2, 3, 4]}
HERO_EPSILONS = (0.1, 0.3, 1.0, 3.0)
HERO_K = (3, 5, 10, 20, 40, 80, 160)
GRIDS: tuple[Values, ...] = (
    {**SHARED, "method": "pillar", "k": list(HERO_K), "epsilon": list(HERO_EPSILONS)},
    {**SHARED, "method": "dp_sgd", "epsilon": list(HERO_EPSILONS)},
    {**SHARED, "method": "non_private", "k": [*HERO_K, None]},
    {**SHARED, "method": "only_public"},
)
"""What the first view of Curves shows: accuracy against k, no projection, no privacy, no private
rows."""
START: Values = {"dataset": "mnist", "public_fraction": 0.1, "seed": [0, 1, 2, 3, 4]}
START_METHOD = "pillar_kalman"
START_GRIDS: tuple[Values, ...] = (
    {**START, "method": START_METHOD, "k": list(HERO_K), "epsilon": list(HERO_EPSILONS)},
    {**START, "method": "dp_sgd", "epsilon": list(HERO_EPSILONS)},
    {**START, "method": ["non_private", "only_public"]},
)
"""What Start shows: a set on which projecting gains at every budget. Its public rows are used
without their labels."""
_TESTS, _EACH = "start-tests", 4
"""The entry with the test images of Start; how many there are of each class."""
COMPARED = (
    "pillar",
    "pillar_one_shot",
    "pillar_kalman",
    "dp_raft_pillar",
    "dp_sgd",
    "jl",
    "gep",
    "adamix",
    "only_public",
    "non_private",
)
BY_CLASS: Values = {**SHARED, "method": "non_private", "k": 19}
"""What the classes on Curves compare with: no noise in the directions of the run that Curves opens
with."""
COMPARISON: Values = {**SHARED, "method": list(COMPARED), "epsilon": list(HERO_EPSILONS)}
"""What Learners opens with; the run that Curves opens with is among it."""
PUBLISHED: Values = {
    **SHARED,
    "method": ["dp_sgd", "dp_pca", "jl", "gep", "adadps", "pillar"],
    "epsilon": [0.1, 0.3, 0.7],
}
"""What Papers opens with: the learners and budgets of PILLAR's Table II; chest x-rays at three
seeds."""
FEW_LABELS: Values = {
    "dataset": SHARED["dataset"],
    "public_per_class": 2,
    "method": ["non_private", "only_public", "noisy_gd", "ppgd", "adamix"],
    "epsilon": [1.0, 3.0],
    "seed": [0, 1, 2],
}
"""What Papers opens with for AdaMix: the learners and budgets of its Table 1."""
OPENING_K = {
    "fashion_mnist": (3, 10, 20, 40, 160),
    "mnist": (3, 10, 20, 40, 160),
    "pneumonia_mnist": (3, 10, 20, 40, 80),
    "digits": (3, 5, 10, 20, 40),
}
"""The k of the curves that Curves opens with for each further set of images that ships, at three
seeds."""


def grids() -> list[Values]:
    """Every grid whose records ship."""
    opening: list[Values] = []
    for dataset, ks in OPENING_K.items():
        shared = {"dataset": dataset, "public_fraction": 0.1, "seed": [0, 1, 2]}
        for grid in GRIDS:
            ks_of_grid = {"k": [*ks, *([None] if None in grid["k"] else [])]} if "k" in grid else {}
            opening.append({**grid, **shared, **ks_of_grid})
    x_rays = {**PUBLISHED, "dataset": "pneumonia_mnist", "seed": [0, 1, 2]}
    return [*GRIDS, *START_GRIDS, COMPARISON, BY_CLASS, PUBLISHED, x_rays, FEW_LABELS, *opening]


DRAWN, DRAWN_IMAGES = ("drawn_letters", "drawn_textures", "drawn_noise"), 350
"""The drawn sets among the first candidates on Public data, and how many images of them it draws,
train and test together."""


def hero_table(grids: Sequence[Values] = START_GRIDS) -> "pd.DataFrame":
    """The starter records of grids as one tidy table: one row per run, columns as `sweep`.

    Raises StoreError: a record is missing for the current code.
    """
    stored = cached_records([spec for grid in grids for spec in specs_of(grid)])
    records = [record for record in stored if record is not None]
    if len(records) < len(stored):
        raise StoreError(
            "starter records are missing for this version; run `python -m pillar_core starter`."
        )
    return table(records)


def start_tests() -> Form:
    """The first four test images of each class of START, and what one run at each ε and k takes
    them for: `tile`, all side by side as the address of a PNG, truths and classes, guesses by ε
    and k as text. Empty where none ship."""
    stored = layer().get_bytes(_TESTS)
    return {} if stored is None else json.loads(stored)


def rebuild_tests() -> None:
    """Trains one run of START at each ε and k, and replaces the entry behind `start_tests`."""
    from PIL import Image

    spec = specs_of({**START, "method": START_METHOD, "seed": 0})[0]
    parts, images = split_of(spec.data, spec.split), load_dataset(START["dataset"])
    rows, pixels, truths = map(
        np.asarray, (parts.features.x_test, images.x_test, parts.features.y_test)
    )
    by_class = [np.flatnonzero(truths == label)[:_EACH] for label in range(len(images.classes))]
    chosen = np.stack(by_class, axis=1).ravel()
    guesses: dict[str, dict[str, list[int]]] = {}
    for epsilon, k in itertools.product(HERO_EPSILONS, HERO_K):
        head = run(START_METHOD, parts, epsilon=epsilon, k=k, seed=0).classifier
        if head is not None:
            guessed = head.predict(rows[chosen]).tolist()
            guesses.setdefault(f"{epsilon:g}", {})[str(k)] = guessed
    file = io.BytesIO()
    Image.fromarray(np.hstack(list(pixels[chosen]))).save(file, "PNG")
    entry = {
        "tile": f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}",
        "truths": truths[chosen].tolist(),
        "classes": list(images.classes),
        "guesses": guesses,
    }
    layer().delete("blob", _TESTS)
    layer().put_bytes(_TESTS, json.dumps(entry).encode())


def missing() -> list[RunSpec]:
    """The starter specs that no shipped record answers."""
    shipped, specs = layer(), [spec for grid in grids() for spec in specs_of(grid)]
    return [spec for spec in specs if not shipped.has("record", run_key(spec))]


def rebuild(*, progress: Progress | None = None) -> int:
    """Trains every starter record anew and replaces those that ship; returns their number. Raises
    StoreError: a disk that refuses."""
    groups = [group for grid in grids() for group in group_specs(grid)]
    total, count, records = sum(map(len, groups)), 0, {}
    for group in groups:
        for spec, record in zip(group, run_group(group, use_cache=False), strict=True):
            records[run_key(spec)] = record
        count += len(group)
        if progress is not None:
            progress(count, total, group[0].method)
    shipped = layer()
    shutil.rmtree(shipped.root / "record", ignore_errors=True)
    rebuild_tests()
    return sum(shipped.put_json("record", key, record) for key, record in records.items())


def rebuild_features(*, progress: Progress | None = None) -> int:
    """Extracts the features of every image set that ships, and of the first candidates on Public
    data, anew and replaces those that ship; returns their number.

    Raises MissingDependencyError: the backbone's weights are not installed. StoreError: a disk that
    refuses.
    """
    shipped = layer()
    drawn = (load_dataset(name, seed=1, n=DRAWN_IMAGES) for name in DRAWN)
    candidates = (
        dataclasses.replace(images_of_set, x_test=None, y_test=None)
        for images_of_set in (load_dataset("digits", seed=1), *drawn)
    )
    images = [*map(load_dataset, (*embedded.NAMES, "digits")), *candidates]
    features = [
        to_ship(images_of_set, backbone=BACKBONE, progress=progress) for images_of_set in images
    ]
    for key in shipped.keys("blob"):
        if key != _TESTS:
            shipped.delete("blob", key)
    return sum(shipped.put_bytes(key, payload) for key, payload in features)


def layer() -> store.Store:
    """What ships, as a store of its own. Raises StoreError: this cache has no such layer."""
    folder = store.default().starter
    if folder is None:
        raise StoreError("this cache has no starter layer.")
    return store.Store(folder)
