"""`html`: an explorer of one data set in one file, which opens without a server or a network."""

import argparse
from pathlib import Path

from pillar_core.commands.options import Commands, add_command, option, several
from pillar_core.studies import portable


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = add_command(
        commands,
        "html",
        command,
        dataset=option("a data set with runs in the cache", required=True),
        methods=several("learners to show (default: all with runs)"),
        public=option("the public set that the runs used"),
        public_fraction=option("the public share that the runs used", float),
        link=option("an address that the file leads back to", default="", metavar="ADDRESS"),
    )
    parser.add_argument("file", help="the HTML file to write")


def command(options: argparse.Namespace) -> int:
    """Writes the file."""
    setup = {"public": options.public, "public_fraction": options.public_fraction}
    text = portable.page(options.dataset, methods=options.methods, link=options.link, **setup)
    Path(options.file).write_text(text, encoding="utf-8")
    print(f"{options.file}: {len(text.encode()) / 1000:.0f} kB")
    return 0
