"""The page on accounting: its code runs, and its table names every accountant."""

import re
from pathlib import Path

from pillar_core.accounting import ACCOUNTANTS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "accounting.md"


def test_code_runs_and_the_table_names_every_accountant() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})  # the page's own example, from this repository
    named = set(re.findall(r"`(\w+)`", "".join(line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|"))))
    assert set(ACCOUNTANTS) <= named
