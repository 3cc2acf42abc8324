"""PILLAR Kalman: a few noisy residual sums in the public eigenbasis, each taken for as much as its
noise leaves of it.

Features are f(x) = λ^(−g)-weighted public coordinates of x, of norm at most 1 in the first K
directions, u. Release t is the sum of u ⊗ (onehot − softmax) over the private rows, residuals
clipped, under Gaussian noise. There is no step size: each coordinate of the head moves by its
information over its precision, a diagonal Kalman (Newton) step whose curvature comes from public
rows and whose prior is fitted to the first release by maximum likelihood. At the end the head is
drawn towards its own softmax on the unlabelled public rows, once. Nothing is set per run: K =
(10/C)^(1/3)·(μN)^(2/3) follows from the noise, and directions that say nothing shrink. A small
first release tells how much of the private rows' spread lies in the public directions. Where it is
far less than of public rows' own, these come from elsewhere, and the sums that follow are of all
features and move the head by plain descent.

Guarantee: private rows enter through the check and the T sums alone. A row adds (p, ‖p‖²)/√2 to the
check, p its unit row in public directions, of norm at most 1 and clipped there. Given all that was
released before, one row adds u ⊗ clip(R) of Frobenius norm at most c_t, whatever head, basis and
curvature are (norms in float64, a clip behind them; a row that is not finite adds 0), so release t
moves by c_t under add/remove and by 2c_t under replace-one, which u′ = −u with the same label
attains. The c_t and noise multipliers are fixed beforehand; T Gaussian releases, composed
adaptively (Dong, Roth & Su 2022). Public size. Everything else reads releases, public rows, N and
C. Heuristic: that the step is a posterior's holds for a linearised, diagonal model with fresh
sampling noise in each release. Source: ours, after PILLAR (Pinto et al.); empirical Bayes (Efron &
Morris 1973); Kalman 1960; docs/methods/pillar_kalman.md. Cost: T passes over the private rows in K
directions; the eigendecomposition is shared with PILLAR.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from pillar_core import ledger as events
from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import (
    LinearClassifier,
    clipped_sum,
    exact,
    independent_noise,
    noise_left,
)
from pillar_core.engine.gradient import squared_lengths
from pillar_core.grouping import slices
from pillar_core.ledger import DpEvent, Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.methods.method import METHODS, Method, Plan, Run, group_runs
from pillar_core.methods.parts import rules
from pillar_core.methods.parts.rules import require
from pillar_core.rng import Stream
from pillar_core.splits import Transform, View, public_basis
from pillar_core.splits.transform import CHUNK_ROWS, squared_norms
from pillar_core.types import Provenance, PublicFacts, PublicUse, TrainResult

FEWEST_DIRECTIONS = 10
PUBLIC_DIRECTIONS = 300
"""Directions in which the public rows are read at the end, where K is smaller."""
RIDGE = 0.2
FLOOR_QUANTILE = 0.01
"""Rows shorter than this quantile of the public rows are not stretched to length 1."""
CHECK_ERROR, LARGEST_CHECK = 0.03, 0.05
"""The check's standard deviation that is paid for, and the largest share of μ² that it gets."""
MOST_COMPARED = 1000
FITS, CHANCE, MOST_ASKED = 0.7, 2.0, 0.75
"""Public directions are used where private rows have this share of the spread that public rows have
there. A smaller share than this multiple of what random directions hold, or than MOST_ASKED, shows
public rows without a shape. Private rows with less are not centred, either."""
FEWEST_STEPS, MOMENTUM = 10, 0.9
LEAST_FIT = 0.8
"""Share of the head's own softmax that a fit on public rows must explain before the head is drawn
towards it, where the check cannot tell whether these rows are like the private ones."""
PRIOR_VARIANCES = 2.0 ** np.arange(-8.0, 13.75, 0.5)
TINY = 1e-12
ROUNDING = 2.0**-40
LOGITS_AT_ONCE = 1 << 22
"""Bounds the memory of a pass over the private rows."""
KNOWN = (
    "share of each direction's precision that is not the prior's, after the first sum and after all"
)
ELSEWHERE = (
    "The check says that the private rows spread elsewhere than the public ones: all features are"
    " used, without a projection."
)


