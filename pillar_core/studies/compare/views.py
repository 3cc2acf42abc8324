"""The Compare page's views, one registration each, and the one way to read or run them."""

from typing import Any

import pandas as pd

from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.runs import sweep
from pillar_core.studies.compare import views_of_learners as compare_views_learners
from pillar_core.studies.compare import views_of_rows as compare_views_rows
from pillar_core.studies.compare.view import COMPARE_VIEWS, CompareView, Setup, lines
from pillar_core.types import Progress, RunSpec, unwatched

__all__ = ["COMPARE_VIEWS", "CompareView", "Setup", "cells", "compare_views_learners", "compare_views_rows", "lines", "run", "table_of"]


def run(name: str, setup: Setup, *, progress: Progress = unwatched) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(lines, runs) of a view, trained where the cache has nothing yet.

    Raises:
        UnknownNameError: no such view.
        DataError: nothing to vary on these rows.
    """
    view, done = COMPARE_VIEWS[name], 0
    grids = grids_of(view, setup)
    total = sum(len(sweep.cells(grid)) for grid in grids)
    tables = []
    for grid in grids:

        def forward(count: int, _total: int, message: str = "", before: int = done) -> None:
            progress(before + count, total, message)

        tables.append(sweep.sweep(grid, progress=forward))
        done += len(tables[-1])
    runs = pd.concat(tables, ignore_index=True)
    return lines(view, runs, setup), runs


def grids_of(view: CompareView, setup: Setup) -> list[dict[str, Any]]:
    """The grids of a view.

    Raises:
        DataError: no learner of the view can run on these rows, or it needs another data set and there is none.
    """
    if view.needs_other and setup.other is None:
        raise DataError(f"the view {view.name} needs another data set of {setup.features.d} features; name one as `other`.")
    grids = view.grids(setup)
    if not all(grid["method"] for grid in grids):
        raise DataError(f"no learner of the view {view.name} can run on this split; give it (labelled) public rows.")
    return grids


def cells(view: CompareView, setup: Setup) -> list[RunSpec]:
    """Every run of a view once."""
    return list({fingerprint(cell.form): cell for grid in grids_of(view, setup) for cell in sweep.cells(grid)}.values())


def table_of(cells: list[RunSpec]) -> pd.DataFrame:
    """The runs of these cells that the cache holds, as a tidy table; empty where there are none."""
    records = [record for record in sweep.cached(cells) if record is not None]
    return sweep.table(records) if records else pd.DataFrame()
