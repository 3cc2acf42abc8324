"""Views that vary the learner on the same rows: AdaMix's parts, the noise a step, preprocessing."""

import pandas as pd

from pillar_core.accounting import mu_of
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules
from pillar_core.splits import view_of
from pillar_core.studies.compare.view import Grid, Setup, register
from pillar_core.types import PublicUse

NOISES = (5.0, 10.0, 20.0, 40.0, 80.0)
SAFE_RANK = 0.8
"""Of the public rank of one split: other seeds' public rows may span a little less."""
PREPROCESSED = ("pillar", "dp_raft_pillar", "pillar_one_shot", "dp_sgd", "jl", "gep", "adamix")
_PARTS = {
    (False, False): "NGD: fixed clip, all dimensions",
    (False, True): "+ projection",
    (True, False): "+ adaptive clip",
    (True, True): "AdaMix: both",
}


def ablation_grids(setup: Setup) -> list[Grid]:
    """AdaMix with its two parts on and off; where projection is on, on the (μN)^(2/3) dimensions that the noise allows."""
    grids = []
    for epsilon in setup.epsilons:
        wanted = round((mu_of(epsilon, float(setup.data.get("delta") or 1e-5)) * setup.split.facts.n_private) ** (2 / 3))
        k = max(1, min(max(wanted, rules.SMALLEST_K), int(SAFE_RANK * _rank(setup))))
        switches = {"adaptive_clip": [False, True], "projection": [False, True]}
        grids.append(setup.grid(method="adamix", k=k, **setup.public, **switches, epsilon=[epsilon]))
    return grids


def ablation_places(runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """Series: which parts are on; x: ε."""
    switches = zip(runs["adaptive_clip"].astype(bool), runs["projection"].astype(bool), strict=True)
    return runs.assign(series=[_PARTS[pair] for pair in switches], x=runs["epsilon"])


def noise_grids(setup: Setup) -> list[Grid]:
    """NGD and AdaMix with the noise multiplier given and the steps solved from ε."""
    shared = setup.grid(method="adamix", preset="fixed_noise", noise_multiplier=list(NOISES), **setup.public)
    return [{**shared, "adaptive_clip": False, "projection": False}, shared]


def preprocessing_places(runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """Series: standardised or not; x: the learner."""
    preprocessing = runs["standardise"].map({True: "standardised by public rows", False: "centred only"})
    return runs.assign(series=preprocessing, x=[METHODS[str(name)].title for name in runs["method"]])


def _rank(setup: Setup) -> int:
    return view_of(setup.split, PublicUse.LABELLED).basis(standardise=False, centre=None).rank


register("ablation", ablation_grids, ablation_places)
register(
    "noise",
    noise_grids,
    lambda runs, _: runs.assign(series=runs["adaptive_clip"].eq(False).map({True: "NGD", False: "AdaMix"}), x=runs["noise_multiplier"]),
)
register(
    "preprocessing",
    lambda setup: [setup.grid(method=setup.able(PREPROCESSED), standardise=[True, False], **setup.public)],
    preprocessing_places,
)
