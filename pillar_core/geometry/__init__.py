"""When does projecting help? Spectrum, margins, ξ_k and a predicted best k. What reads private
labels is non-private.

Nothing here trains with privacy; whatever compares with measured accuracy gets it from `studies`.

>>> digits = pc.load_features(pc.load_dataset("digits"))
>>> pc.geometry.smallest(pc.margins(digits, [5, 20]))["k"].tolist()
[5, 20]
"""

from pillar_core import checks
from pillar_core.geometry.bases import (
    BASIS_TITLES,
    Basis,
    BasisKind,
    basis_of,
    spectrum,
    spectrum_of,
)
from pillar_core.geometry.margins import (
    QUANTILE,
    Coordinates,
    compatibility,
    coordinates,
    margin_at,
    nearest_pair,
    pair_margins,
    projected_margins,
    refitted_margins,
    smallest,
)
from pillar_core.geometry.prediction import ClassMoments, best_k, class_moments, predicted
from pillar_core.geometry.rows import Rows, checked_ks, collapse_ratio, rows_of, thinned
from pillar_core.geometry.separators import (
    MOST_PAIRED,
    ONE_VERSUS_REST,
    REGULARISATION,
    REST,
    Pair,
    Separators,
    averaged,
    pairs_of,
    separators,
    separators_of,
    xi_of,
    xi_table,
)

__all__ = checks.guarded_names(__name__)
