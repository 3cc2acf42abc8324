"""Options that commands share: data, split, budget, and a method's own settings, made from its
parameters."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from pillar_core import params, texts
from pillar_core.arrays import Json
from pillar_core.backbones.names import literal
from pillar_core.backbones.text import text_embeddings
from pillar_core.data import DATASETS, load, raw, recipes
from pillar_core.data.raw import Roles
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS
from pillar_core.metrics import FIGURES
from pillar_core.numerics import round_up
from pillar_core.params import Param
from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import (
    BACKBONE,
    default_backbone,
    load_named_features,
    public_features,
    split,
)
from pillar_core.types import FeatureSet, Progress, PublicUse, SemiPrivateSplit

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""
Group: TypeAlias = "argparse.ArgumentParser | argparse._ArgumentGroup"
Declaration: TypeAlias = dict[str, Any]
"""What argparse takes of an option."""
_SECONDS_BETWEEN_LINES = 1.0


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    /,
    help: str | None = None,
    **options: Declaration,
) -> argparse.ArgumentParser:
    """The parser of a command that calls `run`, with these options."""
    parser = commands.add_parser(name, help=help)
    parser.set_defaults(command=run)
    add_options(parser, **options)
    return parser


def add_options(group: Group, /, **options: Declaration) -> None:
    """Adds options by name, each as `flag`, `option` or `setting` declares it."""
    for name, declaration in options.items():
        group.add_argument(f"--{name.replace('_', '-')}", **declaration)


def flag(help: str) -> Declaration:
    """An option that is on where it is given."""
    return {"action": "store_true", "help": help}


def option(
    help: str, kind: type = str, default: Json = None, metavar: str | None = None, **more: Json
) -> Declaration:
    """An option with a value of this type; more: as argparse has it."""
    return {"type": kind, "default": default, "metavar": metavar, "help": help, **more}


def several(help: str, metavar: str | None = None, **more: Json) -> Declaration:
    """An option with one value or more."""
    return {"nargs": "+", "default": [], "metavar": metavar, "help": help, **more}


def assignments_option(help: str) -> Declaration:
    """An option that is given as often as there is something to set."""
    return {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": help}


def setting(param: Param, more: str = "", **changes: Json) -> Declaration:
    """An option with the type, default and help of a declared setting, and `more` words on it."""
    help = f"{param.help} ({param.range}{more})"
    return {"type": param.kind, "default": param.default, "help": help, **changes}


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Options that name the rows, which of them are public, what columns of a table mean, and whose
    the rows are."""
    add_options(
        parser.add_argument_group("data"),
        dataset=option(
            "a registered data set, or a file: npz or table; folder or zip of images",
            default="digits",
        ),
        dataset_setting=assignments_option("a setting of a generated data set"),
        backbone=option(
            "features of images: a registered backbone (default: the card's; of large images in a"
            " file the network that comes along); of a table: ramps, bins or fourier (default: as"
            " given)"
        ),
        public_fraction=option("share of the train rows that is public, in (0, 1)", float),
        public_per_class=option("public rows a class, instead", int),
        public=option(
            "another data set or file whose train rows are public, instead; made_up: drawn from"
            " what --recipe declares"
        ),
        allow_overlap=flag("accept public rows that are private rows"),
        split_seed=option("seed of the split (default: the run's seed)", int),
    )
    add_column_options(parser)
    add_options(
        parser.add_argument_group(
            "several rows of one person, as a table's --person or `persons` in a npz say"
        ),
        rows_per_person=option(
            "rows of a person that are kept (1: the first, or as declared)", int, 1
        ),
    )


def add_column_options(parser: argparse.ArgumentParser, *, for_recipe: bool = False) -> None:
    """Options that say what the columns of a table mean; of one that a recipe is written from,
    without what the recipe says then."""
    group = parser.add_argument_group("columns of a table")
    add_options(
        group,
        label=option(
            "of a table: what is predicted (else a column named so, or alone of words)",
            metavar="COLUMN",
            required=for_recipe,
        ),
        person=option("of a table: whose the rows are; ε is then a person's", metavar="COLUMN"),
        leave_out=several("columns of a table to leave out", "COLUMN", action="extend"),
        text=option("of a table: whose texts become numbers, each by itself", metavar="COLUMN"),
    )
    if for_recipe:
        return
    add_options(
        group,
        range=several(
            "what columns of numbers can hold, in their unit; public rows are compared with it",
            "COLUMN=LOW:HIGH",
            action="extend",
            dest="ranges",
        ),
        recipe=option(
            "how a table becomes numbers (default: as the first public table)", metavar="FILE"
        ),
    )


