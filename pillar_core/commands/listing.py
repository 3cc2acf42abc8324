"""`list`: what there is, by name: every registry, or what is known of one item."""

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from pillar_core.accounting import ACCOUNTANTS
from pillar_core.backbones import BACKBONES
from pillar_core.commands.options import Commands, add_command, as_lines, settings_words
from pillar_core.data import DATASETS
from pillar_core.jobs import JOB_KINDS
from pillar_core.methods import METHODS
from pillar_core.metrics import METRICS
from pillar_core.registry import Registry, unknown_name
from pillar_core.screening import MODELS, SCORES
from pillar_core.studies.compare.views import COMPARE_VIEWS
from pillar_core.studies.papers import TABLES
from pillar_core.theory import CALCULATORS

_REGISTRIES: tuple[Registry[Any], ...] = (
    METHODS,
    DATASETS,
    BACKBONES,
    ACCOUNTANTS,
    SCORES,
    MODELS,
    METRICS,
    CALCULATORS,
    COMPARE_VIEWS,
    TABLES,
    JOB_KINDS,
)
WHAT: Mapping[str, Registry[Any]] = {
    f"{registry.noun.replace(' ', '-')}s": registry for registry in _REGISTRIES
}
"""Every registry by the word that `list` takes."""


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = add_command(commands, "list", command)
    parser.add_argument("what", nargs="?", help=f"one of {', '.join(WHAT)}, or the name of an item")


def command(options: argparse.Namespace) -> int:
    """Prints it."""
    if options.what in WHAT or options.what is None:
        for name in [options.what] if options.what else WHAT:
            print(
                f"{name}:\n{as_lines({item: thing.title for item, thing in WHAT[name].items()})}\n"
            )
        return 0
    matches = [
        (registry.noun, registry[options.what])
        for registry in _REGISTRIES
        if options.what in registry
    ]
    if not matches:
        raise unknown_name(
            "item or list",
            options.what,
            [*WHAT, *(name for registry in _REGISTRIES for name in registry)],
            listed=WHAT,
        )
    for kind, item in matches:
        print(f"{item.title} ({kind})\n{as_lines(_facts(item))}\n")
    return 0


def _facts(item: Any) -> dict[str, str]:
    """What an item declares in words and numbers, and its settings."""
    names = [field.name for field in dataclasses.fields(item)] + [
        name for name, value in vars(type(item)).items() if isinstance(value, property)
    ]
    values = {name: getattr(item, name) for name in names if name not in ("name", "title")}
    facts = {
        name.replace("_", " "): _words(value)
        for name, value in values.items()
        if isinstance(value, str | int | float | frozenset | tuple)
    }
    if isinstance(values.get("settings"), type):
        facts |= settings_words(values["settings"])
    return {name: fact for name, fact in facts.items() if fact}


def _words(value: object) -> str:
    if isinstance(value, frozenset | tuple):
        return ", ".join(sorted(map(str, value)))
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
