"""Disjunctions: which variables are active together, and what the exponential mechanism then
chooses.

Source: Hu, Pinto, Sanyal & Yang, section 3.1 and appendix B: an edge joins two variables that some
row has both active; a disjunction compatible with the rows is a union of components.
"""

import dataclasses
import math

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp

from pillar_core import checks
from pillar_core.arrays import Array
from pillar_core.data import load_dataset
from pillar_core.errors import DataError, SettingError
from pillar_core.params import COUNT

MOST_COMPONENTS = 16
"""2^Z hypotheses are scored one by one up to here."""


@dataclasses.dataclass(frozen=True, eq=False)
class ComponentGraph:
    """labels: (d,) component of each variable, 0 … count − 1, the largest component first; edges:
    (e, 2) pairs i < j."""

    labels: Array
    edges: Array
    count: int


@dataclasses.dataclass(frozen=True, eq=False)
class Choice:
    """Unions of components, what each errs on the labelled rows, and how likely the exponential
    mechanism takes it.

    unions: (2^Z, Z) bool; errors: (2^Z,) counts; probabilities: (2^Z,). `true_errors` where rows to
    test on were given.
    """

    unions: Array
    errors: Array
    probabilities: Array
    true_errors: Array | None

    @property
    def expected_error(self) -> float | None:
        """Mean error, over the mechanism's choice, on the rows to test on."""
        return None if self.true_errors is None else float(self.probabilities @ self.true_errors)


def component_graph(x: Array) -> ComponentGraph:
    """The graph that boolean rows x (n, d) show. Raises DataError: values other than 0 and 1."""
    (x,) = checks.arrays("n d", x=x)
    active = _boolean(x)
    together = active.T.astype(np.float32) @ active.astype(np.float32) > 0
    first, second = np.nonzero(np.triu(together, 1))
    count, labels = connected_components(csr_matrix(together), directed=False)
    order = np.argsort(-np.bincount(labels, minlength=count), kind="stable")
    position = np.empty(count, dtype=np.int64)
    position[order] = np.arange(count)
    return ComponentGraph(position[labels], np.stack([first, second], axis=1), int(count))


def choice(
    graph: ComponentGraph,
    x: Array,
    y: Array,
    *,
    epsilon: float,
    x_test: Array | None = None,
    y_test: Array | None = None,
) -> Choice:
    """Every union of components with its probability ∝ exp(−ε·errors/2), exactly: nothing is
    sampled.

    x (n, d) boolean, y (n,) bool or 0/1: whether the disjunction is true. With errors of range 1
    per row this is ε-DP under replace-one and ε/2 under add/remove.
    Raises SettingError: epsilon not above 0, or more than MOST_COMPONENTS components (2^Z unions
    would be too many).
    """
    x, y = checks.arrays("n d, n", x=x, y=y)
    if x_test is not None and y_test is not None:
        x_test, y_test = checks.arrays("m d, m", x_test=x_test, y_test=y_test)
    if not epsilon > 0:
        raise SettingError(f"epsilon must be above 0; got {epsilon!r}.")
    if len(graph.labels) != x.shape[1]:
        raise DataError(
            f"x must have a column for each of the graph's {len(graph.labels)} variables; got"
            f" {x.shape[1]}."
        )
    if graph.count > MOST_COMPONENTS:
        raise SettingError(
            f"{graph.count} components allow 2^{graph.count} disjunctions; at most"
            f" {MOST_COMPONENTS} components are scored one by one. Bring more unlabelled rows."
        )
    unions = (np.arange(2**graph.count)[:, None] >> np.arange(graph.count)) & 1 == 1
    errors = _errors(graph, unions, x, y)
    tilted = (
        -errors * epsilon / 2
        if math.isfinite(epsilon)
        else np.where(errors == errors.min(), 0.0, -math.inf)
    )
    true = (
        None
        if x_test is None or y_test is None
        else _errors(graph, unions, x_test, y_test) / len(y_test)
    )
    return Choice(unions, errors, np.exp(tilted - logsumexp(tilted)), true)


def _errors(graph: ComponentGraph, unions: Array, x: Array, y: Array) -> Array:
    """(2^Z,) rows that each union labels wrongly; rows with the same active components are counted
    once."""
    touched = _boolean(x) @ (graph.labels[:, None] == np.arange(graph.count))
    codes = touched @ (1 << np.arange(graph.count))
    kinds, where = np.unique(codes, return_inverse=True)
    positive = np.bincount(where, weights=np.asarray(y, dtype=bool), minlength=len(kinds))
    total = np.bincount(where, minlength=len(kinds))
    says = (unions @ (1 << np.arange(graph.count)))[:, None] & kinds != 0
    return np.asarray(np.where(says, total - positive, positive).sum(axis=1), dtype=np.float64)


def _boolean(x: Array) -> Array:
    values = np.asarray(x)
    if values.ndim != 2 or not np.isin(values, (0, 1)).all():
        raise DataError(
            "disjunctions need rows of 0 and 1; load the data set “disjunctions”, or threshold your"
            " features first."
        )
    return values.astype(bool)


PARTS = ("unlabelled", "private", "test")
_FEWEST = 4


def random_graph_rows(
    n: int, *, d: int, k: int, p: float, seed: int, part: str
) -> tuple[Array, Array]:
    """x (n, d) bool and y (n,) bool, the disjunction of the first k variables (Definition 4). Parts
    are independent draws.

    Raises SettingError: n below 1, k outside 2 … d − 2, p outside (0, 1), an unknown part.
    """
    checks.within(n=(n, COUNT))
    if not 2 <= k <= d - 2 or not 0 < p < 1 or part not in PARTS:
        raise SettingError(
            f"k must be in [2, d − 2], p in (0, 1) and part one of {', '.join(PARTS)}; got k={k!r},"
            f" d={d!r}, p={p!r}, part={part!r}."
        )
    own_seed = len(PARTS) * seed + PARTS.index(part)
    data = load_dataset(
        "disjunctions", seed=own_seed, n=max(n, _FEWEST), n_test=_FEWEST, d=d, k=k, p=p
    )
    members = np.asarray(data.known["members"])
    order = np.concatenate([members, np.setdiff1d(np.arange(d), members)])
    labels = np.zeros(0, dtype=bool) if data.y_train is None else data.y_train == 1
    return data.x_train[:n][:, order] > 0, labels[:n]
