"""What Lessons measures while somebody waits: each function takes the control's values
and gives a tidy table.

The first lesson trains on real handwritten digits; those on public data and on auditing take small
real images of clothes as private. Non-private experiments.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from pillar_core import accounting, geometry, rng
from pillar_core.accounting import TradeOff
from pillar_core.accounting.risk import turned_guesses
from pillar_core.arrays import Array
from pillar_core.auditing import hypothesis_test
from pillar_core.auditing.fault_injection import finding_of
from pillar_core.data import features
from pillar_core.ledger import Ledger
from pillar_core.rng import stream
from pillar_core.runs import starter
from pillar_core.runs.run import run, run_many, solve
from pillar_core.runs.splitting import BACKBONE, load_named_features, split
from pillar_core.runs.sweep import run_group, specs_of, table
from pillar_core.screening import class_signal
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.studies.evidence.one_run import one_run_audit
from pillar_core.studies.evidence.reconstruction import Reconstruction, reconstruct
from pillar_core.studies.screening.answers import features_of
from pillar_core.types import FeatureSet, RunSpec, SemiPrivateSplit, Values

DATA = "digits"
DELTA = 1e-5
PUBLIC_SHARE = 0.1
GUESSES = 400
PIXELS = 64


def guesses(epsilons: Sequence[float]) -> pd.DataFrame:
    """How many of 400 even bets a model turns right at most: epsilon, advantage in [0, 1] and
    guesses of a training with Gaussian noise on all rows in every step; `alone`: the advantage that
    (ε, δ) allows whatever the learner."""
    alone, gaussian = zip(*(turned_guesses(epsilon, DELTA) for epsilon in epsilons), strict=True)
    table = pd.DataFrame({"epsilon": list(epsilons), "advantage": gaussian, "alone": alone})
    return (table * [1, 2, 2]).assign(guesses=[GUESSES * share for share in gaussian])


def without_projection(epsilons: Sequence[float], *, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy of private training on all 64 pixels: epsilon, seed, accuracy in [0, 1]."""
    return _batch(
        "dp_sgd", "epsilon", {epsilon: {"epsilon": epsilon} for epsilon in epsilons}, seeds
    )


