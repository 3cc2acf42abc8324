"""`cache`: list, check, shrink, carry away and take in what the cache holds."""

import argparse
import time

import pandas as pd

from pillar_core import store
from pillar_core.commands.options import printable
from pillar_core.errors import StoreError

UNITS = {"kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def byte_count(text: str) -> int:
    """A size in words, such as 500MB or 5 GB or 1000000, as bytes.

    Raises:
        StoreError: it is no size.
    """
    size = text.strip().replace(" ", "")
    unit = next((name for name in UNITS if size.lower().endswith(name.lower())), "")
    number = size[: len(size) - len(unit)].removesuffix("B")
    try:
        count = float(number) * UNITS.get(unit, 1)
    except ValueError:
        count = -1.0
    if not 0 <= count < 10**18:
        raise StoreError(f"a size is a number from 0 with kB, MB, GB or TB, such as 500MB; got {text!r}.")
    return int(count)


def size_words(count: int) -> str:
    """Bytes in words."""
    for name, unit in reversed(UNITS.items()):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count} bytes"


def _ls(options: argparse.Namespace) -> int:
    cache = store.default()
    if options.kind is None:
        rows = [(kind, len(items), size_words(sum(item.size for item in items))) for kind in store.KINDS for items in [cache.ls(kind)]]
        print(f"{cache.root}\n{pd.DataFrame(rows, columns=['kind', 'entries', 'size']).to_string(index=False)}")
        return 0
    for item in cache.ls(options.kind):
        print(f"{item.key}  {size_words(item.size):>10}  {time.strftime('%Y-%m-%d %H:%M', time.localtime(item.last_used))}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    report = store.default().verify(remove=options.remove)
    for path, problem in report.damaged:
        print(printable(f"{'removed' if options.remove else 'damaged'}: {path}: {problem}"))
    print(f"{report.whole} whole, {len(report.damaged)} damaged")
    return 1 if report.damaged else 0


def _prune(options: argparse.Namespace) -> int:
    report = store.default().prune(byte_count(options.to))
    print(f"{len(report.removed)} entries removed, {size_words(report.freed)} freed")
    return 0


def _export(options: argparse.Namespace) -> int:
    count = store.default().export(options.file, kinds=("record", "arrays") if options.features else ("record",))
    print(f"{count} entries written to {options.file}")
    return 0


def _import(options: argparse.Namespace) -> int:
    report = store.default().import_(options.file)
    for problem in report.refused:
        print(printable(problem))
    print(f"{report.added} added, {report.present} were there, {len(report.refused)} refused")
    return 1 if report.refused else 0
