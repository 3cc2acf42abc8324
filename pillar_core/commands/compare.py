"""`compare`: every learner that fits the data, at the same budgets, seeds as intervals."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pillar_core.commands import options as shared
from pillar_core.experiments.compare import applicable, compare_grid, summary
from pillar_core.experiments.sweep import sweep


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    parser = subparsers.add_parser("compare", help="every learner that fits the data, at the same budgets")
    shared.add_data(parser)
    parser.add_argument("--methods", help="comma-separated names (default: all that can run)")
    parser.add_argument("--epsilon", default="0.1,0.3,0.7", help="comma-separated budgets")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seeds", type=int, default=3, help="runs per cell; seed s sets split and run")
    parser.add_argument("--score", default="accuracy", choices=("accuracy", "balanced_accuracy", "auc"))
    parser.add_argument("--output", help="CSV file of the single runs")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Runs the grid and prints one line per learner and budget; 1 where a learner could not run."""
    split = shared.load_split(options, seed=0)
    able = applicable(split)
    for name, reason in able.items():
        if reason:
            print(f"left out: {name} ({reason})", file=sys.stderr)
    methods = options.methods.split(",") if options.methods else [name for name, reason in able.items() if not reason]
    epsilons = [float(text) for text in options.epsilon.split(",")]
    grid = compare_grid(_data(options, split), methods=methods, epsilons=epsilons, seeds=range(options.seeds))
    table = sweep(grid, progress=_progress)
    if options.output:
        table.to_csv(options.output, index=False)
    lines = summary(table, score=options.score)
    print(lines.drop(columns=["title"]).to_string(index=False, float_format=lambda value: f"{value:.4g}"))
    return 1 if (lines["error_message"] != "").any() else 0


def _data(options: argparse.Namespace, split: Any) -> dict[str, Any]:
    """The data axes of the grid; files and other public sets are split anew for each seed from the loaded features."""
    axes = {"public_fraction": options.public_fraction, "public_per_class": options.public_per_class, "split_seed": options.split_seed}
    given = {name: value for name, value in axes.items() if value is not None}
    if options.public is not None:
        return {"dataset": split}
    return {"dataset": split.features, "allow_overlap": options.allow_overlap or None, **given}


def _progress(done: int, total: int, message: str) -> None:
    print(f"\r{done}/{total} {message:<30}", end="\n" if done == total else "", file=sys.stderr, flush=True)
