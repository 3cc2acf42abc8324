"""`run`: train one learner and print what it reached and what it spent."""

import argparse
import math

from pillar_core import params
from pillar_core.arrays import Json
from pillar_core.backbones.text import zero_shot_accuracy
from pillar_core.commands import export
from pillar_core.commands import options as shared
from pillar_core.commands.options import Commands, flag, option
from pillar_core.methods import METHODS
from pillar_core.numerics import number_words, round_up
from pillar_core.runs.models import guarantee_card
from pillar_core.runs.run import run_declared, solve_spec
from pillar_core.types import RunRecord, RunSpec


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = shared.add_command(
        commands,
        "run",
        command,
        method=option("see `list methods`", default="pillar"),
        preset=option("named settings of the method, such as paper"),
        metric=shared.metric_option(),
        set=shared.assignments_option("a setting of the method, such as k=40"),
        chosen_beforehand=flag("you fixed the settings without a look at these rows"),
    )
    export.add_options(parser, "record")
    shared.add_data_options(parser)
    shared.add_options(
        parser.add_argument_group("class names"),
        text_embeddings=option(
            "vectors of class names: npz, or open_clip:<model>", metavar="SOURCE"
        ),
        text_weights=option(
            "weights of open_clip: a file, or a tag of its hub", metavar="FILE_OR_TAG"
        ),
    )
    group = parser.add_argument_group("privacy")
    shared.add_options(group, epsilon=shared.setting(params.EPSILON, "; inf: no noise"))
    shared.add_budget_options(group)


def command(options: argparse.Namespace) -> int:
    """Runs it."""
    METHODS[options.method]
    split = shared.load_split(options, seed=options.seed)
    seed = None if options.release else options.seed
    settings = shared.method_settings(options.method, options.set)
    budget = (options.epsilon, options.delta, options.relation, options.accountant)
    spec = RunSpec(options.method, *budget, seed, options.preset, settings, metric=options.metric)
    with export.charged(
        options,
        split,
        METHODS[options.method].title,
        lambda: solve_spec(spec, split).guarantee.epsilon.upper,
    ):
        record = run_declared(spec, split, options.chosen_beforehand or None)
    record = export.count(options, record, split, sight="" if options.chosen_beforehand else None)
    if options.json:
        shared.print_form(_plain(record))
    else:
        print(_words(record))
    if split.text_embeddings is not None and record.accuracy is not None and not options.json:
        alone = zero_shot_accuracy(split.features, split.text_embeddings)
        print(f"note class names alone, which read no train row (ε = 0), reach {alone:.2%}")
    export.finish(options, record, split)
    if options.export and record.guarantee.covers_choice is None:
        print(
            "note: it says that nobody knows how its settings were chosen; --chosen-beforehand if"
            " you fixed them without a look."
        )
    return 0


def _plain(record: RunRecord) -> dict[str, Json]:
    names = ("method", "accuracy", "metrics", "guarantee", "settings", "why", "notes", "seconds")
    plain = shared.fields_of(record, *names)
    return plain | {"guarantee": guarantee_card(record.guarantee)}


def _words(record: RunRecord) -> str:
    guarantee = record.guarantee
    upper, delta = guarantee.epsilon.upper, number_words(guarantee.delta)
    budget = (
        "no guarantee (ε = ∞)"
        if math.isinf(upper)
        else f"ε ≤ {round_up(upper, 6)} at δ = {delta}, {guarantee.relation}"
    )
    accuracy = (
        "no test rows"
        if record.accuracy is None
        else f"{100 * record.accuracy:.2f} % (non-private release of the test rows)"
    )
    lines = {
        "method": METHODS[record.method].title,
        "accuracy": accuracy,
        "guarantee": f"{budget}, accountant {guarantee.accountant}",
        "spent": "; ".join(guarantee.events),
        "settings": ", ".join(f"{name}={value}" for name, value in record.settings.items()),
        "time": f"{record.seconds:.2f} s",
    }
    extra = [f"why  {line}" for line in record.why] + [f"note {line}" for line in record.notes]
    return "\n".join([shared.as_lines(lines), *extra])
