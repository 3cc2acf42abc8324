"""What lies behind a distance: angles, spectra, all pairs of sets, the error that Lemma 4.1 bounds,
and training. Non-private diagnostics.

Does the order of public sets hold while a model is trained (gsd, section 4.2 and Figure 1)? It is
trained on the private rows and their labels by plain SGD without noise; at each look the distance
of every public set is measured anew at the weights of that moment, with the rows and the random
labels of the first look.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import torch
from pillar_core.errors import DataError, SettingError
from pillar_core.grouping import slices
from pillar_core.params import COUNT, Param
from pillar_core.rng import stream
from pillar_core.screening.batches import LABEL_CLASSES, Start, random_labels
from pillar_core.screening.gsd import (
    N_EXAMPLES,
    Gradients,
    K,
    Side,
    require_one_width,
    shared_bases,
)
from pillar_core.screening.models import Network, model_of
from pillar_core.subspace import cosines, projection_distance, singular_values
from pillar_core.types import Dataset, Progress, ignore_progress


def angles(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    model: str = "probe",
    k: int = 16,
    n_examples: int = 300,
    seed: int = 0,
) -> pd.DataFrame:
    """Principal angles of each public set's directions with the private ones: columns public, index
    (1 … k), degrees in [0, 90]."""
    private_gradients, sides = _gradients(private, public, model, n_examples, seed, k)
    return pd.DataFrame(
        [
            {"public": name, "index": index, "degrees": math.degrees(math.acos(value))}
            for name, gradients in sides.items()
            for index, value in enumerate(
                cosines(*shared_bases(private_gradients, gradients, k)), start=1
            )
        ]
    )


def spectra(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    model: str = "probe",
    n_examples: int = 300,
    seed: int = 0,
    most: int = 64,
) -> pd.DataFrame:
    """Singular values of each set's gradients as shares of the largest: columns set, index, value;
    at most `most` of them (gsd, Fig. 3).

    Raises SettingError: a model whose gradients do not fit in memory.
    """
    checks.within(most=(most, COUNT))
    private_gradients, sides = _gradients(private, public, model, n_examples, seed)
    rows = []
    for name, gradients in {private.name: private_gradients, **sides}.items():
        if not gradients.fits:
            raise SettingError(
                f"the spectrum needs gradients that fit in memory; {model} has {gradients.width:,}"
                " parameters."
            )
        values = singular_values(gradients.products)[:most]
        rows += [
            {"set": name, "index": index, "value": float(value / values[0])}
            for index, value in enumerate(values, start=1)
        ]
    return pd.DataFrame(rows)


def pairwise(
    sets: Mapping[str, Dataset],
    *,
    model: str = "probe",
    k: int = 16,
    n_examples: int = 300,
    seed: int = 0,
) -> pd.DataFrame:
    """Normalised distances of all pairs of sets: columns first, second, value; both orders, and 0
    of each with itself (gsd, Fig. 4)."""
    if not sets:
        raise SettingError("sets must hold at least one set; got none.")
    _, sides = _gradients(next(iter(sets.values())), sets, model, n_examples, seed, k)
    rows = [{"first": name, "second": name, "value": 0.0} for name in sides]
    for a, b in itertools.combinations(sides, 2):
        value = projection_distance(*shared_bases(sides[a], sides[b], k))
        rows += [
            {"first": a, "second": b, "value": value},
            {"first": b, "second": a, "value": value},
        ]
    return pd.DataFrame(rows)


def reconstruction(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    model: str = "probe",
    k: int = 16,
    n_examples: int = 300,
    seed: int = 0,
) -> pd.DataFrame:
    """Lemma 4.1 beside what it bounds: columns public, k, error, bound, both in units of the
    largest singular value s₁.

    error: ‖G − GVVᵀ‖₂ of the private gradients on the public directions; bound: √2·d + s_{k+1}/s₁
    with the raw distance d.
    """
    private_gradients, sides = _gradients(private, public, model, n_examples, seed, k)
    rows = []
    for name, gradients in sides.items():
        m = min(private_gradients.m, gradients.m)
        mine, theirs = private_gradients.directions(k, m), gradients.directions(k, m)
        products = private_gradients.products[:m, :m].double().numpy()
        inside = private_gradients.rows[:m].numpy() @ theirs.basis.astype(np.float32)
        values = np.linalg.eigvalsh(products)[::-1]
        largest = math.sqrt(float(values[0]))
        outside = products - inside.astype(np.float64) @ inside.T
        error = math.sqrt(max(0.0, float(np.linalg.eigvalsh(outside)[-1]))) / largest
        tail = math.sqrt(max(0.0, float(values[k]))) / largest if m > k else 0.0
        distance = projection_distance(mine.basis, theirs.basis, normalised=False)
        rows.append(
            {"public": name, "k": k, "error": error, "bound": math.sqrt(2) * distance + tail}
        )
    return pd.DataFrame(rows)


def _gradients(
    private: Dataset,
    public: Mapping[str, Dataset],
    model: str,
    n_examples: int,
    seed: int,
    k: int | None = None,
) -> tuple[Gradients, dict[str, Gradients]]:
    """The gradients of the private set and, by name, of the public ones."""
    checks.within(k=(k, K), n_examples=(n_examples, N_EXAMPLES))
    chosen = model_of(model)
    require_one_width([private, *public.values()], chosen)
    mine, *theirs = (
        Side(data, chosen, n_examples, seed).gradients() for data in (private, *public.values())
    )
    return mine, dict(zip(public, theirs, strict=True))


STEPS = Param(
    "steps",
    int,
    200,
    "Steps of plain SGD on the private rows.",
    low=1,
    high=100_000,
    unit="steps",
    log=True,
)
LOOKS = Param(
    "looks",
    int,
    6,
    "How often distances are measured, the start and the end among them.",
    low=2,
    high=100,
)
RATE = Param(
    "learning_rate",
    float,
    0.05,
    "Step size of plain SGD.",
    low=0,
    low_open=True,
    high=1e3,
    log=True,
)
BATCH = 64


def over_training(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    model: str = "small_cnn",
    k: int = 16,
    n_examples: int = 300,
    steps: int = 200,
    looks: int = 6,
    learning_rate: float = 0.05,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> pd.DataFrame:
    """Normalised distances at each look: columns public, step, value, accuracy (of the model on its
    training rows at that step).

    Labels are folded into the model's ten classes. One draw of rows: no interval.
    Raises SettingError: settings out of range. DataError: private rows without labels, too few
    rows.
    """
    checks.within(
        k=(k, K),
        n_examples=(n_examples, N_EXAMPLES),
        steps=(steps, STEPS),
        looks=(looks, LOOKS),
        learning_rate=(learning_rate, RATE),
    )
    chosen = model_of(model)
    require_one_width([private, *public.values()], chosen)
    if private.y_train is None:
        raise DataError(f"{private.name!r} has no labels to train on.")
    private_side = Side(private, chosen, len(private.x_train), seed)
    sides = {name: Side(data, chosen, n_examples, seed) for name, data in public.items()}
    network = chosen.network(private_side.prepared, Start(seed))
    network = dataclasses.replace(network, module=copy.deepcopy(network.module))
    labels = torch.from_numpy(private.y_train[private_side.chosen[0]] % LABEL_CLASSES)
    rows = private_side.prepared[private_side.places[0]]
    plan = np.unique(np.linspace(0, steps, looks).round().astype(int))
    steps_taken = _descend(network, rows, labels, learning_rate, seed)
    values = []
    for place, step in enumerate(plan):
        while next(steps_taken) < step:
            pass
        accuracy = _accuracy(network, rows[:n_examples], labels[:n_examples])
        mine = _gradients_now(network, rows[:n_examples], seed)
        for number, (name, side) in enumerate(sides.items()):
            progress(place * len(sides) + number, len(plan) * len(sides), name)
            theirs = _gradients_now(network, side.prepared[side.places[0]], seed)
            value = projection_distance(*shared_bases(mine, theirs, k))
            values.append({"public": name, "step": int(step), "value": value, "accuracy": accuracy})
    return pd.DataFrame(values)


def order_kept(table: pd.DataFrame) -> float:
    """The share of pairs of sets that later looks order as the first did, in [0, 1]; 1 for one set
    or one look."""
    square = table.pivot(index="step", columns="public", values="value").to_numpy()
    first, second = np.triu_indices(square.shape[1], 1)
    signs = np.sign(square[:, first] - square[:, second])
    return float((signs[1:] == signs[0]).mean()) if signs[1:].size else 1.0


def _gradients_now(network: Network, rows: Array, seed: int) -> Gradients:
    return Gradients(network.chunks(rows, random_labels(len(rows), seed=seed)), len(rows))


def _descend(
    network: Network, rows: Array, labels: torch.Tensor, learning_rate: float, seed: int
) -> Iterator[int]:
    """Plain SGD on the network's own parameters, in the order of one shuffled pass after another:
    the steps taken, from 0 on."""
    named = network.module.named_parameters()
    chosen = [
        value.requires_grad_(True)
        for name, value in named
        if network.names is None or name in network.names
    ]
    generator, waiting = stream(seed, "training order"), list[int]()
    for step in itertools.count():
        yield step
        waiting = waiting or generator.permutation(len(rows)).tolist()
        batch, waiting = waiting[:BATCH], waiting[BATCH:]
        with torch.enable_grad():
            loss = torch.nn.functional.cross_entropy(
                network.module(network.read(rows[batch])), labels[batch]
            )
            gradients = torch.autograd.grad(
                loss, chosen, materialize_grads=True
            )  # zero where a parameter has no part in it
        with torch.no_grad():  # no optimiser of torch, whose first one takes two seconds to import
            for value, gradient in zip(chosen, gradients, strict=True):
                value.add_(gradient, alpha=-learning_rate)


def _accuracy(network: Network, rows: Array, labels: torch.Tensor) -> float:
    hits = 0
    with torch.inference_mode():
        for part in slices(len(rows), BATCH):
            hits += int((network.module(network.read(rows[part])).argmax(1) == labels[part]).sum())
    return hits / len(rows)
