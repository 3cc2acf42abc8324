"""`starter`, `jobs` and `doctor`: what ships for the first paint, the process that owns workers,
queue and state, and what is here."""

import argparse
import importlib.metadata
import os
import platform
import shutil
import sys

from pillar_core import mode, store
from pillar_core.commands.cache import size_words
from pillar_core.commands.options import (
    Commands,
    add_command,
    as_lines,
    flag,
    option,
    printer,
)
from pillar_core.deferred import torch
from pillar_core.runs import starter
from pillar_core.runs.versions import VERSION, made_with

_PACKAGES = (
    "torch",
    "torchvision",
    "timm",
    "opacus",
    "scikit-learn",
    "pandas",
    "numpy",
    "scipy",
    "prv-accountant",
    "diskcache",
    "distributed",
    "safetensors",
    "streamlit",
    "plotly",
)


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    add_command(
        commands,
        "starter",
        _rebuild,
        check=flag("only say whether every record is there for the current code"),
        features=flag("rebuild the features of the images that come with the library instead"),
    )
    idle = option("stop after so long without work", float, 10.0)
    add_command(commands, "jobs", _serve, idle_minutes=idle)
    add_command(commands, "doctor", _examine)


def _rebuild(options: argparse.Namespace) -> int:
    """Rebuilds, or checks: exit status 1 where records are missing."""
    show = printer(unit="records")
    if options.features:
        print(
            f"features of {starter.rebuild_features(progress=show)} image sets written",
            file=sys.stderr,
        )
        return 0
    if not options.check:
        count = starter.rebuild(progress=show)
        print(f"{count} starter records written", file=sys.stderr)
        return 0
    missing = starter.missing()
    print(
        "every starter record is there"
        if not missing
        else f"{len(missing)} starter records are missing; run `python -m pillar_core starter`"
    )
    return 1 if missing else 0


def _serve(options: argparse.Namespace) -> int:
    """Serves; 1 where another process already does."""
    from pillar_core.jobs import server as jobs_server  # `distributed`, half a second

    folder = store.default().root
    print(
        f"serving the jobs of {folder} until nothing is left for {options.idle_minutes:g} minutes",
        file=sys.stderr,
    )
    if jobs_server.serve(idle_minutes=options.idle_minutes):
        return 0
    print(
        f"another jobs process already serves {folder}: there is nothing to do here",
        file=sys.stderr,
    )
    return 1


def _examine(options: argparse.Namespace) -> int:
    """Prints the state; 1 where a package is missing."""
    versions = {name: _version(name) for name in _PACKAGES}
    cache = store.default()
    entries, free = cache.ls(), shutil.disk_usage(cache.root).free
    state = {
        "library": f"{VERSION}, source {made_with()['source']}",
        "python": f"{platform.python_version()} on {platform.platform()}",
        "mode": "demo, for anybody" if mode.is_demo() else "local, for you",
        **versions,
        "device": (
            f"cuda: {torch.cuda.get_device_name()}"
            if torch.cuda.is_available()
            else "cpu (no CUDA device)"
        ),
        "threads": (
            f"{torch.get_num_threads()} of torch, PILLAR_THREADS"
            f" {os.environ.get('PILLAR_THREADS', 'unset')}"
        ),
        "cores": str(os.cpu_count()),
        "cache": (
            f"{cache.root}: {len(entries)} entries,"
            f" {size_words(sum(item.size for item in entries))}; {size_words(free)} free"
        ),
    }
    print(as_lines(state))
    for note in cache.notes():
        print(f"note  {note}")
    missing = [name for name, version in versions.items() if version == "missing"]
    if missing:
        print(f"\nmissing: {', '.join(missing)}. Install them with pip.")
    return 1 if missing else 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"
