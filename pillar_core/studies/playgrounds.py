"""Playgrounds: registered learners on data whose truth is known, measured beside what theory
predicts."""

import functools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core import theory
from pillar_core.data import load_dataset
from pillar_core.runs.loading import load_features
from pillar_core.runs.run import run
from pillar_core.runs.splitting import split
from pillar_core.splits import public_basis
from pillar_core.types import Values

_OFF = dict.fromkeys(("bias", "standardise", "centre"), False)
ONE_RELEASE: Values = {
    "steps": 1,
    "learning_rate": 1.0,
    "l2_clip_norm": 1 / math.sqrt(2.0),
    "normalise": True,
    **_OFF,
}
"""One full-batch step from zero: every row's gradient has norm 1/√2 exactly, so the clip binds
nobody and theory is exact."""
N_TEST = 4_000


def mixture(
    *,
    d: int,
    theta: float,
    sigma: float,
    epsilon: float,
    n_private: Sequence[int],
    n_public: int,
    seeds: int = 3,
    seed: int = 0,
) -> pd.DataFrame:
    """Errors of PILLAR's one-direction projection and of none, on the Gaussian mixture, at several
    numbers of private rows.

    Columns projection ("first public direction", "none"), n_private, seed, error, predicted, held:
    all on a fresh test set of 4,000 rows; `predicted` knows the direction that the public rows gave
    (‖A₁ᵀμ‖ = held). Raises SettingError, BudgetError: as `run` and the data set.
    """
    lines = []
    for draw in range(seed, seed + seeds):
        for n in n_private:
            rows = max(n, 4) + n_public
            law: Values = {"d": d, "theta": theta, "sigma": sigma}
            drawn = load_dataset("gaussian_mixture", seed=draw, n=rows, n_test=N_TEST, **law)
            parts = split(load_features(drawn), public_fraction=n_public / rows, seed=draw)
            first = public_basis(parts.public_x, standardise=False, centre=False).vectors[:, 0]
            # ‖A₁ᵀμ‖ of the uncentred first public direction
            share = min(float(abs(np.asarray(parts.features.known["mu"]) @ first)), 1.0)
            for name, method, k, held, settings in (
                ("first public direction", "pillar", 1, share, {**ONE_RELEASE, "k": 1}),
                ("none", "dp_sgd", d, 1.0, ONE_RELEASE),
            ):
                record = run(method, parts, epsilon=epsilon, seed=draw, **settings)
                predicted = theory.predicted_error(
                    n_private=n, epsilon=epsilon, k=k, theta=theta, sigma=sigma, held=held
                )
                lines.append((name, n, draw, 1 - float(record.accuracy or 0.0), predicted, held))
    return pd.DataFrame(
        lines, columns=["projection", "n_private", "seed", "error", "predicted", "held"]
    )


def disjunctions(
    *,
    d: int,
    k: int,
    p: float,
    epsilons: Sequence[float],
    n_private: Sequence[int],
    n_unlabelled: int,
    seeds: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Expected error of the exponential mechanism's choice among unions of components, exactly
    averaged over the choice.

    Columns epsilon, n_private, seed, error, components; error is NaN where more than 2^16 unions
    remain.
    """
    lines, rows_of = [], functools.partial(theory.random_graph_rows, d=d, k=k, p=p)
    x_test, y_test = rows_of(1_000, seed=seed, part="test")
    for draw in range(seed, seed + seeds):
        graph = theory.component_graph(rows_of(n_unlabelled, seed=draw, part="unlabelled")[0])
        x, y = rows_of(max(n_private), seed=draw, part="private")
        for n in n_private:
            for epsilon in epsilons:
                error = math.nan
                if graph.count <= theory.MOST_COMPONENTS:
                    chosen = theory.choice(
                        graph, x[:n], y[:n], epsilon=epsilon, x_test=x_test, y_test=y_test
                    )
                    error = float(chosen.expected_error or 0.0)
                lines.append((float(epsilon), int(n), draw, error, graph.count))
    return pd.DataFrame(lines, columns=["epsilon", "n_private", "seed", "error", "components"])
