"""The class signal that a public set keeps: one private release of class sums ranks any number of
candidates.

u_i = unit(x_i − c), c the mean of the candidates' means, so the coordinates are public and the same
for all. Released once: S = Σ_i u_i e_{y_i}ᵀ + noise, (d, C). For a candidate with mean m,
directions v_j and eigenvalues λ_j of its own rows u:

    signal = Σ_j √(λ_j / Σλ) · (‖v_jᵀ S H‖² − (C−1)s²) · C/n²  /  (1 − 2 m·S1/n + ‖m‖²)²,   H = I −
    11ᵀ/C,

what its directions keep of the class sums, each weighted as its own spread has it, the noise's
share s² subtracted, over the private rows' mean square distance from its mean, twice: PILLAR
centres by that mean and scales rows to unit norm, so what lies far off shrinks the signal and
drowns it. The score is 1 − √signal, an amplitude: smaller is nearer, 1 is no signal at all. It is
no share of 1: rows that lie close around a candidate's mean, as those of tables do, gain by the
division, and their score may be below 0.

Guarantee: a row enters one column of S with ‖u‖ ≤ 1: S moves by at most 1 (add/remove) or 2
(replace-one) in L2. One Gaussian release, exact; all else is post-processing of it and of public
rows. The number of private rows and the classes are public. Source: ours; chosen on one half of the
yardstick's sources and confirmed on the other (research/choosing_public_data.md).
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TypeVar

import numpy as np

from pillar_core import accounting, params
from pillar_core.arrays import Array
from pillar_core.data import uploads
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import stats, torch
from pillar_core.engine import exact
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.memo import Memo
from pillar_core.rng import Stream, Streams, stream
from pillar_core.screening.batches import MIXTURE
from pillar_core.screening.ranking import LEVEL, promise_of, rank_table, row_of
from pillar_core.splits.transform import Transform
from pillar_core.types import Dataset, FeatureSet

NAME = "class_signal"
ROWS = 1000
"""Public rows of a candidate that are read, the first; its directions hardly move beyond."""
DIRECTIONS = 160
NOISE_COPIES = 200
WRONG_CLEAR = 0.05
"""Chance, over all candidates at once, that noise alone makes a first clear."""
MARGIN = 0.5
"""A clear first has twice the signal of any other: chosen on the yardstick, where the score's own
error exceeds the noise's."""
SENSITIVITY = 1.0
COVERS = (
    "This covers the table as a whole: every candidate is scored from one noised release of the"
    " private rows' class sums."
)
ONE_EACH = (
    " Of each person one row, the first, was used: a row is a person, if no person has public rows,"
    " too."
)
Rows = TypeVar("Rows", bound=Dataset | FeatureSet)
_CANDIDATES = Memo(slots=24)


@dataclasses.dataclass(frozen=True, eq=False)
class Candidate:
    """What is read of a public set. mean: (d,); directions: (d, r) float64 orthonormal; weights:
    (r,) √(λ_j / Σλ); total: Σλ."""

    mean: Array
    directions: Array
    weights: Array
    total: float

    @classmethod
    def of(cls, rows: Array) -> "Candidate":
        """From the unit rows (m, d) of a public set. Raises DataError: rows that are all equal."""
        mean = rows.mean(axis=0)
        apart = rows - mean
        values, left = np.linalg.eigh(apart @ apart.T)
        order = np.argsort(-values)[: min(DIRECTIONS, len(rows) - 1)]
        values, left = values[order].astype(np.float64), left[:, order]
        keep = values > 1e-6 * max(float(values.max(initial=0.0)), 1e-9)
        if not keep.any():
            raise DataError(
                "its rows are all equal, so they span no direction; bring other public rows."
            )
        values = values[keep]
        directions = apart.T @ left[:, keep] / np.sqrt(values)
        return cls(
            mean.astype(np.float64),
            directions.astype(np.float64),
            np.sqrt(values / values.sum()),
            float(values.sum()) / len(rows),
        )


@dataclasses.dataclass(frozen=True, eq=False)
class ClassSums:
    """What was released: sums (d, C) float64 with noise of this standard deviation a place, over n
    rows (nominal, public)."""

    sums: Array
    noise_std: float
    n: int


def unit(x: Array, centre: Array, scale: Array | None = None) -> Array:
    """(n, d) float32 rows (x − centre) / scale at unit L2 norm; a row that is the centre becomes 0,
    one that is no number too."""
    return Transform(mean=centre, scale=scale, normalise=True)(x)


def public_centre(public: Sequence[Array]) -> Array:
    """(d,) float32: the mean of the candidates' means, each candidate counted alike."""
    return np.asarray(
        np.mean([x[:ROWS].mean(axis=0, dtype=np.float64) for x in public], axis=0)
    ).astype(np.float32)


