"""`documents`: write the generated tables of the documentation again."""

import argparse

from pillar_core.studies.documents import write_readme


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declares the command."""
    parser = subparsers.add_parser("documents", help="write the generated tables of README and docs again")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Writes it."""
    write_readme()
    return 0
