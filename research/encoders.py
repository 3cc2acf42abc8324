"""Encoders of texts side by side on the sets of texts that ship, a tenth of the rows public.

`PYTHONPATH=. python research/encoders.py`, with the extra `sentences`: four minutes of one core.
"""

import time
from pathlib import Path

import numpy as np

import pillar_core as pc
from pillar_core import data

ENCODERS = ("wordllama_256", "all_minilm_l6_v2")
SETS = ("library_docs", "scipy_docs")
LEARNERS = ("pillar", "pillar_kalman", "dp_raft")
EPSILONS, SEEDS = (0.3, 1.0, 3.0), range(3)


def main() -> None:
    for name in SETS:
        with np.load(Path(data.__file__).with_name("embedded") / f"{name}.npz") as kept:
            texts = kept["texts"].tobytes().decode().split("\n")
            labels = kept["classes"][kept["labels"]]
        for encoder in ENCODERS:
            began = time.process_time()
            features = pc.load_features((texts, labels), encoder)
            seconds = time.process_time() - began
            splits = [pc.split(features, public_fraction=0.1, seed=seed) for seed in SEEDS]
            print(f"{name}, {encoder}: {len(texts)} texts in {seconds:.0f} s of CPU")
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


if __name__ == "__main__":
    main()
