"""`starter`: rebuild the records and features that ship with the repository for the first paint."""

import argparse
import sys

from pillar_core.commands.options import Commands, printer
from pillar_core.runs import starter


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("starter", help="rebuild what ships for the first paint from embedded data")
    parser.add_argument("--check", action="store_true", help="only say whether every record is there for the current code")
    parser.add_argument("--features", action="store_true", help="rebuild the features of the images that come with the library instead")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Rebuilds, or checks: exit status 1 where records are missing."""
    show = printer(unit="records")
    if options.features:
        print(f"features of {starter.rebuild_features(progress=show)} image sets written", file=sys.stderr)
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
