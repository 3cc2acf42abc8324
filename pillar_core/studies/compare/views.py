"""What Compare can vary: learners on the same rows (parts of AdaMix, noise a step), or the rows
(how many, from where)."""

import dataclasses
import itertools
import math
from typing import Any

import pandas as pd

from pillar_core.accounting import mu_of
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.methods import METHODS
from pillar_core.methods.parts import rules
from pillar_core.runs import sweep
from pillar_core.splits import view_of
from pillar_core.studies.compare.learners import CEILING, FLOOR, at_every_epsilon, boosts_of
from pillar_core.studies.compare.view import (
    COMPARE_VIEWS,
    CompareView,
    Grid,
    Setup,
    lines,
    reference_of,
)
from pillar_core.types import Form, Progress, PublicUse, RunSpec, ignore_progress

__all__ = ["COMPARE_VIEWS", "CompareView", "Setup", "lines", "run", "specs_of", "table_of"]


def run(
    name: str, setup: Setup, *, progress: Progress = ignore_progress
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(lines, runs) of a view, trained where the cache has nothing yet.

    Raises UnknownNameError: no such view. DataError: nothing to vary on these rows.
    """
    view, finished = COMPARE_VIEWS[name], 0
    grids = grids_of(view, setup)
    total = sum(map(sweep.count_runs, grids))
    tables = []
    for grid in grids:

        def forward(count: int, _total: int, message: str = "", before: int = finished) -> None:
            progress(before + count, total, message)

        tables.append(sweep.sweep(grid, progress=forward))
        finished += len(tables[-1])
    runs = pd.concat(tables, ignore_index=True)
    return lines(view, runs, setup), runs


def grids_of(view: CompareView, setup: Setup) -> list[Form]:
    """The grids of a view.

    Raises DataError: no learner of the view can run on these rows, or it needs another data set and
    there is none.
    """
    if view.needs_other and setup.other is None:
        raise DataError(
            f"the view {view.name} needs another data set of {setup.features.d} features; name one"
            " as `other`."
        )
    grids = view.grids(setup)
    if not all(grid["method"] for grid in grids):
        raise DataError(
            f"no learner of the view {view.name} can run on this split; give it (labelled) public"
            " rows."
        )
    return grids


def specs_of(view: CompareView, setup: Setup) -> list[RunSpec]:
    """Every run of a view once."""
    return list(
        {
            fingerprint(spec.form): spec
            for grid in grids_of(view, setup)
            for spec in sweep.specs_of(grid)
        }.values()
    )


def first_groups(view: CompareView, setup: Setup) -> list[list[RunSpec]]:
    """Runs of the first seed, those first that soon make a figure: each learner's first place, then
    its last, then those between.

    Within a place private learners come first, except where they are measured against the others.
    """
    groups: dict[str, list[list[RunSpec]]] = {}
    for group in itertools.chain.from_iterable(
        map(sweep.group_specs, grids_of(view, dataclasses.replace(setup, seeds=setup.seeds[:1])))
    ):
        groups.setdefault(group[0].method, []).append(group)
    learners = sorted(groups, key=lambda name: METHODS[name].is_private is not view.is_share)
    places = itertools.zip_longest(*([groups[name][0], *groups[name][:0:-1]] for name in learners))
    return [group for place in places for group in place if group]


def table_of(specs: list[RunSpec]) -> pd.DataFrame:
    """The runs of these specs that the cache holds, as a tidy table; empty where there are none."""
    records = [record for record in sweep.cached_records(specs) if record is not None]
    return sweep.table(records) if records else pd.DataFrame()


SAFE_RANK = 0.8
"""Of the public rank of one split: other seeds' public rows may span a little less."""
_PARTS = {
    (False, False): "NGD: fixed clip, all dimensions",
    (False, True): "+ projection",
    (True, False): "+ adaptive clip",
    (True, True): "AdaMix: both",
}


def ablation_grids(setup: Setup) -> list[Grid]:
    """AdaMix with its two parts on and off; where projection is on, on the (μN)^(2/3) dimensions
    that the noise allows."""
    grids = []
    rank = view_of(setup.split, PublicUse.LABELLED).basis(standardise=False, centre=None).rank
    for epsilon in setup.epsilons:
        wanted = round(
            (mu_of(epsilon, float(setup.data.get("delta") or 1e-5)) * setup.split.facts.n_private)
            ** (2 / 3)
        )
        k = max(1, min(max(wanted, rules.SMALLEST_K), int(SAFE_RANK * rank)))
        grids.append(
            setup.grid(
                method="adamix",
                k=k,
                **setup.public,
                adaptive_clip=[False, True],
                projection=[False, True],
                epsilon=[epsilon],
            )
        )
    return grids


def ablation_places(runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """Series: which parts are on; x: ε."""
    switches = zip(runs["adaptive_clip"].astype(bool), runs["projection"].astype(bool), strict=True)
    return runs.assign(series=[_PARTS[pair] for pair in switches], x=runs["epsilon"])


def noise_grids(setup: Setup) -> list[Grid]:
    """NGD and AdaMix with the noise multiplier given and the steps solved from ε."""
    shared = setup.grid(
        method="adamix",
        preset="fixed_noise",
        noise_multiplier=[5.0, 10.0, 20.0, 40.0, 80.0],
        **setup.public,
    )
    return [{**shared, "adaptive_clip": False, "projection": False}, shared]


KEPT = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0)
SHOTS = (1, 2, 5, 10, 20, 50, 100)
MOST_SHOTS = 0.5
"""Of the rows a class: half may become public, so that the other half can stay private."""
LARGEST_SHARE = 0.5
FEW_ROWS = ("pillar", "dp_sgd", CEILING)
PUBLIC_READERS = ("pillar", "pillar_one_shot", "pillar_kalman", "dp_raft_pillar", "gep", "adamix")
SHIFTED = ("pillar", "adamix", FLOOR)
IMBALANCES = (1.0, 3.0, 10.0, 30.0, 100.0)
UNEQUAL = ("pillar", "pillar_one_shot", "pillar_kalman", "dp_ls", "prototypes", "dp_sgd", CEILING)


def few_rows_grids(setup: Setup) -> list[Grid]:
    """The same public rows, and a share of the private ones: the others are set aside as validation
    rows."""
    set_aside = [None if share == 1 else 1.0 - share for share in KEPT]
    return [setup.grid(method=setup.able(FEW_ROWS), validation_fraction=set_aside, **setup.public)]


def kept_share(runs: pd.DataFrame) -> "pd.Series[float]":
    """The share of the private rows that is kept."""
    aside = runs.get("validation_fraction", pd.Series(0.0, index=runs.index))
    return (1.0 - aside.fillna(0.0).astype(float)).round(6)


def shots_grids(setup: Setup) -> list[Grid]:
    """N labelled rows a class as public rows alone; and as private rows alone, without any public
    row, noised or not."""
    shots = _shots(setup)
    set_aside = [
        None if count >= setup.rows_a_class else 1.0 - count / setup.rows_a_class
        for count in (*shots, setup.rows_a_class)
    ]
    return [
        setup.grid(method=FLOOR, public_per_class=shots),
        setup.grid(method=["noisy_gd", CEILING], validation_fraction=set_aside),
    ]


def shots_places(runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """Series: public, private at each ε, private without protection; x: rows a class."""
    labels = {FLOOR: "public rows", CEILING: "private rows, not protected"}
    budgets = zip(runs["method"], runs["epsilon"], strict=True)
    series = [labels.get(method, f"private rows, ε = {epsilon:g}") for method, epsilon in budgets]
    rows = runs["n_private"].where(runs["method"] != FLOOR, runs["n_public"])
    return runs.assign(series=series, x=(rows / setup.features.n_classes).round())


def boosts(runs: pd.DataFrame) -> "pd.Series[float]":
    """`boosts_of` each run, within its seed and public rows."""
    ceiling, floor = (
        reference_of(runs, runs["method"] == name, ["x", "seed"]) for name in (CEILING, FLOOR)
    )
    return boosts_of(runs["accuracy"], ceiling, floor)


def shift_grids(setup: Setup) -> list[Grid]:
    """Public rows from the same set, and from another one, with as many private rows in both."""
    share = min(LARGEST_SHARE, len(setup.split.public_x) / len(setup.features.x_train))
    able = setup.able(SHIFTED)
    near = setup.grid(method=[*SHIFTED, CEILING], public_fraction=share)
    return [near, setup.grid(method=able, public=setup.other, validation_fraction=share)]


def shift_places(runs: pd.DataFrame, setup: Setup) -> pd.DataFrame:
    """Series: learner, and whether its public rows come from another set; x: ε."""
    runs = at_every_epsilon(runs, setup.epsilons)
    far = runs.get("public", pd.Series(index=runs.index, dtype=object)).notna()
    titles = [METHODS[str(name)].title for name in runs["method"]]
    labels = [
        title + (", public rows from elsewhere" if is_far else "")
        for title, is_far in zip(titles, far, strict=True)
    ]
    return runs.assign(series=labels, x=runs["epsilon"])


def rarest_accuracy(runs: pd.DataFrame) -> "pd.Series[float]":
    """Accuracy on the rarest quarter of the classes, each of which counts alike."""
    return runs.get("rarest_accuracy", pd.Series(math.nan, index=runs.index))


def _shots(setup: Setup) -> list[int]:
    return [count for count in SHOTS if count <= max(1.0, MOST_SHOTS * setup.rows_a_class)]


def _by_budget(runs: pd.DataFrame, x: Any) -> pd.DataFrame:
    """Series: the learner's title, and its ε where the runs have several."""
    several = (
        runs.loc[
            runs["method"].map(lambda name: METHODS[str(name)].is_private), "epsilon"
        ].nunique()
        > 1
    )
    learners = [METHODS[str(name)] for name in runs["method"]]
    pairs = zip(learners, runs["epsilon"], strict=True)
    series = [
        method.title + (f", ε = {epsilon:g}" if several and method.is_private else "")
        for method, epsilon in pairs
    ]
    return runs.assign(series=series, x=x)


for _view in (
    CompareView(
        "ablation",
        title="AdaMix, part by part",
        source="AdaMix, Fig. 5",
        question=(
            "What do the adaptive clip and the projection each add to noisy descent from the "
            "public rows' head?"
        ),
        x_title="ε, privacy budget (log scale)",
        base="NGD: fixed clip, all dimensions",
        x_log=True,
        over_epsilon=True,
        grids=ablation_grids,
        place=ablation_places,
    ),
    CompareView(
        "noise",
        title="More noise, more steps",
        source="AdaMix, Fig. 8",
        question="At the same ε: few steps with little noise, or many with much?",
        x_title="σ, noise multiplier of a step (log scale); steps follow from ε",
        x_log=True,
        grids=noise_grids,
        place=lambda runs, _: runs.assign(
            series=runs["adaptive_clip"].eq(False).map({True: "NGD", False: "AdaMix"}),
            x=runs["noise_multiplier"],
        ),
    ),
    CompareView(
        "few_rows",
        title="Fewer private rows",
        source="PILLAR, Fig. 7",
        question="How much accuracy is left when only some of the private rows are there?",
        x_title="share of the private rows that is kept (log scale)",
        x_log=True,
        grids=few_rows_grids,
        place=lambda runs, _: _by_budget(runs, kept_share(runs)),
    ),
    CompareView(
        "public_share",
        title="More or fewer public rows",
        source="PILLAR, Table IV",
        question="How many public rows does a projection, a basis or a start need?",
        x_title="share of the train rows that is public (log scale)",
        x_log=True,
        grids=lambda setup: [
            setup.grid(method=setup.able(PUBLIC_READERS), public_fraction=[0.01, 0.05, 0.1, 0.2])
        ],
        place=lambda runs, _: _by_budget(runs, runs["public_fraction"]),
        published_table=("pillar", "IV"),
    ),
    CompareView(
        "shots",
        title="Public or private shots",
        source="AdaMix, Fig. 2, left",
        question="How many private rows a class are worth one public row?",
        x_title="labelled rows a class (log scale)",
        x_log=True,
        grids=shots_grids,
        place=shots_places,
    ),
    CompareView(
        "boost",
        title="Boost by private rows",
        source="AdaMix, Fig. 2, right",
        question="How much nearer the ceiling do private rows lead than the public ones alone?",
        x_title="public rows a class (log scale)",
        y_title="performance boost (1: no better than public rows alone)",
        x_log=True,
        is_share=False,
        grids=lambda setup: [
            setup.grid(
                method=["adamix", "ppgd", "pda_dpmd", "dope_sgd", FLOOR, CEILING],
                public_per_class=_shots(setup),
            )
        ],
        place=lambda runs, _: _by_budget(runs, runs["public_per_class"]),
        value=boosts,
    ),
    CompareView(
        "imbalance",
        title="Rare classes",
        source="DPPL (Wahdany et al. 2024)",
        question=(
            "How well are rare classes told, as they get rarer? The same classes are rare, and "
            "asked for, at every place and seed."
        ),
        x_title="private rows of the largest class for one of the rarest (log scale)",
        y_title="test accuracy on the rarest quarter of classes, %",
        x_log=True,
        grids=lambda setup: [
            setup.grid(method=setup.able(UNEQUAL), imbalance=list(IMBALANCES), **setup.public)
        ],
        place=lambda runs, _: _by_budget(runs, runs["imbalance"]),
        value=rarest_accuracy,
    ),
    CompareView(
        "shift",
        title="Public rows from elsewhere",
        source="AdaMix, Fig. 3, right; PILLAR, Table III",
        question="What if public rows come from another set than the private ones?",
        x_title="ε, privacy budget (log scale)",
        x_log=True,
        needs_other=True,
        over_epsilon=True,
        grids=shift_grids,
        place=shift_places,
    ),
):
    COMPARE_VIEWS.register(_view)
