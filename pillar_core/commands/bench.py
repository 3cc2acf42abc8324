"""`bench`: the tables of docs/research.md, made again."""

import argparse

from pillar_core.commands.options import method_settings, printer
from pillar_core.data.cards import default_backbone
from pillar_core.methods import METHODS
from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import named_features
from pillar_core.spreadsheets import without_formulas
from pillar_core.studies import benchmark


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
        progress=printer(unit="runs"),
    )
    if options.output:
        without_formulas(runs).to_csv(options.output, index=False)
    print(benchmark.means(runs).to_string(index=False))
    print(benchmark.margins(runs, next(iter(asked))).to_string(index=False))
    return 0


def _learner(text: str) -> tuple[str, dict[str, object]]:
    name, _, settings = text.partition(":")
    return METHODS[name].name, method_settings(name, [part for part in settings.split(",") if part])
