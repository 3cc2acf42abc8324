"""Does the order of public sets hold while a model is trained? (gsd, section 4.2 and Figure 1.) A non-private diagnostic.

The model is trained on the private rows and their labels by plain SGD without noise; at each look the distance of every public
set is measured anew at the weights of that moment, with the rows and the random labels of the first look.
"""

import copy
import dataclasses
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.params import Param
from pillar_core.rng import stream
from pillar_core.screening.batches import LABEL_CLASSES, random_labels
from pillar_core.screening.gsd import N_EXAMPLES, Gradients, K, Side, require_one_width, whole
from pillar_core.screening.models import Network, Start, model_of
from pillar_core.subspace import gradient_chunks, projection_distance
from pillar_core.types import Dataset, Progress, unwatched

STEPS = Param("steps", int, 200, "Steps of plain SGD on the private rows.", low=1, high=100_000, unit="steps", log=True)
LOOKS = Param("looks", int, 6, "How often distances are measured, the start and the end among them.", low=2, high=100)
RATE = Param("learning_rate", float, 0.05, "Step size of plain SGD.", low=0, low_open=True, high=1e3, log=True)
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
    learning_rate: Annotated[float, RATE] = 0.05,
    seed: int = 0,
    progress: Progress = unwatched,
) -> pd.DataFrame:
    """Normalised distances at each look: columns public, step, value, accuracy (of the model on its training rows at that step).

    Labels are folded into the model's ten classes. One draw of rows: no interval.

    Raises:
        SettingError: settings out of range. DataError: private rows without labels, too few rows.
    """
    chosen, count, size = model_of(model), whole(K, k), whole(N_EXAMPLES, n_examples)
    require_one_width([private, *public.values()], chosen)
    if private.y_train is None:
        raise DataError(f"{private.name!r} has no labels to train on.")
    private_side = Side(private, chosen, len(private.x_train), seed)
    sides = {name: Side(data, chosen, size, seed) for name, data in public.items()}
    network = chosen.network(private_side.prepared, Start(seed))
    network = dataclasses.replace(network, module=copy.deepcopy(network.module))
    labels = torch.from_numpy(private.y_train[private_side.chosen[0]] % LABEL_CLASSES)
    rows = private_side.prepared[private_side.places[0]]
    plan = np.unique(np.linspace(0, whole(STEPS, steps), whole(LOOKS, looks)).round().astype(int))
    trainer = _Sgd(network, rows, labels, learning_rate, seed)
    values = []
    for place, step in enumerate(plan):
        trainer.train_until(int(step))
        accuracy = trainer.accuracy(size)
        mine = _gradients(network, rows[:size], seed)
        for number, (name, side) in enumerate(sides.items()):
            progress(place * len(sides) + number, len(plan) * len(sides), name)
            theirs = _gradients(network, side.prepared[side.places[0]], seed)
            m = min(mine.m, theirs.m)
            value = projection_distance(mine.directions(count, m).basis, theirs.directions(count, m).basis)
            values.append({"public": name, "step": int(step), "value": value, "accuracy": accuracy})
    return pd.DataFrame(values)


def order_kept(table: pd.DataFrame) -> float:
    """The share of pairs of sets that later looks order as the first did, in [0, 1]; 1 for one set or one look."""
    square = table.pivot(index="step", columns="public", values="value").to_numpy()
    first, second = np.triu_indices(square.shape[1], 1)
    signs = np.sign(square[:, first] - square[:, second])
    return float((signs[1:] == signs[0]).mean()) if signs[1:].size else 1.0


def _gradients(network: Network, rows: Array, seed: int) -> Gradients:
    labels = random_labels(len(rows), seed=seed)
    return Gradients(
        lambda: gradient_chunks(network.module, rows, labels, names=network.names, read=network.read, at_once=network.at_once), len(rows)
    )


class _Sgd:
    """Plain SGD on the network's own parameters, in the order of one shuffled pass after another."""

    def __init__(self, network: Network, rows: Array, labels: "torch.Tensor", learning_rate: float, seed: int) -> None:
        self.network, self.rows, self.labels, self.step = network, rows, labels, 0
        chosen = [value for name, value in network.module.named_parameters() if network.names is None or name in network.names]
        self.optimiser = torch.optim.SGD([value.requires_grad_(True) for value in chosen], lr=learning_rate)
        self.generator = stream(seed, "training order")
        self.waiting: list[int] = []

    def train_until(self, step: int) -> None:
        """Goes on to that step."""
        while self.step < step:
            if not self.waiting:
                self.waiting = self.generator.permutation(len(self.rows)).tolist()
            batch, self.waiting = self.waiting[:BATCH], self.waiting[BATCH:]
            with torch.enable_grad():
                loss = torch.nn.functional.cross_entropy(self.network.module(self.network.read(self.rows[batch])), self.labels[batch])
                self.optimiser.zero_grad()
                torch.autograd.backward(loss)
            self.optimiser.step()
            self.step += 1

    def accuracy(self, most: int) -> float:
        """On the first `most` training rows."""
        hits = 0
        with torch.inference_mode():
            for start in range(0, min(most, len(self.rows)), BATCH):
                part = slice(start, min(start + BATCH, most))
                hits += int((self.network.module(self.network.read(self.rows[part])).argmax(1) == self.labels[part]).sum())
        return hits / min(most, len(self.rows))
