"""What lies behind a distance: angles, spectra, all pairs of sets, and the error that Lemma 4.1 bounds. Non-private diagnostics."""

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from pillar_core import checks
from pillar_core.errors import SettingError
from pillar_core.params import COUNT
from pillar_core.screening.gsd import N_EXAMPLES, Gradients, K, Side, require_one_width
from pillar_core.screening.models import model_of
from pillar_core.subspace import cosines, projection_distance, singular_values
from pillar_core.types import Dataset


def angles(
    private: Dataset, public: Mapping[str, Dataset], *, model: str = "probe", k: int = 16, n_examples: int = 300, seed: int = 0
) -> pd.DataFrame:
    """Principal angles of each public set's directions with the private ones: columns public, index (1 … k), degrees in [0, 90]."""
    checks.within(k=(k, K), n_examples=(n_examples, N_EXAMPLES))
    private_gradients, sides = _gradients(private, public, model, n_examples, seed)
    rows = []
    for name, gradients in sides.items():
        m = min(private_gradients.m, gradients.m)
        values = cosines(private_gradients.directions(k, m).basis, gradients.directions(k, m).basis)
        rows += [{"public": name, "index": index, "degrees": math.degrees(math.acos(value))} for index, value in enumerate(values, start=1)]
    return pd.DataFrame(rows)


def spectra(
    private: Dataset, public: Mapping[str, Dataset], *, model: str = "probe", n_examples: int = 300, seed: int = 0, most: int = 64
) -> pd.DataFrame:
    """Singular values of each set's gradients as shares of the largest: columns set, index, value; at most `most` of them (gsd, Fig. 3).

    Raises:
        SettingError: a model whose gradients do not fit in memory.
    """
    checks.within(n_examples=(n_examples, N_EXAMPLES), most=(most, COUNT))
    private_gradients, sides = _gradients(private, public, model, n_examples, seed)
    rows = []
    for name, gradients in {private.name: private_gradients, **sides}.items():
        if not gradients.fits:
            raise SettingError(f"the spectrum needs gradients that fit in memory; {model} has {gradients.width:,} parameters.")
        values = singular_values(gradients.products)[:most]
        rows += [{"set": name, "index": index, "value": float(value / values[0])} for index, value in enumerate(values, start=1)]
    return pd.DataFrame(rows)


def pairwise(sets: Mapping[str, Dataset], *, model: str = "probe", k: int = 16, n_examples: int = 300, seed: int = 0) -> pd.DataFrame:
    """Normalised distances of all pairs of sets: columns first, second, value; both orders, and 0 of each with itself (gsd, Fig. 4)."""
    checks.within(k=(k, K), n_examples=(n_examples, N_EXAMPLES))
    if not sets:
        raise SettingError("sets must hold at least one set; got none.")
    first = next(iter(sets.values()))
    _, sides = _gradients(first, sets, model, n_examples, seed)
    rows = [{"first": name, "second": name, "value": 0.0} for name in sides]
    for a, b in itertools.combinations(sides, 2):
        m = min(sides[a].m, sides[b].m)
        value = projection_distance(sides[a].directions(k, m).basis, sides[b].directions(k, m).basis)
        rows += [{"first": a, "second": b, "value": value}, {"first": b, "second": a, "value": value}]
    return pd.DataFrame(rows)


def reconstruction(
    private: Dataset, public: Mapping[str, Dataset], *, model: str = "probe", k: int = 16, n_examples: int = 300, seed: int = 0
) -> pd.DataFrame:
    """Lemma 4.1 beside what it bounds: columns public, k, error, bound, both in units of the largest singular value s₁.

    error: ‖G − GVVᵀ‖₂ of the private gradients on the public directions; bound: √2·d + s_{k+1}/s₁ with the raw distance d.
    """
    checks.within(k=(k, K), n_examples=(n_examples, N_EXAMPLES))
    private_gradients, sides = _gradients(private, public, model, n_examples, seed)
    rows = []
    for name, gradients in sides.items():
        m = min(private_gradients.m, gradients.m)
        mine, theirs = private_gradients.directions(k, m), gradients.directions(k, m)
        products = private_gradients.products[:m, :m].double().numpy()
        inside = private_gradients.rows[:m].numpy() @ theirs.basis.astype(np.float32)
        values = np.linalg.eigvalsh(products)[::-1]
        largest = math.sqrt(float(values[0]))
        error = math.sqrt(max(0.0, float(np.linalg.eigvalsh(products - inside.astype(np.float64) @ inside.T)[-1]))) / largest
        tail = math.sqrt(max(0.0, float(values[k]))) / largest if m > k else 0.0
        distance = projection_distance(mine.basis, theirs.basis, normalised=False)
        rows.append({"public": name, "k": k, "error": error, "bound": math.sqrt(2) * distance + tail})
    return pd.DataFrame(rows)


def _gradients(
    private: Dataset, public: Mapping[str, Dataset], model: str, n_examples: int, seed: int
) -> tuple[Gradients, dict[str, Gradients]]:
    chosen = model_of(model)
    require_one_width([private, *public.values()], chosen)
    private_gradients = Side(private, chosen, n_examples, seed).gradients(0)
    return private_gradients, {name: Side(data, chosen, n_examples, seed).gradients(0) for name, data in public.items()}
