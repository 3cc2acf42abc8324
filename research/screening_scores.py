"""Scores of other papers on the yardstick of research/choosing_public_data.md, which rank worse
than `class_signal` or have no private form.

`python research/screening_scores.py FOLDER [evidence otdd head probe]` prints their rows of
that table; FOLDER holds `cifar10.npz` and `gtsrb.npz`.

- evidence: LogME from three releases at once (class sums, second moment, class counts; a row moves
  them by √3 together), and without.
- otdd: exact transport between 500 rows of each. A row moves the cost and the labels' Gaussians, so
  no bound is claimed: without noise.
- head: the library's `gsd` and `missed_energy` with gradients of a linear head on the features, as
  `screen` releases them.
- probe: `gsd` and `task2vec` of the paper's probe network, on 200 images of each set. Without
  noise.
"""

import itertools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import judged
import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.arrays import Array
from pillar_core.rng import stream
from pillar_core.screening import rivals
from pillar_core.screening.batches import Start, image_batches
from pillar_core.screening.class_signal import ROWS, Candidate, public_centre, unit
from pillar_core.screening.gsd import Side
from pillar_core.screening.models import model_of
from pillar_core.screening.rivals import otdd
from pillar_core.subspace import projection_distance
from pillar_core.types import Dataset, FeatureSet
from yardstick import Yardstick

EPSILONS = (0.1, 0.3, 1.0, 3.0, None)
DRAWS = 4
STEPS, TOLERANCE, SMALLEST = 50, 1e-4, 1e-12
"""Of LogME's fixed point."""
TOP, OTDD_ROWS, PROBE_ROWS, SIDE = 32, 500, 200, 32
Cells = Iterator[tuple[str, float | None, int, Mapping[str, float]]]
"""(score, ε or None, draw, by candidate a value that is larger where it is nearer)."""


def evidence(private: FeatureSet, public: Mapping[str, FeatureSet]) -> Cells:
    """LogME in the top 32 directions of each candidate."""
    centre = public_centre([one.x_train for one in public.values()])
    candidates = {
        name: Candidate.of(unit(one.x_train[:ROWS], centre)) for name, one in public.items()
    }
    rows = unit(private.x_train, centre).astype(np.float64)
    targets = np.eye(private.n_classes)[private.y_train]
    exact = (rows.T @ targets, rows.T @ rows, targets.sum(axis=0))
    for epsilon, draw, std in _noises(math.sqrt(3)):
        generator = stream(draw, "yardstick noise")
        sums, moment, counts = (
            part + std * generator.standard_normal(part.shape) for part in exact
        )
        found = {}
        for name, one in candidates.items():
            directions = one.directions[:, :TOP]
            projected = directions.T @ moment @ directions
            values, turned = np.linalg.eigh((projected + projected.T) / 2)
            keep = values > max(
                math.sqrt(2 * len(values)) * std, 1e-6 * len(rows)
            )  # the noise's own largest eigenvalue
            keep[-1] = True
            values, turned = np.maximum(values[keep], 1e-6 * len(rows)), turned[:, keep]
            squares = np.square(turned.T @ directions.T @ sums) - std**2
            alongs = np.maximum(squares / values[:, None], 1e-6).T
            fits = [
                best_evidence(values, along, max(count, 1.0), len(rows))
                for along, count in zip(alongs, counts, strict=True)
            ]
            found[name] = float(np.mean(fits))
        yield "LogME, top 32", epsilon, draw, found


def best_evidence(values: Array, along: Array, square: float, n: int) -> float:
    """Of one target y: ½(d ln α + n ln β − β‖Fm − y‖² − α‖m‖² − ln det(αI + βFᵀF) − n ln 2π)/n at
    the best α, β.

    values: (d,) eigenvalues of FᵀF above 0; along: (d,) squares of y along the matching left
    singular vectors; square: yᵀy; n: rows.
    """
    d, outside = len(values), max(square - float(along.sum()), 0.0)
    alpha = beta = 1.0
    for _ in range(STEPS):
        shrunk = alpha + beta * values
        effective = float((beta * values / shrunk).sum())
        weight = float((beta**2 * values * along / shrunk**2).sum())
        residual = float((alpha**2 * along / shrunk**2).sum()) + outside
        new_alpha = effective / max(weight, SMALLEST)
        new_beta = (n - effective) / max(residual, SMALLEST)
        is_steady = abs(new_alpha / new_beta - alpha / beta) <= TOLERANCE * alpha / beta
        alpha, beta = new_alpha, new_beta
        if is_steady:
            break
    shrunk = alpha + beta * values
    weight = float((beta**2 * values * along / shrunk**2).sum())
    residual = float((alpha**2 * along / shrunk**2).sum()) + outside
    determinant = float(np.log(shrunk).sum())
    total = (
        d * math.log(alpha)
        + n * math.log(beta)
        - beta * residual
        - alpha * weight
        - determinant
        - n * math.log(2 * math.pi)
    )
    return total / (2 * n)


