"""What commands that train a model to take away do before the training and after it."""

import argparse
from collections.abc import Callable

from pillar_core.errors import SettingError
from pillar_core.runs import receipts
from pillar_core.runs.models import check_room, model_bytes, write_model
from pillar_core.types import RunRecord, SemiPrivateSplit


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options that write the model down."""
    parser.add_argument("--export", metavar="FILE", help="write the model (release runs only)")
    parser.add_argument(
        "--onnx",
        action="store_true",
        help="a model of images also as model.onnx, with its backbone (extra onnx)",
    )


def begin(
    options: argparse.Namespace, split: SemiPrivateSplit, learner: str, epsilon: Callable[[], float]
) -> None:
    """Writes down, before a private row is read, the training whose model is to leave.

    Raises SettingError: model.onnx of rows that are no images. DataError, StoreError: a model or
    receipt that could not be written.
    """
    if options.onnx and split.features.images is None:
        raise SettingError(
            "--onnx writes a model of images, and these rows are none: leave it out; use.py reads"
            " them with numpy alone."
        )
    if options.release and options.export:
        check_room(split.features, options.export)
        training = receipts.training_on(
            split, learner, (epsilon(), options.delta, options.relation)
        )
        receipts.keep(receipts.content_of(split.features), training)


def finish(options: argparse.Namespace, record: RunRecord, split: SemiPrivateSplit) -> None:
    """Writes the model where that is asked for, and says where it is and what was spent on its
    rows."""
    if options.export:
        path = write_model(options.export, model_bytes(record, split=split, onnx=options.onnx))
        print(f"model written to {path}")
        print(receipts.words(split.features))
