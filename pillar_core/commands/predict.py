"""What an exported model is for: `predict` on new rows, `private-test` on protected ones,
`evidence` for who decides on it."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator

from pillar_core import params
from pillar_core.arrays import Array
from pillar_core.commands.options import (
    Commands,
    add_command,
    fields_of,
    flag,
    option,
    printable,
    printer,
    relation_option,
    setting,
)
from pillar_core.data.parts import place_of
from pillar_core.runs import use
from pillar_core.runs.evidence import evidence_page
from pillar_core.runs.loaded import Model, load_model
from pillar_core.runs.models import write_model
from pillar_core.store.files import writable
from pillar_core.studies.private_test import private_test


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    predict = add_command(
        commands,
        "predict",
        _predict,
        output=option("csv file (default: standard output)", metavar="FILE"),
        threshold=option(
            "of two classes: the second, or --positive, from this probability on",
            float,
            metavar="T",
        ),
        positive=option("the class that the threshold is about", metavar="NAME"),
        weights=option(
            "weights of the backbone of an image model, where it needs a file", metavar="FILE"
        ),
    )
    test = add_command(
        commands,
        "private-test",
        _test,
        epsilon=setting(params.EPSILON, ", of these rows", required=True),
        relation=relation_option(),
        rows_per_person=option("the most rows of one person among them: ε is then a person's", int),
        person=option("the column of a table that says whose the rows are", metavar="COLUMN"),
        metric=option("accuracy, balanced_accuracy, or auc (two classes)", default="accuracy"),
        seed=option(
            "of the noise, for experiments (default: the operating system's noise, for release)",
            int,
        ),
        json=flag("print the figure as JSON"),
    )
    evidence = add_command(
        commands,
        "evidence",
        _show_evidence,
        output=option("the HTML file to write", metavar="FILE", required=True),
    )
    for parser in (predict, test, evidence):
        parser.add_argument(
            "model", help="file written by `run --export` or downloaded from the app"
        )
    predict.add_argument(
        "rows", help="a table with the model's columns, a folder or zip of images, npz or npy"
    )
    test.add_argument(
        "rows", help="rows with labels in a file: all of them, or those named as test rows"
    )


def _predict(options: argparse.Namespace) -> int:
    model = load_model(options.model)
    model.weights = options.weights
    use.positive_place(model.classes, threshold=options.threshold, positive=options.positive)
    x = options.rows if model.is_large(options.rows) else model.features(options.rows)
    notes = model.notes
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
    for note in notes or model.notes:
        print(f"note: {note}", file=sys.stderr)
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
