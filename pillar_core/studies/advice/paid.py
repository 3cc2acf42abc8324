"""Public set and learner chosen on private rows within the budget, then the training: all of it on one ledger."""

import dataclasses
import math
from collections.abc import Mapping
from typing import cast

import numpy as np

from pillar_core import accounting
from pillar_core import ledger as events
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import LinearClassifier
from pillar_core.errors import DataError, UnsupportedError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import Ledger, compose
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods import METHODS
from pillar_core.rng import Streams
from pillar_core.runs.run import Solved, run_many, solve
from pillar_core.splits import Transform, view_of
from pillar_core.studies.advice.free import Advice, advise
from pillar_core.studies.tuning.selection import guarantee_of, refuse_more_than
from pillar_core.types import PublicUse, RunRecord, SemiPrivateSplit

SHARE = 0.2
"""Of μ² that the choice spends."""
ROOM = 1e-9
"""What μ is lowered by, so that no rounding passes ε."""
CHOSEN_WITHIN = "the public set was chosen on private rows by one noisy sum that ε counts, the learner from public rows alone"
DIRECTIONS = 32


def chosen_and_trained(
    sides: Mapping[str, SemiPrivateSplit], *, epsilon: float, delta: float = 1e-5, seed: int | None = 0
) -> tuple[Advice, RunRecord]:
    """(the advice after the choice, the run of what was chosen): which of several public sets suits the private rows, asked of these.

    sides: by name, the same private rows beside each public set.

    A row adds to each set's score at most 1: whether the head of its labelled public rows is right about it, or how much of it lies in
    the first directions of its unlabelled ones. What a set reaches less than it does on its own rows is taken off its prediction.

    Guarantee: (ε, δ) under add/remove for choice and training together, whatever is chosen: one Gaussian sum whose rows have norm at most
    √m over m sets, then one Gaussian of the rest's μ. Each set's training is solved before the choice and refused unless all its releases
    are Gaussians of at most that μ together, so that this one dominates it (Dong, Roth & Su 2022, Corollary 3.3, Theorem 3.2): curves that
    cross could not be charged by the one that was chosen. Public size. Where the split counts persons, both count all rows of one.

    Raises:
        DataError: other private rows. UnsupportedError: ε = ∞, or a training that is no full Gaussian run.
    """
    if math.isinf(epsilon):
        raise UnsupportedError("without noise nothing is paid; lower ε.")
    if len({fingerprint(rows.features.fingerprint, rows.private, rows.rows_per_person) for rows in sides.values()}) != 1:
        raise DataError("the public sets must be weighed for the same private rows: split each with public=….")
    total = accounting.mu_of(epsilon, delta) * (1 - ROOM)
    rest = total * math.sqrt(1 - SHARE)
    after = accounting.epsilon_of_mu(rest * (1 - ROOM), delta)
    advices = {name: advise(rows, epsilon=after, delta=delta, seed=seed or 0) for name, rows in sides.items()}
    trainings = {name: _training(advices[name].method, rows, after, delta, seed) for name, rows in sides.items()}
    for one in trainings.values():
        refuse_more_than(rest * (1 - ROOM), one)
    scores, expected = zip(*(_scores(rows) for rows in sides.values()), strict=True)
    asked = fingerprint("choice", epsilon, delta, [rows.fingerprint for rows in sides.values()])
    most = next(iter(sides.values())).rows_per_person
    ledger, multiplier = Ledger(), (most or 1) / (total * math.sqrt(SHARE))
    mechanism = GaussianMechanism(multiplier, math.sqrt(len(sides)), Streams(seed, asked).secret("choice"), ledger, label="choice of a set")
    sums = torch.from_numpy(np.stack(scores).sum(axis=1))
    seen = mechanism.release(sums).numpy() / next(iter(sides.values())).facts.n_private
    drops = np.maximum(np.array(expected) - seen, 0.0)
    middles = [sum(one.expected_accuracy) / 2 - drop for one, drop in zip(advices.values(), drops, strict=True)]
    place = int(np.argmax(middles))
    name = list(sides)[place]
    advice, rows = advices[name], sides[name]
    spent = compose(events.of_person(events.gaussian(multiplier), most or 1), events.gaussian(1 / rest))
    record = run_many([trainings[name]], rows)[0]
    guarantee = guarantee_of(spent, delta, "auto", (*record.guarantee.assumptions, CHOSEN_WITHIN), most)
    named = f"the public set {name!r} was chosen on private rows, the learner {METHODS[advice.method].title} from public rows alone"
    guarantee = dataclasses.replace(guarantee, paid_choice=named)
    half = min(middles[place], 1 - middles[place], (advice.expected_accuracy[1] - advice.expected_accuracy[0]) / 2)
    low, high = middles[place] - half, middles[place] + half
    found = dataclasses.replace(
        advice,
        public=name,
        epsilon=epsilon,
        expected_accuracy=(low, high),
        sentence=f"Use *{name}* as public data, {METHODS[advice.method].title}; expect {50 * (low + high):.0f} ± {100 * half:.0f} % at "
        f"ε = {epsilon:g}, the choice included.",
        price=f"paid: {SHARE:.0%} of μ² of the total ε = {epsilon:g} went into the choice among {len(sides)} sets, the rest into training",
    )
    return found, dataclasses.replace(record, guarantee=guarantee)


def _training(method: str, rows: SemiPrivateSplit, epsilon: float, delta: float, seed: int | None) -> Solved:
    spends = {} if METHODS[method].budget_setting is None else {"epsilon": epsilon}
    return solve(method, rows, **spends, delta=delta, seed=seed)


def _scores(rows: SemiPrivateSplit) -> tuple[Array, float]:
    """((N,) float64 in [0, 1], one a private row; what public rows themselves reach on average)."""
    x, y, half = rows.features.x_train[rows.private], rows.features.y_train, len(rows.public_x) // 2
    if rows.public_y is not None and y is not None and np.ptp(rows.public_y[:half]):
        own = dataclasses.replace(rows, public_x=rows.public_x[:half], public_y=rows.public_y[:half], memo=type(rows.memo)())
        right = _public_head(own).predict(rows.public_x[half:]) == rows.public_y[half:]
        return (_own_answers(_public_head(rows), x) == y[rows.private]).astype(np.float64), float(right.mean())
    view = view_of(rows, PublicUse.UNLABELLED)
    basis = view.basis(standardise=None, centre=True)
    k = min(DIRECTIONS, basis.rank)
    whole, projected = (view.prepare(standardise=None, centre=True, normalise=False, k=width).z.astype(np.float64) for width in (None, k))
    lengths = (whole**2).sum(axis=1)
    shares = np.where(lengths > 0, (projected**2).sum(axis=1) / np.where(lengths > 0, lengths, 1.0), 0.0)
    return np.clip(np.nan_to_num(shares), 0.0, 1.0), float((basis.eigenvalues[:k].sum()) / basis.eigenvalues.sum())


def _public_head(rows: SemiPrivateSplit) -> LinearClassifier:
    """What the public rows' labels teach: no private row enters."""
    solved = solve("only_public", rows)
    return cast(LinearClassifier, solved.method.fit(solved.settings, solved.view, solved.streams(0), Ledger()).classifier)


def _own_answers(head: LinearClassifier, x: Array) -> Array:
    """(n,) int64 labels, each of its row alone: in a floating-point product ties hang on how many rows there are."""
    return np.asarray(np.argmax(Transform(projection=head.weights)(head.transform(x)) + head.bias, axis=1))
