"""The curves behind the sliders: a grid over k and ε, run as a job, drawn from whatever the cache
holds already."""

import dataclasses
import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

import pillar_core as pc
from pages.frame import core, jobs, memory, shares
from pages.frame import settings as codec
from pages.frame.settings import Settings
from pillar_core import mode
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import starter, sweep
from pillar_core.studies import portable
from pillar_core.types import Form

BUDGETS = starter.HERO_EPSILONS
FIRST = 7


@dataclasses.dataclass(frozen=True)
class Curves:
    """What the cache holds of a grid: runs as tidy rows, and the form of each, None where it is
    missing.

    seeds: the fewest and the most behind a point of the learner's curves so far, None before the
    first. key: what figures of it are cached under.
    """

    table: pd.DataFrame
    forms: Sequence[Form | None]
    grids: tuple[Form, ...]
    seeds: tuple[int, int] | None
    key: str


def read(settings: Settings) -> Curves:
    """The curves that these settings ask for, as far as they are in the cache of runs; what was
    found once is kept in memory."""
    grids = grids_of(settings)
    records = {key: record for key, (_, record) in core.find_runs(grids).items()}
    return _curves(
        fingerprint(*(f"{key}{record is None}" for key, record in records.items())), records, grids
    )


def curves_on_opening(settings: Settings) -> Curves:
    """The curves of `read`; where a set that ships has none in its first settings, a few seconds of
    training come first."""
    curves = read(settings)
    opening = Settings(data=settings.data, seed=settings.seed, seeds=settings.seeds)
    if (
        curves.seeds is not None
        or not core.ships(settings)
        or grids_of(settings)[1:2] != grids_of(opening)[1:2]
    ):
        return curves
    grids = [
        first(settings),
        *grids_of(dataclasses.replace(settings, seeds=min(settings.seeds, 2)))[::-1],
    ]
    jobs.train_first(group for grid in grids for group in sweep.group_specs(grid))
    return read(settings)


def grids_of(settings: Settings) -> tuple[Form, ...]:
    """k × ε × seeds for a projecting learner, and learners without projection, without noise, and
    without private rows.

    Rows that you brought are trained at the slider's ε, too. Public rows alone can train where
    their labels are those of the private rows. No grid without public rows.
    """
    if settings.public == codec.NONE:
        return ()
    shared = {**core.axes(settings), "seed": core.seeds(settings)}
    ks = ladder(settings)
    epsilon = (
        settings.epsilon
        if codec.is_stored("data", settings.data) and math.isfinite(settings.epsilon)
        else BUDGETS[0]
    )
    return (
        {**shared, "method": method_of(settings), "k": ks, "epsilon": sorted({*BUDGETS, epsilon})},
        {**shared, "method": "dp_sgd", "epsilon": list(BUDGETS)},
        {**shared, "method": "non_private", "k": [*ks, None]},
        *([{**shared, "method": "only_public"}] if settings.public == codec.PART else []),
    )


def first(settings: Settings) -> Form:
    """The grid of a first curve: seven k at the slider's ε, one seed."""
    ks = ladder(settings)
    chosen = sorted({ks[round(place * (len(ks) - 1) / (FIRST - 1))] for place in range(FIRST)})
    return grids_of(settings)[0] | {
        "k": chosen,
        "epsilon": [settings.epsilon],
        "seed": [settings.seed],
    }


def method_of(settings: Settings) -> str:
    """The learner whose curves are drawn: the chosen one, or PILLAR where that has no k or adds no
    noise."""
    return (
        settings.method
        if core.has_k(settings.method) and pc.METHODS[settings.method].is_private
        else "pillar"
    )


def ladder(settings: Settings) -> list[int]:
    """The starter records' values of k; for other data from 1 on, up to the rank of the public
    rows."""
    if settings.data == starter.SHARED["dataset"]:
        return list(starter.HERO_K)
    limit = core.largest_k(settings)
    return [*(k for k in (1, 2, *starter.HERO_K) if k < limit), limit]


def panel(curves: Curves, settings: Settings) -> None:
    """The state of the grid's jobs, where anything is missing; of rows that somebody brought, the
    first curve by itself."""
    if None not in curves.forms:
        return
    cost = f"{jobs.RELEASES}; only what nobody else sees costs nothing."
    if codec.is_stored("data", settings.data) and math.isfinite(settings.epsilon):
        n_ks = len(first(settings)["k"])
        title = f"Measure a first curve: {n_ks} k at ε = {settings.epsilon:g}"
        jobs.sweeps(first(settings), title=title, cost=cost, key="first")
    ks, budgets, seeds = (len(curves.grids[0][axis]) for axis in ("k", "epsilon", "seed"))
    more = len(curves.forms) - ks * budgets * seeds
    title = (
        f"Measure the curves: {ks} k × {budgets} ε × {seeds} seeds, and {more} models without"
        " projection, noise or private rows"
    )
    jobs.sweeps(*curves.grids, title=title, cost=cost)


def take_along(settings: Settings) -> None:
    """The button that hands over an explorer of these data in one file."""
    if mode.binds():
        return
    setup = {
        **core.public_axis(settings),
        "backbone": core.backbone(settings),
        "delta": settings.delta,
        "relation": settings.relation,
    }
    make = shares.charge(lambda: portable.page(settings.data, **setup).encode())
    st.download_button(
        label="Take this explorer along",
        key="take-along",
        help=(
            "One HTML file with sliders for k and ε and the measured results. It needs no server or"
            " network, and holds no row."
        ),
        icon=":material/deployed_code:",
        type="tertiary",
        file_name="explorer.html",
        mime="text/html",
        on_click="ignore",
        data=make,
    )


@memory.cache(is_free=True)
def _curves(fingerprint_: str, _runs: dict[str, Form | None], _grids: tuple[Form, ...]) -> Curves:
    records = [record for record in _runs.values() if record is not None]
    trained = [record for record in records if record.get("error") is None]
    table = (
        sweep.table(trained)
        if trained
        else pd.DataFrame(columns=["method", "k", "epsilon", "seed", "accuracy"])
    )
    is_first = table["method"] == (_grids[0]["method"] if _grids else "")
    points = table[is_first & table["accuracy"].notna()].groupby(["k", "epsilon"])["seed"].nunique()
    seeds = (int(points.min()), int(points.max())) if len(points) else None
    return Curves(table, tuple(_runs.values()), _grids, seeds, fingerprint_)
