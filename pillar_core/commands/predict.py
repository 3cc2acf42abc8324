"""`predict`: an exported model on new rows."""

import argparse
import contextlib
import sys

from pillar_core.data.parts import place_of
from pillar_core.errors import SettingError, StoreError
from pillar_core.runs import use
from pillar_core.runs.loaded import load_model


def command(options: argparse.Namespace) -> int:
    """Writes row, label and the probability of each class."""
    model = load_model(options.model)
    model.weights = options.weights
    try:
        use.positive_place(model.classes, threshold=options.threshold, positive=options.positive)
    except ValueError as refusal:
        raise SettingError(str(refusal)) from refusal
    blocks = model.blocks(options.rows)
    for note in model.notes:
        print(f"note: {note}", file=sys.stderr)
    try:
        with contextlib.ExitStack() as stack:
            out = sys.stdout
            if options.output:
                out = stack.enter_context(place_of(options.output).open("w", encoding="utf-8", newline=""))
            use.write(out, blocks, model.classes, threshold=options.threshold, positive=options.positive)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StoreError(f"the labels could not be written to {options.output} ({error.strerror}); name another file.") from error
    return 0
