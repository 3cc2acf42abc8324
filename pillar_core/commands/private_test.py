"""`private-test`: how good a model is on protected rows, at an ε of their own."""

import argparse
import json

from pillar_core.commands.options import printable
from pillar_core.studies.private_test import private_test


def command(options: argparse.Namespace) -> int:
    """Prints the figure, its ends and what it cost."""
    found = private_test(
        options.model,
        options.rows,
        epsilon=options.epsilon,
        relation=options.relation,
        rows_per_person=options.rows_per_person,
        metric=options.metric,
        seed=options.seed,
    )
    form = {"metric": found.metric, "value": found.value, "low": found.low, "high": found.high, "level": found.level}
    form |= {"epsilon": found.guarantee.epsilon.upper, "delta": 0.0, "unit": found.guarantee.unit.protected}
    form |= {"relation": str(found.guarantee.relation), "assumptions": list(found.guarantee.assumptions), "cells": found.cells.tolist()}
    print(json.dumps(form) if options.json else printable(found.text))
    return 0
