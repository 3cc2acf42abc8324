"""`advise`: which learner, which public set and what accuracy, before any private row is read;
`choose`: within ε, and trained."""

import argparse
import contextlib
import dataclasses
import sys

from pillar_core.arrays import Json
from pillar_core.commands import export
from pillar_core.commands import options as shared
from pillar_core.commands.options import (
    Commands,
    features_of,
    flag,
    is_table_file,
    option,
    several,
)
from pillar_core.data.encoding import misfits
from pillar_core.data.raw import MADE_UP
from pillar_core.errors import DataError
from pillar_core.runs.models import guarantee_card
from pillar_core.studies.advice import Advice, Prediction, advise, choose
from pillar_core.studies.advice.prediction import IN_WORDS


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    parser = shared.add_command(commands, "advise", _advise)
    chooser = shared.add_command(commands, "choose", _choose)
    for each in (parser, chooser):
        shared.add_data_options(each)
        candidates = several("public sets to weigh beside the others: registered names or files")
        shared.add_options(each, candidates=candidates, metric=shared.metric_option())
        shared.add_budget_options(each, has_accountant=False)
    shared.add_options(
        parser,
        alike=several(
            "candidates that you state to be like the private rows (own: --public)", "NAME"
        ),
        epsilon=option("privacy budget ε", float, 1.0),
        target_accuracy=option("in [0, 1]: look for the smallest ε that should reach it", float),
        seed=option("of the split and of the plays on public rows", int, 0),
        json=flag("print the advice as JSON"),
    )
    shared.add_options(
        chooser,
        backbones=several(
            "backbones of images or texts to choose among, without ε; the first is the default",
            default=None,
        ),
        epsilon=option("privacy budget ε of choice and training together", float, required=True),
        methods=several(
            "learners to take from (default: those that free advice prefers)", default=None
        ),
    )
    export.add_options(chooser, "choice")


def _advise(options: argparse.Namespace) -> int:
    """Prints the sentence, its grounds, and what every learner should reach."""
    split = shared.load_split(options, seed=options.seed)
    names = ("epsilon", "delta", "relation", "alike", "target_accuracy", "metric", "seed")
    advice = advise(
        split, candidates=_candidates(options) or None, **shared.fields_of(options, *names)
    )
    said = ("method", "settings", "backbone", "public", "epsilon", "sentence", "reasons", "price")
    if options.json:
        shared.print_form(shared.fields_of(advice, *said) | _expected(advice.expected))
    else:
        print(_words(advice))
    return 0


def _candidates(options: argparse.Namespace) -> dict[str, Json]:
    """The public sets to weigh by name; tables are read by the private one's recipe later."""
    return {
        name: name
        if name == MADE_UP or is_table_file(name)
        else features_of(name, options.backbone, {})
        for name in options.candidates
    }


def _expected(expected: Prediction) -> dict[str, Json]:
    return {
        "expected_accuracy": list(expected.accuracy),
        "predicted": expected.middle,
        "is_useful": expected.is_useful,
        "metric": expected.metric,
        "held": list(expected.held),
    }


def _words(advice: Advice) -> str:
    lines = [advice.sentence, *(f"why  {line}" for line in advice.reasons), f"price {advice.price}"]
    for guess in advice.predictions:
        low, high = (100 * end for end in guess.accuracy)
        accuracy = f"{100 * guess.middle:5.1f} %  ({low:.1f} to {high:.1f}){IN_WORDS[guess.metric]}"
        lines.append(f"{guess.method:<24} {guess.public:<24} {accuracy}")
    return "\n".join(lines)


def _choose(options: argparse.Namespace) -> int:
    options.backbone = options.backbones[0] if options.backbones else options.backbone
    split = shared.load_split(options, seed=options.seed)
    request = shared.fields_of(
        options, "epsilon", "delta", "relation", "methods", "backbones", "metric"
    )
    for name in filter(is_table_file, options.candidates):
        with contextlib.suppress(DataError):  # the choice says what it leaves out
            for note in misfits(shared.public_of(name, split.features).notes):
                print(f"note: {name}: {note}", file=sys.stderr)
    seed = None if options.release else options.seed
    with export.charged(options, split, "A choice and a training", lambda: options.epsilon):
        choice = choose(split, _candidates(options), **request, seed=seed)
    record = export.count(options, choice.record, choice.split)
    choice = dataclasses.replace(choice, record=record)
    if options.json:
        plain = shared.fields_of(choice, "public", "method", "settings", "reasons", "sentence")
        shared.print_form(
            plain
            | _expected(choice.expected)
            | {
                "backbone": choice.split.features.backbone,
                "accuracy": choice.record.accuracy,
                "guarantee": guarantee_card(choice.guarantee),
            }
        )
    else:
        print("\n".join([choice.sentence, *(f"why  {line}" for line in choice.reasons)]))
        if choice.expected.metric in choice.record.metrics:
            reached = f"{100 * choice.record.metrics[choice.expected.metric]:.2f} %"
            print(
                f"{choice.expected.metric.replace('_', ' ')}  {reached} (non-private release of the"
                " test rows)"
            )
    export.finish(options, choice.record, choice.split)
    return 0
