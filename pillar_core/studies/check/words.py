"""What Check asks for and says: the words of `words.toml`, and the numbers of a run."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from pillar_core import params
from pillar_core.registry import toml_tables
from pillar_core.types import Values

SAID: Values = toml_tables(Path(__file__).with_suffix(".toml"))
FIELDS = {name: params.param_from(name, entry) for name, entry in SAID["fields"].items()}
"""The numbers of a run, with the values that a form starts from."""
ALTERNATIVES: Mapping[str, str] = SAID["alternatives"]
LIMITS = {
    name: dataclasses.replace(field, none_means="not known") for name, field in FIELDS.items()
}
