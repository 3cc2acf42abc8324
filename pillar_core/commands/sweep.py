"""`sweep`: a grid of runs from a YAML or JSON file, into a CSV table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import yaml

from pillar_core.errors import DataError, SettingError
from pillar_core.experiments.jobs_sweep import run_through
from pillar_core.experiments.sweep import cached, sweep, trials
from pillar_core.experiments.sweep import table as as_table


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    parser = subparsers.add_parser("sweep", help="train a grid of runs, from the cache where it can")
    parser.add_argument("grid", help="YAML or JSON: dataset, method, epsilon, k, seed …, each a value or a list")
    parser.add_argument("--output", help="CSV file (default: standard output)")
    parser.add_argument("--count", action="store_true", help="only say how many runs there are and how many are cached")
    parser.add_argument("--scheduler", help="jobs, or the address of a cluster (default: train in this process)")
    parser.add_argument("--gpu", action="store_true", help="only on workers that offer GPU=1; with --scheduler")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Runs it."""
    grid = read_grid(options.grid)
    groups = trials(grid)
    total = sum(map(len, groups))
    known = sum(record is not None for group in groups for record in cached(group))
    print(f"{total} runs, {known} of them cached", file=sys.stderr)
    if options.count:
        return 0
    if options.gpu:
        if options.scheduler is None:
            raise SettingError("--gpu chooses among workers: give --scheduler jobs, or a cluster's address, with it.")
        made = run_through(grid, scheduler=options.scheduler, progress=_progress, resources={"GPU": 1})
        table = as_table(made)
    else:
        table = sweep(grid, scheduler=options.scheduler, progress=_progress)
    text = table.to_csv(options.output, index=False)
    if text is not None:
        sys.stdout.write(text)
    return 1 if table["error_message"].notna().any() else 0


def read_grid(path: str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file.

    Raises:
        DataError: unreadable, or no mapping.
    """
    try:
        grid = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as cause:
        raise DataError(f"{path} cannot be read as YAML or JSON: {cause}") from cause
    if not isinstance(grid, dict):
        raise DataError(f"{path} must hold a mapping from axis to values; it holds a {type(grid).__name__}.")
    return grid


def _progress(done: int, total: int, message: str) -> None:
    print(f"\r{done}/{total} {message:<30}", end="\n" if done == total else "", file=sys.stderr, flush=True)
