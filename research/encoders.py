"""Encoders of texts side by side on sets that ship, a tenth of the rows public; with `--rules`
whether the learners' defaults of k and clip norm are right on these features, too.

`PYTHONPATH=. python research/encoders.py`, with the extra `sentences`: four minutes of one core.
"""

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import pillar_core as pc

ENCODERS = ("wordllama_256", "all_minilm_l6_v2")
SETS = ("library_docs", "scipy_docs")
LEARNERS = ("pillar", "pillar_kalman", "dp_raft")
EPSILONS, SEEDS = (0.3, 1.0, 3.0), range(3)
FACTORS = (0.5, 2.0)
FOREIGN = (("scipy_docs", "library_docs"), ("library_docs", "scipy_docs"))
"""Private and public sets of `--rules`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", action="store_true")
    asked = parser.parse_args()
    features = {}
    for name in SETS:
        for encoder in ENCODERS:
            began = time.process_time()
            features[name, encoder] = pc.load_features(pc.load_dataset(name), encoder)
            seconds = time.process_time() - began
            print(f"{name}, {encoder}: {seconds:.0f} s of CPU", flush=True)
            if not asked.rules:
                _print_learners(features[name, encoder])
    if asked.rules:
        _print_rules(pd.DataFrame(_cells(features)))


def _print_learners(rows: Any) -> None:
    splits = [pc.split(rows, public_fraction=0.1, seed=seed) for seed in SEEDS]
    for epsilon in EPSILONS:
        reached = [
            np.mean(
                [
                    pc.run(learner, split, epsilon=epsilon, seed=seed).accuracy
                    for seed, split in zip(SEEDS, splits, strict=True)
                ]
            )
            for learner in LEARNERS
        ]
        print(f"  ε = {epsilon}: " + " / ".join(f"{100 * mean:.1f}" for mean in reached))


def _cells(features: dict[tuple[str, str], Any]) -> Iterator[dict[str, Any]]:
    """Accuracy by encoder, private and public set, ε, seed, learner and what was changed of it."""
    for encoder in ENCODERS:
        for private, public in (*((name, "own") for name in SETS), *FOREIGN):
            for seed in SEEDS:
                way = (
                    {"public_fraction": 0.1}
                    if public == "own"
                    else {"public": features[public, encoder]}
                )
                split = pc.split(features[private, encoder], **way, seed=seed)
                cell = {"encoder": encoder, "private": private, "public": public, "seed": seed}
                for epsilon in EPSILONS:
                    for learner in LEARNERS:
                        for change, settings in _changes(learner, split, epsilon):
                            record = pc.run(learner, split, epsilon=epsilon, seed=seed, **settings)
                            ours = {"epsilon": epsilon, "learner": learner, "change": change}
                            yield cell | ours | {"accuracy": 100 * record.accuracy}
            print(f"{encoder}, {private} with {public}", flush=True)


def _changes(learner: str, split: Any, epsilon: float) -> Iterator[tuple[str, dict[str, Any]]]:
    usual = pc.run(learner, split, epsilon=epsilon, seed=0).settings
    yield "none", {}
    for factor in FACTORS:
        yield f"clip × {factor:g}", {"l2_clip_norm": factor * usual["l2_clip_norm"]}
        if learner == "pillar":
            k = min(max(2, round(factor * usual["k"])), len(split.public_x) - 1)
            yield f"k × {factor:g}", {"k": k}


def _print_rules(cells: pd.DataFrame) -> None:
    """What each change gains, its standard error over cells and the worst cell; then the learners
    as they are."""
    where = ["encoder", "private", "public", "epsilon", "learner"]
    means = cells.groupby([*where, "change"])["accuracy"].mean().unstack("change")
    gains = means.drop(columns="none").sub(means["none"], axis=0)
    table = gains.stack().rename("gain").reset_index()
    table["kind"] = np.where(table["public"] == "own", "own", "foreign")
    summary = table.groupby(["learner", "kind", "change", "encoder"])["gain"]
    print(summary.agg(["mean", "sem", "min", "max"]).round(2).to_string())
    print(means["none"].unstack("learner").round(1).to_string())


if __name__ == "__main__":
    main()
