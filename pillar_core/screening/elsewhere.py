"""Whether a public table lies elsewhere than the private rows, read off the class sums that were
released to choose among the sets.

With u the unit rows in public coordinates and S_c the released sum of class c, S_c/n is compared,
column by column and class by class, with the mean of u·[y = c] over the M public rows; without
public labels ΣS_c/n with the mean of u. Chance explains a difference of variance

    v = (V + 4/M) (1/n + 1/M) + K s²/n²,

V the public variance, s the noise of a place, K the classes that were added up; n and M divided by
the most rows of a person. 4/M stands for four rows at distance 1 that the M did not show (the plus
four of Agresti & Coull 1998), so that a rare category is no alarm. A table lies elsewhere where a
difference passes the Student quantile, with M − 1 degrees of freedom, that `FALSE_ALARM` leaves,
shared among columns, classes and sets.

Guarantee: post-processing of the one release and of public rows, so no ε of its own. For private
and public rows of one distribution each difference has mean 0, whatever the public centre is. So
the chance of any false alarm is at most `FALSE_ALARM`, as far as means of rows of norm 1 are
normal; the noise is. Another unit, other persons and another share of classes look alike.
"""

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import stats
from pillar_core.screening.class_signal import ClassSums

FALSE_ALARM = 0.01
"""Chance, over all that is compared at once, that a set of the private rows' kind is named."""
UNSEEN = 4.0
"""Rows at distance 1 that public rows may not have shown."""


def column_elsewhere(
    release: ClassSums,
    public: Array,
    labels: Array | None,
    columns: Array,
    *,
    n_sets: int,
    rows_per_person: int = 1,
) -> int | None:
    """The column that lies furthest from the private rows beyond chance, or None.

    public: (M, d) unit rows of one set, in the release's coordinates; labels: (M,) theirs, in the
    release's classes. columns: (k,) those of d that are judged. n_sets: how many sets are judged by
    this release. rows_per_person: at most so many rows, private or public, are one person's.
    """
    n, n_public = release.n / rows_per_person, len(public) / rows_per_person
    if n_public <= 1 or not len(columns):
        return None
    n_classes = release.sums.shape[1]
    if labels is None:
        sums, parts, added = release.sums.sum(axis=1, keepdims=True), [1.0], n_classes
    else:
        sums, parts, added = release.sums, [labels == code for code in range(n_classes)], 1
    rows, ratios = public[:, columns].astype(np.float64), []
    noise = added * (release.noise_std / release.n) ** 2
    for place, part in enumerate(parts):
        theirs = rows * np.reshape(part, (-1, 1))
        apart = np.abs(sums[columns, place] / release.n - theirs.mean(axis=0))
        spread = theirs.var(axis=0, ddof=1) + UNSEEN / n_public
        ratios.append(apart / np.sqrt(spread * (1 / n + 1 / n_public) + noise))
    furthest = np.max(ratios, axis=0)
    chance = FALSE_ALARM / (2 * furthest.size * len(parts) * n_sets)
    is_apart = furthest.max() > stats.t.ppf(1 - chance, n_public - 1)
    return int(columns[np.argmax(furthest)]) if is_apart else None
