"""What the paid choice says of a public table in another unit, for docs/public_data.md.

    PYTHONPATH=. python research/units.py measure runs.jsonl
    PYTHONPATH=. python research/units.py table runs.jsonl

Four tables: made-up visits of a ward, made-up blood counts with skewed columns and rare flags,
scikit-learn's breast cancer, and its diabetes (above the median or not), in raw units. Each draw
has private, test and public rows of its own. A public table is right, or one column of it is
harmed: times ten, plus a hundred, or swapped with another column. It is the only candidate
(*alone*), or stands beside another right one (*beside*). *Free* is the advice of a split whose
public rows it is, stated to be alike, with the range of each column over the whole table stated,
too; the learner that it names is then trained. Measuring goes on where the file ends.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn import datasets

import pillar_core as pc
from pillar_core import rng
from pillar_core.types import FeatureSet

HARMS, EPSILONS, SEEDS, UNHARMED = ("times ten", "plus 100", "swapped"), (1.0,), (0, 1), 10
TABLES = ("visits", "blood", "breast cancer", "diabetes")
PUBLIC = {"visits": 400, "blood": 400, "breast cancer": 70, "diabetes": 60}


def table(name: str, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """(rows, labels in {0, 1}) in a drawn order."""
    draw = rng.stream(seed, "units", name)
    if name in ("breast cancer", "diabetes"):
        load = datasets.load_breast_cancer if name == "breast cancer" else datasets.load_diabetes
        more = {"scaled": False} if name == "diabetes" else {}
        x, y = load(return_X_y=True, as_frame=True, **more)
        y = y if name == "breast cancer" else (y > y.median()).astype(int)
        order = draw.permutation(len(x))
        return x.iloc[order].reset_index(drop=True), y.to_numpy()[order]
    n = 5_000
    sick = draw.integers(2, size=n)
    if name == "visits":
        columns = {
            "age": draw.normal(55 + 8 * sick, 14, n).round(),
            "hb": draw.normal(14 - 1.2 * sick, 1.4, n).round(1),
            "crp": draw.gamma(2 + 3 * sick, 4, n).round(1),
            "bmi": draw.normal(26 + sick, 4, n).round(1),
        }
    else:
        columns = {
            "platelets": np.exp(draw.normal(5.5 - 0.2 * sick, 0.3, n)).round(),
            "creatinine": np.exp(draw.normal(0.3 * sick, 0.4, n)).round(2),
            "leucocytes": np.exp(draw.normal(1.9 + 0.2 * sick, 0.4, n)).round(1),
            "smokes": draw.random(n) < 0.2 + 0.1 * sick,
            "transplant": draw.random(n) < 0.004,
            "dialysis": draw.random(n) < 0.001 + 0.01 * sick,
        }
    return pd.DataFrame(columns).astype(float), sick


def harmed(x: pd.DataFrame, harm: str, draw: np.random.Generator) -> pd.DataFrame:
    """The rows with one drawn column in another unit."""
    first, second = draw.choice([name for name in x if is_many(x[name])], 2, replace=False)
    if harm == "swapped":
        return x.rename(columns={first: second, second: first})[list(x)]
    return x.assign(**{first: x[first] * 10 if harm == "times ten" else x[first] + 100})


def cases() -> Iterator[tuple[str, str, str, float, int]]:
    """(table, harm, candidates, ε, seed) of each run."""
    for epsilon in EPSILONS:
        for name in TABLES:
            for seed in SEEDS:
                for harm in HARMS:
                    yield from (
                        (name, harm, how, epsilon, seed) for how in ("alone", "beside", "free")
                    )
                yield (name, "right", "free", epsilon, seed)
            yield from ((name, "right", "alone", epsilon, seed) for seed in range(UNHARMED))


def measure(path: Path) -> None:
    """Adds a line for each run that the file lacks."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    done = {tuple(line["case"]) for line in lines}
    for case in (case for case in cases() if case not in done):
        name, harm, beside, epsilon, seed = case
        x, y = table(name, seed)
        m, classes = PUBLIC[name], ("no", "yes")
        bad = x[:m] if harm == "right" else harmed(x[:m], harm, rng.stream(seed, "harm", name))
        if beside == "free":
            write(path, advised(case, x, y, bad))
            continue
        sides = {harm: features(bad, y[:m], classes)}
        if beside == "beside":
            sides["another"] = features(x[m : 2 * m], y[m : 2 * m], classes)
        rows, labels = x[2 * m :].to_numpy(np.float32), y[2 * m :]
        cut = len(rows) * 3 // 4
        private = FeatureSet(
            rows[:cut], labels[:cut], rows[cut:], labels[cut:], classes, names=tuple(x)
        )
        choice = pc.choose(private, sides, epsilon=epsilon, seed=seed)
        line = {
            "case": case,
            "public": choice.public,
            "is_named": any(f"{harm} lies elsewhere" in reason for reason in choice.reasons),
            "is_other_named": any("another lies elsewhere" in why for why in choice.reasons),
            "range": choice.expected_accuracy,
            "reached": choice.record.metrics[choice.metric],
        }
        write(path, line)


