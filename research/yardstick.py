"""The yardstick of screening: private tasks and candidates for each, through one real backbone.

A source is an image set whose first train rows are public and whose others are private. A task is a
source's private rows with its classes kept, left out or joined; its candidates are the source's own
public rows, whole, in part and disturbed, other sources, mixtures and noise. Halves of one source
lie on one side of choosing and confirming.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data import DATASETS, load_dataset
from pillar_core.data.images.loading import load_candidate
from pillar_core.methods import METHODS
from pillar_core.rng import stream
from pillar_core.runs.loading import through_backbone
from pillar_core.runs.run import run_many, solve
from pillar_core.runs.splitting import split
from pillar_core.types import Dataset, FeatureSet, Progress, PublicUse, ignore_progress

BACKBONE = "efficientnet_lite0"
MOST = 1000
"""Rows of a candidate at most."""
PUBLIC = {"fashion_mnist": 1500, "pneumonia_mnist": 300, "mnist": 500, "cifar10": 250, "gtsrb": 250}
"""By source the number of its public rows."""
LENT = {"cifar10": "cifar10.npz", "gtsrb": "gtsrb.npz"}
"""Sources that do not come with the library, by file."""
DRAWN = ("drawn_digits", "drawn_shapes", "drawn_textures", "drawn_noise")
EPSILONS, SEEDS = (0.3, 1.0, 3.0), (0, 1, 2)
NONE = "none"
"""The candidate of a learner without public rows."""


@dataclasses.dataclass(frozen=True)
class Task:
    """A private question. groups: the source's classes that make each class of the task; confirms:
    on which side it lies."""

    name: str
    source: str
    groups: tuple[tuple[int, ...], ...]
    n_private: int
    confirms: bool


def _each(*codes: int) -> tuple[tuple[int, ...], ...]:
    return tuple((code,) for code in codes)


TASKS = (
    Task("Fashion, 10 classes", "fashion_mnist", _each(*range(10)), 8500, False),
    Task("Fashion, tops", "fashion_mnist", _each(0, 2, 4, 6), 3365, False),
    Task("Fashion, shoes", "fashion_mnist", _each(5, 7, 9), 2543, False),
    Task("Fashion, shirt or T-shirt", "fashion_mnist", _each(0, 6), 1669, False),
    Task("Fashion, coat or pullover", "fashion_mnist", _each(2, 4), 1696, False),
    Task("Signs, speed limits or not", "gtsrb", (tuple(range(9)), tuple(range(9, 43))), 750, False),
    Task("MNIST, 10 classes", "mnist", _each(*range(10)), 2000, True),
    Task("MNIST, 0 to 4", "mnist", _each(*range(5)), 1020, True),
    Task("MNIST, odd or even", "mnist", ((0, 2, 4, 6, 8), (1, 3, 5, 7, 9)), 2000, True),
    Task("X-rays, pneumonia or not", "pneumonia_mnist", _each(0, 1), 1200, True),
    Task("CIFAR-10, 10 classes", "cifar10", _each(*range(10)), 750, True),
    Task("CIFAR-10, animal or vehicle", "cifar10", ((2, 3, 4, 5, 6, 7), (0, 1, 8, 9)), 750, True),
)


class Yardstick:
    """The sources' features, extracted where the cache lacks them. folder: where the lent sources
    lie, None: without them."""

    def __init__(self, folder: Path | None = None, *, progress: Progress = ignore_progress) -> None:
        self.progress = progress
        self.images = {
            name: load_dataset(name) for name in PUBLIC if name in DATASETS and name not in LENT
        }
        if folder is not None:
            self.images |= {name: load_candidate(folder / file) for name, file in LENT.items()}
        self._features: dict[str, FeatureSet] = {}

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Those whose source is here."""
        return tuple(task for task in TASKS if task.source in self.images)

    def private(self, task: Task) -> FeatureSet:
        """The private train rows and the test rows of a task."""
        whole, start = self.source(task.source), PUBLIC[task.source]
        x, y = _of_groups(whole.x_train[start:], _labels(whole)[start:], task.groups)
        x_test, y_test = _of_groups(np.asarray(whole.x_test), np.asarray(whole.y_test), task.groups)
        classes = tuple(str(code) for code in range(len(task.groups)))
        return FeatureSet(x, y, x_test, y_test, classes, name=task.name, backbone=BACKBONE)

    def candidates(self, task: Task) -> Mapping[str, FeatureSet]:
        """By name the candidates; labels are those of the task where they mean it, else the set's
        own numbers modulo the classes."""
        n = PUBLIC[task.source]
        own = {
            name: _of_groups(*self.public(task.source, n, change), task.groups)
            for name, change in {"own": "", **_OWN}.items()
        }
        x, y = own["own"]
        found = {name: (x[:MOST], y[:MOST]) for name, (x, y) in own.items()}
        found["own, imbalanced"] = _imbalanced(x, y)
        found["own, a tenth"] = x[: len(x) // 10], y[: len(y) // 10]
        rest = self._other_classes(task)
        found |= {"own, other classes": rest} if len(rest[0]) >= 50 else {}
        others = {name: self.public(name) for name in self.images if name != task.source}
        drawn = {name: self.public(name) for name in DRAWN}
        found |= others | drawn
        found |= {
            f"{name}, grey": self.public(name, change="grey")
            for name in others
            if name == "cifar10"
        }
        found["own tenth + MNIST or Fashion"] = _joined(
            found["own, a tenth"], found["fashion_mnist" if task.source == "mnist" else "mnist"]
        )
        found["own + noise"] = _joined(found["own"], found["drawn_noise"])
        found["all others"] = _joined(*others.values())
        classes = tuple(str(code) for code in range(len(task.groups)))
        return {
            name: FeatureSet(x, y % len(classes), None, None, classes, name=name, backbone=BACKBONE)
            for name, (x, y) in found.items()
        }

    def public(self, source: str, n: int = MOST, change: str = "") -> tuple[Array, Array]:
        """The first n train (rows, labels) of a source, its images changed first."""
        if source in DRAWN:
            whole = self._through(source, lambda: _cut(load_dataset(source, n=1250), n))
        elif change:
            whole = self._through(
                f"{source} {change}", lambda: _changed(_cut(self.images[source], n), change)
            )
        else:
            whole = self.source(source)
        return whole.x_train[:n], _labels(whole)[:n]

    def source(self, name: str) -> FeatureSet:
        """A source's features."""
        return self._through(name, lambda: self.images[name])

    def _other_classes(self, task: Task) -> tuple[Array, Array]:
        """Public rows of the source's classes that the task lacks; for a task with all of them the
        upper half of its classes."""
        x, y = self.public(task.source, PUBLIC[task.source])
        used = {code for group in task.groups for code in group}
        rest = set(np.unique(y).tolist()) - used or set(
            np.unique(y).tolist()[len(np.unique(y)) // 2 :]
        )
        keep = np.isin(y, sorted(rest))
        return x[keep][:MOST], y[keep][:MOST]

    def _through(self, name: str, images: Callable[[], Dataset]) -> FeatureSet:
        if name not in self._features:
            self._features[name] = through_backbone(images(), BACKBONE, progress=self.progress)
        return self._features[name]


def _labels(rows: Dataset | FeatureSet) -> Array:
    return np.asarray(rows.y_train)


def _of_groups(x: Array, y: Array, groups: tuple[tuple[int, ...], ...]) -> tuple[Array, Array]:
    codes = np.full(int(y.max()) + 1, -1)
    for place, group in enumerate(groups):
        codes[[code for code in group if code < len(codes)]] = place
    keep = codes[y] >= 0
    return np.ascontiguousarray(x[keep]), codes[y][keep].astype(np.int64)


def _imbalanced(x: Array, y: Array) -> tuple[Array, Array]:
    """All rows of the first class and a tenth of the others."""
    keep = (y == 0) | (np.arange(len(y)) % 10 == 0)
    return x[keep][:MOST], y[keep][:MOST]


def _joined(*parts: tuple[Array, Array]) -> tuple[Array, Array]:
    """The parts one after the other, mixed, at most `MOST` rows."""
    x, y = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = stream(0, "joined candidates").permutation(len(x))[:MOST]
    return x[order], y[order]


def _cut(data: Dataset, n: int) -> Dataset:
    return dataclasses.replace(
        data, x_train=data.x_train[:n], y_train=_labels(data)[:n], x_test=None, y_test=None
    )


def _changed(data: Dataset, change: str) -> Dataset:
    return dataclasses.replace(data, x_train=np.ascontiguousarray(_CHANGES[change](data.x_train)))


def _blurred(images: Array) -> Array:
    values: Array = images.astype(np.float32)
    for axis in (1, 2, 1, 2):
        values = (np.roll(values, 1, axis) + values + np.roll(values, -1, axis)) / 3
    return values.astype(np.uint8)


def _noisy(images: Array) -> Array:
    noise = 60 * stream(0, "noisy candidate").standard_normal(images.shape)
    return np.clip(images + noise, 0, 255).astype(np.uint8)


def _grey(images: Array) -> Array:
    grey = images.mean(axis=3, keepdims=True) if images.ndim == 4 else images
    return np.broadcast_to(grey, images.shape).astype(np.uint8)


def _coarse(images: Array) -> Array:
    coarse = images[:, 2::4, 2::4].repeat(4, axis=1).repeat(4, axis=2)
    return coarse[:, : images.shape[1], : images.shape[2]]


_CHANGES: Mapping[str, Callable[[Array], Array]] = {
    "blurred": _blurred,
    "noisy": _noisy,
    "grey": _grey,
    "coarse": _coarse,
    "inverted": lambda images: 255 - images,
    "shifted": partial(np.roll, shift=(7, 7), axis=(1, 2)),
    "turned": partial(np.rot90, axes=(1, 2)),
}
_OWN = {f"own, {change}": change for change in _CHANGES if change != "grey"}


def measured(
    yardstick: Yardstick,
    tasks: Sequence[Task],
    *,
    learners: Sequence[str],
    epsilons: Sequence[float] = EPSILONS,
    seeds: Sequence[int] = SEEDS,
    only: Sequence[str] = (),
) -> Iterator[dict[str, Any]]:
    """The accuracy of each learner with each candidate: task, candidate, learner, epsilon, seed,
    accuracy. δ = 1e-5, add or remove one.

    A learner that takes no public rows comes once, with the candidate `NONE`. only: these
    candidates; all where it is empty.
    """
    for task in tasks:
        private, candidates = yardstick.private(task), yardstick.candidates(task)
        for learner in learners:
            takes = METHODS[learner].public_use is not PublicUse.NONE
            named = {name: one for name, one in candidates.items() if name in only or not only}
            for name, public in named.items() if takes else ((NONE, None),):
                rows = split(private, public=public, allow_overlap=True)
                for epsilon in epsilons:
                    solved = [solve(learner, rows, epsilon=epsilon, seed=seed) for seed in seeds]
                    for seed, record in zip(seeds, run_many(solved, rows), strict=True):
                        cell = {
                            "task": task.name,
                            "candidate": name,
                            "learner": learner,
                            "epsilon": epsilon,
                            "seed": seed,
                        }
                        yield cell | {"accuracy": round(float(record.accuracy or 0.0), 4)}
