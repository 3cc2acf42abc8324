"""Large steps take idle cores, never more than the process was given; small ones take one."""

import os

import pytest
import torch

from pillar_core.threads import LARGE_WORK, spare_threads, threads_for


@pytest.fixture(autouse=True)
def eight_idle_cores(monkeypatch):
    monkeypatch.delenv("PILLAR_THREADS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.4, 0.0, 0.0), raising=False)


def test_a_process_bound_to_one_core_gets_one_thread(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3}, raising=False)
    assert spare_threads(8) == 1


def test_half_of_idle_cores_at_most(monkeypatch):
    assert spare_threads(1) == 1
    assert spare_threads(8) == 4
    assert spare_threads(2) == 2
    monkeypatch.setattr(os, "getloadavg", lambda: (6.3, 0.0, 0.0), raising=False)
    assert spare_threads(8) == 2
    monkeypatch.setattr(os, "getloadavg", lambda: (25.0, 0.0, 0.0), raising=False)
    assert spare_threads(8) == 1


def test_the_variable_overrides(monkeypatch):
    monkeypatch.setenv("PILLAR_THREADS", "3")
    assert spare_threads(1) == 3


def test_the_count_is_put_back(monkeypatch):
    monkeypatch.setenv("PILLAR_THREADS", "2")
    before = torch.get_num_threads()
    with threads_for(LARGE_WORK):
        assert torch.get_num_threads() == 2
    with threads_for(LARGE_WORK / 2):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
