"""What public rows say about a learner before any private row is read: plays of it on labelled
public rows, and their spectrum."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from pillar_core import rng
from pillar_core.arrays import Array
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules
from pillar_core.metrics import FIGURES, auc, guess
from pillar_core.runs.run import RunPlan, run_many, solve
from pillar_core.runs.splitting import unmapped
from pillar_core.splits import beside, split_features, view_of
from pillar_core.splits.basis import centre_weights
from pillar_core.types import (
    FeatureSet,
    PrivacyBudget,
    PublicFacts,
    PublicUse,
    RunRecord,
    SemiPrivateSplit,
)

HELD_OUT = 0.25
ROWS_PLAYED, FEWEST_PLAYS, MOST_PLAYS = 400, 2, 8
"""Public rows that all plays together should hold, and how many plays at least and at most."""
PLAYED = Memo(256)
"""Means by what they hang on: advice, a rehearsal of backbones and a choice ask for the same
plays."""
SHARED_NOISE = "advice"
"""The name of the noise of plays, the same at every ε, so that a curve over ε shows ε."""
MOST_ROWS = 2_000
UNBALANCED = 0.6
"""Share of one class above which always saying it looks like learning."""
ROWS_A_CLASS = 4
"""Labelled public rows a class, on average, from which plays say anything."""


def blind(split: SemiPrivateSplit, public: FeatureSet | None = None) -> SemiPrivateSplit:
    """`split` without its rows: sizes, classes and public rows alone; those of `public` where
    another set is tried.

    Guarantee: nothing that is computed from what comes back depends on a private, validation or
    test row.
    """
    features = split.features
    nothing = FeatureSet(
        np.zeros((1, features.d), dtype=np.float32),
        np.zeros(1, dtype=np.int64),
        None,
        None,
        features.classes,
        names=features.names,
    )
    tried = split if public is None else split_features(nothing, public=public)
    return dataclasses.replace(
        tried,
        features=nothing,
        private=np.zeros(len(split.private), dtype=np.int64),
        validation=np.zeros(0, dtype=np.int64),
        settings={},
        text_embeddings=None,
        notes=(),
        memo=Memo(),
        rows_per_person=split.rows_per_person,
    )


def with_own_classes(rows: SemiPrivateSplit) -> SemiPrivateSplit:
    """`rows` as public rows of the private classes, where their labels are of others."""
    if rows.other_y is None:
        return rows
    features = dataclasses.replace(rows.features, classes=rows.other_classes)
    return dataclasses.replace(
        rows, features=features, public_y=rows.other_y, other_y=None, other_classes=(), memo=Memo()
    )


def can_play(rows: SemiPrivateSplit) -> bool:
    """Whether public rows carry labels enough for a play."""
    return (
        rows.public_y is not None
        and len(rows.public_x) >= ROWS_A_CLASS * rows.features.n_classes
        and np.ptp(rows.public_y) > 0
    )


def metric_of(*sides: SemiPrivateSplit) -> str:
    """What predictions are said in: accuracy where there are public labels, of which no set has
    more than `UNBALANCED` of one class."""
    shares = [share for share in map(largest_share, sides) if share is not None]
    return "accuracy" if max(shares, default=1.0) <= UNBALANCED else "balanced_accuracy"


def largest_share(rows: SemiPrivateSplit) -> float | None:
    """The share of the most common label of the public rows; None without labels."""
    labels = rows.public_y
    if labels is None or not len(labels):
        return None
    return float(np.bincount(labels).max() / len(labels))


def plays(
    method: str,
    rows: SemiPrivateSplit,
    budget: PrivacyBudget,
    seed: int,
    *,
    is_unused: bool = False,
    wanted: str | None = None,
) -> Mapping[str, float]:
    """Means of `FIGURES` on held-out public rows of `method` trained on the other public rows,
    signal against noise kept as it will be.

    n rows play the N private ones: the noise multiplier is n/N of the real one, so that μn stays
    μN. A learner without public labels has the same rows as its public ones; else half of the rows
    start it; one that reads public rows alone has them all. is_unused: public rows play private
    ones alone, with columns as given, as where `method` leaves them unused.
    wanted: the number that runs are for.
    """
    spent = budget if METHODS[method].is_private else None

    def played() -> dict[str, float]:
        epsilon = None if spent is None else spent.epsilon
        given = unmapped(rows) if is_unused else rows
        real = solve(
            method,
            beside(given, None) if is_unused else rows,
            epsilon=epsilon,
            delta=budget.delta,
            relation=str(budget.relation),
            metric=wanted,
        )
        count = min(max(ROWS_PLAYED // len(rows.public_x), FEWEST_PLAYS), MOST_PLAYS)
        parts = rows.memo.get(
            ("plays", seed, real.method.public_use, spent is None, is_unused, real.follows_shares),
            lambda: [
                _parts(real, given, seed + play, is_unused=is_unused) for play in range(count)
            ],
        )
        reached = [_play(real, part, seed + play) for play, part in enumerate(parts)]
        found = {
            name: [each[name] for each in reached if each[name] is not None] for name in FIGURES
        }
        return {
            name: float(np.mean(known)) if known else guess(name, rows.facts.n_classes)
            for name, known in found.items()
        }

    follows_shares = wanted == "accuracy"
    key = (method, rows.fingerprint, spent, seed, is_unused, follows_shares)
    return PLAYED.get(key, played)


def transfer(source: SemiPrivateSplit, target: SemiPrivateSplit, seed: int) -> float:
    """Balanced accuracy, on the public rows of `target`, of a head that the labelled public rows of
    `source` trained."""
    rows, tests = (
        rng.stream(seed, "transfer").permutation(len(side.public_x))[:MOST_ROWS]
        for side in (source, target)
    )
    public, tried = _features(source, rows, None), _features(target, tests, None)
    whole = dataclasses.replace(public, x_test=tried.x_train, y_test=tried.y_train)
    parts = split_features(whole, public=public)
    record = run_many([solve("only_public", parts, seed=seed)], parts)[0]
    return float(record.metrics["balanced_accuracy"])


def effective_directions(rows: SemiPrivateSplit) -> float:
    """exp of the entropy of the public spectrum: over how many directions public rows spread."""
    values = view_of(rows, PublicUse.UNLABELLED).basis(standardise=None, centre=True).eigenvalues
    shares = values[values > 0] / values[values > 0].sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def class_signal(facts: PublicFacts, budget: PrivacyBudget) -> float:
    """How many times the noise a class's signal is: μN/C."""
    return rules.gaussian_mu(budget) * facts.n_private / facts.n_classes


