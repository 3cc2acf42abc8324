"""`predict`: an exported model on new rows."""

import argparse
import contextlib
import sys
from collections.abc import Iterator

from pillar_core.arrays import Array
from pillar_core.commands.options import printer
from pillar_core.data.parts import place_of
from pillar_core.errors import SettingError, StoreError
from pillar_core.runs import use
from pillar_core.runs.loaded import Model, load_model


def command(options: argparse.Namespace) -> int:
    """Writes row, label and the probability of each class."""
    model = load_model(options.model)
    model.weights = options.weights
    try:
        use.positive_place(model.classes, threshold=options.threshold, positive=options.positive)
    except ValueError as refusal:
        raise SettingError(str(refusal)) from refusal
    x = model.features(options.rows)
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    try:
        path = options.output and place_of(options.output)
        with path.open("w", encoding="utf-8", newline="") if path else contextlib.nullcontext(sys.stdout) as out:
            use.write(out, _watched(model, x), model.classes, threshold=options.threshold, positive=options.positive)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"the labels could not be written to {options.output} ({error.strerror}); name another file.") from error
    return 0


def _watched(model: Model, x: Array) -> Iterator[Array]:
    show, done = printer(), 0
    for p in model.blocks(x):
        yield p
        done += len(p)
        if len(x) > use.AT_ONCE:
            show(done, len(x))
