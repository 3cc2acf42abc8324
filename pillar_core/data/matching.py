"""What two matrices share: columns of one name, and exact duplicate rows, in time linear in their
size."""

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterator

import numpy as np
from scipy.special import gammainc, gammaincinv

from pillar_core import texts
from pillar_core.arrays import Array
from pillar_core.data.wording import join
from pillar_core.errors import DataError
from pillar_core.grouping import slices
from pillar_core.types import FeatureSet

CHUNK = 2_048
REORDERED = "The public columns came in another order: they were matched by name."
BY_PLACE = (
    "The public columns have no names: the first is taken for the first private one, and so on."
)
FEW_NUMBERS, FEW_PAIRS, BY_CHANCE = 32, 2, 0.05
"""Rows of no more numbers are equal by chance, as ages and doses are; so few may always be, and of
rows drawn from one table this share."""
ERROR = 1e-3
"""The chance at most that two tables drawn apart share more than `are_by_chance` takes."""


@dataclasses.dataclass(frozen=True)
class Shared:
    """`private`: numbers of the private rows that equal public ones, at least one; `n`: how many
    public rows equal private ones, of `n_public`; `is_chance`: whether rows of other people may."""

    private: Array
    n: int
    n_public: int
    is_chance: bool

    def __str__(self) -> str:
        return f"{self.n:,} of {self.n_public:,} public rows"

    @property
    def first(self) -> str:
        """The first private rows, by number."""
        return ", ".join(map(str, self.private[:5])) + (" …" if len(self.private) > 5 else "")


def shared_rows(
    x_private: Array,
    x_public: Array,
    *,
    rows: Array | None = None,
    are_texts: bool = False,
    is_one_table: bool = False,
) -> Shared | None:
    """What public rows share, bit by bit, with private ones; None where they share nothing.

    rows: as for `duplicates`. are_texts: whether texts became the numbers, which share phrases.
    is_one_table: both were drawn from one table, of which no test can tell copies.

    Raises DataError: as `duplicates`.
    """
    pairs = duplicates(x_private, x_public, rows=rows)
    if not len(pairs):
        return None
    private, public = Counter(digests(x_private, rows)), Counter(digests(x_public))
    count = sum(number for row, number in public.items() if row in private)
    is_chance = are_texts or x_private.shape[1] <= FEW_NUMBERS
    if is_chance and count > FEW_PAIRS:
        few = BY_CHANCE * min(private.total(), public.total())
        is_chance = count <= few if is_one_table else are_by_chance(private, public)
    return Shared(pairs[:, 0], count, len(x_public), is_chance)


def are_by_chance(private: Counter[bytes], public: Counter[bytes]) -> bool:
    """Whether a public table shares no more rows with a private one than tables drawn apart do.

    counts: how often each table holds each row. If both were drawn from one law, any m of the n + m
    rows could be the public ones. A row that stands c times in both together would be public alone
    with the chance (m / (n + m))^c. Copies make such rows fewer than chance does. The number that
    lacks is compared with a Poisson tail of the variance that it has given m. Tables drawn apart
    are refused with a chance of at most `ERROR`, as simulated; tables of other laws share less,
    unless what is common in one is commoner in the other.

    Rows that are often in the public table alone could hide copies there. So the different public
    rows that are private ones, too, may not be more than chance gives either: a new row is among
    the private ones as often as a private row has a twin.

    A whole copy is always refused, and so is a sample, or half of one, unless chance alone gives
    nearly every public row an equal private one: there nobody can tell them from rows drawn apart.
    """
    if private == public:
        return False
    twins = sum(number for number in private.values() if number > 1)
    share_of_twins = gammaincinv(twins + 1, 1 - ERROR) / private.total()  # at most, by Poisson
    both = sum(row in private for row in public)
    if gammainc(max(both, 1), len(public) * share_of_twins) <= ERROR:
        return False
    n, m = private.total(), public.total()
    counts = np.array([private[row] + public[row] for row in private | public], dtype=np.float64)
    share = m / (n + m)
    is_alone = share**counts
    alone = counts * is_alone
    excess = alone.sum() - sum(number for row, number in public.items() if row not in private)
    given = (counts * alone).sum() ** 2 * (1 - share) / m
    variance = (counts * alone * (1 - is_alone)).sum() - given
    return excess <= 0 or bool(gammainc(variance + excess, max(variance, 1e-9)) > ERROR)


