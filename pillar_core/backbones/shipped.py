"""Features that come with the library, small enough for a clone: 32 levels a value, even in its
square root, compressed.

A column's levels run from 0 to its largest value, so features must not be negative, as those behind
a ReLU. What 5 bits cost is measured in docs/decisions/0012-real-images.md: less than the noise of a
seed.
"""

import io
import zipfile

import numpy as np

from pillar_core.arrays import Array

DEVICE = "shipped"
"""Stands for the device in the key of such features: they answer for every device."""
LEVELS = 31
NOTE = "These features came with the library, at 5 bits a value."


def pack_features(features: Array) -> bytes:
    """The bytes that ship for (n, d) features. Raises ValueError: a negative value."""
    if features.min() < 0:
        raise ValueError("features that ship are not negative")
    top = np.maximum(features.max(axis=0), np.finfo(np.float32).tiny)
    codes = np.rint(np.sqrt(features / top) * LEVELS).astype(np.uint8)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        for name, value in (
            ("codes", np.ascontiguousarray(codes.T)),
            ("top", top.astype(np.float32)),
        ):
            member = io.BytesIO()
            np.save(member, value)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)),
                member.getvalue(),
                zipfile.ZIP_LZMA,
            )
    return out.getvalue()


def unpack_features(payload: bytes) -> Array:
    """(n, d) float32 of what `pack_features` wrote."""
    with np.load(io.BytesIO(payload), allow_pickle=False) as archive:
        squares = (np.arange(LEVELS + 1, dtype=np.float32) / LEVELS) ** 2
        features: Array = np.ascontiguousarray(squares[archive["codes"]].T) * archive["top"]
    return features
