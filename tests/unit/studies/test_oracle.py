"""Learners against the oracle, which reaches what lies outside of its first grid and is judged
under new noise; means and margins."""

import math

import oracle
import pandas as pd
import pytest

import pillar_core as pc
from contract.cases import small_split


def test_candidates_gather_the_noise_they_name_and_neighbours_keep_rank_and_steps():
    """T steps of size η with noise σ·clip in a sum over N rows, σ = √T/μ, add up to η·√T·σ·clip/N
    in a weight."""
    mu, n, one = 0.05, 2000, oracle.Candidate(40, 20, 0.5, 0.4, False)
    settings = one.settings(mu, n)
    assert settings["learning_rate"] * math.sqrt(20) * (
        math.sqrt(20) / mu
    ) * 0.4 / n == pytest.approx(0.5)
    assert settings.keys() == {"k", "steps", "l2_clip_norm", "standardise", "learning_rate"}
    for one in (oracle.Candidate(7, 1, 0.25, 0.2, True), oracle.Candidate(50, 80, 1.0, 1.0, False)):
        for other in one.neighbours(60):
            assert 5 <= other.k <= 60
            assert 1 <= other.steps <= 100
            assert other.l2_clip_norm in oracle.CLIPS
            assert (
                sum(getattr(one, name) != getattr(other, name) for name in one.__dataclass_fields__)
                <= 1
            )
    assert {other.k for other in oracle.Candidate(50, 80, 1.0, 1.0, False).neighbours(60)} == {
        60,
        25,
        50,
    }


def test_the_oracle_climbs_out_of_its_grid_and_is_reported_under_new_noise(monkeypatch):
    seen = []

    def accuracies(rows, epsilon, seed, candidates):
        seen.append(seed)
        value = [
            -abs(math.log2(one.k / 640))
            - abs(math.log2(one.steps / 80))
            - abs(math.log2(one.noise * 8))
            - abs(one.l2_clip_norm - 0.2)
            for one in candidates
        ]
        return [one + seed / 1e6 for one in value]

    monkeypatch.setattr(oracle, "_accuracies", accuracies)
    monkeypatch.setattr(oracle, "_rank", lambda rows: 1000)
    best, values = oracle.picked({0: None, 1: None}, 0.1)
    assert (best.k, best.steps, best.noise, best.l2_clip_norm) == (640, 80, 0.125, 0.2)
    assert values == pytest.approx([2000e-6, 2001e-6]), (
        "the last choice is made and reported on noise of its own"
    )
    assert seen[-4:] == [1000, 1001, 2000, 2001]
    assert set(seen[:-4]) == {0}


def test_the_oracle_is_not_below_the_rules_that_it_could_have_picked():
    rows = {seed: small_split(n=300, seed=seed) for seed in (0, 1)}
    _, values = oracle.picked(rows, 0.3, rounds=1)
    plain = [pc.run("pillar", part, epsilon=0.3, seed=seed).accuracy for seed, part in rows.items()]
    assert sum(values) >= sum(plain)


def test_margins_are_paired_by_seed():
    runs = pd.DataFrame(
        [
            {
                "set": name,
                "epsilon": epsilon,
                "learner": learner,
                "seed": seed,
                "accuracy": base + seed / 10 + gain,
                "settings": "",
            }
            for name, base in (("one", 0.1), ("two", 0.3))
            for epsilon in (0.1, 1.0)
            for learner, gain in (("ours", 0.04 if name == "one" else 0.01), ("theirs", 0.02))
            for seed in range(3)
        ]
    )
    [line] = oracle.margins(runs, "ours").to_dict("records")
    assert line == {
        "above": "theirs",
        "mean": "0.5 ± 0.0",
        "cells": 4,
        "worst": "-1.0 (two, ε = 0.1)",
        "cells ahead": 2,
    }
    table = oracle.means(runs)
    assert list(table.columns) == ["set", "learner", 0.1, 1.0]
    assert (
        table.loc[(table["set"] == "two") & (table["learner"] == "ours"), 1.0]
        .item()
        .startswith("41.0 ± ")
    )


def test_it_prints_means_and_margins(capsys, monkeypatch):
    line = "oracle.py --sets breast_cancer --epsilon 1 --seeds 2 --no-oracle"
    line += " --learner pillar_kalman --learner pillar:l2_clip_norm=0.4,standardise=false"
    monkeypatch.setattr("sys.argv", line.split())
    oracle.main()
    printed = capsys.readouterr().out
    assert "pillar:l2_clip_norm=0.4,standardise=false" in printed
    assert "worst" in printed
