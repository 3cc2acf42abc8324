"""docs/data.md says what the cards say, and its commands are commands."""

import re
from pathlib import Path

from docs.generated import DATA, datasets_table
from pillar_core.commands import parser

TEXT = Path(DATA).read_text(encoding="utf-8")


def test_the_table_of_data_sets_is_generated():
    table = re.search(r"<!-- datasets -->\n(.*?)<!-- /datasets -->", TEXT, flags=re.DOTALL)
    assert table is not None
    assert table[1] == datasets_table(), "run `python -m docs.generated` to write it again"


def test_commands_parse():
    lines = [
        line.partition("#")[0].split()
        for line in re.findall(r"^python -m pillar_core (.*)$", TEXT.replace("\\\n", " "), flags=re.MULTILINE)
    ]
    assert lines
    assert all(parser().parse_args(line) for line in lines)
