"""Fixtures that every test folder shares."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data, papers' tables and oracles; tests that need it skip where it is absent."""
    folder = Path(os.environ.get("PILLAR_SHARED", REPOSITORY.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no folder of real data and oracles at {folder} (set PILLAR_SHARED)")
    return folder