@dataclasses.dataclass(frozen=True)
class KalmanSettings:
    """Constants of the rule; none needs to be moved. l2_clip_norm is in units of √(C/(C − 1)); the
    first release has one of its own."""

    k: int | None = params.setting(params.K, none_means="all, weighted")
    steps: int | None = params.setting(params.STEPS, high=1_000, help="Noisy residual sums.")
    first_share: float = params.declare(
        0.3, "Share of μ² that the first release spends.", low=0.01, high=0.99
    )
    l2_clip_norm: float = params.setting(
        params.L2_CLIP_NORM, default=0.4, help="Clip norm after the first sum, times √(C/(C − 1))."
    )
    whitening: float = params.declare(
        0.125,
        "Power g of the public variances that coordinates are divided by: 0.5 whitens.",
        low=0,
        high=0.5,
    )
    distillation: float = params.declare(
        0.3, "Weight of the head that the public rows are fitted with at the end.", low=0, high=1
    )
    check: bool = params.declare(
        True,
        "Buy a noisy number that tells whether public directions fit the private rows; else use"
        " all features.",
    )
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)


@dataclasses.dataclass(frozen=True)
class Features:
    """Rows in public directions, of norm at most 1 in the first k columns: `public` (m, K′)
    float64; `private` (n, k) float32."""

    private: torch.Tensor
    public: Array
    k: int
    transform: Transform


def check_share(settings: KalmanSettings, facts: PublicFacts) -> float:
    """Share of μ² that the check gets: what brings its standard deviation to CHECK_ERROR, within
    LARGEST_CHECK."""
    if (
        not settings.check or facts.n_public < 20
    ):  # public rows that it takes for telling what to expect
        return 0.0
    return min(
        2.0 * ((settings.noise_multiplier or 0.0) / (CHECK_ERROR * facts.n_private)) ** 2,
        LARGEST_CHECK,
    )


def noise_multipliers(settings: KalmanSettings, share: float = 0.0) -> list[float]:
    """σ_t of each sum, together worth 1 − share of `noise_multiplier`'s 1/σ²: σ/√α, then σ√((T −
    1)/(1 − α))."""
    total, steps = (
        (settings.noise_multiplier or 0.0) / math.sqrt(1.0 - share),
        require(settings.steps, "steps"),
    )
    if steps == 1:
        return [total]
    later = total * math.sqrt((steps - 1) / (1.0 - settings.first_share))
    return [total / math.sqrt(settings.first_share), *[later] * (steps - 1)]


def clip_norms(settings: KalmanSettings, n_classes: int) -> list[float]:
    """c_t of each release: the first is the residual's own norm at a head of zeros."""
    ratio = n_classes / (n_classes - 1)
    return [
        math.sqrt(1.0 / ratio),
        *[settings.l2_clip_norm * math.sqrt(ratio)] * (require(settings.steps, "steps") - 1),
    ]


def cost(settings: KalmanSettings, facts: PublicFacts) -> DpEvent:
    """The check, where it is bought, then T Gaussian releases, the first with less noise."""
    share = check_share(settings, facts)
    check = [(settings.noise_multiplier or 0.0) / math.sqrt(share)] if share > 0 else []
    return events.compose(
        *(
            events.gaussian(multiplier)
            for multiplier in (*check, *noise_multipliers(settings, share))
        )
    )


def directions_fit(
    settings: KalmanSettings, view: View, stream: Stream, ledger: Ledger
) -> tuple[bool, bool]:
    """(whether private rows spread in the public directions as public rows do, whether these are
    better than random ones), from one noisy sum."""
    share, k, n_private = (
        check_share(settings, view.facts),
        require(settings.k, "k"),
        view.facts.n_private,
    )
    if share == 0:
        return True, True
    multiplier = (settings.noise_multiplier or 0.0) / math.sqrt(share)
    mechanism = GaussianMechanism(
        multiplier, 1.0, stream, ledger, label="spread in public directions"
    )
    if mechanism.is_exact:
        whole = view.memo.get(
            ("private spread in whole numbers", k),
            lambda: integer_spread_sum(*private_coordinates(view, k)),
        )
        drawn = mechanism.release_integers(whole, exact.SUM_UNITS).numpy()
    else:
        total = view.memo.get(
            ("private spread", k), lambda: spread_sum(*private_coordinates(view, k))
        )
        drawn = mechanism.release(torch.from_numpy(total)).numpy()
    means, std = math.sqrt(2.0) * drawn / n_private, math.sqrt(2.0) * multiplier / n_private
    spread = float(means[-1] - (means[:-1] ** 2).sum() + k * std**2)
    standardise, _ = view.resolve(None, True)
    expected, shape = view.memo.get(
        ("spread", k),
        lambda: expected_spread(
            view.x_public, k, standardise=standardise, block=view.block, weights=view.weights
        ),
    )
    chance = CHANCE * k / view.facts.d
    error = std + math.sqrt(2.0 * k) * std**2
    return (
        shape >= min(chance, MOST_ASKED) and spread >= FITS * expected - error,
        chance > 0.5 or spread >= chance,
    )


