"""What all tests of contracts share."""

import pytest

from pillar_core.methods.parts.deep import train


@pytest.fixture(autouse=True)
def short_trial(monkeypatch):
    """One turn of a network's trial of places, which takes longer than its steps here;
    tests/unit/methods/test_deep.py holds all."""
    monkeypatch.setattr(train, "TURNS", 1)
