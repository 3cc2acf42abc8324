"""`private-test`: how good a model is on protected rows, at an ε of their own."""

import argparse
import json

from pillar_core import params
from pillar_core.commands.options import Commands, printable
from pillar_core.studies.private_test import private_test


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("private-test", help="how good a model is on protected rows with labels, at an ε of their own")
    parser.add_argument("model", help="file written by `run --export` or downloaded from the app")
    parser.add_argument("rows", help="rows with labels in a file: all of them, or those named as test rows")
    parser.add_argument("--epsilon", required=True, type=float, help=f"{params.EPSILON.help} ({params.EPSILON.range}), of these rows")
    parser.add_argument("--relation", default="add_or_remove_one", help="add_or_remove_one or replace_one")
    parser.add_argument("--rows-per-person", type=int, help="the most rows of one person among them: ε is then a person's")
    parser.add_argument("--metric", default="accuracy", help="accuracy, balanced_accuracy, or auc (two classes)")
    parser.add_argument("--seed", type=int, help="of the noise, for experiments (default: the operating system's noise, for release)")
    parser.add_argument("--json", action="store_true", help="print the figure as JSON")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Prints the figure, its ends and what it cost."""
    figure = private_test(
        options.model,
        options.rows,
        epsilon=options.epsilon,
        relation=options.relation,
        rows_per_person=options.rows_per_person,
        metric=options.metric,
        seed=options.seed,
    )
    form = {"metric": figure.metric, "value": figure.value, "low": figure.low, "high": figure.high, "level": figure.level}
    form |= {"epsilon": figure.guarantee.epsilon.upper, "delta": 0.0, "unit": figure.guarantee.unit.definition}
    form |= {"relation": str(figure.guarantee.relation), "assumptions": list(figure.guarantee.assumptions), "cells": figure.cells.tolist()}
    print(json.dumps(form) if options.json else printable(figure.text))
    return 0
