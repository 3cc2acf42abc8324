"""Task2Vec (Achille et al. 2019): a set as the diagonal Fisher information of a probe network, filter by filter.

The head of the probe is fitted to the set's own labels by ridge regression on its last layer; Fisher labels are drawn from the
fitted network; squared per-example gradients are averaged over rows and over each filter. Distance of two sets: the cosine
distance of h₀/(h₀ + h₁) and h₁/(h₀ + h₁), which is blind to scale.
"""

import dataclasses

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.rng import stream
from pillar_core.screening import probe
from pillar_core.screening.batches import LABEL_CLASSES, image_batches

RIDGE = 1e-2
SMALLEST = 1e-30


def task2vec_distance(first: Array, second: Array) -> float:
    """In [0, 1] for embeddings h ≥ 0 (filters,); 0 where one is a multiple of ones of the other in the compared form."""
    first, second = checks.arrays("n, n", first=first, second=second)
    total = np.asarray(first, dtype=np.float64) + np.asarray(second, dtype=np.float64) + SMALLEST
    a, b = first / total, second / total
    return float(np.clip(1.0 - a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), SMALLEST), 0.0, 1.0))


def embedding(rows: Array, labels: Array, *, seed: int, repeat: int = 0) -> Array:
    """(80,) float64 Fisher information of the probe's 64 + 16 filters on images and their labels (folded into ten codes)."""
    start = probe.probe(seed, repeat)
    codes = torch.from_numpy(np.asarray(labels) % LABEL_CLASSES)
    net = _fit_head(start, rows, codes)
    generator = stream(seed, "Fisher labels", repeat)
    total = torch.zeros(probe.PARAMETERS)
    for images in image_batches(rows, probe.INPUT_SIZE, batch=32):
        shares = torch.softmax(probe.forward(net, images)[-1], dim=1).numpy().cumsum(axis=1)
        drawn = (generator.random((len(images), 1)) > shares[:, :-1]).sum(axis=1)
        total += probe.probe_rows(net, images, torch.from_numpy(drawn)).square().sum(dim=0)
    fisher = total / len(rows)
    first, second = net.first.numel(), net.second.numel()
    begin = first + net.first_bias.numel()
    filters = [fisher[:first].view(64, -1).mean(dim=1), fisher[begin : begin + second].view(16, -1).mean(dim=1)]
    return torch.cat(filters).double().numpy()


def _fit_head(net: probe.Probe, rows: Array, codes: "torch.Tensor") -> probe.Probe:
    """The network with its last layer fitted to labels by ridge regression on ±1 targets."""
    x = torch.cat([probe.forward(net, images)[2].flatten(1) for images in image_batches(rows, probe.INPUT_SIZE, batch=32)])
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1).double()
    targets = 2.0 * torch.nn.functional.one_hot(codes, LABEL_CLASSES).double() - 1.0
    penalty = RIDGE * float(x.square().sum()) / x.shape[1]
    weights = torch.linalg.solve(x.T @ x + penalty * torch.eye(x.shape[1], dtype=torch.float64), x.T @ targets).float()
    return dataclasses.replace(net, dense=weights[:-1].T.contiguous(), dense_bias=weights[-1].contiguous())
