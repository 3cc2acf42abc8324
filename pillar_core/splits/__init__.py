"""Features and split settings → private, public, validation and test rows, and the preprocessing
that public rows decide."""

from pillar_core.splits.basis import PublicBasis, has_units, public_basis
from pillar_core.splits.split import beside, rarest, split_features, thin_classes, unused_labels
from pillar_core.splits.transform import Transform
from pillar_core.splits.view import Prepared, View, view_of, what_lacks