def release_class_sums(
    private: FeatureSet,
    n: int,
    centre: Array,
    *,
    scale: Array | None = None,
    noise_multiplier: float,
    noise: Stream,
    ledger: Ledger,
) -> ClassSums:
    """The class sums of the private train rows with their noise; n is their nominal number, centre
    and scale are public. Zero noise releases nothing private."""
    mechanism = GaussianMechanism(
        noise_multiplier, SENSITIVITY, noise, ledger, label="noised class sums"
    )
    units = unit(private.x_train, centre, scale)
    if mechanism.is_exact:
        whole = exact.class_sums(units, np.asarray(private.y_train), n_classes=private.n_classes)
        drawn = mechanism.release_integers(whole.T, exact.SUM_UNITS)
    else:
        rows = units.astype(np.float64)
        rows /= np.maximum(
            1.0, np.linalg.norm(rows, axis=1, keepdims=True)
        )  # float32 may leave a norm above 1 by 2⁻²⁴
        codes = range(private.n_classes)
        sums = np.stack([rows[private.y_train == code].sum(axis=0) for code in codes], axis=1)
        drawn = mechanism.release(torch.from_numpy(sums))
    return ClassSums(drawn.numpy(), noise_multiplier * SENSITIVITY, n)


def signal(
    release: ClassSums,
    candidate: Candidate,
    sums: Array | None = None,
    *,
    noise_std: float | None = None,
) -> Array:
    """(B,) signal of a candidate from the release, or from each of `sums` (B, d, C) with noise of
    another size."""
    copies = release.sums[None] if sums is None else sums
    std = release.noise_std if noise_std is None else noise_std
    c, n = copies.shape[2], release.n
    total = copies.sum(axis=2)
    along = np.einsum(
        "dr,bdc->brc", candidate.directions, copies - total[:, :, None] / c, optimize=True
    )
    energy = np.square(along).sum(axis=2) - (c - 1) * std**2
    apart = 1.0 - 2.0 * (total @ candidate.mean) / n + float(candidate.mean @ candidate.mean)
    return np.asarray((energy @ candidate.weights) * c / n**2 / np.maximum(apart, 0.05) ** 2)


def score_of(energy: float) -> float:
    """The score of a signal: 1 − √signal; above 1 where noise left less than nothing, below 0 where
    rows lie close around a mean."""
    return 1.0 - math.copysign(math.sqrt(abs(energy)), energy)


def ranking(
    private: FeatureSet,
    public: Mapping[str, FeatureSet],
    *,
    epsilon: float | None,
    delta: float = 1e-5,
    seed: int | None = 0,
    n_private: int | None = None,
    aside: str = "",
) -> "pd.DataFrame":
    """One row per candidate, best first, columns as `screen`; `attrs` holds the guarantee and the
    verdict.

    attrs: the `rivals` of the first (none: it is clear), the `noise_floor`, above which a score
    says nothing, and `rows_per_noise`, μN/C, by which the yardstick's tasks compare. aside: a
    candidate that is a yardstick and takes no part in the verdict. Without `epsilon` a non-private
    diagnostic. Intervals are of the sample: where the score would lie without noise; 95 %.

    Guarantee: `epsilon_upper` bounds what the whole table reveals, see above.
    Raises DataError: private rows without labels, sets of other widths, candidates of less than two
    rows or of equal rows. SettingError: no candidate, ε not in (0, ∞), δ out of range.
    """
    persons = ONE_EACH if private.persons else ""
    private = private if epsilon is None else first_of_each_person(private)
    require(private, public)
    params.DELTA.check(delta)
    if epsilon is not None and not 0 < epsilon < math.inf:
        raise SettingError(
            "epsilon must be above 0 and finite (leave it out for a non-private diagnostic); got"
            f" {epsilon!r}."
        )
    n = len(private.x_train) if n_private is None else n_private
    centre = public_centre([features.x_train for features in public.values()])
    candidates = {name: _candidate(name, features, centre) for name, features in public.items()}
    multiplier = 0.0 if epsilon is None else accounting.noise_multiplier(epsilon, delta=delta)
    prints = {name: features.fingerprint for name, features in public.items()}
    streams = Streams(seed, fingerprint(NAME, private.fingerprint, prints, epsilon, delta, n))
    ledger = Ledger()
    release = release_class_sums(
        private,
        n,
        centre,
        noise_multiplier=multiplier,
        noise=streams.secret("class sums"),
        ledger=ledger,
    )
    signals = {name: float(signal(release, candidate)[0]) for name, candidate in candidates.items()}
    spread = (
        noise_copies(release, candidates)
        if epsilon is not None
        else dict.fromkeys(candidates, np.zeros(1))
    )
    half = float(stats.norm.ppf(0.5 + LEVEL / 2))
    upper = accounting.epsilon(ledger.total_event, delta=delta, relation="add_or_remove_one").upper
    rows = []
    for name, value in signals.items():
        reach = half * float(spread[name].std())
        ends = (score_of(value + reach), score_of(value), score_of(value - reach))
        rows.append(row_of(name, NAME, ends, min(ROWS, len(public[name].x_train)), upper))
    table = rank_table(rows, null=None, width=len(centre))
    judged = {name: value for name, value in signals.items() if name != aside}
    table.attrs["rivals"] = tuple(rivals(judged, spread)) if judged else ()
    table.attrs["notes"] = ()
    if epsilon is not None:
        table.attrs["noise_multiplier"] = multiplier
        table.attrs["rows_per_noise"] = n / (private.n_classes * release.noise_std)
        table.attrs["noise_floor"] = noise_floor(
            n, private.n_classes, release.noise_std, candidates
        )
        promise = promise_of(ledger.total_event, COVERS, delta, n, seed)
        table.attrs["guarantee"] = promise + persons
    return table


