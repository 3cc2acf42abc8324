"""The Bingham mechanism: private principal directions of clipped rows, drawn exactly.

Guarantee: for rows y_i with ‖y_i‖₂ ≤ c, the score vᵀ(Σ y_i y_iᵀ)v of a unit vector v moves, for one
row added or removed (public size), by (vᵀy)², which spreads over all v by at most c². Density ∝
exp(ε/c² · vᵀ(Σ y_i y_iᵀ)v) is therefore pure ε-DP under add/remove and 2ε-DP under replace-one
(McSherry & Talwar 2007; Chaudhuri, Sarwate & Sinha 2013; the gsd paper's ε/c² is inconsistent with
its own proof). k directions are k such draws at ε/k, each in the orthogonal complement of those
before. Exact up to float64: rejection from the angular central Gaussian envelope (Kent, Ganeiber &
Mardia 2018, section 2); no Markov chain. The time of a draw depends on the data and is not
protected.
"""

import dataclasses
import math

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import SettingError
from pillar_core.ledger import Call, Ledger
from pillar_core.mechanisms.exponential import exponential
from pillar_core.rng import Stream

BATCH = 256
"""Proposals at a time."""


@dataclasses.dataclass(frozen=True)
class BinghamMechanism:
    """Draws directions of a sum of outer products of rows clipped to `l2_clip_norm`; each draw
    costs `epsilon` (add/remove)."""

    epsilon: float
    l2_clip_norm: float
    stream: Stream
    ledger: Ledger
    label: str = "private direction"

    def __post_init__(self) -> None:
        if not 0 < self.epsilon < math.inf or not 0 < self.l2_clip_norm < math.inf:
            raise SettingError(
                f"epsilon and l2_clip_norm must be in (0, inf); got {self.epsilon!r},"
                f" {self.l2_clip_norm!r}."
            )

    def direction(self, moment: Array) -> Array:
        """(s,) float64 unit vector. moment: (s, s) float64, Σ y_i y_iᵀ of clipped rows, s at least
        2."""
        scale = self.epsilon / self.l2_clip_norm**2
        call = Call("bingham", (len(moment),), 1.0 / scale, self.l2_clip_norm**2, self.l2_clip_norm)
        return self.ledger.release(
            exponential(self.epsilon),
            call,
            moment,
            lambda: bingham(scale * moment, self.stream),
            label=self.label,
        )

    def directions(self, moment: Array, k: int) -> Array:
        """(s, k) float64 orthonormal: k draws with deflation, k · `epsilon` in all; k below s."""
        if not 1 <= k < len(moment):
            raise SettingError(
                f"k must be in [1, {len(moment) - 1}], below the dimension of the sketch; got"
                f" {k!r}."
            )
        basis = np.zeros((len(moment), 0))
        for _ in range(k):
            free = np.linalg.qr(np.concatenate([basis, np.eye(len(moment))], axis=1))[0][
                :, basis.shape[1] :
            ]
            drawn = free @ self.direction(free.T @ moment @ free)
            basis = np.concatenate([basis, (drawn / np.linalg.norm(drawn))[:, None]], axis=1)
        return basis


def bingham(exponent: Array, stream: Stream) -> Array:
    """(s,) float64 unit vector with density ∝ exp(xᵀ · exponent · x) on the sphere; exponent: (s,
    s) symmetric, finite."""
    from scipy.optimize import brentq

    values, vectors = np.linalg.eigh((exponent + exponent.T) / 2)
    gaps = values[-1] - values
    size = len(gaps)
    width = float(
        size
        # of the tightest envelope, Σ 1/(width + 2·gap) = 1; any in (0, size] gives the same law,
        # only slower
    )
    if float(gaps.max()) > 0:
        width = float(
            brentq(
                lambda width: float(np.sum(1.0 / (width + 2.0 * gaps))) - 1.0, 1e-6, len(gaps) + 1.0
            )
        )
    precision = 1.0 + 2.0 * gaps / width
    log_bound = -(size - width) / 2 + size / 2 * math.log(size / width)
    while True:
        proposals = stream.standard_normal((BATCH, size)) / np.sqrt(precision)
        proposals /= np.linalg.norm(proposals, axis=1, keepdims=True)
        squares = proposals**2
        log_ratio = -squares @ gaps + size / 2 * np.log(squares @ precision) - log_bound
        accepted = np.flatnonzero(np.log(np.maximum(stream.random(BATCH), 2.0**-54)) < log_ratio)
        if len(accepted):
            drawn: Array = vectors @ proposals[accepted[0]]
            return drawn