def regressors(facts: PublicFacts, signal: float, sizes: Mapping[str, float]) -> dict[str, float]:
    """What the fitted table multiplies. signal: of a class; sizes: `plays`, their accuracy, or
    `directions`."""
    terms = {
        "constant": 1.0,
        "signal": math.log(min(max(signal, 1e-3), 1e6)),
        "rows": math.log(max(facts.n_public, 1) / facts.n_classes),
        "scarcity": math.sqrt(facts.n_classes / max(facts.n_public, 1)),
        "classes": math.log(facts.n_classes),
    }
    return terms | {
        name: math.log(size) if name == "directions" else logit(size)
        for name, size in sizes.items()
    }


def logit(share: float) -> float:
    """log(p/(1 − p)), p kept within 0.5 % of 0 and 1."""
    inside = min(max(share, 0.005), 0.995)
    return math.log(inside / (1 - inside))


def _play(real: RunPlan, parts: SemiPrivateSplit, seed: int) -> Mapping[str, Any]:
    settings = {
        name: value
        for name, value in dataclasses.asdict(real.settings).items()
        if name not in ("batch_size", "k", "noise_multiplier")
    }
    if real.method.is_private:
        settings["noise_multiplier"] = (
            real.settings.noise_multiplier * parts.facts.n_private / real.view.facts.n_private
        )
    plan = solve(real.method.name, parts, seed=seed, **settings)
    plan = dataclasses.replace(plan, follows_shares=real.follows_shares, ask=SHARED_NOISE)
    record = run_many([plan], parts)[0]
    found = record.metrics
    return found if found["auc"] is not None else {**found, "auc": _auc_of_present(record, parts)}


def _auc_of_present(record: RunRecord, parts: SemiPrivateSplit) -> float | None:
    """The AUC among the classes that held-out rows have; None where these have one alone."""
    x, y = parts.features.x_test, parts.features.y_test
    if x is None or y is None or record.classifier is None:
        return None
    present, places = np.unique(y, return_inverse=True)
    scores = record.classifier.scores(x)[:, present]
    return auc(scores, places) if len(present) > 1 else None


def _parts(
    real: RunPlan, rows: SemiPrivateSplit, seed: int, *, is_unused: bool
) -> SemiPrivateSplit:
    """The public rows as private, public and test rows of a play; the same for all learners that
    use public rows alike."""
    method = real.method
    order = rng.stream(seed, "advice").permutation(len(rows.public_x))[:MOST_ROWS]
    n_held_out = max(1, round(HELD_OUT * len(order)))
    test, train = order[:n_held_out], order[n_held_out:]
    half, is_labelled = len(train) // 2, method.public_use is PublicUse.LABELLED
    public, private = (
        (train[:half], train[half:]) if method.is_private and is_labelled else (train, train)
    )
    is_unequal = centre_weights(rows.public_y) is not None
    has_labels = is_labelled or is_unequal or real.follows_shares
    return split_features(
        _features(rows, private, test),
        public=None if is_unused else _features(rows, public, None, is_labelled=has_labels),
    )


def _features(
    rows: SemiPrivateSplit, train: Array, test: Array | None, *, is_labelled: bool = True
) -> FeatureSet:
    x, y = rows.public_x, np.asarray(rows.public_y)
    x_test, y_test = (None, None) if test is None else (x[test], y[test])
    return FeatureSet(
        x[train], y[train] if is_labelled else None, x_test, y_test, rows.features.classes
    )