def private_coordinates(view: View, k: int) -> tuple[Array, Array]:
    """((n, k) float32 centred private rows in public directions, (n,) float64 squared norms of the
    whole rows)."""
    coordinates = view.prepare(standardise=None, centre=True, normalise=False, k=k).z
    centred = Transform(*view.moments(standardise=None, centre=True))
    own = view.row_numbers
    squares = np.empty(len(own))
    for part in slices(len(own), CHUNK_ROWS):
        rows = centred.rows(view.x, own[part]).astype(np.float64)
        squares[part] = squared_norms(rows)
    return coordinates, squares


def spread_rows(coordinates: Array, squares: Array) -> Iterator[Array]:
    """(m, k + 1) float64 rows (p, ‖p‖²)/√2, p = coordinates/√squares, some at a time; without those
    that are not finite."""
    size = rows_at_once(coordinates.shape[1] + 1)
    for part in slices(len(coordinates), size):
        usable = (squares[part] > 0) & np.isfinite(squares[part])
        stacked = np.empty((int(usable.sum()), coordinates.shape[1] + 1))
        rows = stacked[:, :-1]
        np.divide(coordinates[part][usable], np.sqrt(squares[part][usable])[:, None], out=rows)
        stacked[:, -1] = squared_norms(rows)
        stacked /= math.sqrt(2.0)
        yield stacked


def integer_spread_sum(coordinates: Array, squares: Array) -> torch.Tensor:
    """(k + 1,) int64 sum of the same rows in whole numbers: `exact.class_sums` of one class."""
    total = torch.zeros(coordinates.shape[1] + 1, dtype=torch.int64)
    for moved in spread_rows(coordinates, squares):
        total += exact.class_sums(moved, np.zeros(len(moved), dtype=np.int64), n_classes=1)[0]
    return total


def spread_sum(coordinates: Array, squares: Array) -> Array:
    """(k + 1,) float64 sum of `spread_rows`; a row adds at most 1 in norm."""
    total = np.zeros(coordinates.shape[1] + 1)
    for moved in spread_rows(coordinates, squares):
        lengths = np.sqrt((moved**2).sum(axis=1))
        total += (
            moved
            * (
                np.minimum(1.0, (1.0 - ROUNDING) / np.maximum(lengths, TINY)) * (lengths < math.inf)
            )[:, None]
        ).sum(axis=0)
    return total


def expected_spread(
    x: Array,
    k: int,
    *,
    standardise: bool,
    block: slice | None = None,
    weights: Array | None = None,
) -> tuple[float, float]:
    """(the same mean for public rows (m, d): one half in the directions of the other; its share of
    what all directions hold)."""
    half, rest = x[::2][:MOST_COMPARED], x[1::2][:MOST_COMPARED]
    if not np.ptp(half, axis=0).any():
        return 0.0, 0.0
    if weights is not None:
        weights = weights[::2][:MOST_COMPARED] / weights[::2][:MOST_COMPARED].sum()
    basis = public_basis(half, standardise=standardise, centre=True, block=block, weights=weights)
    rows = Transform(basis.mean, basis.scale)(rest).astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1), TINY)[:, None]
    total, spread = (float(part.var(axis=0).sum()) for part in (rows, rows @ basis.vectors[:, :k]))
    return spread, spread / max(total, TINY)