def advised(
    case: tuple[str, str, str, float, int], x: pd.DataFrame, y: np.ndarray, bad: pd.DataFrame
) -> dict[str, object]:
    """What the free advice says of the case, and what its learner reaches."""
    _, harm, _, epsilon, seed = case
    ranges = {name: (float(x[name].min()), float(x[name].max())) for name in x if is_many(x[name])}
    public = bad.assign(label=y[: len(bad)])
    private = x[2 * len(bad) :].assign(label=y[2 * len(bad) :])
    rows = pc.load_features(private, public=public, label="label", ranges=ranges)
    split = pc.split(rows, public=public, allow_overlap=True)
    advice = pc.advise(split, alike=["own"], epsilon=epsilon)
    trained = split if advice.public == "own" else pc.split(rows)
    record = pc.run(advice.method, trained, epsilon=epsilon, seed=seed)
    return {
        "case": case,
        "public": {"own": harm}.get(str(advice.public), advice.public),
        "is_named": any("Left out" in reason for reason in advice.reasons),
        "is_other_named": False,
        "range": advice.expected_accuracy,
        "reached": record.metrics[advice.expected.metric],
    }


def is_many(column: pd.Series) -> bool:
    """Whether the column is no flag."""
    return column.nunique() > 2


def write(path: Path, line: dict[str, object]) -> None:
    """Adds the line to the file."""
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def features(x: pd.DataFrame, y: np.ndarray, classes: tuple[str, ...]) -> FeatureSet:
    """Public rows with their labels."""
    return FeatureSet(x.to_numpy(np.float32), y, None, None, classes, names=tuple(x))


def show(path: Path) -> None:
    """Prints a line for each harm and kind of candidates."""
    runs = pd.DataFrame(json.loads(line) for line in path.read_text().splitlines())
    runs[["table", "harm", "candidates", "epsilon", "seed"]] = runs["case"].tolist()
    low, high = np.array(runs["range"].tolist()).T
    runs["holds"] = (low <= runs["reached"]) & (runs["reached"] <= high)
    runs["width"], runs["taken"] = 100 * (high - low), runs["public"] == runs["harm"]
    told = {"runs": ("holds", "size"), "named": ("is_named", "sum"), "taken": ("taken", "sum")}
    told |= {"another named": ("is_other_named", "sum")}
    told |= {
        "holds": ("holds", "mean"),
        "width": ("width", "median"),
        "reached": ("reached", "mean"),
    }
    for by in (["harm", "candidates"], ["table", "harm", "candidates"], ["candidates"]):
        print(runs.groupby(by).agg(**told).round(3).to_string(), "\n")
    print(f"all: {len(runs)} runs, {runs['holds'].mean():.1%} hold, {runs['width'].median():.1f}")


if __name__ == "__main__":
    {"measure": measure, "table": show}[sys.argv[1]](Path(sys.argv[2]))
