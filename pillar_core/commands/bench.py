"""`bench`: the tables of docs/research.md and of docs/screening.md, made again."""

import argparse
import sys
from pathlib import Path

import pandas as pd

from pillar_core.commands.options import method_settings, show_progress
from pillar_core.data.cards import default_backbone
from pillar_core.methods import METHODS
from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import named_features
from pillar_core.spreadsheets import without_formulas
from pillar_core.studies import benchmark
from pillar_core.studies.screening import judged
from pillar_core.studies.screening.yardstick import LENT, TASKS, Yardstick, measured


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declares the command."""
    studies = subparsers.add_parser("bench", help="the tables of docs/research.md, made again").add_subparsers(
        required=True, metavar="study"
    )
    parser = studies.add_parser("learners", help="learners by their own rules against PILLAR picked on test rows")
    parser.add_argument("--sets", default=",".join(benchmark.SETS), help="comma-separated registered sets ('' for none)")
    parser.add_argument("--features", type=Path, help="a folder of npz feature files, which join the sets")
    hint = f"NAME or NAME:SETTING=VALUE,…; the first is held against the others (default: {', '.join(benchmark.LEARNERS)})"
    parser.add_argument("--learner", action="append", help=hint)
    parser.add_argument("--epsilon", default="0.1,0.3,1,3", help="comma-separated budgets, δ = 1e-5, add or remove one")
    parser.add_argument("--seeds", type=int, default=5, help="runs a cell; seed s sets split and noise")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--public-per-class", type=int, help="public rows a class (default: a tenth of the train rows)")
    parser.add_argument("--no-oracle", action="store_true", help="leave out PILLAR picked on test rows, which takes most of the time")
    parser.add_argument("--output", help="CSV file of the single runs")
    parser.set_defaults(command=learners)
    parser = studies.add_parser("screening", help="scores of public data against the accuracy that each candidate gives")
    parser.add_argument("--images", type=Path, help=f"a folder with {' and '.join(LENT.values())}, which do not come with the library")
    parser.add_argument("--epsilon", default="0.1,0.3,1,3,inf", help="comma-separated budgets of screening; inf: without noise")
    parser.add_argument("--train", help="comma-separated learners: measure accuracies anew, into --output, in place of judging scores")
    parser.add_argument("--total", type=float, help="screen at 0.3 and train PILLAR on what is left of this ε (1 or 3), and no more tables")
    parser.add_argument("--seeds", type=int, default=3, help="runs a cell, where accuracies are measured")
    parser.add_argument("--output", default="yardstick.csv", help="CSV file of accuracies that were measured")
    parser.set_defaults(command=screening)


def learners(options: argparse.Namespace) -> int:
    """Prints means with 95 % intervals, and what the first learner is above the others."""
    names = [name for name in options.sets.split(",") if name]
    sets = {name: named_features(name, default_backbone(name)) for name in names}
    if options.features is not None:
        sets |= {f"{path.stem}.npz": load_features(path) for path in sorted(options.features.glob("*.npz"))}
    asked = {title: _learner(title) for title in options.learner or benchmark.LEARNERS}
    runs = benchmark.table(
        sets,
        epsilons=[float(text) for text in options.epsilon.split(",")],
        seeds=range(options.first_seed, options.first_seed + options.seeds),
        learners=asked,
        oracle=not options.no_oracle,
        public={"public_per_class": options.public_per_class} if options.public_per_class else None,
        progress=show_progress,
    )
    if options.output:
        without_formulas(runs).to_csv(options.output, index=False)
    print(benchmark.means(runs).to_string(index=False))
    print(benchmark.margins(runs, next(iter(asked))).to_string(index=False))
    return 0


def screening(options: argparse.Namespace) -> int:
    """Prints each score's regret and rank correlation on both sides of the yardstick, from the accuracies that come with the library."""
    made = Yardstick(options.images, progress=show_progress)
    absent = [task.name for task in TASKS if task not in made.tasks]
    if absent:
        print(f"without {', '.join(absent)}, and without candidates from {', '.join(LENT)}: give --images", file=sys.stderr)
    if options.train:
        runs = pd.DataFrame(measured(made, made.tasks, learners=options.train.split(","), seeds=range(options.seeds)))
        cells = ["task", "candidate", "learner", "epsilon"]
        wide = runs.pivot(index=cells, columns="seed", values="accuracy").rename(columns="seed{}".format).reset_index()
        without_formulas(wide).to_csv(options.output, index=False)
        return 0
    if options.total:
        budget = judged.in_one_budget(made, made.tasks, total=options.total, spent=0.3, accuracies=judged.kept())
        print(pd.DataFrame(budget).to_string(index=False))
        return 0
    epsilons = [None if text == "inf" else float(text) for text in options.epsilon.split(",")]
    accuracies = judged.kept()
    table = judged.judged(pd.DataFrame(judged.scored(made, made.tasks, epsilons=epsilons)), accuracies)
    print(judged.sides(table).to_string(index=False))
    print(judged.ceiling(accuracies).to_string(index=False))
    said = pd.DataFrame(judged.verdicts(made, made.tasks, epsilons=[one for one in epsilons if one is not None], accuracies=accuracies))
    print(said.groupby(["confirms", "spent"])[["is_clear", "is_wrong", "lost", "covered"]].mean().to_string())
    return 0


def _learner(text: str) -> tuple[str, dict[str, object]]:
    name, _, settings = text.partition(":")
    return METHODS[name].name, method_settings(name, [part for part in settings.split(",") if part])
