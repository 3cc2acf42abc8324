"""How many public rows PILLAR needs: accuracies that come with the library, as `benchmarks/public_rows.py` measures them."""

from pathlib import Path

import pandas as pd

from pillar_core.data import embedded

KEPT = Path(__file__).with_suffix(".csv")
"""private, n_private, public, n_public, epsilon and one accuracy a seed."""


def curves(private: str) -> pd.DataFrame:
    """private, n_private, public, n_public, epsilon, seed, accuracy: of this private set or of what it is a part of, else of the first."""
    table = pd.read_csv(KEPT)
    measured = [name for name in table["private"].unique() if embedded.whole_of(name) == embedded.whole_of(private)]
    private_set = measured[0] if measured else table["private"].iloc[0]
    cell = ["private", "n_private", "public", "n_public", "epsilon"]
    long: pd.DataFrame = table[table["private"] == private_set].melt(id_vars=cell, var_name="seed", value_name="accuracy")
    return long
