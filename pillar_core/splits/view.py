"""What a learner may see of a split: private rows through public preprocessing, and the public data
that it declared."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.memo import Memo
from pillar_core.splits.basis import (
    PublicBasis,
    centre_weights,
    has_units,
    moments,
    public_basis,
)
from pillar_core.splits.transform import LateRows, Transform, unit_rows
from pillar_core.types import PublicFacts, PublicUse, SemiPrivateSplit

T = TypeVar("T")
FIRST_WIDTH = 64
"""Private rows are projected onto so many directions at first, and onto twice as many once k is
above them: the first ones are kept, and only the others are added."""
MOST_KEPT = 2**25
"""Numbers of the kept coordinates, an eighth of a gigabyte: of more rows each k is projected for
itself, to the same bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """Rows ready for a linear head. rows: (n, k) float32 private ones, made or not yet; transform:
    for new rows; make_public: gives `z_public`."""

    rows: Array | LateRows
    transform: Transform
    make_public: Callable[[], Array]

    @property
    def z(self) -> Array:
        """(n, k) float32 private rows."""
        return np.asarray(self.rows)

    @functools.cached_property
    def z_public(self) -> Array:
        """(m, k) float32 public rows, made for the learners that ask for them."""
        return self.make_public()


@dataclasses.dataclass(frozen=True, eq=False)
class View:
    """A learner's window on a split. `y_public` is None unless the method declared labelled public
    data.

    x: (N, d) float32 with `rows` (n,) int64 the private ones among them (None: all); y: (n,) int64.
    `public_classes` names the classes of `y_public` where they are not the private ones.
    `pixel_shape`: that of the images whose pixels the rows are, or None. `block`, `weights`: see
    `moments`; the weights come from public labels, whatever the method declared.
    """

    facts: PublicFacts
    x: Array
    rows: Array | None
    y: Array
    x_public: Array
    y_public: Array | None
    text_embeddings: Array | None = None
    memo: Memo = dataclasses.field(default_factory=Memo)
    public_classes: tuple[str, ...] = ()
    pixel_shape: tuple[int, ...] | None = None
    block: slice | None = None
    weights: Array | None = None

    @property
    def row_numbers(self) -> Array:
        """(n,) int64 each private row's own number, which no other row's presence changes: its
        place in the loaded rows."""
        return np.arange(len(self.x)) if self.rows is None else self.rows

    @property
    def n_rows(self) -> int:
        """Private rows present: for loops over them only; every public quantity comes from
        `facts`."""
        return len(self.y)

    def basis(self, *, standardise: bool | None, centre: bool | None) -> PublicBasis:
        """The public eigenbasis, computed once a split."""
        return self._of_public_rows("basis", public_basis, standardise, centre)

    def moments(
        self, *, standardise: bool | None, centre: bool | None
    ) -> tuple[Array | None, Array | None]:
        """(mean, scale) of the public rows, (d,) float32 each or None, computed once a split."""
        return self._of_public_rows("moments", moments, standardise, centre)

    def _of_public_rows(
        self, name: str, compute: Callable[..., T], standardise: bool | None, centre: bool | None
    ) -> T:
        is_standardised, is_centred = self.resolve(standardise, centre)
        return self.memo.get(
            (name, is_standardised, is_centred),
            lambda: compute(
                self.x_public,
                standardise=is_standardised,
                centre=is_centred,
                block=self.block,
                weights=self.weights,
            ),
        )

    def prepare(
        self,
        *,
        standardise: bool | None,
        centre: bool | None,
        normalise: bool,
        k: int | None = None,
    ) -> Prepared:
        """Private and public rows standardised, centred, projected on the public top k (k None: not
        projected), normalised.

        Raises DataError: k above the rank of the public rows, or a projection without public rows.
        """
        settings = self.resolve(standardise, centre)
        if k is None:
            return self.apply(
                Transform(*self.moments(standardise=standardise, centre=centre), None, normalise)
            )
        transform = self.basis(standardise=standardise, centre=centre).transform(
            k, normalise=normalise
        )
        z = self._projection(settings, k, normalise)
        return (
            self.apply(transform)
            if z is None
            else Prepared(z, transform, lambda: transform(self.x_public))
        )

    def apply(self, transform: Transform) -> Prepared:
        """Private and public rows through any row-wise transform that public data (or public
        randomness) decides."""
        rows = LateRows(transform, self.x, self.rows)
        return Prepared(rows, transform, lambda: transform(self.x_public))

    def _projection(self, settings: tuple[bool, bool], k: int, normalise: bool) -> Array | None:
        """A fresh (n, k) copy of the first k coordinates of the projected private rows; None where
        they are too many to be kept."""
        basis = self.basis(standardise=settings[0], centre=settings[1])
        stops = [FIRST_WIDTH]
        while stops[-1] < k:
            stops.append(2 * stops[-1])
        if self.facts.n_private * min(stops[-1], basis.rank) > MOST_KEPT:
            return None
        z = np.empty((self.n_rows, k), dtype=np.float32)
        for start, stop in zip([0, *stops], stops, strict=False):
            directions = Transform(basis.mean, basis.scale, basis.vectors[:, start:stop])
            part = self.memo.get(
                ("projected", *settings, start),
                functools.partial(directions.rows, self.x, self.rows),
            )
            z[:, start:stop] = part[:, : k - start]
        return unit_rows(z) if normalise else z

    def resolve(self, standardise: bool | None, centre: bool | None) -> tuple[bool, bool]:
        """(standardise, centre) with None settled: standardised where public columns have units of
        their own, centred where there are public rows."""
        if standardise is None:
            standardise = self.memo.get("units", lambda: has_units(self.x_public, self.block))
        return standardise, (len(self.x_public) > 0 if centre is None else centre)


