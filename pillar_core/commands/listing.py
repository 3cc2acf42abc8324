"""`list`: what there is, by name."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pillar_core import params
from pillar_core.accounting import ACCOUNTANTS
from pillar_core.backbones import BACKBONES
from pillar_core.commands.options import as_lines
from pillar_core.data import DATASETS
from pillar_core.methods import METHODS

WHAT: Mapping[str, Mapping[str, Any]] = {"methods": METHODS, "datasets": DATASETS, "backbones": BACKBONES, "accountants": ACCOUNTANTS}


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    parser = subparsers.add_parser("list", help="methods, datasets, backbones, accountants; or one method's settings")
    parser.add_argument("what", nargs="?", help=f"one of {', '.join(WHAT)}, or a method's name")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Prints it."""
    if options.what in WHAT or options.what is None:
        for name in [options.what] if options.what else WHAT:
            print(f"{name}:\n{as_lines({item: thing.title for item, thing in WHAT[name].items()})}\n")
        return 0
    method = METHODS[options.what]
    print(f"{method.title}: {method.idea}\nsource: {method.source}\npublic data: {method.public_use}\n")
    rows = {name: f"{param.help} {param.range}; default {param.default}" for name, param in params.params_of(method.settings).items()}
    print(as_lines(rows))
    return 0
