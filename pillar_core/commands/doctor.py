"""`doctor`: versions, device, cache, and what is missing."""

import argparse
import importlib.metadata
import os
import platform
import shutil

from pillar_core import store
from pillar_core.commands.options import Commands, as_lines
from pillar_core.deferred import torch

_PACKAGES = (
    *("torch", "torchvision", "timm", "opacus", "scikit-learn", "pandas", "numpy", "scipy", "prv-accountant", "dp-accounting"),
    *("diskcache", "distributed", "safetensors", "streamlit", "plotly"),
)


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("doctor", help="versions, device, cache and what is missing")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Prints the state; 1 where a package is missing."""
    versions = {name: _version(name) for name in _PACKAGES}
    cache = store.default()
    free = shutil.disk_usage(cache.root).free / 1e9
    state = {
        "python": platform.python_version(),
        **versions,
        "device": f"cuda: {torch.cuda.get_device_name()}" if torch.cuda.is_available() else "cpu (no CUDA device)",
        "cores": str(os.cpu_count()),
        "cache": f"{cache.root} ({free:.1f} GB free)",
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
