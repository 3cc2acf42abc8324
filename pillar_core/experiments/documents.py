"""Tables of the documentation that come from the registries."""

from __future__ import annotations

import re
from pathlib import Path

from pillar_core.methods import METHODS

README = Path(__file__).resolve().parents[2] / "README.md"


def methods_table() -> str:
    """The README's table of learners, in Markdown."""
    rows = [
        f"| `{method.name}` | {method.title} | {method.public_use} | {method.idea} | {method.source} |\n" for method in METHODS.values()
    ]
    return "| name | learner | public data | idea | source |\n| --- | --- | --- | --- | --- |\n" + "".join(rows)


def write_readme() -> None:
    """Writes the table into the README."""
    text = README.read_text(encoding="utf-8")
    block = f"<!-- methods -->\n{methods_table()}<!-- /methods -->"
    README.write_text(re.sub(r"<!-- methods -->.*<!-- /methods -->", lambda _: block, text, flags=re.DOTALL), encoding="utf-8")
