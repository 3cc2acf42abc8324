"""Records that somebody else wrote: what is no record is left out of the table, and nothing of one runs in an export."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import pillar_core as pc
from pages.parts.runs import exports
from pillar_core import store
from pillar_core.runs import records

GRID: dict[str, Any] = {"dataset": "digits", "method": "noisy_gd", "epsilon": 1.37, "seed": 0}


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A record of this machine, the only one in the cache."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    pc.sweep(GRID)
    (item,) = store.default().ls("record")
    found: dict[str, Any] = store.default().get_json("record", item.key)
    return found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((), {"cell": {}}),
        (("cell",), [1]),
        (("cell", "data"), {}),
        (("cell", "method"), "no such learner"),
        (("cell", "epsilon"), "much"),
        (("cell", "seed"), "x"),
        (("cell", "settings"), None),
        (("cell", "split"), {}),
        (("accuracy",), "high"),
        (("metrics",), [1]),
        (("guarantee",), {"epsilon": 3}),
        (("guarantee", "epsilon", "upper"), "low"),
        (("seconds",), None),
        (("facts",), {}),
        (("versions",), {"numpy": ["1"]}),
        (("error",), {"a": 1}),
    ],
    ids=str,
)
def test_what_is_no_record_is_left_out_and_breaks_nothing(own: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    forged: Any = copy.deepcopy(own)
    if path:
        inner = forged
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
    else:
        forged = value
    store.default().put_json("record", "forged", forged)
    runs = records.all_runs()
    assert len(runs) == 1
    assert len(records.lines(runs)) == 1
    assert exports.command(runs)


def test_exports_run_nothing_of_a_record(own: dict[str, Any], tmp_path: Path) -> None:
    forged = copy.deepcopy(own)
    mark = tmp_path / "ran"
    forged["versions"] = {"numpy": f"1\ntouch {mark}\r\ntouch {mark}\u2028#"}
    forged["cell"]["data"]["dataset"] = f"'''); open({str(mark)!r}, 'w'); ('''\nEND\ntouch {mark}\n\\"
    store.default().put_json("record", "forged", forged)
    runs = records.all_runs()
    assert len(runs) == 2
    lines = [line for line in exports.command(runs).split("\n") if not line.startswith("python ")]
    subprocess.run(["sh", "-c", "\n".join(lines)], cwd=tmp_path, check=True)
    cells = json.loads(exports.notebook(runs))["cells"]
    tree = ast.parse(cells[1]["source"])
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert calls == {"json.loads", "pd.concat", "pc.sweep"}
    assert not mark.exists()
