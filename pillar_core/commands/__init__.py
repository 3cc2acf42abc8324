"""Commands of `python -m pillar_core`, one file each: `add(subparsers)` declares it, `command(options)` does it."""

import argparse
import importlib

_NAMES = "run compare sweep papers bench data extract screen advise listing epsilon check predict starter jobs cache doctor"
"""The commands' modules, in the order of the help."""
COMMANDS = tuple(importlib.import_module(f"{__name__}.{name}") for name in _NAMES.split())


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(prog="python -m pillar_core", description="Semi-private learning from the command line.")
    subparsers = top.add_subparsers(required=True, metavar="command")
    for module in COMMANDS:
        module.add(subparsers)
    return top
