"""Noise that cancels between steps, at equal μ, on heads trained by full-batch sums: `python
research/cancelling.py` (a minute).

Step t adds z_t − λ·z_{t−1} to the sum of clipped gradients: noise z = C⁻¹ξ with C⁻¹ = I − λ·shift,
as in DP-λCGD (arXiv 2601.22334). Every row is in every sum, so adding one moves Cg by up to ‖C1‖
clip norms (all its gradients may point one way), and ξ has standard deviation ‖C1‖·clip/μ.
`research/cancelling.md` has the bound. An experiment: noise of a known seed, outside of the ledger.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.stats import t as student

import pillar_core as pc
from pillar_core.accounting import mu_of
from pillar_core.runs.splitting import default_backbone
from pillar_core.splits import has_units, view_of
from pillar_core.types import FeatureSet, PublicUse

CLIP, SEEDS, LAMBDAS, BUDGETS = 0.4, range(5), (0.0, 0.25, 0.5, 0.75, 0.9), (0.1, 1.0, 8.0)
Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def factor(steps: int, cancelled: float) -> tuple[Array, float]:
    """C⁻¹ = I − λ·shift, and ‖C1‖, how far a row that is in every step moves Cg."""
    inverse = np.eye(steps) - cancelled * np.eye(steps, k=-1)
    return inverse, float(np.linalg.norm(np.linalg.solve(inverse, np.ones(steps))))


def trained(
    z: Array,
    y: Array,
    classes: int,
    *,
    mu: float,
    steps: int,
    step: float,
    cancelled: float,
    seed: int,
) -> Array:
    """(classes, k) weights of full-batch descent on the mean clipped gradient, the noise of step t
    less λ times that of the step before."""
    inverse, sensitivity = factor(steps, cancelled)
    weights, targets = np.zeros((classes, z.shape[1])), np.eye(classes)[y]
    fresh = (
        np.random.default_rng(seed).standard_normal((steps, *weights.shape))
        * sensitivity
        * CLIP
        / mu
    )
    noise = np.einsum("ts,sck->tck", inverse, fresh)
    for drawn in noise:
        logits = z @ weights.T
        errors = np.exp(logits - logits.max(axis=1, keepdims=True))
        errors = errors / errors.sum(axis=1, keepdims=True) - targets
        norms = np.linalg.norm(errors, axis=1) * np.linalg.norm(z, axis=1)
        total = (errors * np.minimum(1, CLIP / np.maximum(norms, 1e-12))[:, None]).T @ z + drawn
        weights -= step * total / len(z)
    return weights


def main() -> None:
    generator, worst = np.random.default_rng(0), np.inf
    for _ in range(
        2000
    ):  # any lower triangular C: the noise of the last iterate is at least T/μ times the step
        steps = int(generator.integers(2, 30))
        c = np.tril(generator.standard_normal((steps, steps)), -1) * generator.uniform(
            0, 1
        ) + np.diag(generator.uniform(0.2, 2, steps))
        last = np.linalg.norm(np.linalg.solve(c.T, np.ones(steps))) * np.linalg.norm(
            c @ np.ones(steps)
        )
        worst = min(worst, last / steps)
    print(
        "2,000 random C: noise of the last iterate over that of independent noise, at least"
        f" {worst:.4f} (Cauchy and Schwarz: 1)"
    )
    for cancelled in LAMBDAS:
        inverse, sensitivity = factor(20, cancelled)
        print(
            f"λ = {cancelled:g}, T = 20:"
            f" {np.linalg.norm(inverse.T @ np.ones(20)) * sensitivity / 20:.3f} of it"
        )
    print(
        "set, ε, T: accuracy without noise that cancels; difference in points for each λ, paired"
        " over seeds, 95 %"
    )
    for name in ("digits", "fashion_mnist"):
        features = pc.load_features(pc.load_dataset(name), default_backbone(name))
        for epsilon in BUDGETS:
            accuracies = np.array([_accuracies(features, epsilon, seed) for seed in SEEDS])
            gains = 100 * (accuracies[:, 1:] - accuracies[:, :1])
            reach = (
                student.ppf(0.975, len(SEEDS) - 1) * gains.std(axis=0, ddof=1) / len(SEEDS) ** 0.5
            )
            columns = zip(LAMBDAS[1:], gains.mean(axis=0), reach, strict=True)
            shown = ", ".join(f"{part:g}: {mean:+.1f} ± {half:.1f}" for part, mean, half in columns)
            print(
                f"{name}, ε = {epsilon:g}: {100 * accuracies[:, 0].mean():.1f}; {shown}", flush=True
            )


def _accuracies(features: FeatureSet, epsilon: float, seed: int) -> list[float]:
    """Test accuracy for each λ with PILLAR's own k, steps and step size at this budget."""
    split = pc.split(features, public_fraction=0.1, seed=seed)
    settings = pc.run("pillar", split, epsilon=epsilon, seed=seed).settings
    view = view_of(split, PublicUse.UNLABELLED)
    units = has_units(split.public_x, features.text_block)
    transform = view.basis(standardise=units, centre=True).transform(
        int(settings["k"]), normalise=True
    )
    z, y = (
        transform(features.x_train[split.private]).astype(np.float64),
        features.y_train[split.private],
    )
    found = []
    for cancelled in LAMBDAS:
        style = {
            "mu": mu_of(epsilon, 1e-5),
            "steps": int(settings["steps"]),
            "step": float(settings["learning_rate"]),
        }
        weights = trained(z, y, features.n_classes, cancelled=cancelled, seed=seed, **style)
        found.append(
            float(
                ((transform(features.x_test) @ weights.T).argmax(axis=1) == features.y_test).mean()
            )
        )
    return found


if __name__ == "__main__":
    main()
