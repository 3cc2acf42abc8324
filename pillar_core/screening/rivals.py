"""Rivals of gradient distances that read labels: Task2Vec and OTDD.

Task2Vec (Achille et al. 2019): a set as the diagonal Fisher information of a probe network, filter
by filter. The head of the probe is fitted to the set's own labels by ridge regression on its last
layer; Fisher labels are drawn from the fitted network; squared per-example gradients are averaged
over rows and over each filter. Distance of two sets: the cosine distance of h₀/(h₀ + h₁) and h₁/(h₀
+ h₁), which is blind to scale. OTDD (Alvarez-Melis & Fusi 2020): optimal transport between labelled
sets. Cost of a pair of rows: ½‖x − x′‖² + ½·BW²(label, label′), the squared Bures–Wasserstein
distance of the labels' Gaussians (covariances with n − 1). The transport is solved exactly (network
simplex, by POT), which 2,000 rows of each side let happen in a second. Published values from a
fixed, large entropy miss it by far.
"""

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.extras import needed
from pillar_core.rng import stream
from pillar_core.screening import probe
from pillar_core.screening.batches import LABEL_CLASSES, Start, image_batches

RIDGE = 1e-2
SMALLEST = 1e-30


def task2vec_distance(first: Array, second: Array) -> float:
    """In [0, 1] for embeddings h ≥ 0 (filters,); 0 where one is a multiple of ones of the other in
    the compared form."""
    first, second = checks.arrays("n, n", first=first, second=second)
    total = np.asarray(first, dtype=np.float64) + np.asarray(second, dtype=np.float64) + SMALLEST
    a, b = first / total, second / total
    return float(
        np.clip(1.0 - a @ b / max(float(np.linalg.norm(a) * np.linalg.norm(b)), SMALLEST), 0.0, 1.0)
    )


def embedding(rows: Array, labels: Array, start: Start) -> Array:
    """(80,) float64 Fisher information of the probe's 64 + 16 filters on images and their labels
    (folded into ten codes)."""
    net = probe.probe(start)
    _fit_head(net, rows, torch.from_numpy(np.asarray(labels) % LABEL_CLASSES))
    generator = stream(start.seed, "Fisher labels", start.repeat)
    total = torch.zeros(probe.PARAMETERS)
    for images in image_batches(rows, probe.INPUT_SIZE, batch=32):
        shares = torch.softmax(probe.forward(net, images)[-1], dim=1).numpy().cumsum(axis=1)
        drawn = (generator.random((len(images), 1)) > shares[:, :-1]).sum(axis=1)
        total += probe.probe_rows(net, images, torch.from_numpy(drawn)).square().sum(dim=0)
    fisher = total / len(rows)
    first, first_bias, second, *_ = (part.numel() for part in net.parameters())
    begin = first + first_bias
    filters = [
        fisher[:first].view(64, -1).mean(dim=1),
        fisher[begin : begin + second].view(16, -1).mean(dim=1),
    ]
    return torch.cat(filters).double().numpy()


def _fit_head(net: "torch.nn.Module", rows: Array, codes: "torch.Tensor") -> None:
    """Fits the network's last layer to labels by ridge regression on ±1 targets."""
    x = torch.cat(
        [
            probe.forward(net, images)[2].flatten(1)
            for images in image_batches(rows, probe.INPUT_SIZE, batch=32)
        ]
    )
    x = torch.cat([x, torch.ones(len(x), 1)], dim=1).double()
    targets = 2.0 * torch.nn.functional.one_hot(codes, LABEL_CLASSES).double() - 1.0
    penalty = RIDGE * float(x.square().sum()) / x.shape[1]
    weights = torch.linalg.solve(
        x.T @ x + penalty * torch.eye(x.shape[1], dtype=torch.float64), x.T @ targets
    ).float()
    *_, dense, dense_bias = net.parameters()
    dense.data, dense_bias.data = weights[:-1].T.contiguous(), weights[-1].contiguous()


ROWS = 4000
"""Rows of each set at most: the costs of all pairs are held in memory."""
STEPS = 10_000_000


def otdd(x: Array, y: Array, x_other: Array, y_other: Array) -> float:
    """The squared OTDD of (n, d) rows with labels (n,) and (n′, d) other rows; at least 0.

    Raises DataError: as `transport_cost`. MissingDependencyError: no POT.
    """
    x, y, x_other, y_other = checks.arrays(
        "n d, n, m d, m", x=x, y=y, x_other=x_other, y_other=y_other
    )
    return transport_cost(costs(x[:ROWS], y[:ROWS], x_other[:ROWS], y_other[:ROWS]))


def costs(x: Array, y: Array, x_other: Array, y_other: Array) -> Array:
    """(n, n′) float64 costs of the pairs of rows."""
    labels, other_labels = np.unique(y), np.unique(y_other)
    between = np.array(
        [
            [bures_wasserstein(x[y == a], x_other[y_other == b]) for b in other_labels]
            for a in labels
        ],
        dtype=np.float64,
    )
    left, right = x.astype(np.float64), x_other.astype(np.float64)
    squares = (left**2).sum(1)[:, None] + (right**2).sum(1)[None] - 2 * left @ right.T
    return np.asarray(
        np.maximum(squares, 0.0) / 2
        + between[np.searchsorted(labels, y)][:, np.searchsorted(other_labels, y_other)] / 2
    )


def transport_cost(cost: Array) -> float:
    """The least mean cost of transport between rows of equal weight, exactly.

    Raises DataError: a transport that was not found within `STEPS`.
    """
    with needed("otdd"):
        import ot
    first, second = (np.full(size, 1.0 / size) for size in cost.shape)
    value, log = ot.emd2(first, second, cost, numItermax=STEPS, log=True)
    if log["warning"] is not None:
        raise DataError(
            f"the transport of {cost.shape[0]} rows to {cost.shape[1]} was not found:"
            f" {log['warning']}. Lower n_examples."
        )
    return float(value)


def bures_wasserstein(rows: Array, others: Array) -> float:
    """‖m − m′‖² + tr(S + S′ − 2(S^½ S′ S^½)^½) of the rows' Gaussians; a class of one row has no
    spread.

    tr (S^½ S′ S^½)^½ is the sum of the singular values of X X′ᵀ for centred rows X, X′ scaled by
    1/√(n − 1): no root is taken.
    """
    rows, others = checks.arrays("n d, m d", rows=rows, others=others)
    a, b = _scale_rows(rows), _scale_rows(others)
    shift = float(((rows.mean(0) - others.mean(0)) ** 2).sum())
    coupled = float(np.linalg.svd(a @ b.T, compute_uv=False).sum())
    return max(0.0, shift + float((a**2).sum()) + float((b**2).sum()) - 2 * coupled)


def _scale_rows(rows: Array) -> Array:
    centred = rows.astype(np.float64) - rows.mean(0, dtype=np.float64)
    return np.asarray(centred / np.sqrt(max(1, len(rows) - 1)))
