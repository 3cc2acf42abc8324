"""Why public directions help a private learner: AdaMix's private gradients on public against random directions (AdaMix, Figure 6).

AdaMix is trained as registered; before each step the private rows' summed gradient at the weights of that moment is compared with
its projection on the subspace that AdaMix takes from the public rows, and on a random one of the same dimension. This reads
private gradients without noise: a diagnostic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pillar_core.deferred import torch
from pillar_core.engine import Head, NoisySum, Step, train_heads
from pillar_core.engine.mixed import gradient_subspace, public_gradients
from pillar_core.engine.train import Optimiser
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger
from pillar_core.methods.parts import mixed
from pillar_core.methods.parts.descent import HeadGroup
from pillar_core.methods.parts.mixed import PublicRows
from pillar_core.methods.public_gradients import adamix
from pillar_core.rng import stream
from pillar_core.runs.run import solve
from pillar_core.runs.splitting import split
from pillar_core.studies.screening.benefit import labelled_features, private_features
from pillar_core.types import Dataset, Form

RANDOM = "random directions"


def reconstruction_errors(
    private: Dataset,
    public: Mapping[str, Dataset],
    *,
    k: int = 16,
    epsilon: float = 3.0,
    delta: float = 1e-5,
    model: str = "",
    seed: int = 0,
) -> pd.DataFrame:
    """Relative reconstruction errors ‖G − GUUᵀ‖/‖G‖ in [0, 1] at each step: columns public, step, error.

    G is the private rows' summed gradient; `public` "random directions" is a random subspace of dimension k. Each set's labels are
    taken by their number, folded into the private classes; features as in `measure_accuracies`.

    Raises:
        DataError: a set without labels, or whose rows span fewer than k directions. Errors of `run`.
    """
    rows: list[Form] = []
    features = private_features(private, model)
    for number, (name, data_set) in enumerate(public.items()):
        parts = split(features, public=labelled_features(data_set, features, model), allow_overlap=True)
        solved = solve("adamix", parts, epsilon=epsilon, delta=delta, seed=seed, k=k, standardise=False, centre=False)
        settings, view = solved.settings, solved.view
        prepared = view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=settings.normalise)
        directions = torch.from_numpy(view.basis(standardise=settings.standardise, centre=settings.centre).vectors)
        if directions.shape[1] < k:
            raise DataError(f"the rows of {name!r} span fewer than k = {k} directions: lower k.")
        together = HeadGroup(view, prepared, solved.streams(seed))
        watch = _Watch(directions, PublicRows.of(together), torch.from_numpy(prepared.z), torch.from_numpy(view.y), k, seed)
        initial = (adamix.start(settings, together), np.zeros(view.facts.n_classes, dtype=np.float32))
        head = Head(mixed.plan_of(settings, view.facts), together.streams, Ledger(), initial)
        train_heads(prepared.z, view.y, [head], n_classes=view.facts.n_classes, optimiser=watch.watch(settings, together))
        rows += [{"public": name, "step": step, "error": error} for step, error in enumerate(watch.errors)]
        if number == 0:
            rows += [{"public": RANDOM, "step": step, "error": error} for step, error in enumerate(watch.random_errors)]
    return pd.DataFrame(rows)


@dataclasses.dataclass
class _Watch:
    """Looks at the private gradient before each of AdaMix's steps."""

    directions: torch.Tensor
    public: PublicRows
    z: torch.Tensor
    y: torch.Tensor
    k: int
    seed: int
    errors: list[float] = dataclasses.field(default_factory=list)
    random_errors: list[float] = dataclasses.field(default_factory=list)

    def watch(self, settings: adamix.AdamixSettings, together: HeadGroup) -> Optimiser:
        """AdaMix's own step, the two errors kept before it."""

        def start(positions: Sequence[int], state: torch.Tensor) -> Step:
            optimiser = adamix.both_kinds([settings], together, state)

            def step(number: int, state: torch.Tensor, noisy_sum: NoisySum) -> torch.Tensor:
                self._keep(state)
                return optimiser(number, state, noisy_sum)

            return step

        return start

    def _keep(self, state: torch.Tensor) -> None:
        gradient = public_gradients(self.z, self.z.square().sum(1), self.y, state)[1][0].double()
        public_sum = self.public.gradients(state)[1][0]
        self.errors.append(_error(gradient, gradient_subspace(public_sum, self.directions, self.k)))
        draws = stream(self.seed, "random directions").standard_normal((gradient.shape[1], self.k))
        self.random_errors.append(_error(gradient, torch.from_numpy(np.linalg.qr(draws)[0])))


def _error(gradient: torch.Tensor, basis: torch.Tensor) -> float:
    """‖G − GUUᵀ‖_F/‖G‖_F. gradient: (C, d); basis: (d, k) orthonormal."""
    projected = gradient @ basis.double()
    total = float(gradient.square().sum())
    return float(np.sqrt(max(0.0, 1.0 - float(projected.square().sum()) / total))) if total > 0 else 0.0
