"""Where a basis comes from, and what that costs: public rows, private rows, a noised moment,
chance, or the coordinates.

Each basis is one eigendecomposition (or none), whose prefixes serve every k.
"""

import dataclasses
import enum

import numpy as np

from pillar_core import checks, rng
from pillar_core.arrays import Array
from pillar_core.deferred import pandas as pd
from pillar_core.deferred import torch
from pillar_core.engine.gradient import within_unit_ball
from pillar_core.errors import DataError, SettingError
from pillar_core.fingerprint import fingerprint
from pillar_core.geometry.rows import Rows
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import GaussianMechanism
from pillar_core.params import NOISE_MULTIPLIER, SEED
from pillar_core.rng import Streams
from pillar_core.splits.basis import public_basis
from pillar_core.splits.transform import Transform
from pillar_core.types import Provenance

PUBLIC_SEED_PURPOSE = "geometry"


class BasisKind(enum.StrEnum):
    """The sources of a basis."""

    PUBLIC_PCA = "public_pca"
    PRIVATE_PCA = "private_pca"
    DP_PCA = "dp_pca"
    RANDOM = "random"
    IDENTITY = "identity"


BASIS_TITLES = {
    BasisKind.PUBLIC_PCA: "principal components of public rows",
    BasisKind.PRIVATE_PCA: "principal components of private rows, no noise",
    BasisKind.DP_PCA: "principal components of private rows, noised",
    BasisKind.RANDOM: "random directions",
    BasisKind.IDENTITY: "the features themselves, largest variance first",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Basis:
    """Orthonormal directions, best first. vectors: (d, r) float32 columns.

    eigenvalues: (r,) float64, falling, the mean square of the source's rows along each direction;
    None where the source has none (random) or where they are noise (dp_pca).
    """

    kind: BasisKind
    vectors: Array
    eigenvalues: Array | None
    provenance: Provenance
    n_rows: int

    @property
    def rank(self) -> int:
        """Number of directions: the largest k."""
        return int(self.vectors.shape[1])

    @property
    def limit(self) -> str:
        """What limits k, in words."""
        return f"the rank of {BASIS_TITLES[self.kind]}"


def basis_of(
    rows: Rows,
    *,
    kind: str = BasisKind.PUBLIC_PCA,
    space: Transform | None = None,
    n_public: int | None = None,
    noise_multiplier: float | None = None,
    seed: int = 0,
    ledger: Ledger | None = None,
) -> Basis:
    """The basis of one `kind` for `rows`, in `space` (default: centred by the public mean, not
    standardised).

    n_public: how many of the public rows to use, drawn by `seed`; None takes all. Centred bases
    take the mean of just those. noise_multiplier: for dp_pca, the noise's standard deviation per
    entry of the second moment of unit-clipped rows.

    Guarantee (dp_pca only): one Gaussian release of XᵀX, rows clipped to 1 after the public map:
    add/remove sensitivity 1, replace-one √2; charged to `ledger`. private_pca protects nothing.
    Raises SettingError: unknown kind, n_public out of range, dp_pca without noise_multiplier.
    DataError: public_pca without public rows.
    """
    checks.within(noise_multiplier=(noise_multiplier, NOISE_MULTIPLIER), seed=(seed, SEED))
    checks.one_of(list(BasisKind), kind=kind)
    chosen = BasisKind(kind)
    space = rows.space() if space is None else space
    d = rows.x.shape[1]
    match chosen:
        case BasisKind.PUBLIC_PCA:
            if not rows.has_public:
                raise DataError(
                    "public_pca needs public rows; split the data first, or choose private_pca"
                    " (non-private)."
                )
            picked = _pick_rows(rows.public, n_public, seed)
            return _principal_basis(chosen, picked, space, Provenance.PUBLIC)
        case BasisKind.PRIVATE_PCA:
            return _principal_basis(chosen, rows.x, space, Provenance.NON_PRIVATE)
        case BasisKind.DP_PCA:
            return _noisy_basis(rows, space, noise_multiplier, seed, ledger)
        case BasisKind.RANDOM:
            frame = rng.stream(seed, PUBLIC_SEED_PURPOSE, "random").standard_normal(
                (d, _direction_count(d))
            )
            return Basis(
                chosen, np.linalg.qr(frame)[0].astype(np.float32), None, Provenance.PUBLIC, 0
            )
    variances = np.square(space(rows.public).astype(np.float64)).mean(axis=0)
    order = np.argsort(-variances, kind="stable")
    order = order[: _direction_count(d)]
    vectors = np.zeros((d, len(order)), dtype=np.float32)
    vectors[order, np.arange(len(order))] = 1.0
    provenance = Provenance.PUBLIC if rows.has_public else Provenance.NON_PRIVATE
    return Basis(chosen, vectors, variances[order], provenance, len(rows.public))


def _direction_count(d: int) -> int:
    """Directions of d features that are held: all of them up to 2,896, then fewer the more features
    there are."""
    return min(d, max(1, 2**23 // d))  # numbers of a basis that is drawn


def _pick_rows(public: Array, n_public: int | None, seed: int) -> Array:
    if n_public is None or n_public == len(public):
        return public
    if isinstance(n_public, bool) or not 2 <= n_public <= len(public) or n_public != int(n_public):
        raise SettingError(
            f"n_public must be a whole number in [2, {len(public)}], the public rows at hand; got"
            f" {n_public!r}."
        )
    order = rng.stream(seed, PUBLIC_SEED_PURPOSE, "public rows").permutation(len(public))
    return public[np.sort(order[: int(n_public)])]


def _principal_basis(kind: BasisKind, x: Array, space: Transform, provenance: Provenance) -> Basis:
    """Principal components of rows in the space's scale; the mean is taken anew from these very
    rows."""
    scaled = x if space.scale is None else x / space.scale
    components = public_basis(scaled, standardise=False, centre=space.mean is not None)
    return Basis(kind, components.vectors, components.eigenvalues, provenance, len(x))


def _noisy_basis(
    rows: Rows, space: Transform, noise_multiplier: float | None, seed: int, ledger: Ledger | None
) -> Basis:
    """Principal directions of a second moment with Gaussian noise, symmetrised (Dwork, Talwar,
    Thakurta & Zhang 2014)."""
    if noise_multiplier is None or not noise_multiplier > 0:
        raise SettingError(
            f"dp_pca needs a noise_multiplier above 0; got {noise_multiplier!r}. Solve one with"
            " pc.noise_multiplier(epsilon)."
        )
    if not rows.has_public and (space.mean is not None or space.scale is not None):
        raise DataError(
            "dp_pca centres by public rows, and there are none: the private mean is not free. Split"
            " the data, or centre=False."
        )
    z = within_unit_ball(torch.from_numpy(space(rows.x)))
    secret = Streams(seed, fingerprint(z.numpy(), noise_multiplier)).secret(
        "geometry second moment"
    )
    mechanism = GaussianMechanism(
        noise_multiplier,
        1.0,
        secret,
        ledger or Ledger(),
        replace_one_factor=2**0.5,
        label="second moment",
    )
    released = mechanism.release(z.T @ z)
    _, vectors = torch.linalg.eigh((released + released.T) / 2)
    ordered = np.ascontiguousarray(vectors.flip(1).float().numpy())
    return Basis(BasisKind.DP_PCA, ordered, None, Provenance.PRIVATE, len(rows.x))


def spectrum(basis: Basis) -> "pd.DataFrame":
    """One row per direction: component, eigenvalue, share (of all energy), cumulative, tail Σ_{i>k}
    λ_i, gap Δ_k.

    Raises SettingError: a basis without eigenvalues (random, dp_pca).
    """
    if basis.eigenvalues is None:
        raise SettingError(
            f"the basis {basis.kind} has no eigenvalues; choose public_pca, private_pca or"
            " identity."
        )
    return spectrum_of(basis.eigenvalues)


def spectrum_of(eigenvalues: Array) -> "pd.DataFrame":
    """The same table from (r,) eigenvalues, falling and at least 0."""
    values = checks.arrays("r", eigenvalues=eigenvalues)[0].astype(np.float64)
    if not (values >= 0).all() or not values[0] > 0 or (np.diff(values) > 0).any():
        raise SettingError("eigenvalues must be at least 0 and falling, the first above 0.")
    total, running = values.sum(), np.cumsum(values)
    return pd.DataFrame(
        {
            "component": np.arange(1, len(values) + 1),
            "eigenvalue": values,
            "share": values / total,
            "cumulative": running / total,
            "tail": np.maximum(total - running, 0.0),
            "gap": values - np.append(values[1:], 0.0),
        }
    )
