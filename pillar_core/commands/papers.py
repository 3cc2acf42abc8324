"""`papers`: published tables, and the same grids over our own learners beside them."""

import argparse
import sys

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.backbones import BACKBONES
from pillar_core.commands.options import (
    Commands,
    add_command,
    assignments_option,
    flag,
    option,
    printer,
    texts_by_name,
)
from pillar_core.data import DATASETS, downloading, load_dataset
from pillar_core.errors import DataError
from pillar_core.runs.loading import through_backbone
from pillar_core.runs.records import write_csv
from pillar_core.runs.sweep import cached_records, specs_of
from pillar_core.studies import papers


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    actions = commands.add_parser("papers").add_subparsers(required=True, metavar="action")
    add_command(
        actions,
        "list",
        _print_catalogue,
        "every published table and figure: runnable, shown on a page, or why not",
    )
    parser = add_command(actions, "show", _print_numbers, "a table's published numbers")
    parser.add_argument(
        "table", help="a runnable table, or “paper, item” such as 'gsd, Table 1'; see `papers list`"
    )
    parser = add_command(
        actions,
        "run",
        _run_table,
        "train a table's grid and lay it beside the published numbers",
        dataset=option("its part for this private set (default: those of --data, or the first)"),
        data={
            **assignments_option("its features: a file or a stored name"),
            "metavar": "DATASET=NAME",
        },
        get=flag("fetch the paper's own data sets and weights, and run every part of the table"),
        dry_run=flag("with --get: say what it would fetch and train, and stop"),
        tuned=flag(
            "choose k and step size on validation rows, as the papers do: no ε covers the choice"
        ),
        seeds=option("runs per cell (default: the paper's number; 2 on stand-in rows)", int),
        scheduler=option("jobs, or the address of a cluster (default: train in this process)"),
        output=option("CSV file"),
    )
    parser.add_argument("table", help="see `papers list`")


def _print_catalogue(options: argparse.Namespace) -> int:
    items = papers.catalogue()
    where = {"run": "papers run ", "page": "app, page ", "no": ""}
    items["here"] = items["how"].map(where) + items["where"]
    print(items[["paper", "item", "title", "here", "words"]].to_string(index=False, justify="left"))
    return 0


def _print_numbers(options: argparse.Namespace) -> int:
    paper, comma, item = options.table.partition(",")
    rows = papers.numbers(paper.strip(), item.strip()) if comma else papers.published(options.table)
    title = f"{paper.strip()}, {item.strip()}" if comma else papers.TABLES[options.table].title
    if rows.empty:
        print("No numbers are printed there; `papers list` says whether its grid can be run.")
        return 0
    rows["method"] = rows["method"].where(rows["method"] != "", rows["other_method"])
    index = ["dataset", "backbone", "public", "method"]
    is_distance = rows["metric"].isin(papers.DISTANCES)
    scores, distances = rows[~is_distance], rows[is_distance]
    if len(scores):
        table = scores.pivot_table(index=index, columns="epsilon", values="published", sort=False)
        print(f"{title}: published {scores['metric'].iloc[0]}, %, by ε")
        print((table * 100).to_string(float_format="%.2f", na_rep=""))
    if len(distances):
        print(f"{title}: published distances between private and public rows")
        print(distances[[*index, "published"]].to_string(index=False, float_format="%.6g"))
    return 0


def _run_table(options: argparse.Namespace) -> int:
    table = papers.named(options.table)
    files = texts_by_name(
        options.data, "--data is written DATASET=NAME, such as CIFAR-10=features.npz"
    )
    frames = []
    parts = table.datasets if options.get else list(files) or table.datasets[:1]
    for dataset in [options.dataset] if options.dataset else parts:
        try:
            data = papers.source(dataset) if options.get else files.get(dataset)
            shared = {"data": data, "seeds": options.seeds, "tuned": options.tuned}
            for words, grid in papers.grids(table.name, dataset=dataset, **shared).items():
                if options.get:
                    print(f"{dataset}, {words}: {_cost(grid)}", file=sys.stderr)
                if price := papers.price_words(grid):
                    print(price, file=sys.stderr)
                if options.get and not options.dry_run:
                    _fetch(grid)
            if options.dry_run:
                continue
            if data is None:
                print(
                    f"{dataset} is not at hand: {papers.STAND_IN_ROWS:,} generated rows with as"
                    " many classes (to 100) stand in. Compare the order of the methods, not their"
                    f" numbers; --data '{dataset}=features.npz' runs the real thing.",
                    file=sys.stderr,
                )
            progress = printer(unit="runs")
            shared |= {"scheduler": options.scheduler, "progress": progress}
            frame = papers.run(table.name, dataset=dataset, **shared)
            frames.append(frame.assign(rows="generated" if data is None else dataset))
        except DataError as error:
            if not options.get:
                raise
            print(f"{dataset}: left out. {error}", file=sys.stderr)
    return _print_tables(frames, options)


def _print_tables(frames: list[pd.DataFrame], options: argparse.Namespace) -> int:
    """Prints the tables and a verdict on each; 1 where there is none."""
    if not frames:
        return 0 if options.dry_run else 1
    tables = pd.concat(frames, ignore_index=True)
    if options.output:
        write_csv(tables, options.output)
    print(tables.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep=""))
    for frame in frames:
        rows = frame["rows"].iloc[0]
        print(papers.order_words(frame, rows="simulated rows" if rows == "generated" else rows))
    return 0


def _fetch(grid: dict[str, Json]) -> None:
    """Fetches a grid's data set and weights, and extracts its features."""
    backbone = grid.get("backbone")
    with downloading.report_progress(printer(unit="bytes")), downloading.for_hub():
        rows = load_dataset(grid["dataset"], download=True)
        if backbone is not None:
            BACKBONES[backbone].weights_file(network=True)
    through_backbone(rows, backbone, progress=printer())


def _cost(grid: dict[str, Json]) -> str:
    """What a part of a table takes, before anything starts."""
    card, backbone = DATASETS[grid["dataset"]], grid.get("backbone")
    specs = specs_of(grid)
    parts = [
        (
            f"{card.name} is here"
            if card.is_here()
            else f"{card.name} to fetch, {card.size}"
            if card.can_fetch
            else card.how_to_get()
        )
    ]
    if backbone is not None:
        weights = BACKBONES[backbone]
        parts += (
            [f"weights of about {weights.n_bytes / 2**20:,.0f} MB to fetch"]
            if weights.needs_fetching
            else []
        )
        parts += [f"{card.n_rows or 'its'} images through {backbone}"]
    return "; ".join(
        [
            *parts,
            (
                f"{len(specs)} runs, {sum(record is not None for record in cached_records(specs))}"
                " of them cached"
            ),
        ]
    )
