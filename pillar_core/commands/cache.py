"""`cache`: see, check, shrink, carry away and take in what the cache holds, and hand its runs to
trackers."""

import argparse
import time

import pandas as pd

from pillar_core import store
from pillar_core.commands.options import Commands, add_command, flag, option, printable
from pillar_core.errors import StoreError
from pillar_core.runs import records

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    actions = commands.add_parser("cache").add_subparsers(required=True, metavar="action")
    add_command(
        actions,
        "ls",
        _print_entries,
        "what the cache holds, by kind",
        kind=option("its entries one by one, longest unused first", choices=store.KINDS),
    )
    add_command(
        actions,
        "verify",
        _verify,
        "compare every entry with its checksum; 1 where one is damaged",
        remove=flag("remove damaged entries; they are computed again when asked for"),
    )
    add_command(
        actions,
        "prune",
        _prune,
        "remove the longest unused entries, features first, records last",
        to=option("the size to keep at most, such as 500MB or 5GB", metavar="SIZE", required=True),
    )
    parser = add_command(
        actions,
        "export",
        _export,
        "write records into one zip file, for another machine",
        features=flag("take features along as well; they may be private"),
    )
    parser.add_argument("file", help="the zip file to write")
    parser = add_command(
        actions,
        "import",
        _import,
        "take in what a zip file that `export` wrote holds; each checksum is compared",
    )
    parser.add_argument("file", help="the zip file to read")
    add_command(
        actions,
        "runs",
        _write_runs,
        "write every run of the cache for a spreadsheet, or for MLflow",
        format=option(
            "a csv file, or a folder that MLflow reads", choices=("csv", "mlflow"), required=True
        ),
        output=option("the file or folder to write", metavar="PATH", required=True),
    )


def byte_count(text: str) -> int:
    """A size in words, such as 500MB or 5 GB or 1000000, as bytes. Raises StoreError: it is no
    size."""
    size = text.strip().replace(" ", "")
    unit = next((name for name in UNITS if size.lower().endswith(name.lower())), "")
    number = size[: len(size) - len(unit)].removesuffix("B")
    try:
        count = float(number) * UNITS.get(unit, 1)
    except ValueError:
        count = -1.0
    if not 0 <= count < 10**18:
        raise StoreError(
            f"a size is a number from 0 with kB, MB, GB or TB, such as 500MB; got {text!r}."
        )
    return int(count)


def size_words(count: int) -> str:
    """Bytes in words."""
    for name, unit in reversed(UNITS.items()):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def _print_entries(options: argparse.Namespace) -> int:
    cache = store.default()
    if options.kind is None:
        rows = [
            (kind, len(items), size_words(sum(item.size for item in items)))
            for kind in store.KINDS
            for items in [cache.ls(kind)]
        ]
        table = pd.DataFrame(rows, columns=["kind", "entries", "size"])
        print(f"{cache.root}\n{table.to_string(index=False)}")
        return 0
    for item in cache.ls(options.kind):
        print(
            f"{item.key}  {size_words(item.size):>10} "
            f" {time.strftime('%Y-%m-%d %H:%M', time.localtime(item.last_used))}"
        )
    return 0


def _verify(options: argparse.Namespace) -> int:
    report = store.default().verify(remove=options.remove)
    for path, problem in report.damaged:
        print(printable(f"{'removed' if options.remove else 'damaged'}: {path}: {problem}"))
    print(f"{report.whole} whole, {len(report.damaged)} damaged")
    return 1 if report.damaged else 0


def _prune(options: argparse.Namespace) -> int:
    report = store.default().prune(byte_count(options.to))
    print(f"entries removed: {len(report.removed)}, {size_words(report.freed)} freed")
    return 0


def _export(options: argparse.Namespace) -> int:
    count = store.default().export(
        options.file, kinds=("record", "arrays") if options.features else ("record",)
    )
    print(f"entries written to {options.file}: {count}")
    return 0


def _import(options: argparse.Namespace) -> int:
    report = store.default().import_(options.file)
    for problem in report.refused:
        print(printable(problem))
    print(f"{report.added} added, {report.present} were there, {len(report.refused)} refused")
    return 1 if report.refused else 0


def _write_runs(options: argparse.Namespace) -> int:
    write = {"csv": records.write_csv, "mlflow": records.write_mlflow}[options.format]
    print(f"{write(records.all_runs(), options.output)} runs written to {options.output}")
    return 0
