"""The command that trains a model once more: data by name or by file, so that it works on another
machine."""

import re
import shlex

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
    words = [
        "python",
        "-m",
        "pillar_core",
        "run",
        "--dataset",
        file_of(features.name),
        "--method",
        record.method,
    ]
    words += (
        ["--backbone", features.backbone]
        if features.images is not None and features.backbone in BACKBONES
        else []
    )
    drawn = {
        "public-fraction": public["public_fraction"],
        "public-per-class": public["public_per_class"],
        "split-seed": public["seed"],
    }
    drawn["public"] = None if public["public"] is None else file_of(split.public_name or "public")
    if split.rows_per_person is not None and features.persons is None:
        drawn |= {
            "rows-per-person": split.rows_per_person
        }  # the file holds whose rows they are, as `persons`
    words += [
        word
        for name, value in drawn.items()
        if value is not None
        for word in (f"--{name}", str(value))
    ]
    words += [
        "--delta",
        f"{record.guarantee.delta:g}",
        "--relation",
        str(record.guarantee.relation),
    ]
    return shlex.join(
        [
            *words,
            *(
                word
                for name, value in record.settings.items()
                for word in ("--set", f"{name}={value}")
            ),
        ]
    )
