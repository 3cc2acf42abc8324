"""`recipe`: how a table with words and gaps becomes numbers, written for the other commands and for whoever fills in what is unknown."""

import argparse
import json
import sys
from pathlib import Path

from pillar_core.commands.options import Commands
from pillar_core.data import raw, recipes
from pillar_core.data.raw import Roles
from pillar_core.errors import StoreError


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("recipe", help="how a table with words and gaps becomes numbers, as a file for the other commands")
    parser.add_argument("file", help="the table: csv or parquet")
    parser.add_argument("--label", required=True, metavar="COLUMN", help="what is predicted")
    parser.add_argument("--person", metavar="COLUMN", help="whose the rows are")
    parser.add_argument("--rows-per-person", type=int, default=1, help="rows of a person that count, the first ones")
    parser.add_argument("--leave-out", metavar="COLUMN", nargs="+", action="extend", default=[], help="columns that are not used")
    parser.add_argument("--text", metavar="COLUMN", help="whose texts become numbers, each by itself")
    parser.add_argument("--public", metavar="FILE", help="public rows for categories, fills and ranges (default: fill in by hand)")
    parser.add_argument("--output", required=True, metavar="FILE", help="the recipe, as JSON")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Writes the recipe, and says what is left to fill in."""
    roles = Roles(options.label, options.person, tuple(options.leave_out), rows_per_person=options.rows_per_person, text=options.text)
    recipe, lines = raw.template(options.file, roles, options.public)
    text = json.dumps(recipes.form_of(recipe), indent=2, ensure_ascii=False)
    try:
        Path(options.output).write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreError(f"the recipe could not be written to {options.output} ({error.strerror}).") from error
    print(f"written: {options.output}, {len(recipe.columns)} columns to predict {recipe.label!r} from")
    for line in lines:
        print(f"note: {line}", file=sys.stderr)
    return 0