def what_lacks(
    split: SemiPrivateSplit, use: PublicUse
) -> tuple[str, str, dict[str, Sequence[str]]]:
    """("needs" what the split has not, what to do, by which arguments), for a method that declares
    `use`; nothing where it has all."""
    needs_labels = use in (PublicUse.LABELLED, PublicUse.OTHER_LABELS)
    if (needs_labels or use is PublicUse.UNLABELLED) and not len(split.public_x):
        return (
            "needs public rows",
            "take a share of the rows as public, or another set",
            {"public_fraction": (), "public": ()},
        )
    if use is PublicUse.LABELLED and split.public_y is None:
        return "needs labelled public rows of the same classes", "choose an unlabelled method", {}
    if needs_labels and split.public_y is None and split.other_y is None:
        return "needs labelled public rows", "choose an unlabelled method", {}
    if use is PublicUse.TEXT and split.text_embeddings is None:
        return "needs text embeddings of the class names", "give them", {"text_embeddings": ()}
    return "", "", {}


def view_of(split: SemiPrivateSplit, use: PublicUse) -> View:
    """The view of `split` for a method that declares `use`.

    Unlabelled rows stay in the view of every method, because preprocessing needs them; labels only
    for labelled methods, which also see text embeddings: class names are no more than labels say.

    Raises DataError: the split lacks what the method declares, or private rows have no labels.
    """
    if split.features.y_train is None:
        raise DataError("the private rows have no labels; learners need y_train.")
    lacking, remedy, arguments = what_lacks(split, use)
    if lacking:
        raise DataError(f"this method {lacking}; {remedy}.").naming(**arguments)
    labelled = use in (PublicUse.LABELLED, PublicUse.TEXT, PublicUse.OTHER_LABELS)
    has_other_labels = use is PublicUse.OTHER_LABELS and split.public_y is None
    public_y = split.other_y if has_other_labels else split.public_y
    return View(
        split.facts,
        split.features.x_train,
        split.private,
        split.features.y_train[split.private],
        split.public_x,
        public_y if labelled else None,
        split.text_embeddings if labelled else None,
        split.memo,
        split.other_classes if has_other_labels else (),
        split.features.pixel_shape,
        split.features.text_block,
        centre_weights(split.public_y),
    )