def duplicates(x_a: Array, x_b: Array, *, rows: Array | None = None) -> Array:
    """(m, 2) int64: each row number of `x_a` that occurs in `x_b`, with the first equal row of
    `x_b`; ascending.

    Rows are compared as float32, exactly (0 equals −0), by digests of 128 bits.

    Args:
        x_a: (n, d) numbers.
        x_b: (m, d) numbers.
        rows: (r,) int64, ascending: the rows of `x_a` that are looked for; all by default.

    Raises DataError: the widths differ, or an array is not a matrix.
    """
    if np.ndim(x_a) != 2 or np.ndim(x_b) != 2 or np.shape(x_a)[1] != np.shape(x_b)[1]:
        raise DataError(
            f"duplicates needs two matrices of equal width; got shapes {np.shape(x_a)} and"
            f" {np.shape(x_b)}."
        )
    rows = np.arange(len(x_a)) if rows is None else rows
    sums_a, sums_b = _bit_sums(x_a, rows), _bit_sums(x_b, np.arange(len(x_b)))
    first: dict[bytes, int] = {}
    candidates = np.flatnonzero(np.isin(sums_b, sums_a))
    for number, digest in zip(candidates.tolist(), digests(x_b, candidates), strict=True):
        first.setdefault(digest, number)
    rows = rows[np.isin(sums_a, sums_b)]
    pairs = [
        (number, first[digest])
        for number, digest in zip(rows.tolist(), digests(x_a, rows), strict=True)
        if digest in first
    ]
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def by_name(public: FeatureSet, private: FeatureSet) -> tuple[FeatureSet, tuple[str, ...]]:
    """The public features with the private ones' columns in their order, where both have names; and
    a note where that changed them.

    Raises DataError: columns that the public rows lack, or that have one name; texts through
    different encoders.
    """
    theirs, ours = texts.encoder_of(public.recipe), texts.encoder_of(private.recipe)
    if theirs and ours and theirs != ours:
        raise DataError(
            f"the public texts became numbers through {theirs['name']}, the private ones through"
            f" {ours['name']}: use one encoder."
        )
    if public.names is None or private.names is None or public.names == private.names:
        return public, (
            (BY_PLACE,)
            if public.names is None and private.names is not None and public.d == private.d
            else ()
        )
    places, names = (
        {name: place for place, name in enumerate(public.names)},
        frozenset(private.names),
    )
    absent = [name for name in private.names if name not in places]
    if absent:
        raise DataError(
            f"the public rows lack the columns {join(absent)}: bring them with the same columns, or"
            " leave these out of the private rows. Words need one recipe for both tables."
        ).naming(recipe=())
    order, more = (
        [places[name] for name in private.names],
        [name for name in public.names if name not in names],
    )
    ordered = [name for name in public.names if name in names] == list(private.names)
    notes = [] if ordered else [REORDERED]
    notes += (
        [f"Public columns that the private rows lack were left out: {join(more)}."] if more else []
    )
    x_train, x_test = (
        public.x_train[:, order],
        (None if public.x_test is None else public.x_test[:, order]),
    )
    return dataclasses.replace(
        public, x_train=np.ascontiguousarray(x_train), x_test=x_test, names=private.names
    ), tuple(notes)


def digests(x: Array, rows: Array | None = None) -> Iterator[bytes]:
    """The digest of each row, or of those with the numbers `rows`."""
    for part in _float32_parts(x, np.arange(len(x)) if rows is None else rows):
        for row in part:
            yield hashlib.blake2b(row.tobytes(), digest_size=16).digest()


def _bit_sums(x: Array, rows: Array) -> Array:
    """(r,) uint64 sums of the bits of these rows' numbers: equal rows have equal ones, and others
    seldom, so that few rows need a digest."""
    sums = [part.view(np.uint32).sum(axis=1, dtype=np.uint64) for part in _float32_parts(x, rows)]
    return np.concatenate([np.empty(0, dtype=np.uint64), *sums])


def _float32_parts(x: Array, rows: Array) -> Iterator[Array]:
    """These rows in float32, some at a time, numbers that are equal with equal bits."""
    for part in slices(len(rows), CHUNK):
        # Adding zero turns −0 into 0, whose bits differ though the numbers are equal.
        yield x[rows[part]].astype(np.float32, copy=False) + np.float32(0)
