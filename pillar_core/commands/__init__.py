"""Commands of `python -m pillar_core`, one file each: `add(subparsers)` declares it, `command(options)` does it."""

import argparse

from pillar_core.commands import (
    advise,
    bench,
    cache,
    check,
    compare,
    data,
    doctor,
    epsilon,
    extract,
    jobs,
    listing,
    papers,
    predict,
    run,
    screen,
    starter,
    sweep,
)

COMMANDS = (
    run,
    compare,
    sweep,
    papers,
    bench,
    data,
    extract,
    screen,
    advise,
    listing,
    epsilon,
    check,
    predict,
    starter,
    jobs,
    cache,
    doctor,
)


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(prog="python -m pillar_core", description="Semi-private learning from the command line.")
    subparsers = top.add_subparsers(required=True, metavar="command")
    for module in COMMANDS:
        module.add(subparsers)
    return top
