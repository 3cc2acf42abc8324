"""The data-dependent privacy of GNMax votes (Papernot et al. 2018): small where teachers agree, and itself private.

Computed from true votes, so it must never be released or used to set noise: a non-private annotation.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import log_ndtr, logsumexp

from pillar_core.arrays import Array

ORDERS = tuple(float(order) for order in np.concatenate([np.arange(1.5, 20, 0.5), np.arange(20, 200, 5), np.arange(200, 2001, 50)]))


def log_chance_of_another(votes: Array, sigma: float) -> float:
    """log q̃ of Proposition 7: a bound on the probability that GNMax does not answer the top class. votes: (C,).

    At most 1 − 1/C: the top class is no less likely than any other.
    """
    top = int(np.argmax(votes))
    gaps = np.delete(votes[top] - votes, top)
    return min(math.log1p(-1.0 / len(votes)), float(logsumexp(log_ndtr(-gaps / (math.sqrt(2.0) * sigma)))))


def gnmax_rdp(votes: Array, sigma: float, orders: Sequence[float] = ORDERS) -> Array:
    """(len(orders),) RDP of one GNMax answer on these votes, at most order/σ² (Theorem 6 and Proposition 10)."""
    log_q = log_chance_of_another(np.asarray(votes, dtype=np.float64), sigma)
    plain = np.asarray(orders, dtype=np.float64) / sigma**2
    if log_q == -math.inf:
        return np.zeros_like(plain)
    second = sigma * math.sqrt(-log_q)
    first = second + 1.0
    first_rdp, second_rdp = first / sigma**2, second / sigma**2
    if not second > 1:
        return plain
    limit = (second - 1.0) * second_rdp - second * (math.log1p(1.0 / (first - 1.0)) + math.log1p(1.0 / (second - 1.0)))
    if not log_q <= limit or not log_q + second_rdp < 0:
        return plain
    log_rest = math.log1p(-math.exp(log_q))
    log_a = log_rest - math.log1p(-math.exp((log_q + second_rdp) * (1.0 - 1.0 / second)))
    log_b = first_rdp - log_q / (first - 1.0)
    better = [
        (np.logaddexp(log_rest + (order - 1.0) * log_a, log_q + (order - 1.0) * log_b)) / (order - 1.0) if order <= first else math.inf
        for order in orders
    ]
    smaller: Array = np.minimum(plain, np.maximum(np.array(better), 0.0))
    return smaller


def data_dependent_epsilon(votes: Array, sigma: float, *, delta: float) -> float:
    """ε at `delta` of answering all rows of votes (m, C), by RDP: non-private, because it depends on the votes."""
    total = np.sum([gnmax_rdp(row, sigma) for row in votes], axis=0)
    orders = np.array(ORDERS)
    return float(np.min(total + np.log1p(-1.0 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1.0)))
