"""What commands that train a model to take away do before the training and after it."""

import argparse
import contextlib
from collections.abc import Callable, Iterator

from pillar_core.commands import options as shared
from pillar_core.commands.options import flag, option
from pillar_core.errors import SettingError, UnsupportedError
from pillar_core.runs import receipts
from pillar_core.runs.models import SEEDED, check_room, model_bytes, write_model
from pillar_core.types import RunRecord, SemiPrivateSplit


def add_options(parser: argparse.ArgumentParser, result: str) -> None:
    """Options that say where the noise comes from, and write the result and its model down."""
    shared.add_options(
        parser,
        seed=option("seed of the split and of an experiment", int, 0),
        release=flag("secret noise from the operating system instead of a seed"),
        json=flag(f"print the {result} as JSON"),
        export=option("write the model (release runs only)", metavar="FILE"),
        onnx=flag("a model of images also as model.onnx, with its backbone (extra onnx)"),
    )


@contextlib.contextmanager
def charged(
    options: argparse.Namespace, split: SemiPrivateSplit, learner: str, epsilon: Callable[[], float]
) -> Iterator[None]:
    """Writes down, before the block reads a private row, the training whose model is to leave, as
    `Account.charged` does.

    Raises SettingError: model.onnx of rows that are no images, or δ = 0 after a ranking.
    UnsupportedError: a model of a seeded run that is to leave. DataError, StoreError: a model or
    receipt that could not be written.
    """
    if options.onnx and split.features.images is None:
        raise SettingError(
            "--onnx writes a model of images, and these rows are none: leave it out; use.py reads"
            " them with numpy alone."
        )
    if options.export and not options.release and epsilon():
        raise UnsupportedError(SEEDED).naming(release=())
    if not (options.release and options.export):
        yield
    else:
        check_room(split.features, options.export)
        account = receipts.account_of(split.features, options.dataset)
        if account.rankings and not options.delta:
            raise SettingError(
                "public sets were ranked on these rows, which a δ above 0 alone can count: give"
                " --delta, such as 1e-5."
            )
        training = receipts.training_on(
            split, learner, (epsilon(), options.delta, options.relation)
        )
        with account.charged(training):
            yield


def count(
    options: argparse.Namespace,
    record: RunRecord,
    split: SemiPrivateSplit,
    *,
    sight: str | None = None,
) -> RunRecord:
    """The record before it is printed, where its model is to leave after what was paid for these
    rows and seen of them; its test accuracy is seen from then on. sight: as in `Account.count`."""
    account = receipts.account_of(split.features, options.dataset)
    if options.release and options.export:
        record = account.count(record, sight=sight)
    if record.accuracy is not None:
        account.look()
    return record


def finish(options: argparse.Namespace, record: RunRecord, split: SemiPrivateSplit) -> None:
    """Writes the model where that is asked for, and says where it is and what was spent on its
    rows."""
    if options.export:
        path = write_model(options.export, model_bytes(record, split=split, onnx=options.onnx))
        print(f"model written to {path}")
        account = receipts.account_of(split.features, options.dataset)
        print(
            *(training.words for training in account.trainings[-1:]), account.total(options.delta)
        )
