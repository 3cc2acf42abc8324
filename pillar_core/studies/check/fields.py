"""The numbers of a run that Check asks for, and what may stand for each."""

import dataclasses
from pathlib import Path

from pillar_core import params
from pillar_core.registry import toml_tables

FIELDS = {
    name: params.param_from(name, entry)
    for name, entry in toml_tables(Path(__file__).with_suffix(".toml")).items()
}
"""The numbers of a run, with the values that a form starts from."""
ALTERNATIVES = {
    "steps": "epochs",
    "epochs": "steps",
    "noise_multiplier": "epsilon",
    "epsilon": "noise_multiplier",
}
LIMITS = {
    name: dataclasses.replace(field, none_means="not known") for name, field in FIELDS.items()
}
