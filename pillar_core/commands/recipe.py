"""`recipe`: how a table with words and gaps becomes numbers, written for the other commands and for whoever fills in what is unknown."""

import argparse
import json
import sys
from pathlib import Path

from pillar_core.data import raw, recipes
from pillar_core.data.raw import Roles
from pillar_core.errors import StoreError


def command(options: argparse.Namespace) -> int:
    """Writes the recipe, and says what is left to fill in."""
    roles = Roles(options.label, options.person, tuple(options.leave_out), rows_per_person=options.rows_per_person)
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
