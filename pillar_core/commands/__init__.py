"""Commands of `python -m pillar_core`, a file each or two that go together, which declares their options."""

import argparse
import importlib

_MODULES = (
    *("run", "compare", "sweep", "papers", "html", "data", "screen", "advise"),
    *("listing", "epsilon", "predict", "cache", "machine"),
)
"""In the order of the help."""


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(prog="python -m pillar_core", description="Semi-private learning from the command line.")
    commands = top.add_subparsers(required=True, metavar="command")
    for name in _MODULES:
        importlib.import_module(f"{__name__}.{name}").add_to(commands)
    return top