def directions(ks: Sequence[int], *, epsilon: float, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on k public directions, for k = 64 on all pixels without projection: k, seed,
    accuracy in [0, 1]."""
    projected = _batch(
        "pillar", "k", {k: {"epsilon": epsilon, "k": k} for k in ks if k < PIXELS}, seeds
    )
    return (
        projected
        if PIXELS not in ks
        else pd.concat([projected, _batch("dp_sgd", "k", {PIXELS: {"epsilon": epsilon}}, seeds)])
    )


def public_rows(
    sources: Sequence[str], *, epsilon: float, k: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Accuracy when the directions come from other public rows, the private ones being the same:
    source, seed, accuracy."""
    return train_each(
        "source",
        sources,
        seeds,
        lambda source, seed: _accuracy("pillar", _with_public(source, seed), epsilon, seed, k=k),
    )


def rows(counts: Sequence[int], *, epsilon: float, k: int, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy on the first so many private rows: n_private, seed, accuracy in [0, 1]."""
    return train_each(
        "n_private",
        counts,
        seeds,
        lambda n, seed: _accuracy("pillar", _with_public("same", seed, n), epsilon, seed, k=k),
    )


def releases(counts: Sequence[int], *, epsilon: float) -> pd.DataFrame:
    """What so many models at ε each add up to: releases, total (upper bound by composition), sum
    (the plain sum of ε)."""
    mu = accounting.mu_of(epsilon, DELTA)
    totals = [accounting.epsilon_of_mu(mu * count**0.5, DELTA) for count in counts]
    return pd.DataFrame(
        {"releases": list(counts), "total": totals, "sum": [count * epsilon for count in counts]}
    )


def missed_directions(ks: Sequence[int], *, seeds: Sequence[int]) -> pd.DataFrame:
    """What k public directions leave out of the lines that tell two digits apart: k, seed, missed
    (ξ_k, mean over all pairs) in [0, 1]."""
    tables = []
    for seed in seeds:
        rows = geometry.rows_of(_parts(seed))
        lines = geometry.separators(rows, geometry.pairs_of(rows.classes))
        missed = geometry.xi_of(lines.weights, geometry.basis_of(rows).vectors).mean(axis=0)
        reached = missed[[k - 1 for k in ks]]
        tables.append(pd.DataFrame({"k": list(ks), "seed": seed, "missed": reached}))
    return pd.concat(tables, ignore_index=True)


def public_labels(counts: Sequence[int], *, epsilon: float, seeds: Sequence[int]) -> pd.DataFrame:
    """Accuracy with so many public rows a class, with their labels (AdaMix) and as `limit` without
    (PILLAR): labels, seed, accuracy, limit in [0, 1]."""

    def of(method: str) -> pd.DataFrame:
        return train_each(
            "labels",
            counts,
            seeds,
            lambda count, seed: _accuracy(
                method,
                split(load_named_features(DATA), public_per_class=count, seed=seed),
                epsilon,
                seed,
            ),
        )

    return of("adamix").assign(limit=of("pillar")["accuracy"])


def train_each(
    name: str, values: Sequence[Any], seeds: Sequence[int], train: Callable[[Any, int], float]
) -> pd.DataFrame:
    """A row a value and seed: the value under its name, seed, accuracy."""
    return pd.DataFrame(
        [
            {name: value, "seed": seed, "accuracy": train(value, seed)}
            for value in values
            for seed in seeds
        ]
    )


def _batch(
    method: str, name: str, runs: Mapping[Any, Values], seeds: Sequence[int]
) -> pd.DataFrame:
    """Runs of one learner, those of a seed on one split and trained together."""
    tables = []
    for seed in seeds:
        plans = [
            solve(method, _parts(seed), delta=DELTA, seed=seed, **arguments)
            for arguments in runs.values()
        ]
        shares = [record.accuracy for record in run_many(plans, _parts(seed))]
        tables.append(pd.DataFrame({name: list(runs), "seed": seed, "accuracy": shares}))
    return pd.concat(tables, ignore_index=True)


def _accuracy(
    method: str, parts: SemiPrivateSplit, epsilon: float, seed: int, **settings: Any
) -> float:
    return float(
        run(method, parts, epsilon=epsilon, delta=DELTA, seed=seed, **settings).accuracy or 0.0
    )


@functools.lru_cache(maxsize=8)
def _parts(seed: int) -> SemiPrivateSplit:
    return split(load_named_features(DATA), public_fraction=PUBLIC_SHARE, seed=seed)


def private_rows(parts: SemiPrivateSplit, count: int | None = None) -> FeatureSet:
    """The private rows alone (the first `count`), with the test rows."""
    rows, chosen = parts.features, parts.private[:count]
    return features(
        rows.x_train[chosen],
        np.asarray(rows.y_train)[chosen],
        rows.x_test,
        rows.y_test,
        classes=rows.classes,
    )


def _with_public(source: str, seed: int, count: int | None = None) -> SemiPrivateSplit:
    """The private rows (the first `count`) beside public rows that `source` makes of the set's
    own."""
    parts = _parts(seed)
    return split(
        private_rows(parts, count),
        public=features(SOURCES[source](parts.public_x, seed), None),
        seed=seed,
    )


def _scramble(x: Array, seed: int) -> Array:
    """The same images, pixels in another order: every value is right and nothing is where it
    was."""
    return x[:, rng.stream(seed, "lesson", "pixels").permutation(x.shape[1])]


def _noise(x: Array, seed: int) -> Array:
    """Pixels of pure noise with the same mean and spread as the images'."""
    drawn = rng.stream(seed, "lesson", "noise").normal(x.mean(), x.std(), size=x.shape)
    return np.asarray(drawn, dtype=np.float32)


SOURCES: dict[str, Callable[[Array, int], Array]] = {
    "same": lambda x, seed: x,
    "scrambled": _scramble,
    "noise": _noise,
}
"""Public rows to learn directions from, by name."""


CLOTHES_DATA = str(starter.SHARED["dataset"])
ROWS = 200
"""Public images of every candidate."""
CLOTHES = "clothes"
CANDIDATES = (CLOTHES, "mnist", "pneumonia_mnist", "drawn_noise")
DRAWS = 100
"""Draws of a screening's noise, of which the share that finds the nearest set is told."""


def public_images(
    counts: Sequence[int], *, epsilon: float, k: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Accuracy on k directions of so many public images: n_public, seed, accuracy in [0, 1]."""
    return train_each(
        "n_public",
        counts,
        seeds,
        lambda n, seed: _accuracies(_rows(CLOTHES, seed)[:n], [epsilon], k, seed)[0],
    )


def domains(
    sources: Sequence[str], *, epsilon: float, k: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Accuracy by where the directions come from: source, seed, accuracy in [0, 1], limit (DP-SGD,
    which takes no public image)."""
    runs = train_each(
        "source",
        sources,
        seeds,
        lambda source, seed: _accuracies(_rows(source, seed), [epsilon], k, seed)[0],
    )
    return runs.assign(limit=learners(["dp_sgd"], epsilon=epsilon)["accuracy"].mean())


def learners(methods: Sequence[str], *, epsilon: float) -> pd.DataFrame:
    """Accuracy of learners with a tenth of the rows public, from the records that ship: method,
    seed, accuracy in [0, 1]."""
    runs = [
        record
        for name in methods
        for record in run_group(specs_of({**starter.SHARED, "method": name, "epsilon": epsilon}))
    ]
    return table(runs)[["method", "seed", "accuracy"]]


def screenings(epsilons: Sequence[float], *, seed: int = 0) -> pd.DataFrame:
    """How often a class-signal screening within ε puts the nearest candidate first: epsilon, found
    in [0, 1]."""
    return pd.DataFrame(
        {
            "epsilon": epsilons,
            "found": [_first_places(epsilon, seed)[CLOTHES] for epsilon in epsilons],
        }
    )


def diluted_images(
    shares: Sequence[float], *, epsilon: float, k: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Accuracy where a share of the public images is drawn noise: share, seed, accuracy in [0,
    1]."""
    return train_each(
        "share",
        shares,
        seeds,
        lambda share, seed: _accuracies(_mix_images(share, seed), [epsilon], k, seed)[0],
    )


def shared_budget(
    shares: Sequence[float], *, epsilon: float, k: int, seeds: Sequence[int]
) -> pd.DataFrame:
    """Expected accuracy where a share of ε finds the public set and training has what is left:
    share, seed, accuracy, limit.

    Both are Gaussian, so μ² adds up exactly. The first share is 0: a set is taken blindly. limit:
    the accuracy at the whole ε, the nearest set known for free.
    """
    mu = accounting.mu_of(epsilon, DELTA)
    asking = [accounting.mu_of(share * epsilon, DELTA) for share in shares[1:]]
    left = [
        epsilon,
        *(accounting.epsilon_of_mu((mu**2 - mu_asked**2) ** 0.5, DELTA) for mu_asked in asking),
    ]
    rows = []
    for seed in seeds:
        chosen = [_first_places(share * epsilon, seed) for share in shares]
        reached = {}
        for name in CANDIDATES:
            wanted = [place for place, places in enumerate(chosen) if places[name] > 0]
            accuracies = _accuracies(_rows(name, seed), [left[place] for place in wanted], k, seed)
            reached[name] = dict(zip(wanted, accuracies, strict=True))
        for place, share in enumerate(shares):
            accuracy = sum(
                weight * reached[name][place]
                for name, weight in chosen[place].items()
                if weight > 0
            )
            rows.append((share, seed, accuracy, reached[CLOTHES][0]))
    return pd.DataFrame(rows, columns=["share", "seed", "accuracy", "limit"])


def _accuracies(public: Array, epsilons: Sequence[float], k: int, seed: int) -> list[float]:
    """PILLAR's accuracy at each ε on directions of these public rows, trained together."""
    if not epsilons:
        return []
    parts = split(
        private_rows(split_of(seed)), public=features(public, None), allow_overlap=True, seed=seed
    )
    plans = [
        solve("pillar", parts, delta=DELTA, seed=seed, epsilon=epsilon, k=k) for epsilon in epsilons
    ]
    return [float(record.accuracy or 0.0) for record in run_many(plans, parts)]


@functools.lru_cache(maxsize=4)
def split_of(seed: int) -> SemiPrivateSplit:
    return split(_features(CLOTHES_DATA), public_fraction=PUBLIC_SHARE, seed=seed)


@functools.lru_cache(maxsize=8)
def _features(name: str) -> FeatureSet:
    """Features that ship."""
    return (
        features_of(name, n=starter.DRAWN_IMAGES, seed=1)
        if name in starter.DRAWN
        else load_named_features(name, BACKBONE)
    )


def _rows(name: str, seed: int) -> Array:
    """(ROWS, d) public rows of a candidate."""
    if name == CLOTHES:
        return split_of(seed).public_x[:ROWS]
    rows = _features(name).x_train
    return rows[stream(seed, "lesson", name).permutation(len(rows))[:ROWS]]


def _mix_images(share: float, seed: int) -> Array:
    noise = round(share * ROWS)
    return np.concatenate([_rows("drawn_noise", seed)[:noise], _rows(CLOTHES, seed)[noise:]])


@functools.lru_cache(maxsize=64)
def _first_places(epsilon: float, seed: int) -> Mapping[str, float]:
    """How often each candidate comes first over the noise of a screening within ε; each alike where
    nothing is spent."""
    if epsilon == 0:
        return dict.fromkeys(CANDIDATES, 1 / len(CANDIDATES))
    sums, candidates = _sums_of_candidates(seed)
    std = accounting.noise_multiplier(epsilon, delta=DELTA)
    copies = sums.sums + std * stream(seed, "lesson", "screenings", f"{epsilon:g}").standard_normal(
        (DRAWS, *sums.sums.shape)
    )
    signals = np.stack(
        [
            class_signal.signal(sums, candidate, copies, noise_std=std)
            for candidate in candidates.values()
        ]
    )
    return dict(
        zip(
            candidates,
            np.bincount(signals.argmax(axis=0), minlength=len(candidates)) / DRAWS,
            strict=True,
        )
    )


@functools.lru_cache(maxsize=2)
def _sums_of_candidates(
    seed: int,
) -> tuple[class_signal.ClassSums, dict[str, class_signal.Candidate]]:
    """The private rows' class sums without noise, and the candidates."""
    public = {name: _rows(name, seed) for name in CANDIDATES}
    centre = class_signal.public_centre(list(public.values()))
    private = private_rows(split_of(seed))
    sums = class_signal.release_class_sums(
        private,
        len(private.x_train),
        centre,
        noise_multiplier=0.0,
        noise=stream(seed, "lesson", "no noise"),
        ledger=Ledger(),
    )
    return sums, {
        name: class_signal.Candidate.of(class_signal.unit(rows, centre))
        for name, rows in public.items()
    }


SIGNIFICANCE, PILOT, K, STEPS = 0.01, 50, 10, 2
"""Few steps keep hundreds of trainings within a second; a claim holds for any number."""
SHADOWS, GROUPS = 32, 2000


def attack_rates(epsilons: Sequence[float]) -> pd.DataFrame:
    """LiRA shown a member and an outsider: epsilon, right (how often it picks the member), limit
    (the most that ε allows)."""
    by_epsilon = [
        evidence.shadow_attacks(
            RunSpec("pillar", epsilon=epsilon, settings={"k": K}), split_of(0), count=SHADOWS
        )
        for epsilon in epsilons
    ]
    allowed = [NormalDist().cdf(accounting.mu_of(epsilon, DELTA) / 2**0.5) for epsilon in epsilons]
    return pd.DataFrame(
        {
            "epsilon": epsilons,
            "right": [
                max(attack.auc for attack in attacks if attack.uses_shadows)
                for attacks in by_epsilon
            ],
            "limit": allowed,
        }
    )


def audit_bounds(trials: Sequence[int], *, epsilon: float) -> pd.DataFrame:
    """What trainings with a canary, and as many without, prove of PILLAR: trials, certified (ε, 99
    % lower bound), limit (claimed)."""
    worlds = _scores(epsilon, max(trials))
    return pd.DataFrame(
        {
            "trials": trials,
            "certified": [_certified_epsilon(worlds, count, epsilon) for count in trials],
            "limit": epsilon,
        }
    )


def bounds_of_less_noise(shares: Sequence[float], *, epsilon: float, trials: int) -> pd.DataFrame:
    """The same proof where only a share of the noise is added: share, certified (ε, 99 % lower
    bound), limit (claimed)."""
    mu = accounting.mu_of(epsilon, DELTA)
    true = [accounting.epsilon_of_mu(mu / share, DELTA) for share in shares]
    return pd.DataFrame(
        {
            "share": shares,
            "certified": [
                _certified_epsilon(_scores(epsilon_spent, trials), trials, epsilon_spent)
                for epsilon_spent in true
            ],
            "limit": epsilon,
        }
    )


def certified_once(epsilons: Sequence[float], *, canaries: int) -> pd.DataFrame:
    """What one training with many canaries proves: epsilon, certified (ε, 95 % lower bound), limit
    (the truth)."""
    audits = [
        one_run_audit(
            RunSpec("pillar", epsilon=epsilon, settings={"k": K}), split_of(0), canaries=canaries
        )
        for epsilon in epsilons
    ]
    return pd.DataFrame(
        {
            "epsilon": epsilons,
            "certified": [max(audit.certified) for audit in audits],
            "limit": epsilons,
        }
    )


def audit_power(epsilons: Sequence[float], *, claimed: float, trials: int) -> pd.DataFrame:
    """The chance that an ideal attacker's audit refutes the claim: epsilon (truly spent), power in
    [0, 1]."""
    curve = TradeOff("gaussian", mu=accounting.mu_of(claimed, DELTA))
    true = [accounting.mu_of(epsilon, DELTA) for epsilon in epsilons]
    power = [
        hypothesis_test.power(curve, true_mu=mu, trials=trials, significance=SIGNIFICANCE)
        for mu in true
    ]
    return pd.DataFrame({"epsilon": epsilons, "power": power})


def guesses_from_releases(counts: Sequence[int], *, epsilon: float, trials: int) -> pd.DataFrame:
    """Guesses about the canary from so many models: releases, right (share of guesses, half by
    luck), limit (the most allowed)."""
    worlds = _scores(epsilon, trials)
    middle = (worlds[0][:PILOT].mean() + worlds[1][:PILOT].mean()) / 2
    mu, draw, rows = accounting.mu_of(epsilon, DELTA), stream(0, "lesson", "repeated"), []
    for count in counts:
        means = [
            scores[draw.integers(PILOT, len(scores), (GROUPS, count))].mean(axis=1)
            for scores in worlds
        ]
        right = ((means[0] > middle).mean() + (means[1] <= middle).mean()) / 2
        rows.append((count, right, NormalDist().cdf(mu * count**0.5 / 2)))
    return pd.DataFrame(rows, columns=["releases", "right", "limit"])


@functools.lru_cache(maxsize=2)
def reconstruction(epsilons: tuple[float, ...]) -> Reconstruction:
    """What the best informed attacker sees of one image of clothes in a release at each ε."""
    pixels = split(
        load_named_features(CLOTHES_DATA, "raw_pixels"), public_fraction=PUBLIC_SHARE, seed=0
    )
    return reconstruct(pixels, epsilons, delta=DELTA)


def reconstructions(epsilons: Sequence[float]) -> pd.DataFrame:
    """The table of `reconstruction`: epsilon, noise_std, correlation, right (share of picks among
    100 images), allowed."""
    return reconstruction(tuple(epsilons)).table


def _certified_epsilon(worlds: Sequence[Array], trials: int, epsilon: float) -> float:
    """The lower bound on ε from the first trials of both worlds, after a pilot that places the
    threshold."""
    with_canary, without = (scores[: PILOT + trials] for scores in worlds)
    claimed = TradeOff("gaussian", mu=accounting.mu_of(epsilon, DELTA))
    counts = finding_of(
        "mislabelled image", with_canary, without, claimed=claimed, pilot=PILOT
    ).counts
    return hypothesis_test.epsilon_lower_bound(counts, delta=DELTA, significance=SIGNIFICANCE)


@functools.lru_cache(maxsize=16)
def _scores(epsilon: float, trials: int) -> tuple[Array, ...]:
    """The canary's scores of PILOT and `trials` trainings with it, and of as many without."""
    plan = evidence.descent_run(
        RunSpec("pillar", epsilon=epsilon, settings={"k": K, "steps": STEPS}), split_of(0)
    )
    inside, outside = evidence.canary_worlds(plan, runs=PILOT + trials, seed=0)
    return inside[0], outside[0]


MEASURES: Mapping[str, Callable[..., pd.DataFrame]] = {
    measure.__name__: measure
    for measure in (
        guesses,
        without_projection,
        directions,
        public_rows,
        rows,
        releases,
        missed_directions,
        public_labels,
        public_images,
        domains,
        learners,
        screenings,
        diluted_images,
        shared_budget,
        attack_rates,
        audit_bounds,
        bounds_of_less_noise,
        certified_once,
        audit_power,
        guesses_from_releases,
        reconstructions,
    )
}
"""By the name that a lesson's words give."""
