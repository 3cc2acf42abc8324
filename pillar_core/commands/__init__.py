"""Commands of `python -m pillar_core`, a file each or two that go together, which declares their options."""

import argparse

from pillar_core.commands import (
    advise,
    cache,
    check,
    compare,
    data,
    doctor,
    epsilon,
    extract,
    html,
    jobs,
    listing,
    papers,
    predict,
    private_test,
    recipe,
    run,
    screen,
    starter,
    sweep,
)

_MODULES = (
    *(run, compare, sweep, papers, html, data, extract, screen, advise, recipe),
    *(listing, epsilon, check, predict, private_test, starter, jobs, cache, doctor),
)
"""In the order of the help."""


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(prog="python -m pillar_core", description="Semi-private learning from the command line.")
    commands = top.add_subparsers(required=True, metavar="command")
    for module in _MODULES:
        module.add_to(commands)
    return top
