"""Records that another machine wrote: nothing of one runs in an export."""

import copy
import subprocess
from typing import Any

import pandas as pd
import pytest

import pillar_core as pc
from pages.parts.runs import results
from pillar_core import store
from pillar_core.runs import records

GRID: dict[str, Any] = {"dataset": "digits", "method": "noisy_gd", "epsilon": 1.37, "seed": 0}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A record of this machine, the only one in the cache."""
    monkeypatch.setenv("PILLAR_CACHE", str(tmp_path / "cache"))
    pc.sweep(GRID)
    (item,) = store.default().ls("record")
    return store.default().get_json("record", item.key)


def test_exports_run_nothing_of_a_record(own, tmp_path):
    forged = copy.deepcopy(own)
    mark = tmp_path / "ran"
    forged["versions"] = {"numpy": f"1\ntouch {mark}\r\ntouch {mark}\u2028#"}
    forged["cell"]["data"]["dataset"] = (
        f"'''); open({str(mark)!r}, 'w'); ('''\nEND\ntouch {mark}\n\\"
    )
    store.default().put_json("record", "forged", forged)
    runs = records.all_runs()
    assert len(runs) == 1, "a record under a key that is not its run's"
    runs = pd.concat([runs, runs.assign(key="forged")], ignore_index=True)
    lines = [line for line in results.command(runs).split("\n") if not line.startswith("python ")]
    subprocess.run(["sh", "-c", "\n".join(lines)], cwd=tmp_path, check=True)
    assert not mark.exists()