def metric_option() -> Declaration:
    """The option that says which number is wanted."""
    told = "the number that you want (default: accuracy, balanced where classes are unequal)"
    return option(told, choices=FIGURES)


def relation_option() -> Declaration:
    """The option that says what neighbouring data sets are."""
    return option("add_or_remove_one or replace_one", default="add_or_remove_one")


def add_budget_options(group: Group, *, has_accountant: bool = True) -> None:
    """Options that say under which relation δ and ε are counted, and by whom."""
    add_options(group, delta=setting(params.DELTA), relation=relation_option())
    if has_accountant:
        add_options(group, accountant=option("see `list accountants`", default="auto"))


def print_form(form: Mapping[str, Json]) -> None:
    """Prints a result as JSON."""
    print(json.dumps(form, indent=2, ensure_ascii=False))


def print_table(table: pd.DataFrame) -> None:
    """Prints it with four digits, and upper ends of ε rounded up."""
    print(
        table.to_string(
            index=False,
            float_format=lambda value: f"{value:.4g}",
            formatters={"epsilon_upper": round_up},
        )
    )


def printable(text: object) -> str:
    """A text of which a terminal obeys nothing but ends of lines: servers and files send what
    terminals obey."""
    return "".join(sign if sign.isprintable() or sign == "\n" else "�" for sign in str(text))


def printer(*, unit: str = "rows") -> Progress:
    """A line on standard error that says how far it is and, from what was done since the start, how
    long it will take."""
    begun: tuple[float, int] | None = None
    printed = 0.0

    def show(count: int, total: int, message: str = "") -> None:
        nonlocal begun, printed
        now = time.monotonic()
        begun = begun or (now, count)
        if now - printed < _SECONDS_BETWEEN_LINES and count < total:
            return
        printed = now
        since, new = now - begun[0], count - begun[1]
        left = f"{since / new * (total - count):.0f} s left" if new else ""
        print(
            f"\r{count:,} of {total:,} {unit}  {left:<12} {message:<80}",
            end="\n" if count >= total else "",
            file=sys.stderr,
            flush=True,
        )

    return show


def load_split(options: argparse.Namespace, *, seed: int) -> SemiPrivateSplit:
    """The split that the options describe."""
    options.backbone = options.backbone or default_backbone(options.dataset)
    public_names = [*filter(None, (options.public, *getattr(options, "candidates", ())))]
    if public_names[1:]:  # then what --public names is weighed as one of several
        options.candidates, options.public = public_names, None
    features = private_of(
        options.dataset, options, public_names, settings=assignments(options.dataset_setting)
    )
    options.backbone = options.backbone or (
        BACKBONE if features.backbone == BACKBONE else None
    )  # for all that is read beside it
    public = options.public or _made_up_by_default(options, features)
    pairs = None if public is None else public_of(public, features, options.backbone)
    drawn = split(
        features,
        public=pairs,
        text_embeddings=_class_names(options, features),
        seed=seed if options.split_seed is None else options.split_seed,
        **fields_of(
            options, "public_fraction", "public_per_class", "allow_overlap", "rows_per_person"
        ),
    )
    if is_table_file(options.dataset):
        for note in dict.fromkeys((*features.notes, *(pairs.notes if pairs else ()), *drawn.notes)):
            print(f"note: {note}", file=sys.stderr)
    return drawn


def _made_up_by_default(options: argparse.Namespace, private: FeatureSet) -> str | None:
    """Rows from declared ranges, where no other public rows are named and the one learner asked for
    reads unlabelled ones."""
    learner = METHODS[options.method] if isinstance(getattr(options, "method", None), str) else None
    is_named = options.public_fraction is not None or options.public_per_class is not None
    wanted = learner is not None and learner.public_use is PublicUse.UNLABELLED and not is_named
    return raw.MADE_UP if wanted and not raw.why_not_made_up(private) else None


