"""docs/data.md says what the cards say, and its commands are commands."""

import json
import re
from pathlib import Path

import pytest

from docs.generated import DATA, HOMES, croissant, datasets_table
from pillar_core.commands import parser
from pillar_core.data.sets.embedded import FOLDER

TEXT = Path(DATA).read_text(encoding="utf-8")


def test_the_table_of_data_sets_is_generated():
    table = re.search(r"<!-- datasets -->\n(.*?)<!-- /datasets -->", TEXT, flags=re.DOTALL)
    assert table is not None
    assert table[1] == datasets_table(), "run `python -m docs.generated` to write it again"


def test_commands_parse():
    lines = [
        line.partition("#")[0].split()
        for line in re.findall(
            r"^python -m pillar_core (.*)$", TEXT.replace("\\\n", " "), flags=re.MULTILINE
        )
    ]
    assert lines
    assert all(parser().parse_args(line) for line in lines)


def test_each_set_that_ships_has_the_croissant_metadata_of_its_card_and_file():
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(HOMES)
    for name in HOMES:
        written = json.loads((FOLDER / f"{name}.croissant.json").read_text(encoding="utf-8"))
        assert written == croissant(name), "run `python -m docs.generated` to write it again"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # rdflib's, of what mlcroissant uses
@pytest.mark.parametrize("name", HOMES)
def test_the_library_of_croissant_takes_the_metadata(name):
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    assert mlcroissant.Dataset(FOLDER / f"{name}.croissant.json").metadata.name == name