def noise_copies(release: ClassSums, candidates: Mapping[str, Candidate]) -> dict[str, Array]:
    """By candidate its signal under fresh noise of the same law on top of the release, the same
    noise for all of them."""
    generator, shape = stream(0, "copies of the noise of class sums"), (20, *release.sums.shape)
    std = math.sqrt(2) * release.noise_std
    signals: dict[str, list[Array]] = {name: [] for name in candidates}
    for _ in range(NOISE_COPIES // shape[0]):
        copies = release.sums + release.noise_std * generator.standard_normal(shape)
        for name, candidate in candidates.items():
            signals[name].append(signal(release, candidate, copies, noise_std=std))
    return {name: np.concatenate(parts) for name, parts in signals.items()}


def rivals(values: Mapping[str, float], spread: Mapping[str, Array]) -> list[str]:
    """The candidates that may tie with the one of the largest signal: those of which `MARGIN` of it
    is not more, beyond the noise.

    One-sided tests, Bonferroni over the others, at `WRONG_CLEAR` for all of them together.
    """
    first = max(values, key=lambda name: values[name])
    rest = [name for name in values if name != first]
    bound = float(stats.norm.ppf(1 - WRONG_CLEAR / max(len(rest), 1)))
    apart = {name: bound * float((spread[name] - MARGIN * spread[first]).std()) for name in rest}
    return [name for name in rest if not MARGIN * values[first] - values[name] > apart[name]]


def noise_floor(
    n: int, n_classes: int, noise_std: float, candidates: Mapping[str, Candidate]
) -> float:
    """The smallest score that noise reaches in no more than 2.5 % of releases where there is no
    signal: public facts and rows alone."""
    widest = max(
        float(np.square(c.weights).sum() ** 0.5) / (1.0 + float(c.mean @ c.mean)) ** 2
        for c in candidates.values()
    )
    spread = math.sqrt(2 * (n_classes - 1)) * noise_std**2
    half = float(stats.norm.ppf(0.5 + LEVEL / 2))
    return score_of(half * spread * widest * n_classes / n**2)


def require(private: FeatureSet, public: Mapping[str, FeatureSet]) -> None:
    """Refuses what cannot be compared. Raises DataError, SettingError: see `ranking`."""
    if not public:
        raise SettingError("screening needs at least one public set.")
    if private.y_train is None:
        raise DataError(
            f"{private.name!r} has no labels, which the class signal needs; choose missed_energy or"
            " gsd."
        )
    for name, features in public.items():
        if features.d != private.d:
            raise DataError(
                f"public set {uploads.title_of(name)!r} has {features.d} features and the private"
                f" rows {private.d}; take one backbone for all."
            )
        if len(features.x_train) < 2:
            raise DataError(f"public set {uploads.title_of(name)!r} has fewer than two rows.")


def first_of_each_person(private: Rows) -> Rows:
    """The rows that a release is made of: where a person may have several, the first of each, so
    that a row is a person.

    Raises DataError: a mixture.
    """
    if MIXTURE in private.known:
        raise DataError(
            f"{private.name!r} mixes several sets, and how many rows it has of each hangs on all"
            " rows. Name one private set."
        )
    if private.persons is None:
        return private
    first = np.sort(np.unique(private.persons.of, return_index=True)[1])
    labels = None if private.y_train is None else private.y_train[first]
    return dataclasses.replace(
        private, x_train=private.x_train[first], y_train=labels, persons=None
    )


def as_features(data: Dataset | FeatureSet) -> FeatureSet:
    """A data set of numbers as features. Raises DataError: images, which need a backbone first."""
    if isinstance(data, FeatureSet):
        return data
    if data.is_images:
        raise DataError(
            f"{data.name!r} holds images: take features of every set first, as"
            " pc.load_features(data, backbone)."
        )
    count = 0 if data.y_train is None else int(data.y_train.max()) + 1
    classes = data.classes or tuple(str(code) for code in range(count))
    return FeatureSet(
        data.x_train,
        data.y_train,
        data.x_test,
        data.y_test,
        classes,
        name=data.name,
        persons=data.persons,
    )


def _candidate(name: str, features: FeatureSet, centre: Array) -> Candidate:
    try:
        return _CANDIDATES.get(
            fingerprint(features.fingerprint, centre),
            lambda: Candidate.of(unit(features.x_train[:ROWS], centre)),
        )
    except DataError as cause:
        raise DataError(f"public set {uploads.title_of(name)!r}: {cause}") from cause
