"""Encoders of texts side by side on sets that ship, a tenth of the rows public; with `--rules`
whether the learners' defaults of k and clip norm are right on these features, too.

`PYTHONPATH=. python research/encoders.py`, with the extra `sentences`: four minutes of one core.
`--rules CELLS.csv` adds to a file what it measures and prints a table of all of it. It takes some
encoders and private sets at a time; `--confirm` has other sets and seeds.
"""

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import pillar_core as pc

ENCODERS = ("wordllama_256", "all_minilm_l6_v2")
SETS = ("library_docs", "scipy_docs")
CONFIRMING = ("python_docs", "union_sentences")
LEARNERS = ("pillar", "pillar_kalman", "dp_raft")
EPSILONS, SEEDS, CONFIRMING_SEEDS = (0.3, 1.0, 3.0), range(3), range(10, 15)
FACTORS = (0.5, 2.0)
FOREIGN = {"scipy_docs": "library_docs", "library_docs": "scipy_docs"}
"""The public set of a private one, of `--rules`."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=Path)
    parser.add_argument("--confirm", action="store_true")
    parser.add_argument("--encoders", nargs="+", choices=ENCODERS, default=ENCODERS)
    parser.add_argument("--sets", nargs="+", choices=(*SETS, *CONFIRMING), default=SETS)
    asked = parser.parse_args()
    for encoder, name in itertools.product(asked.encoders, asked.sets):
        began = time.process_time()
        rows = _features(name, encoder)
        print(f"{name}, {encoder}: {time.process_time() - began:.0f} s of CPU", flush=True)
        if asked.rules is None:
            _print_learners(rows)
            continue
        cells = pd.DataFrame(_cells(name, encoder, CONFIRMING_SEEDS if asked.confirm else SEEDS))
        cells.to_csv(asked.rules, mode="a", header=not asked.rules.exists(), index=False)
    if asked.rules is not None:
        _print_rules(pd.read_csv(asked.rules))


def _features(name: str, encoder: str) -> Any:
    return pc.load_features(pc.load_dataset(name), encoder)


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


def _cells(name: str, encoder: str, seeds: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Accuracy by public set, ε, seed, learner and what was changed of it."""
    rows = _features(name, encoder)
    ways: dict[str, dict[str, Any]] = {"own": {"public_fraction": 0.1}}
    if name in FOREIGN:
        ways["foreign"] = {"public": _features(FOREIGN[name], encoder)}
    for public, seed in itertools.product(ways, seeds):
        split = pc.split(rows, **ways[public], seed=seed)
        cell = {"encoder": encoder, "private": name, "public": public, "seed": seed}
        for epsilon, learner in itertools.product(EPSILONS, LEARNERS):
            usual = pc.run(learner, split, epsilon=epsilon, seed=seed)
            ours = cell | {"epsilon": epsilon, "learner": learner}
            yield ours | {"change": "none", "accuracy": 100 * usual.accuracy}
            for change, settings in _changes(learner, usual.settings, len(split.public_x) - 1):
                record = pc.run(learner, split, epsilon=epsilon, seed=seed, **settings)
                yield ours | {"change": change, "accuracy": 100 * record.accuracy}


def _changes(learner: str, usual: Any, most: int) -> Iterator[tuple[str, dict[str, Any]]]:
    for factor in FACTORS:
        yield f"clip × {factor:g}", {"l2_clip_norm": factor * usual["l2_clip_norm"]}
        if learner == "pillar":
            yield f"k × {factor:g}", {"k": min(max(2, round(factor * usual["k"])), most)}


def _print_rules(cells: pd.DataFrame) -> None:
    """What each change gains, its standard error over cells and the worst cell; then the learners
    as they are."""
    where = ["encoder", "private", "public", "epsilon", "learner"]
    means = cells.groupby([*where, "change"])["accuracy"].mean().unstack("change")
    gains = means.drop(columns="none").sub(means["none"], axis=0)
    table = gains.stack().rename("gain").reset_index()
    for among in (["learner", "public", "change"], ["learner", "public", "change", "encoder"]):
        summary = table.groupby(among)["gain"].agg(["mean", "sem", "min", "max"])
        print(summary.round(2).to_string())
    print(means["none"].unstack("learner").round(1).to_string())


if __name__ == "__main__":
    main()
