"""What an exported model is for: `predict` on new rows, `private-test` on protected ones,
`evidence` for who decides on it."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.commands.options import Commands, fields_of, printable, printer
from pillar_core.data.parts import place_of
from pillar_core.runs import use
from pillar_core.runs.evidence import evidence_page
from pillar_core.runs.loaded import Model, load_model
from pillar_core.runs.models import write_model
from pillar_core.store.files import writable
from pillar_core.studies.private_test import private_test


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    parser = commands.add_parser("predict")
    parser.add_argument("model", help="file written by `run --export` or downloaded from the app")
    parser.add_argument(
        "rows", help="a table with the model's columns, a folder or zip of images, npz or npy"
    )
    parser.add_argument("--output", metavar="FILE", help="csv file (default: standard output)")
    parser.add_argument(
        "--threshold",
        type=float,
        metavar="T",
        help="of two classes: the second, or --positive, from this probability on",
    )
    parser.add_argument("--positive", metavar="NAME", help="the class that the threshold is about")
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="weights of the backbone of an image model, where it needs a file",
    )
    parser.set_defaults(command=_predict)
    parser = commands.add_parser("private-test")
    parser.add_argument("model", help="file written by `run --export` or downloaded from the app")
    parser.add_argument(
        "rows", help="rows with labels in a file: all of them, or those named as test rows"
    )
    parser.add_argument(
        "--epsilon",
        required=True,
        type=float,
        help=f"{params.EPSILON.help} ({params.EPSILON.range}), of these rows",
    )
    parser.add_argument(
        "--relation", default="add_or_remove_one", help="add_or_remove_one or replace_one"
    )
    parser.add_argument(
        "--rows-per-person",
        type=int,
        help="the most rows of one person among them: ε is then a person's",
    )
    parser.add_argument(
        "--person", metavar="COLUMN", help="the column of a table that says whose the rows are"
    )
    parser.add_argument(
        "--metric", default="accuracy", help="accuracy, balanced_accuracy, or auc (two classes)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        help="of the noise, for experiments (default: the operating system's noise, for release)",
    )
    parser.add_argument("--json", action="store_true", help="print the figure as JSON")
    parser.set_defaults(command=_test)
    parser = commands.add_parser("evidence")
    parser.add_argument("model", help="file written by `run --export` or downloaded from the app")
    parser.add_argument("--output", required=True, metavar="FILE", help="the HTML file to write")
    parser.set_defaults(command=_show_evidence)


def _predict(options: argparse.Namespace) -> int:
    model = load_model(options.model)
    model.weights = options.weights
    use.positive_place(model.classes, threshold=options.threshold, positive=options.positive)
    x = options.rows if model.is_large(options.rows) else model.features(options.rows)
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    with writable(options.output or "the standard output"):
        path = options.output and place_of(options.output)
        with (
            path.open("w", encoding="utf-8", newline="")
            if path
            else contextlib.nullcontext(sys.stdout)
        ) as out:
            use.write(
                out,
                _probabilities(model, x),
                model.classes,
                threshold=options.threshold,
                positive=options.positive,
            )
    return 0


def _probabilities(model: Model, x: Array | str) -> Iterator[Array]:
    show, count, total = printer(), 0, _count_lines(x) - 1 if isinstance(x, str) else len(x)
    for p in model.blocks(x):
        yield p
        count += len(p)
        if total > use.AT_ONCE:
            show(count, total)


def _count_lines(path: str) -> int:
    with place_of(path).open("rb") as file:
        return sum(piece.count(b"\n") for piece in iter(lambda: file.read(2**20), b""))


def _show_evidence(options: argparse.Namespace) -> int:
    write_model(options.output, evidence_page(options.model).encode())
    return 0


def _test(options: argparse.Namespace) -> int:
    names = ("epsilon", "relation", "rows_per_person", "person", "metric", "seed")
    figure = private_test(options.model, options.rows, **fields_of(options, *names))
    promise = figure.guarantee
    form = fields_of(figure, "metric", "value", "low", "high", "level") | {
        "epsilon": promise.epsilon.upper,
        "delta": 0.0,
        "unit": promise.unit.definition,
        "relation": str(promise.relation),
        "assumptions": list(promise.assumptions),
        "cells": figure.cells.tolist(),
    }
    print(json.dumps(form) if options.json else printable(figure.text))
    return 0
