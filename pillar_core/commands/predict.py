"""`predict`: an exported model on new rows."""

import argparse
import sys

import pandas as pd

from pillar_core.data import read_rows
from pillar_core.runs.models import load_model
from pillar_core.spreadsheets import without_formulas


def add(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declares the command."""
    parser = subparsers.add_parser("predict", help="apply an exported model to rows in a file")
    parser.add_argument("model", help="file written by `run --export` or downloaded from the app")
    parser.add_argument("rows", help="npz (x, x_test or x_train), csv or parquet of features")
    parser.add_argument("--output", help="CSV file (default: standard output)")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Predicts and writes row, label and class name."""
    model = load_model(options.model)
    labels = model.predict(read_rows(options.rows))
    table = pd.DataFrame({"row": range(len(labels)), "label": labels, "class": [model.classes[label] for label in labels]})
    text = without_formulas(table).to_csv(options.output, index=False)
    if text is not None:
        sys.stdout.write(text)
    return 0