def features_of(settings: KalmanSettings, view: View) -> Features:
    """Private rows in the first K whitened public directions, public ones in K′."""
    k = require(settings.k, "k")
    basis = view.basis(standardise=None, centre=True)
    width = max(k, min(PUBLIC_DIRECTIONS, basis.rank))
    scale = (
        np.maximum(basis.eigenvalues[:width], TINY * basis.eigenvalues[0]) ** -settings.whitening
    )
    projection = (basis.vectors[:, :width] * scale).astype(np.float32)
    public = Transform(basis.mean, basis.scale, projection)(view.x_public).astype(np.float64)
    floor = max(
        float(np.quantile(np.linalg.norm(public[:, :k], axis=1), FLOOR_QUANTILE)),
        float(np.finfo(np.float32).tiny),
    )
    known = shorten_rows(public, k, floor)
    private = view.prepare(standardise=None, centre=True, normalise=False, k=k).z
    for part in slices(len(private), CHUNK_ROWS):
        private[part] = shorten_rows(private[part] * scale[:k], k, floor)
    return Features(
        torch.from_numpy(private),
        known,
        k,
        Transform(basis.mean, basis.scale, projection, normalise=True),
    )


def shorten_rows(rows: Array, k: int, floor: float) -> Array:
    """(n, K′) float64 rows over max(norm of the first k entries, floor); a row of zero or infinite
    norm there is all zeros."""
    with np.errstate(over="ignore"):
        norms = np.sqrt(squared_norms(rows[:, :k]))
    usable = (norms > 0) & np.isfinite(norms)
    return np.asarray(
        np.where(
            usable[:, None], rows / np.where(usable, np.maximum(norms, floor), 1.0)[:, None], 0.0
        )
    )


