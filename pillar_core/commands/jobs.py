"""`jobs`: the process that owns workers, queue and state; started on demand, seldom by hand."""

import argparse
import sys

from pillar_core import store
from pillar_core.commands.options import Commands
from pillar_core.jobs import server as jobs_server


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("jobs", help="serve this cache folder's jobs until they are done")
    parser.add_argument("--idle-minutes", type=float, default=10.0, help="stop after so long without work")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Serves; 1 where another process already does."""
    folder = store.default().root
    print(f"serving the jobs of {folder} until nothing is left for {options.idle_minutes:g} minutes", file=sys.stderr)
    if jobs_server.serve(idle_minutes=options.idle_minutes):
        return 0
    print(f"another jobs process already serves {folder}: there is nothing to do here", file=sys.stderr)
    return 1
