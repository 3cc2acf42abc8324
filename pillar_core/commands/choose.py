"""`choose`: private rows choose among public sets within ε, and the learner is trained with the rest of it."""

import argparse
import json

from pillar_core import params
from pillar_core.commands import options as shared
from pillar_core.commands.options import Commands, features_of, is_table_file
from pillar_core.runs import receipts
from pillar_core.runs.models import guarantee_card, save_model
from pillar_core.studies.advice import choose


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("choose", help="private rows choose among public sets within ε, and the model is trained")
    shared.add_data_options(parser)
    shared.add_column_options(parser)
    parser.add_argument("--candidates", nargs="+", default=[], help="public sets to choose among: registered names or files")
    parser.add_argument("--backbones", nargs="+", help="backbones of the images to choose among, without ε; the first is the default")
    parser.add_argument("--epsilon", type=float, required=True, help="privacy budget ε of choice and training together")
    parser.add_argument("--delta", type=float, default=params.DELTA.default)
    parser.add_argument("--relation", default="add_or_remove_one", help="add_or_remove_one or replace_one")
    parser.add_argument("--methods", nargs="+", help="learners to take from (default: those that free advice prefers)")
    parser.add_argument("--seed", type=int, default=0, help="seed of an experiment")
    parser.add_argument("--release", action="store_true", help="secret noise from the operating system instead of a seed")
    parser.add_argument("--export", metavar="FILE", help="write the model (release runs only)")
    parser.add_argument("--json", action="store_true", help="print the choice as JSON")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Chooses, trains and prints what was chosen."""
    options.backbone = options.backbones[0] if options.backbones else options.backbone
    split = shared.load_split(options, seed=options.seed)
    candidates = {name: name if is_table_file(name) else features_of(name, options.backbone, {}) for name in options.candidates}
    request = {name: getattr(options, name) for name in ("epsilon", "delta", "relation", "methods", "backbones")}
    if options.release and options.export:
        training = receipts.training_on(split, "A choice and a training", (options.epsilon, options.delta, options.relation))
        receipts.keep(receipts.content_of(split.features), training)
    choice = choose(split, candidates, **request, seed=None if options.release else options.seed)
    if options.json:
        names = ("public", "method", "settings", "expected_accuracy", "reasons", "sentence")
        plain = {name: getattr(choice, name) for name in names} | {
            "backbone": choice.split.features.backbone,
            "accuracy": choice.record.accuracy,
        }
        print(json.dumps(plain | {"guarantee": guarantee_card(choice.guarantee)}, indent=2, ensure_ascii=False))
    else:
        print("\n".join([choice.sentence, *(f"why  {line}" for line in choice.reasons)]))
        if choice.record.accuracy is not None:
            print(f"accuracy  {100 * choice.record.accuracy:.2f} % (non-private release of the test rows)")
    if options.export:
        print(f"model written to {save_model(choice.record, options.export, split=choice.split)}")
        print(receipts.words(split.features))
    return 0
