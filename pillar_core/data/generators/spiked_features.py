"""A generator that behaves like deep features of a large image set; synthetic wherever it is shown.

In its own eigenbasis a row is x = (1 − a)·m_y + a·m_y' + t·diag(s)·z: the spectrum is a power law,
s_j² ∝ j^−decay; class means m live in the leading components, m_cj = separation · s_j · g_cj / (1 +
(j/50)^1.2) with g standard normal, cut after 256; t makes the noise heavy-tailed (Student, 4
degrees of freedom, unit variance); a = 0.8·u^10 moves some rows towards a second class y', so that
no classifier is perfect. A random rotation hides the basis. The covariance, and so the basis that
principal components estimate, is known: diag(s²) + κ·MᵀM/C with κ from the first two moments of a.
"""

import dataclasses
import math

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.data.cards import DATASETS, card_of
from pillar_core.errors import SettingError
from pillar_core.params import declare
from pillar_core.types import Dataset

CHUNK = 4_096
SIGNAL_COMPONENTS = 256
SIGNAL_WIDTH, SIGNAL_FALL = 50.0, 1.2
DEGREES_OF_FREEDOM = 4.0
AMBIGUITY, AMBIGUITY_POWER = 0.8, 10


@dataclasses.dataclass(frozen=True)
class SpikedFeaturesSettings:
    """Sizes, and the two shapes that matter: how fast the spectrum falls and how far the classes
    lie apart."""

    n: int = declare(50000, "Train rows.", low=100, high=100_000, unit="rows", log=True)
    n_test: int = declare(5000, "Test rows.", low=100, high=50_000, unit="rows", log=True)
    d: int = declare(512, "Feature dimension.", low=8, high=2048, unit="features", log=True)
    C: int = declare(50, "Classes, equally frequent.", low=2, high=100, unit="classes")
    decay: float = declare(0.75, "Exponent of the power-law spectrum.", low=0, high=3)
    separation: float = declare(
        0.6, "Spread of the class means in units of the noise.", low=0, high=5
    )


@dataclasses.dataclass(frozen=True)
class _Population:
    """What train and test rows share. `rotation` holds two factors of a Kronecker product and a
    column order."""

    spread: Array
    means: Array
    left: Array
    right: Array
    order: Array

    def rotate(self, rows: Array) -> Array:
        """(n, d) rows from the eigenbasis to the coordinates that users see."""
        shape = (len(rows), len(self.left), len(self.right))
        placed = rows[:, self.order].reshape(-1, shape[2]) @ self.right.T
        turned: Array = np.matmul(self.left, placed.reshape(shape))
        return turned.reshape(len(rows), -1)


def _read(settings: SpikedFeaturesSettings, seed: int, download: bool) -> Dataset:
    if settings.n < settings.C:
        raise SettingError(
            f"n must be at least C, so that every class has a train row; got n={settings.n},"
            f" C={settings.C}."
        )
    population = _population(settings, seed)
    x_train, y_train = _rows(population, settings.n, rng.stream(seed, "spiked_features", "train"))
    x_test, y_test = _rows(population, settings.n_test, rng.stream(seed, "spiked_features", "test"))
    classes = tuple(f"class {code}" for code in range(settings.C))
    return Dataset(
        "spiked_features",
        x_train,
        y_train,
        x_test,
        y_test,
        classes=classes,
        known=_known_geometry(population),
    )


def _population(settings: SpikedFeaturesSettings, seed: int) -> _Population:
    generator = rng.stream(seed, "spiked_features", "population")
    component = np.arange(settings.d, dtype=np.float64)
    spread = (1 + component) ** (-settings.decay / 2)
    spread /= math.sqrt(float(np.sum(spread**2)))
    signal = settings.separation * spread / (1 + (component / SIGNAL_WIDTH) ** SIGNAL_FALL)
    means = signal * generator.standard_normal((settings.C, settings.d))
    means[:, SIGNAL_COMPONENTS:] = 0
    means -= means.mean(axis=0)
    rows = max(size for size in range(1, math.isqrt(settings.d) + 1) if settings.d % size == 0)
    left, right = _rotation(rows, generator), _rotation(settings.d // rows, generator)
    return _Population(
        spread.astype(np.float32),
        means.astype(np.float32),
        left,
        right,
        generator.permutation(settings.d),
    )


def _rotation(size: int, generator: np.random.Generator) -> Array:
    q, r = np.linalg.qr(generator.standard_normal((size, size)))
    return (q * np.sign(np.diag(r))).astype(np.float32)


def _rows(population: _Population, n: int, generator: np.random.Generator) -> tuple[Array, Array]:
    classes, d = population.means.shape
    labels = generator.permutation(np.arange(n) % classes)
    confused = (labels + generator.integers(1, classes, n)) % classes
    share = (AMBIGUITY * generator.random(n) ** AMBIGUITY_POWER).astype(np.float32)[:, None]
    tail = np.sqrt(
        (DEGREES_OF_FREEDOM - 2) / (2 * generator.standard_gamma(DEGREES_OF_FREEDOM / 2, n))
    ).astype(np.float32)[:, None]
    x = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        noise = generator.standard_normal((part.stop - start, d), dtype=np.float32)
        noise *= population.spread
        noise *= tail[part]
        noise += population.means[labels[part]] * (1 - share[part])
        noise += population.means[confused[part]] * share[part]
        x[part] = population.rotate(noise)
    return x, labels


def _known_geometry(population: _Population) -> dict[str, Array]:
    """`eigenvalues` (d,) of the covariance, largest first, `basis` (d, r) of its leading
    eigenvectors, `class_means` (C, d)."""
    means, variances = (
        population.means.astype(np.float64),
        population.spread.astype(np.float64) ** 2,
    )
    classes, leading = len(means), min(SIGNAL_COMPONENTS, len(variances))
    first, second = AMBIGUITY / (AMBIGUITY_POWER + 1), AMBIGUITY**2 / (2 * AMBIGUITY_POWER + 1)
    kappa = 1 - 2 * first + 2 * second - 2 * (first - second) / (classes - 1)
    block = (
        np.diag(variances[:leading]) + kappa / classes * means[:, :leading].T @ means[:, :leading]
    )
    values, vectors = np.linalg.eigh(block)
    directions = np.zeros((leading, len(variances)), dtype=np.float32)
    directions[:, :leading] = vectors[:, ::-1].T
    # Adding means only raises eigenvalues, so those of the block stay above the tail's.
    eigenvalues = np.concatenate([values[::-1], variances[leading:]])
    factor = 1 - first - first / (classes - 1)
    centres = factor * population.rotate(population.means)
    return {
        "eigenvalues": eigenvalues,
        "basis": population.rotate(directions).T.copy(),
        "class_means": centres,
    }


DATASETS.register(card_of("spiked_features", _read, settings=SpikedFeaturesSettings))
