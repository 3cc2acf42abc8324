"""A linear classifier on the original features: a public row-wise transform, then weights and
biases."""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.splits import Transform


@dataclasses.dataclass(frozen=True, eq=False)
class LinearClassifier:
    """scores(x) = transform(x) · weights + bias. weights: (k, C) float32, bias: (C,) float32.

    noise_std: of prepared rows (n, k) the (n,) standard deviations of training's noise in the
    scores of one class, as it reaches the end if no later step takes any of it back; None where no
    law is known. Where a later step answers to the weights it does, so theirs is less.
    """

    transform: Transform
    weights: Array
    bias: Array
    noise_std: Callable[[Array], Array] | None = None

    @classmethod
    def without_bias(
        cls,
        transform: Transform,
        weights: Array,
        noise_std: Callable[[Array], Array] | None = None,
    ) -> "LinearClassifier":
        """The classifier of weights (k, C), which become float32."""
        bias = np.zeros(weights.shape[1], dtype=np.float32)
        return cls(transform, np.asarray(weights, dtype=np.float32), bias, noise_std)

    @property
    def width(self) -> int:
        """d, the numbers of a row."""
        if self.transform.columns is not None:
            return int(self.transform.columns.d)
        return len(self.weights if self.transform.projection is None else self.transform.projection)

    def scores(self, x: Array) -> Array:
        """(n, C) float32 scores of rows x (n, d). Raises DataError for rows of another
        dimension."""
        return np.asarray(self.transform(x) @ self.weights + self.bias)

    def predict(self, x: Array) -> Array:
        """(n,) int64 labels, ties to the lower one."""
        return np.asarray(np.argmax(self.scores(x), axis=1))


def independent_noise(std: Array | float) -> Callable[[Array], Array]:
    """`LinearClassifier.noise_std` of weights whose noise is independent, of these standard
    deviations: (k,), or one number."""
    return functools.partial(_length, scale=std)


def noise_left(moved: Array, momentum: float) -> float:
    """The standard deviation of a weight's noise after T steps of descent if none takes any of it
    back. moved: (T,) that of what each step's noise moves the weight by at once."""
    carried = np.cumsum(momentum ** np.arange(len(moved)))[::-1]
    return float(np.linalg.norm(moved * carried))


def _length(rows: Array, scale: Array | float) -> Array:
    return np.asarray(np.linalg.norm(rows * scale, axis=1))
