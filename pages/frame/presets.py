"""What Home offers: four doors and six settings worth seeing, each with what to notice."""

import dataclasses
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pages.frame.settings import Value


@dataclasses.dataclass(frozen=True)
class Door:
    """One way in: the page it opens and the settings it changes."""

    name: str
    title: str
    icon: str
    text: str
    action: str
    page: str
    changes: Mapping[str, Value]


@dataclasses.dataclass(frozen=True)
class Preset:
    """Settings that show something, and what to look at; all other settings go to their defaults."""

    name: str
    title: str
    notice: str
    changes: Mapping[str, Value]


_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
DOORS = tuple(Door(**door) for door in _FILE["doors"])
PRESETS = tuple(Preset(**preset) for preset in _FILE["presets"])
