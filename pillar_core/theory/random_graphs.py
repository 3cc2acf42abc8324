"""Rows of the data set “disjunctions”, by part and with the disjunction's variables first, for the playground's figures."""

import numpy as np

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.data import load_dataset
from pillar_core.errors import SettingError
from pillar_core.params import COUNT

PARTS = ("unlabelled", "private", "test")
_FEWEST = 4


def random_graph_rows(n: int, *, d: int, k: int, p: float, seed: int, part: str) -> tuple[Array, Array]:
    """x (n, d) bool and y (n,) bool, the disjunction of the first k variables (Definition 4). Parts are independent draws.

    Raises:
        SettingError: n below 1, k outside 2 … d − 2, p outside (0, 1), an unknown part.
    """
    checks.within(n=(n, COUNT))
    if not n >= 1 or not 2 <= k <= d - 2 or not 0 < p < 1 or part not in PARTS:
        raise SettingError(
            f"n must be at least 1, k in [2, d − 2], p in (0, 1) and part one of {', '.join(PARTS)}; "
            f"got n={n!r}, k={k!r}, d={d!r}, p={p!r}, part={part!r}."
        )
    own_seed = len(PARTS) * seed + PARTS.index(part)
    data = load_dataset("disjunctions", seed=own_seed, n=max(n, _FEWEST), n_test=_FEWEST, d=d, k=k, p=p)
    members = np.asarray(data.known["members"])
    order = np.concatenate([members, np.setdiff1d(np.arange(d), members)])
    labels = np.zeros(0, dtype=bool) if data.y_train is None else data.y_train == 1
    return data.x_train[:n][:, order] > 0, labels[:n]
