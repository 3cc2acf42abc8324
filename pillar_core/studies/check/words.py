"""What Check asks for and says: the words of `words.toml`, and the numbers of a run."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pillar_core import params

SAID: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FIELDS = {name: params.param_from(name, said) for name, said in SAID["fields"].items()}
"""The numbers of a run, with the values that a form starts from."""
ALTERNATIVES: Mapping[str, str] = SAID["alternatives"]
LIMITS = {name: dataclasses.replace(field, none_means="not known") for name, field in FIELDS.items()}
