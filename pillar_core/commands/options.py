"""Options that commands share: data, split, budget, and a method's own settings, made from its parameters."""

import argparse
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pillar_core import params
from pillar_core.backbones.names import literal
from pillar_core.backbones.text import text_embeddings
from pillar_core.data import DATASETS
from pillar_core.data.cards import default_backbone
from pillar_core.data.parts import place_of
from pillar_core.errors import DataError, SettingError
from pillar_core.methods import METHODS
from pillar_core.runs.loading import load_features
from pillar_core.runs.splitting import named_features, split
from pillar_core.types import FeatureSet, Progress, SemiPrivateSplit

_SECONDS_BETWEEN_LINES = 1.0


def add_data(parser: argparse.ArgumentParser) -> None:
    """Options that name features and their split."""
    group = parser.add_argument_group("data")
    group.add_argument("--dataset", default="digits", help="a registered data set, or a file: npz, csv, parquet, folder or zip of images")
    group.add_argument("--dataset-setting", action="append", default=[], metavar="NAME=VALUE", help="a setting of a generated data set")
    group.add_argument("--backbone", help="features of images: a registered backbone (default: as the card says, else numbers as they are)")
    group.add_argument("--public-fraction", type=float, help="share of the train rows that is public, in (0, 1)")
    group.add_argument("--public-per-class", type=int, help="public rows a class, instead")
    group.add_argument("--public", help="another data set or file whose train rows are public, instead")
    group.add_argument("--allow-overlap", action="store_true", help="accept public rows that are private rows")
    group.add_argument("--split-seed", type=int, help="seed of the split (default: the run's seed)")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """Options that name a budget."""
    group = parser.add_argument_group("privacy")
    group.add_argument("--epsilon", type=float, help=f"{params.EPSILON.help} ({params.EPSILON.range}; inf: no noise)")
    group.add_argument("--delta", type=float, default=params.DELTA.default, help=f"{params.DELTA.help} ({params.DELTA.range})")
    group.add_argument("--relation", default="add_or_remove_one", help="add_or_remove_one or replace_one")
    group.add_argument("--accountant", default="auto", help="see `list accountants`")


def add_persons(parser: argparse.ArgumentParser) -> None:
    """Options that say whose rows are whose."""
    group = parser.add_argument_group("several rows of one person")
    group.add_argument("--persons", metavar="FILE", help="text that names the person of each train row, a line each: ε is then a person's")
    group.add_argument("--rows-per-person", type=int, default=1, help="rows of a person that are kept (1: the first, or as declared)")


def add_class_names(parser: argparse.ArgumentParser) -> None:
    """Options that bring class names into the feature space, for a start from text."""
    group = parser.add_argument_group("class names")
    hint = "class names as vectors: an npz with text_embeddings, or open_clip:<model>; for initialisation=text"
    group.add_argument("--text-embeddings", metavar="SOURCE", help=hint)
    group.add_argument("--text-weights", metavar="FILE_OR_TAG", help="weights of that model: a file, or a tag of its hub")


def printer(*, unit: str = "rows") -> Progress:
    """A line on standard error that says how far it is and, from what was done since the start, how long it will take."""
    begun: tuple[float, int] | None = None
    printed = 0.0

    def show(done: int, total: int, message: str = "") -> None:
        nonlocal begun, printed
        now = time.monotonic()
        begun = begun or (now, done)
        if now - printed < _SECONDS_BETWEEN_LINES and done < total:
            return
        printed = now
        since, new = now - begun[0], done - begun[1]
        left = f"{since / new * (total - done):.0f} s left" if new else ""
        print(f"\r{done:,} of {total:,} {unit}  {left:<12} {message:<60}", end="\n" if done >= total else "", file=sys.stderr, flush=True)

    return show


def load_split(options: argparse.Namespace, *, seed: int) -> SemiPrivateSplit:
    """The split that the options describe."""
    options.backbone = options.backbone or default_backbone(options.dataset)
    features = features_of(options.dataset, options.backbone, assignments(options.dataset_setting))
    return split(
        features,
        public_fraction=options.public_fraction,
        public_per_class=options.public_per_class,
        public=None if options.public is None else features_of(options.public, options.backbone, {}),
        text_embeddings=_class_names(options, features),
        persons=_persons(options),
        rows_per_person=getattr(options, "rows_per_person", 1),
        allow_overlap=options.allow_overlap,
        seed=seed if options.split_seed is None else options.split_seed,
    )


def _persons(options: argparse.Namespace) -> list[str] | None:
    """Who the rows belong to, where the command has such options and they are given."""
    path = getattr(options, "persons", None)
    if path is None:
        return None
    try:
        return place_of(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the persons could not be read from {path} ({error}); name a text file with a line for each train row.") from error


def _class_names(options: argparse.Namespace, features: FeatureSet) -> Any:
    """The vectors of the class names, where the command has such options and they are given."""
    source, weights = (getattr(options, name, None) for name in ("text_embeddings", "text_weights"))
    if source is None:
        if weights is not None:
            raise SettingError("--text-weights go with --text-embeddings open_clip:<model>.")
        return None
    return text_embeddings(features.classes, source, weights=weights)


def method_settings(method: str, given: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs as the method's settings, each read as its parameter's type.

    Raises:
        SettingError: a name that the method does not have, or a value that cannot be read.
    """
    known = params.params_of(METHODS[method].settings)
    values = assignments(given)
    for name in values:
        if name not in known:
            raise SettingError(f"{method} has no setting {name}; it has {', '.join(known)}.")
    return {name: known[name].check(value) for name, value in values.items()}


def assignments(given: list[str]) -> dict[str, Any]:
    """NAME=VALUE pairs as a mapping; numbers, true, false and none are read as such."""
    values: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise SettingError(f"settings are written NAME=VALUE; got {pair!r}.")
        values[name.strip().replace("-", "_")] = None if text.strip().lower() == "none" else literal(text.strip())
    return values


def as_lines(values: Mapping[str, Any]) -> str:
    """Two aligned columns."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in values.items())


def show_progress(done: int, total: int, message: str = "") -> None:
    """Rewrites one line on standard error; the last step ends it."""
    print(f"\r{done}/{total} {message:<40}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def features_of(name: str, backbone: str | None, settings: Mapping[str, Any]) -> FeatureSet:
    """A registered data set or a file, through the backbone."""
    if name not in DATASETS and Path(name).exists():
        return load_features(name, backbone)
    return named_features(name, backbone, settings)
