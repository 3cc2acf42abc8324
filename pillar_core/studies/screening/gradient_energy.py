"""Why public directions help a private learner: AdaMix's private gradients on public against random directions (AdaMix, Figure 6).

AdaMix is trained as registered; before each step the private rows' summed gradient at the weights of that moment is compared with
its projection on the subspace that AdaMix takes from the public rows, and on a random one of the same dimension. This reads
private gradients without noise: a diagnostic.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch

from pillar_core.engine.gradient_subspace import gradient_subspace
from pillar_core.engine.mixed import Look, MixedHead, public_gradients, train_mixed
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger
from pillar_core.methods.parts import mixed
from pillar_core.methods.public_gradients import adamix
from pillar_core.rng import Streams, stream
from pillar_core.runs.run import solve
from pillar_core.runs.splitting import split
from pillar_core.studies.screening.benefit import labelled_features, private_features
from pillar_core.types import Dataset

RANDOM = "random directions"


def captured(
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
    taken by their number, folded into the private classes; features as in `screening.measured`.

    Raises:
        DataError: a set without labels, or whose rows span fewer than k directions. Errors of `run`.
    """
    rows: list[dict[str, Any]] = []
    own = private_features(private, model)
    for number, (name, one) in enumerate(public.items()):
        made = split(own, public=labelled_features(one, own, model), allow_overlap=True)
        solved = solve("adamix", made, epsilon=epsilon, delta=delta, seed=seed, k=k, standardise=False, centre=False)
        settings, view = solved.settings, solved.view
        prepared = view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=settings.normalise)
        directions = torch.from_numpy(view.basis(standardise=settings.standardise, centre=settings.centre).vectors)
        if directions.shape[1] < k:
            raise DataError(f"the rows of {name!r} span fewer than k = {k} directions: lower k.")
        guide = adamix.guide([settings], view, prepared)
        watch = _Watch(guide, directions, torch.from_numpy(prepared.z), torch.from_numpy(view.y), k, seed)
        head = MixedHead(mixed.plan_of(settings, view.facts), Streams(seed), Ledger(), adamix.start(settings, view, prepared))
        train_mixed(prepared.z, view.y, [head], watch)
        rows += [{"public": name, "step": step, "error": error} for step, error in enumerate(watch.errors)]
        if number == 0:
            rows += [{"public": RANDOM, "step": step, "error": error} for step, error in enumerate(watch.random_errors)]
    return pd.DataFrame(rows)


@dataclasses.dataclass
class _Watch:
    """AdaMix's guide that also looks at the private gradient."""

    guide: adamix.AdamixGuide
    directions: torch.Tensor
    z: torch.Tensor
    y: torch.Tensor
    k: int
    seed: int
    errors: list[float] = dataclasses.field(default_factory=list)
    random_errors: list[float] = dataclasses.field(default_factory=list)

    def look(self, step: int, state: torch.Tensor, heads: Sequence[int]) -> Look:
        """What the guide sees; the two errors are kept."""
        seen = self.guide.look(step, state, heads)
        gradient = public_gradients(self.z, self.z.square().sum(1), self.y, state)[1][0].double()
        self.errors.append(_error(gradient, gradient_subspace(seen.public_sum[0], self.directions, self.k)))
        draws = stream(self.seed, "random directions").standard_normal((gradient.shape[1], self.k))
        self.random_errors.append(_error(gradient, torch.from_numpy(np.linalg.qr(draws)[0])))
        return seen

    def move(self, step: int, state: torch.Tensor, released: torch.Tensor, look: Look, heads: Sequence[int]) -> torch.Tensor:
        """The guide's step."""
        return self.guide.move(step, state, released, look, heads)


def _error(gradient: torch.Tensor, basis: torch.Tensor) -> float:
    """‖G − GUUᵀ‖_F/‖G‖_F. gradient: (C, d); basis: (d, k) orthonormal."""
    held = gradient @ basis.double()
    total = float(gradient.square().sum())
    return float(np.sqrt(max(0.0, 1.0 - float(held.square().sum()) / total))) if total > 0 else 0.0
