"""Work that a few bytes could ask for is counted before it starts, and refused in words."""

import time
from pathlib import Path

import pytest

from pages.frame.exports import settings_from_yaml
from pillar_core.commands.sweep import read_grids
from pillar_core.errors import DataError, SettingError
from pillar_core.runs import sweep

BOMB = "a0: &a0 [1, 1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 7))


def test_grids_are_counted_before_they_are_built_and_yaml_that_repeats_itself_refused(tmp_path: Path) -> None:
    (tmp_path / "grid.yaml").write_text(BOMB)
    with pytest.raises(DataError, match="alias"):
        read_grids(str(tmp_path / "grid.yaml"))
    with pytest.raises(ValueError, match="alias"):
        settings_from_yaml(BOMB)
    grid = {"dataset": "digits", "method": "pillar", "epsilon": 1.0, "k": list(range(1, 1001)), "seed": list(range(30))}
    start = time.monotonic()
    with pytest.raises(SettingError, match=r"30,000 runs.*at most"):
        sweep.specs_of(grid)
    assert time.monotonic() - start < 5.0  # counting takes no time; building takes longer