def _class_names(options: argparse.Namespace, features: FeatureSet) -> Json:
    """The vectors of the class names, where the command has such options and they are given."""
    source, weights = (getattr(options, name, None) for name in ("text_embeddings", "text_weights"))
    if source is None:
        if weights is not None:
            raise SettingError("--text-weights go with --text-embeddings open_clip:<model>.")
        return None
    return text_embeddings(features.classes, source, weights=weights)


def method_settings(method: str, pairs: list[str]) -> dict[str, Json]:
    """NAME=VALUE pairs as the method's settings, each read as its parameter's type.

    Raises SettingError: a name that the method does not have, or a value that cannot be read.
    """
    known = params.params_of(METHODS[method].settings)
    values = assignments(pairs)
    for name in values:
        if name not in known:
            raise SettingError(f"{method} has no setting {name}; it has {', '.join(known)}.")
    return {name: known[name].check(value) for name, value in values.items()}


def assignments(pairs: list[str]) -> dict[str, Json]:
    """NAME=VALUE pairs as a mapping; numbers, true, false and none are read as such."""
    return {
        name.replace("-", "_"): None if text.lower() == "none" else literal(text)
        for name, text in texts_by_name(pairs, "settings are written NAME=VALUE").items()
    }


def texts_by_name(pairs: list[str], words: str) -> dict[str, str]:
    """Texts by what stands before their equals sign. Raises SettingError, in these words: a pair
    without a name or a sign."""
    texts = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"{words}; got {pair!r}.")
        texts[name.strip()] = text.strip()
    return texts


def fields_of(thing: object, *names: str) -> dict[str, Json]:
    """What options, or a result, hold under these names."""
    return {name: getattr(thing, name) for name in names}


def settings_words(settings: type) -> dict[str, str]:
    """What each declared setting is, by name."""
    return {
        name: f"{param.help} {param.range}; default {param.default}"
        for name, param in params.params_of(settings).items()
    }


def as_lines(values: Mapping[str, Json]) -> str:
    """Two aligned columns."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in values.items())


def private_of(
    name: str,
    options: argparse.Namespace,
    public: Sequence[str],
    *,
    settings: Mapping[str, Json] | None = None,
) -> FeatureSet:
    """The private features: a table as its options, its recipe or the first public table say,
    anything else as `features_of`."""
    most, backbone = getattr(options, "rows_per_person", 1), getattr(options, "backbone", None)
    roles = Roles(
        options.label,
        options.person,
        tuple(options.leave_out),
        options.recipe,
        None if most == 1 else most,
        options.text,
        str(backbone) if texts.is_encoder(backbone) else None,
        recipes.ranges_of(",".join(options.ranges)),
    )
    if is_table_file(name):
        return load_features(load(name, roles, list(filter(is_table_file, public))), backbone)
    if roles:
        raise SettingError(
            "--label, --person, --leave-out, --text, --range and --recipe go with a table; got"
            f" {name!r}."
        )
    return features_of(name, backbone, settings or {})


def public_of(name: str, private: FeatureSet, backbone: str | None = None) -> FeatureSet:
    """The features of public rows: a table, or made-up rows, by the private table's recipe,
    anything else as `features_of`."""
    through = backbone or (BACKBONE if private.backbone == BACKBONE else None)
    return (
        public_features(name, private)
        if name == raw.MADE_UP or is_table_file(name)
        else features_of(name, through, {})
    )


def is_table_file(name: str) -> bool:
    """Whether a name is that of a table, and no data set's."""
    return name not in DATASETS and raw.is_table(name)


def features_of(name: str, backbone: str | None, settings: Mapping[str, Json]) -> FeatureSet:
    """A registered data set or a file, through the backbone."""
    if name not in DATASETS and Path(name).exists():
        rows = load(name)
        return load_features(rows, backbone or default_backbone(name, rows))
    return load_named_features(name, backbone, settings)
