"""`html`: an explorer of one data set in one file, which opens without a server or a network."""

import argparse
from pathlib import Path

from pillar_core.commands.options import Commands
from pillar_core.studies import portable


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("html")
    parser.add_argument("file", help="the HTML file to write")
    parser.add_argument("--dataset", required=True, help="a data set with runs in the cache")
    parser.add_argument(
        "--methods", nargs="+", default=[], help="learners to show (default: all with runs)"
    )
    parser.add_argument("--public", help="the public set that the runs used")
    parser.add_argument("--public-fraction", type=float, help="the public share that the runs used")
    parser.add_argument(
        "--link", default="", metavar="ADDRESS", help="an address that the file leads back to"
    )
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Writes the file."""
    setup = {"public": options.public, "public_fraction": options.public_fraction}
    text = portable.page(options.dataset, methods=options.methods, link=options.link, **setup)
    Path(options.file).write_text(text, encoding="utf-8")
    print(f"{options.file}: {len(text.encode()) / 1000:.0f} kB")
    return 0
