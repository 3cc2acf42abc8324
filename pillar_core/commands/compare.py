"""`compare`: every learner that fits the data at the same budgets, or a view that varies one thing;
seeds as intervals."""

import argparse
import sys

import pandas as pd

from pillar_core.arrays import Json
from pillar_core.commands import options as shared
from pillar_core.commands.options import Commands, option
from pillar_core.data import uploads
from pillar_core.errors import SettingError
from pillar_core.runs.receipts import account_of
from pillar_core.runs.records import write_csv
from pillar_core.runs.splitting import is_known
from pillar_core.runs.sweep import sweep
from pillar_core.studies.compare import views as compare_views
from pillar_core.studies.compare.learners import applicable, compare_grid, summary
from pillar_core.studies.compare.views import COMPARE_VIEWS, Setup
from pillar_core.types import FeatureSet, SemiPrivateSplit

BUDGETS = "budgets"


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    views = "; ".join(
        f"{name}: {view.title} ({view.source})" for name, view in COMPARE_VIEWS.items()
    )
    parser = shared.add_command(
        commands,
        "compare",
        command,
        view=option(
            f"what varies (budgets: ε; {views})",
            default=BUDGETS,
            choices=(BUDGETS, *COMPARE_VIEWS),
        ),
        other=option("for the view shift: the data set or file whose rows become public instead"),
        methods=option("comma-separated names (default: all that can run)"),
        epsilon=option("comma-separated budgets", default="0.1,0.3,0.7"),
        seeds=option("runs per cell; seed s sets split and run", int, 3),
        first_seed=option("the smallest of these seeds", int, 0),
        score=option(
            "what is compared",
            default="accuracy",
            choices=("accuracy", "balanced_accuracy", "auc"),
        ),
        set=shared.assignments_option("a setting of every learner that has it"),
        output=option("CSV file of the single runs"),
    )
    shared.add_data_options(parser)
    shared.add_budget_options(parser)


def command(options: argparse.Namespace) -> int:
    """Runs the grid and prints one line per learner and budget, or per series and place; 1 where a
    learner could not run."""
    view = _budgets if options.view == BUDGETS else _view
    split = shared.load_split(options, seed=0)
    account_of(split.features, options.dataset).look()
    table, lines = view(options, split)
    if options.output:
        write_csv(table, options.output)
    shared.print_table(lines)
    return 1 if (lines["error_message"] != "").any() else 0


def _budgets(
    options: argparse.Namespace, split: SemiPrivateSplit
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(runs, lines) of learners at budgets."""
    able = applicable(split)
    for name, reason in able.items():
        if reason:
            print(f"left out: {name} ({reason})", file=sys.stderr)
    methods = (
        options.methods.split(",")
        if options.methods
        else [name for name, reason in able.items() if not reason]
    )
    data = {
        **_rows(options, split),
        **_public(options, split),
        **_budget(options),
        **shared.assignments(options.set),
    }
    grid = compare_grid(data, methods=methods, epsilons=_epsilons(options), seeds=_seeds(options))
    table = sweep(grid, progress=shared.printer(unit="runs"))
    return table, summary(table, score=options.score).drop(columns=["title"])


def _view(
    options: argparse.Namespace, split: SemiPrivateSplit
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(runs, lines) of a view."""
    for name in ("methods", "set"):
        if getattr(options, name):
            raise SettingError(
                f"--{name} goes with the view {BUDGETS}; the view {options.view} has learners and"
                " settings of its own."
            )
    data = _rows(options, split) | _budget(options)
    shifted = _public_name(options.other, split.features, options.backbone)
    setup = Setup(
        data, _public(options, split), split, _epsilons(options), _seeds(options), shifted
    )
    lines, table = compare_views.run(options.view, setup, progress=shared.printer(unit="runs"))
    return table, lines


def _epsilons(options: argparse.Namespace) -> list[float]:
    try:
        return [float(text) for text in options.epsilon.split(",")]
    except ValueError:
        raise SettingError(
            "--epsilon must be numbers separated by commas, such as 0.1,0.7; got"
            f" {options.epsilon!r}."
        ) from None


def _seeds(options: argparse.Namespace) -> range:
    return range(options.first_seed, options.first_seed + options.seeds)


def _budget(options: argparse.Namespace) -> dict[str, Json]:
    return shared.fields_of(options, "delta", "relation", "accountant")


def _rows(options: argparse.Namespace, split: SemiPrivateSplit) -> dict[str, Json]:
    """The axes that name the rows: by name where others (the app) can find them, else the loaded
    features."""
    split_axes = {"allow_overlap": options.allow_overlap or None, "split_seed": options.split_seed}
    named = is_known(options.dataset) and not options.dataset_setting
    rows = (
        {"dataset": options.dataset, "backbone": options.backbone}
        if named
        else {"dataset": split.features}
    )
    return rows | {name: value for name, value in split_axes.items() if value is not None}


def _public(options: argparse.Namespace, split: SemiPrivateSplit) -> dict[str, Json]:
    """The axis that says which rows are public; a file of public rows is kept in the cache, under a
    name."""
    axes = shared.fields_of(options, "public_fraction", "public_per_class")
    axes["public"] = _public_name(options.public, split.features, options.backbone)
    return {name: value for name, value in axes.items() if value is not None}


def _public_name(name: str | None, private: FeatureSet, backbone: str | None) -> str | None:
    if name is None or is_known(name):
        return name
    return uploads.keep(shared.public_of(name, private, backbone))
