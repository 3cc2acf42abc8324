"""`jobs`: the process that owns workers, queue and state; started on demand, seldom by hand."""

from __future__ import annotations

import argparse

from pillar_core.experiments import jobs_server


def add(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declares the command."""
    parser = subparsers.add_parser("jobs", help="serve this cache folder's jobs until they are done")
    parser.add_argument("--idle-minutes", type=float, default=10.0, help="stop after so long without work")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Serves; 1 where another process already does."""
    return 0 if jobs_server.serve(idle_minutes=options.idle_minutes) else 1
