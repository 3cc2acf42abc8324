"""The command that trains a model once more: data by name or by file, so that it works on another
machine."""

import re
import shlex
from collections.abc import Mapping

from pillar_core.arrays import Json
from pillar_core.backbones.cards import BACKBONES
from pillar_core.data import DATASETS, uploads
from pillar_core.types import RunRecord, SemiPrivateSplit


def file_of(name: str) -> str:
    """The name of a registered set, or of the npz in which others find the rows that people call
    so."""
    if name in DATASETS:
        return name
    stem = re.sub(r"[^\w.-]+", "_", re.sub(r"\.\w+$", "", uploads.title_of(name))).lstrip("-._")
    return f"{stem or 'rows'}.npz"


def command_of(record: RunRecord, split: SemiPrivateSplit) -> str:
    """The shell command of an experiment with the settings of a run: the same learner on the same
    split, its noise of a known seed."""
    features, public = split.features, split.settings
    is_made = features.images is not None or features.given is not None
    has_backbone = is_made and features.backbone in BACKBONES
    # a file that says whose rows they are has no need of the number
    is_stated = split.rows_per_person is not None and features.persons is None
    return command(
        "run",
        record.settings,
        dataset=file_of(features.name),
        method=record.method,
        backbone=features.backbone if has_backbone else None,
        public_fraction=public["public_fraction"],
        public_per_class=public["public_per_class"],
        split_seed=public["seed"],
        public=None if public["public"] is None else file_of(split.public_name or "public"),
        rows_per_person=split.rows_per_person if is_stated else None,
        delta=record.guarantee.delta,
        relation=record.guarantee.relation,
    )


def command(verb: str, settings: Mapping[str, Json] = {}, /, **options: Json) -> str:
    """The shell command with those options that have a value, a list of values or True, and with
    the learner's settings."""
    words = ["python", "-m", "pillar_core", verb]
    for name, value in options.items():
        if value is not None:
            values = [] if value is True else value if isinstance(value, list) else [value]
            words += [f"--{name.replace('_', '-')}", *map(_word, values)]
    for name, value in settings.items():
        words += ["--set", f"{name}={value}"]
    return shlex.join(words)


def _word(value: Json) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)
