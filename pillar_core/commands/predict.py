"""`predict`: an exported model on new rows."""

import argparse
import sys

import pandas as pd

from pillar_core.data import read_rows
from pillar_core.runs.models import load_model
from pillar_core.spreadsheets import without_formulas


def command(options: argparse.Namespace) -> int:
    """Predicts and writes row, label and class name."""
    model = load_model(options.model)
    labels = model.predict(read_rows(options.rows))
    table = pd.DataFrame({"row": range(len(labels)), "label": labels, "class": [model.classes[label] for label in labels]})
    without_formulas(table).to_csv(options.output or sys.stdout, index=False)
    return 0
