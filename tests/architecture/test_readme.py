"""The README runs, and the catalogue of learners is the registry's."""

import re
from pathlib import Path

from docs.generated import LEARNERS, methods_table

README = Path(__file__).resolve().parents[2] / "README.md"


def test_python_code_runs(capsys):
    code = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert code
    for block in code:
        exec(compile(block, "README.md", "exec"), {})
    assert "%" in capsys.readouterr().out


def test_commands_parse():
    from pillar_core.commands import parser

    lines = re.findall(
        r"^python -m pillar_core (.*)$", README.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert lines
    for line in lines:
        assert parser().parse_args(line.split())


def test_the_table_of_methods_is_generated():
    table = re.search(
        r"<!-- methods -->\n(.*?)<!-- /methods -->",
        LEARNERS.read_text(encoding="utf-8"),
        flags=re.DOTALL,
    )
    assert table is not None
    assert table[1] == methods_table(), "run `python -m docs.generated` to write it again"
