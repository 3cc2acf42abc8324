"""A linear classifier on the original features: a public row-wise transform, then weights and
biases."""

import dataclasses

import numpy as np

from pillar_core.arrays import Array
from pillar_core.splits import Transform


@dataclasses.dataclass(frozen=True, eq=False)
class LinearClassifier:
    """scores(x) = transform(x) · weights + bias. weights: (k, C) float32, bias: (C,) float32."""

    transform: Transform
    weights: Array
    bias: Array

    @classmethod
    def without_bias(cls, transform: Transform, weights: Array) -> "LinearClassifier":
        """The classifier of weights (k, C), which become float32."""
        bias = np.zeros(weights.shape[1], dtype=np.float32)
        return cls(transform, np.asarray(weights, dtype=np.float32), bias)

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
