"""The first ε of a public grid whose head passes a public test, paid for: one noisy sum, whose noise is taken back step by step.

The learner is PILLAR, one shot: all heads come from one Gaussian release. Each ε of the grid has its noise and its k, coarsest first.

Guarantee: `Paid.guarantee`, promised beforehand and charged: the grid's last ε covers all that can be shown. Spent in hindsight is
the Rényi curve α·μ²/2 of the last head that was looked at; it is ex-post Rényi DP and no (ε, δ). Proof: docs/accounting.md, "Paying
for an answer". Exact. Assumes that neither grid nor target was chosen by looking at private rows.
Source: Whitehouse, Ramdas, Wu & Rogers 2022 (the path); Räisä, Koskela & Honkela 2025, arXiv 2509.22213 (the notion).
"""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pillar_core import accounting
from pillar_core.engine import LinearClassifier
from pillar_core.errors import BudgetError, DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import Ledger
from pillar_core.memo import Memo
from pillar_core.methods.closed_form import pillar_one_shot
from pillar_core.numerics import upwards
from pillar_core.rng import Streams, stream
from pillar_core.runs.run import Solved, charged_as_declared, solve
from pillar_core.types import Classifier, Guarantee, SemiPrivateSplit

LEARNER = "pillar_one_shot"
NO_TEST = "the test needs labelled public rows of the private classes, and there are none"
STOPPED = "half of the public rows, set apart, decided where to stop; target and grid were fixed before the first look"


@dataclasses.dataclass(frozen=True)
class Paid:
    """What was shown. `epsilon` is the first of the grid that passed, None where none did; `classifier` is its head.

    shares: of the `n_test` public test rows, those that each head looked at had right, coarsest first.
    mu: of the last head looked at, for one changed row (one person, where persons were declared); ex post, α·mu²/2 at each order α.
    guarantee: promised beforehand, whatever is shown.
    """

    epsilon: float | None
    shares: tuple[float, ...]
    n_test: int
    mu: float
    guarantee: Guarantee
    classifier: Classifier | None = dataclasses.field(default=None, compare=False)

    @property
    def words(self) -> str:
        """What was spent and what was promised, in one sentence."""
        alike = "the whole cap" if self.epsilon is None else f"as much as a run asked for at ε = {self.epsilon:g} from the start"
        cap = f"ε ≤ {upwards(self.guarantee.epsilon.upper)} but for a chance of δ = {self.guarantee.delta:g}"
        return f"Spent, ex post (Rényi): {alike}, a Gaussian release of μ = {self.mu:.3g}; promised beforehand: {cap}"


def pay_for(split: SemiPrivateSplit, *, target: float, epsilons: Sequence[float], seed: int | None = 0, **asked: Any) -> Paid:
    """The first of `epsilons`, rising, whose head has at least the share `target` of the public test rows right.

    seed: as in `run`; None draws secret noise, and each further call then spends the last ε anew. asked: delta, relation, accountant
    and the learner's settings, as in `run`.

    Raises:
        BudgetError: epsilons that do not rise from above 0 to a finite one. DataError: no labelled public rows. Others as `run`.
    """
    if split.public_y is None or len(split.public_x) < 2:
        raise DataError(f"{NO_TEST}; split with public_fraction or public_per_class.")
    if not 0 <= target <= 1:
        raise SettingError(f"target must be a share in [0, 1]; got {target!r}.")
    are_numbers = len(epsilons) > 0 and all(isinstance(one, int | float) for one in epsilons)
    if not are_numbers or not epsilons[0] > 0 or not epsilons[-1] < math.inf or not all(a < b for a, b in itertools.pairwise(epsilons)):
        raise BudgetError(f"epsilons must rise from above 0 to a finite cap; got {list(epsilons)}.")
    test, rest = np.array_split(stream(0, "public test rows").permutation(len(split.public_x)), 2)
    kept = dataclasses.replace(split, public_x=split.public_x[rest], public_y=split.public_y[rest], memo=Memo())
    grid = [solve(LEARNER, kept, epsilon=epsilon, seed=seed, **asked) for epsilon in epsilons]
    ledger = Ledger()
    heads = heads_of(grid, seed, ledger)
    charged_as_declared(grid[-1], ledger, kept)
    shares: list[float] = []
    for head in heads:
        shares.append(float((head.predict(split.public_x[test]) == split.public_y[test]).mean()))
        if shares[-1] >= target:
            break
    last, is_passed = len(shares) - 1, shares[-1] >= target
    mu = accounting.trade_off(grid[last].cost, relation=grid[last].guarantee.relation).mu
    promised = dataclasses.replace(grid[-1].guarantee, assumptions=(*grid[-1].guarantee.assumptions, STOPPED))
    return Paid(epsilons[last] if is_passed else None, tuple(shares), len(test), mu, promised, heads[last] if is_passed else None)


def heads_of(grid: Sequence[Solved], seed: int | None, ledger: Ledger) -> list[LinearClassifier]:
    """The head of each run of the grid, coarsest first, from one release at the last one's noise; k of the last is the width of all."""
    last, view, noises = grid[-1].settings, grid[-1].view, [one.settings.noise_multiplier for one in grid]
    prepared = pillar_one_shot.project(last, view)
    sums = pillar_one_shot.class_sums(prepared.z, view.y, n_classes=view.facts.n_classes, count_weight=last.count_weight)
    own = Streams(seed, fingerprint(grid[-1].streams(seed).ask, noises))
    path = pillar_one_shot.mechanism(last, own.secret("noise"), ledger).release_path(sums, noises[:-1])
    return [pillar_one_shot.head(one.settings, part.double().numpy(), prepared, view.facts) for one, part in zip(grid, path, strict=True)]
