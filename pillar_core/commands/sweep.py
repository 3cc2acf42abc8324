"""`sweep`: a grid of runs from a YAML or JSON file, into a CSV table."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.commands.options import (
    Commands,
    add_column_options,
    add_command,
    flag,
    option,
    printer,
    private_of,
    public_of,
)
from pillar_core.data import uploads
from pillar_core.engine import device
from pillar_core.errors import DataError, SettingError
from pillar_core.jobs.sweep import run_through, sweep
from pillar_core.runs.loading import load_features
from pillar_core.runs.records import without_formulas
from pillar_core.runs.splitting import is_known
from pillar_core.runs.sweep import cached_records, group_specs, table
from pillar_core.store.codec import decode_yaml


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = add_command(
        commands,
        "sweep",
        command,
        output=option("CSV file (default: standard output)"),
        count=flag("only say how many runs there are and how many are cached"),
        scheduler=option("jobs, or the address of a cluster (default: train in this process)"),
        gpu=flag("only on workers that offer GPU=1; with --scheduler"),
    )
    parser.add_argument(
        "grid",
        help=(
            "YAML or JSON: dataset (a name or a file), method, epsilon, k, seed …, each a value or"
            " a list"
        ),
    )
    add_column_options(parser)


def command(options: argparse.Namespace) -> int:
    """Runs it; 1 where a run was refused."""
    if options.gpu and options.scheduler is None:
        raise SettingError(
            "--gpu chooses among workers: give --scheduler jobs, or a cluster's address, with it."
        )
    grids = read_grids(options.grid)
    grids = [with_files(grid, options) for grid in grids]
    groups = [group for grid in grids for group in group_specs(grid)]
    known = sum(record is not None for group in groups for record in cached_records(group))
    count = f"{sum(map(len, groups))} runs, {known} of them cached"
    where = "a worker's GPU" if options.gpu else device.asked()
    print(f"{count}; the others train on {where}", file=sys.stderr)
    if options.count:
        return 0
    table = pd.concat([_run(grid, options) for grid in grids], ignore_index=True)
    without_formulas(table).to_csv(options.output or sys.stdout, index=False)
    if options.gpu and "device" in table:
        counts = table["device"].value_counts()
        trained = ", ".join(f"{count} on {device}" for device, count in counts.items())
        print(f"runs trained: {trained}", file=sys.stderr)
    return 1 if table["error_message"].notna().any() else 0


def read_grids(path: str) -> list[dict[str, Json]]:
    """The mappings in a YAML or JSON file, one for each of its documents. Raises DataError:
    unreadable, or something else than mappings."""
    try:
        grids = decode_yaml(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as cause:
        raise DataError(f"{path} cannot be read as YAML or JSON: {cause}") from cause
    wrong = [type(grid).__name__ for grid in grids if not isinstance(grid, dict)]
    if wrong or not grids:
        raise DataError(
            f"{path} must hold a mapping from axis to values in each document; it holds"
            f" {wrong[0] if wrong else 'nothing'}."
        )
    return grids


def with_files(grid: dict[str, Json], options: argparse.Namespace) -> dict[str, Json]:
    """The grid with each file among its data sets and public rows stored in the cache, under the
    name by which workers find it.

    A public table becomes numbers by the recipe of the grid's first private table.
    Raises DataError: a file that cannot be used.
    """
    names, public = _as_list(grid.get("dataset", [])), _as_list(grid.get("public", []))
    read = {
        name: private_of(name, options, list(filter(_is_file, public)))
        for name in names
        if _is_file(name)
    }
    candidates = {
        name: public_of(name, next(iter(read.values()))) if read else load_features(name)
        for name in public
        if _is_file(name)
    }
    stored = {name: uploads.keep(features) for name, features in (read | candidates).items()}
    axes = {"dataset": names, "public": public}
    return grid | {
        axis: [stored.get(name, name) for name in values] for axis, values in axes.items() if values
    }


def _as_list(values: Json) -> list[Json]:
    return values if isinstance(values, list) else [values]


def _is_file(name: object) -> bool:
    return isinstance(name, str) and not is_known(name) and Path(name).exists()


def _run(grid: dict[str, Json], options: argparse.Namespace) -> pd.DataFrame:
    if options.gpu:
        return table(
            run_through(
                grid,
                scheduler=options.scheduler,
                progress=printer(unit="runs"),
                resources={"GPU": 1},
            )
        )
    return sweep(grid, scheduler=options.scheduler, progress=printer(unit="runs"))