def transport(private: FeatureSet, public: Mapping[str, FeatureSet]) -> Cells:
    """Exact OTDD."""
    chosen = np.sort(stream(0, "rows of OTDD").permutation(len(private.x_train))[:OTDD_ROWS])
    x, y = private.x_train[chosen], np.asarray(private.y_train)[chosen]
    yield (
        "OTDD, exact",
        None,
        0,
        {
            name: -otdd(x, y, one.x_train[:OTDD_ROWS], one.y_train[:OTDD_ROWS])
            for name, one in public.items()
        },
    )


def head(private: FeatureSet, public: Mapping[str, FeatureSet]) -> Cells:
    """Distances of the gradients of a linear head under random labels."""
    shared: dict[str, Any] = {
        "scores": ("gsd", "missed_energy"),
        "model": "linear_head",
        "repeats": 1,
        "allow_overlap": True,
    }
    for epsilon, draw, _ in _noises(1.0, draws=2):
        count = (
            {"n_examples": ROWS}
            if epsilon is None
            else {"n_examples": len(private.x_train), "epsilon": epsilon}
        )
        table = pc.screen(private, public, seed=draw, **shared, **count)
        for score, part in table.groupby("score"):
            yield (
                f"{score}, gradients of a linear head",
                epsilon,
                draw,
                (-part.set_index("public")["value"]).to_dict(),
            )


class Pixels(Yardstick):
    """The yardstick with 32 × 32 coloured pixels, as one row an image, in place of a network's
    features."""

    def _through(self, name: str, images: Callable[[], Dataset]) -> FeatureSet:
        if name not in self._features:
            one = images()
            parts = [None if rows is None else _square(rows) for rows in (one.x_train, one.x_test)]
            self._features[name] = FeatureSet(
                parts[0], one.y_train, parts[1], one.y_test, one.classes, name=name
            )
        return self._features[name]


def probe(private: FeatureSet, public: Mapping[str, FeatureSet]) -> Cells:
    """GSD and Task2Vec of the probe network; both sets' rows are drawn by position, which orders of
    rows do not matter to."""
    some = stream(0, "rows of the probe").permutation(len(private.x_train))[:PROBE_ROWS]
    mine = _seen(private.x_train[some], np.asarray(private.y_train)[some])
    seen = {}
    for name, one in public.items():
        some = stream(0, "rows of the probe").permutation(len(one.x_train))[:PROBE_ROWS]
        seen[name] = _seen(one.x_train[some], one.y_train[some])
    yield (
        "Task2Vec, probe network",
        None,
        0,
        {name: -rivals.task2vec_distance(mine[1], one[1]) for name, one in seen.items()},
    )
    yield (
        "GSD, probe network",
        None,
        0,
        {name: -projection_distance(mine[0], one[0]) for name, one in seen.items()},
    )


_KEPT: dict[bytes, tuple[Array, Array]] = {}


def _seen(rows: Array, labels: Array) -> tuple[Array, Array]:
    """(top 16 directions under random labels, Fisher information): tasks share candidates, so each
    is made once."""
    key = rows.tobytes() + labels.tobytes()
    if key not in _KEPT:
        images = rows.reshape(-1, SIDE, SIDE, 3).astype(np.uint8)
        basis = (
            Side(Dataset("images", images, labels), model_of("probe"), len(images), 0)
            .gradients()
            .directions(16, len(images))
            .basis
        )
        _KEPT[key] = basis, rivals.embedding(images, labels, Start())
    return _KEPT[key]


def _square(rows: Array) -> Array:
    pixels = torch.cat(list(image_batches(rows, SIDE))) * 127.5 + 127.5
    return pixels.permute(0, 2, 3, 1).round().clamp(0, 255).flatten(1).numpy()


def _noises(sensitivity: float, draws: int = DRAWS) -> Iterator[tuple[float | None, int, float]]:
    """(ε, draw, standard deviation of the noise)."""
    for epsilon, draw in itertools.product(EPSILONS, range(draws)):
        if epsilon is not None or draw == 0:
            yield (
                epsilon,
                draw,
                0.0 if epsilon is None else sensitivity / mu_of(epsilon, judged.DELTA),
            )


SCORES = {"evidence": evidence, "otdd": transport, "head": head, "probe": probe}


def main(folder: Path, names: list[str]) -> None:
    torch.set_num_threads(1)
    accuracies = judged.kept()
    for name in names:
        made = (Pixels if name == "probe" else Yardstick)(folder)
        rows = []
        for task in made.tasks:
            for score, epsilon, draw, found in SCORES[name](
                made.private(task), made.candidates(task)
            ):
                cell = {
                    "task": task.name,
                    "score": score,
                    "spent": math.inf if epsilon is None else epsilon,
                    "draw": draw,
                }
                rows += [
                    cell | {"candidate": candidate, "value": value}
                    for candidate, value in found.items()
                ]
            print(f"{name}: {task.name}", file=sys.stderr, flush=True)
        print(
            judged.sides(judged.judged(pd.DataFrame(rows), accuracies)).to_string(index=False),
            flush=True,
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(SCORES))
