"""Rows to predict: features in a file, without labels."""

from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.data.npz import arrays_of
from pillar_core.data.parts import opened
from pillar_core.errors import DataError

KEYS = ("x", "x_test", "x_train")


def read_rows(path: str | Path) -> Array:
    """(n, d) float32 rows of a npz (the first of x, x_test, x_train), csv or parquet file; label and split columns are left out.

    Raises:
        DataError: unreadable, not a matrix of numbers, or NaN in it.
    """
    ending = Path(path).suffix.lower()
    if ending == ".npz":
        return _from_npz(path)
    if ending not in (".csv", ".parquet"):
        raise DataError(f"rows come from a npz, csv or parquet file; got {ending or 'no ending'!r}.")
    from pillar_core.data.tables import LABEL_NAMES, frame_of, numbers_of, taken, without_row_numbers

    frame = without_row_numbers(frame_of(opened(path), ending), [])
    beside = {taken(frame, LABEL_NAMES), taken(frame, ("split",))}
    return numbers_of(frame, [column for column in frame.columns if column not in beside])


def _from_npz(path: str | Path) -> Array:
    arrays, others = arrays_of(opened(path), also=("x",))
    name = next((key for key in KEYS if key in arrays), None)
    if name is None:
        raise DataError(f"the npz needs one of {', '.join(KEYS)}; it holds {', '.join([*arrays, *others]) or 'nothing'}.")
    x = np.asarray(arrays[name])
    if x.ndim != 2 or x.dtype.kind not in "fiu":
        raise DataError(f"{name} must be a matrix of numbers, (n, d); got shape {x.shape}, {x.dtype}.")
    if not np.isfinite(x).all():
        raise DataError(f"{name} holds NaN or infinite values in rows {np.flatnonzero(~np.isfinite(x).all(axis=1))[:10].tolist()}.")
    return np.ascontiguousarray(x, dtype=np.float32)