def rows_at_once(width: int) -> int:
    """Rows of that width at a time."""
    return max(1, LOGITS_AT_ONCE // width)


softmax = functools.partial(special.softmax, axis=1)
"""(m, C) shares of each class of logits (m, C)."""


def residual_sum(
    features: Features, lengths: torch.Tensor, labels: torch.Tensor, head: Array, clip: float
) -> torch.Tensor:
    """(C, K) float64 sum over the private rows u of clip(onehot − softmax) ⊗ u. lengths: (n,)
    squared norms of u; head: (K′, C)."""
    rows = features.private
    weights = torch.from_numpy(head[: rows.shape[1]].T.astype(np.float32))
    total = torch.zeros((len(weights), features.k), dtype=torch.float64)
    for part in slices(len(rows), rows_at_once(len(weights))):
        total -= clipped_sum(
            rows[part], lengths[part], labels[part], weights[None], torch.tensor([clip])
        )[0]
    return total


def prior_precision(evidence: Array, curvature: Array, std: float) -> float:
    """1/τ², τ² the likeliest variance of the head's entries given the first release. evidence: (K,
    C); curvature: (K,)."""
    squares = (evidence**2).sum(axis=1) / (evidence.shape[1] - 1)
    variances = PRIOR_VARIANCES[:, None] * curvature**2 + curvature + std**2
    return float(
        1.0 / PRIOR_VARIANCES[np.argmin((np.log(variances) + squares / variances).sum(axis=1))]
    )


def expected_curvature(features: Features, head: Array, clip: float, n_private: int) -> Array:
    """(K,) how much a unit of each coordinate moves a residual sum of N rows like the public ones,
    clip included."""
    u, p = features.public[:, : features.k], softmax(features.public @ head)
    squares = (p**2).sum(axis=1)
    norms = np.sqrt(np.maximum(1.0 - 2.0 * p + squares[:, None], TINY))
    passed = (p * np.minimum(1.0, clip / norms)).sum(axis=1)
    curvature: Array = n_private * ((1.0 - squares) / (p.shape[1] - 1) * passed) @ u**2 / len(u)
    return np.maximum(curvature, TINY)


def least_fit(settings: KalmanSettings, facts: PublicFacts, k: int) -> float:
    """The share of the softmax that the fit must explain: none where the check has told, from few
    of the directions, that public rows are like the private ones.

    Many classes peak more than a linear fit can show, however like the rows are.
    """
    has_told = check_share(settings, facts) > 0 and CHANCE * k <= MOST_ASKED * facts.d
    return 0.0 if has_told else LEAST_FIT


def distil(head: Array, public: Array, weight: float, least: float) -> Array:
    """(K′, C) the head moved by `weight` towards the ridge fit, at its own scale, of its own class
    shares on the public rows; the head itself where the fit explains less of them than `least`."""
    logits = public @ head
    logits -= logits.mean(axis=1, keepdims=True)
    shares = softmax(logits)
    wanted = shares - shares.mean(axis=0)
    fitted = np.linalg.solve(public.T @ public + RIDGE * np.eye(public.shape[1]), public.T @ wanted)
    answers = public @ fitted
    size = float((answers**2).sum())
    if ((wanted - answers) ** 2).sum() > (1.0 - least) * (wanted**2).sum():
        return head
    return np.asarray(
        (1.0 - weight) * head
        + weight * (float((logits * answers).sum()) / size if size > 0 else 0.0) * fitted
    )


@dataclasses.dataclass(frozen=True)
class Releases:
    """The T sums of a run, in order: each at a head, with the noise and clip norm of its turn."""

    features: Features
    labels: torch.Tensor
    lengths: torch.Tensor
    stream: Stream
    ledger: Ledger

    @functools.cached_property
    def whole_rows(self) -> exact.IntegerRows:
        """The private rows in whole numbers."""
        return exact.integer_rows(self.features.private.numpy())

    def next(self, head: Array, multiplier: float, clip: float) -> Array:
        """(K, C) float64 noisy sum at `head`, each row less its mean over classes, as all residuals
        are."""
        mechanism = GaussianMechanism(
            multiplier, clip, self.stream, self.ledger, label="residual sum"
        )
        if mechanism.is_exact:
            state = torch.from_numpy(head[: self.features.private.shape[1]].T.copy())[None]
            sums = exact.clipped_sum(self.whole_rows, self.labels, state, [clip])[0]
            drawn = mechanism.release_integers(-sums, self.whole_rows.sensitivity).numpy().T
        else:
            drawn = (
                mechanism.release(
                    residual_sum(self.features, self.lengths, self.labels, head, clip)
                )
                .double()
                .numpy()
                .T
            )
        return np.asarray(drawn - drawn.mean(axis=1, keepdims=True))


def learn(
    settings: KalmanSettings, features: Features, view: View, stream: Stream, ledger: Ledger
) -> TrainResult:
    """T releases, each followed by a step of the head; then the public rows."""
    n_private, n_classes, k = view.facts.n_private, view.facts.n_classes, features.k
    u, head, precision = (
        features.public[:, :k],
        np.zeros((features.public.shape[1], n_classes)),
        np.zeros(k),
    )
    known, noise = list[Array](), np.zeros(len(head))
    releases = Releases(
        features, torch.from_numpy(view.y), squared_lengths(features.private), stream, ledger
    )
    multipliers = noise_multipliers(settings, check_share(settings, view.facts))
    for step, (multiplier, clip) in enumerate(
        zip(multipliers, clip_norms(settings, n_classes), strict=True)
    ):
        evidence, std = releases.next(head, multiplier, clip), multiplier * clip
        if step == 0:
            curvature = np.maximum(
                n_private * np.einsum("ij,ij->j", u, u) / (len(u) * n_classes), TINY
            )
            prior = prior_precision(evidence, curvature, std)
            precision += prior
        else:
            curvature = expected_curvature(features, head, clip, n_private)
        share = curvature / (curvature + std**2 + curvature**2 / precision)
        precision = precision + curvature * share
        head[:k] += (share / precision)[:, None] * evidence
        noise[:k] = np.hypot(noise[:k], share / precision * std)
        known.append(1.0 - prior / precision)
    least = least_fit(settings, view.facts, k)
    weights = distil(head, features.public, settings.distillation, least)
    note = (
        f"Effective dimension {known[-1].sum():.1f} of {k} directions: weights are shares of"
        " precision that are not the prior's."
    )
    law = independent_noise(noise)
    classifier = LinearClassifier.without_bias(features.transform, weights, law)
    return TrainResult(classifier, {KNOWN: ((known[0], known[-1]), Provenance.PRIVATE)}, (note,))


def descend(
    settings: KalmanSettings, view: View, stream: Stream, ledger: Ledger, *, centre: bool
) -> TrainResult:
    """The same releases of all features, the head moved by DP-SGD's rule: steps as long as their
    shares of μ², or with DP-RAFT's momentum where the budget pays for more than the fewest."""
    facts, prepared = (
        view.facts,
        view.prepare(standardise=None if centre else False, centre=centre, normalise=True),
    )
    rows = torch.from_numpy(prepared.z)
    features = Features(rows, np.zeros((0, facts.d)), facts.d, prepared.transform)
    releases = Releases(
        features, torch.from_numpy(view.y), squared_lengths(features.private), stream, ledger
    )
    head = np.zeros((facts.d, facts.n_classes))
    noise = settings.noise_multiplier or 0.0
    path = rules.path_length(1.0 / noise if noise > 0 else math.inf, facts)
    steps = require(settings.steps, "steps")
    momentum, velocity = 0.0, np.zeros_like(head)
    shares = (
        [settings.first_share, *[(1.0 - settings.first_share) / (steps - 1)] * (steps - 1)]
        if steps > 1
        else [1.0]
    )
    if steps > FEWEST_STEPS:
        momentum, shares = MOMENTUM, [1.0 / rules.effective_steps(steps, MOMENTUM)] * steps
    multipliers = noise_multipliers(settings, check_share(settings, facts))
    moved = list[float]()
    for share, multiplier, clip in zip(
        shares, multipliers, clip_norms(settings, facts.n_classes), strict=True
    ):
        rate = min(path * share, rules.LARGEST_RATE_PER_DIMENSION * facts.d) / (
            facts.n_private * clip
        )
        velocity = momentum * velocity + rate * releases.next(head, multiplier, clip)
        head += velocity
        moved.append(rate * multiplier * clip)
    law = independent_noise(noise_left(np.array(moved), momentum))
    classifier = LinearClassifier.without_bias(prepared.transform, head, law)
    return TrainResult(classifier, notes=(ELSEWHERE,))


@group_runs("k", "whitening")
def fit_many(view: View, runs: list[Run[KalmanSettings]]) -> Iterator[TrainResult]:
    """One after the other; runs that agree on the features share them."""
    features: Features | None = None
    for settings, streams, ledger in runs:
        stream = streams.secret("noise")
        fit, informative = directions_fit(settings, view, stream, ledger)
        if fit:
            features = features or features_of(settings, view)
            yield learn(settings, features, view, stream, ledger)
        else:
            yield descend(settings, view, stream, ledger, centre=informative)


def resolve_hyperparameters(settings: KalmanSettings, facts: PublicFacts) -> Plan[KalmanSettings]:
    """Fills `k` from the noise. Raises DataError for an explicit k above the rank of the public
    rows."""
    ceiling, noise = rules.public_rank(facts), settings.noise_multiplier or 0.0
    rules.check_k(settings.k, ceiling)
    if settings.k is not None:
        return Plan(settings)
    wanted = (
        (10.0 / facts.n_classes) ** (1 / 3) * (facts.n_private / noise) ** (2 / 3)
        if noise > 0
        else math.inf
    )
    k = min(ceiling, max(FEWEST_DIRECTIONS, round(min(wanted, ceiling))))
    why = (
        f"(10/C)^(1/3)·(μN)^(2/3), at least {FEWEST_DIRECTIONS} and at most the rank; directions"
        " that say little shrink"
    )
    return Plan(settings).fill("k", k, why)


METHODS.register(
    Method(
        name="pillar_kalman",
        title="PILLAR Kalman",
        source="ours, after Pinto, Hu, Yang & Sanyal, PILLAR",
        idea="Noisy sums of what the model still gets wrong, each believed as far as its noise"
        " allows; no setting to choose.",
        public_use=PublicUse.UNLABELLED,
        settings=KalmanSettings,
        cost=cost,
        public_statistics=lambda settings, view: {
            "public_rank": view.basis(standardise=None, centre=True).rank
        },
        fit_many=fit_many,
        resolve_schedule=functools.partial(rules.resolve_schedule, fewest=FEWEST_STEPS),
        resolve_hyperparameters=resolve_hyperparameters,
        is_exact=True,
        version=4,
    )
)
