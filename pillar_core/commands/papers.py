"""`papers`: published tables, and the same grids over our own learners beside them."""

from __future__ import annotations

import argparse
import sys

import pandas as pd

from pillar_core.commands.options import show_progress
from pillar_core.errors import SettingError
from pillar_core.spreadsheets import without_formulas
from pillar_core.studies import papers


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    parser = subparsers.add_parser("papers", help="published tables beside our own runs")
    actions = parser.add_subparsers(required=True, metavar="action")
    actions.add_parser("list", help="every published table and figure: runnable, shown on a page, or why not").set_defaults(command=_list)
    show = actions.add_parser("show", help="a table's published numbers")
    show.add_argument("table", help="a runnable table, or “paper, item” such as 'gsd, Table 1'; see `papers list`")
    show.set_defaults(command=_show)
    run = actions.add_parser("run", help="train a table's grid and lay it beside the published numbers")
    run.add_argument("table", help="see `papers list`")
    run.add_argument("--dataset", help="the part of the table for this private data set (default: those given with --data, else the first)")
    run.add_argument("--data", action="append", default=[], metavar="DATASET=NAME", help="where its features are: a file or a stored name")
    run.add_argument("--seeds", type=int, help="runs per cell (default: the paper's number; 2 on stand-in rows)")
    run.add_argument("--scheduler", help="jobs, or the address of a cluster (default: train in this process)")
    run.add_argument("--output", help="CSV file")
    run.set_defaults(command=_run)


def _list(options: argparse.Namespace) -> int:
    items = papers.catalogue()
    where = {"run": "papers run ", "page": "app, page ", "no": ""}
    items["here"] = items["how"].map(where) + items["where"]
    print(items[["paper", "item", "title", "here", "words"]].to_string(index=False, justify="left"))
    return 0


def _show(options: argparse.Namespace) -> int:
    paper, comma, item = options.table.partition(",")
    rows = papers.numbers(paper.strip(), item.strip()) if comma else papers.published(options.table)
    title = f"{paper.strip()}, {item.strip()}" if comma else papers.TABLES[options.table].title
    if rows.empty:
        print("No numbers are printed there; `papers list` says whether its grid can be run.")
        return 0
    rows["method"] = rows["method"].where(rows["method"] != "", rows["other_method"])
    index = ["dataset", "backbone", "public", "method"]
    table = rows.pivot_table(index=index, columns="epsilon", values="published", sort=False) * 100
    print(f"{title}: published {rows['metric'].iloc[0]}, %, by ε")
    print(table.to_string(float_format="%.2f", na_rep=""))
    return 0


def _run(options: argparse.Namespace) -> int:
    table, given = papers.TABLES[options.table], _given(options.data)
    frames = []
    for dataset in [options.dataset] if options.dataset else list(given) or [table.datasets[0]]:
        data = given.get(dataset)
        if data is None:
            print(
                f"{dataset} is not at hand: {papers.STAND_IN_ROWS:,} generated rows with as many classes (to 100) stand in. "
                f"Compare the order of the methods, not their numbers; --data '{dataset}=features.npz' runs the real thing.",
                file=sys.stderr,
            )
        shared = {"data": data, "seeds": options.seeds, "scheduler": options.scheduler, "progress": show_progress}
        frames.append(papers.run(options.table, dataset=dataset, **shared).assign(rows="generated" if data is None else dataset))
    tables = pd.concat(frames, ignore_index=True)
    if options.output:
        without_formulas(tables).to_csv(options.output, index=False)
    print(tables.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep=""))
    return 0


def _given(pairs: list[str]) -> dict[str, str]:
    split = [pair.partition("=") for pair in pairs]
    wrong = [pair for pair, (_, equals, path) in zip(pairs, split, strict=True) if not (equals and path)]
    if wrong:
        raise SettingError(f"--data is written DATASET=NAME, such as CIFAR-10=features.npz; got {wrong[0]!r}.")
    return {dataset: path for dataset, _, path in split}
