"""Commands of `python -m pillar_core`, one file each: `commands.toml` says how they are called, and which function does it."""

import argparse
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pillar_core import params, store
from pillar_core.backbones.cards import BATCH_SIZE, DEVICE
from pillar_core.commands.listing import WHAT
from pillar_core.commands.options import DECLARED
from pillar_core.registry import facts
from pillar_core.screening import MODELS, SCORES
from pillar_core.studies.check import FIELDS, SAMPLERS
from pillar_core.studies.compare.views import COMPARE_VIEWS

_KINDS = {"int": int, "float": float, "Path": Path}
_CHOICES = {"kinds": store.KINDS, "samplers": tuple(SAMPLERS), "views": ("budgets", *COMPARE_VIEWS)}
_WORDS = {
    "params": params,
    "BATCH_SIZE": BATCH_SIZE,
    "DEVICE": DEVICE,
    "lists": ", ".join(WHAT),
    "models": ", ".join(MODELS),
    "scores": ", ".join(SCORES),
    "views_in_words": "; ".join(f"{name}: {view.title} ({view.source})" for name, view in COMPARE_VIEWS.items()),
}
_PARAMS = {"check": {f"--{one.name.replace('_', '-')}": {"type": one.kind.__name__, "help": one.help} for one in FIELDS.values()}}


def parser() -> argparse.ArgumentParser:
    """The parser of every command."""
    top = argparse.ArgumentParser(prog="python -m pillar_core", description="Semi-private learning from the command line.")
    _add_commands(top, facts(DECLARED)["commands"], metavar="command")
    return top


def _add_commands(above: argparse.ArgumentParser, commands: Mapping[str, Any], *, metavar: str) -> None:
    parsers = above.add_subparsers(required=True, metavar=metavar)
    for name, said in commands.items():
        below = parsers.add_parser(name, help=said["help"])
        if "actions" in said:
            _add_commands(below, said["actions"], metavar="action")
            continue
        for title in said.get("groups", ()):
            _add_options(below.add_argument_group(title), facts(DECLARED)["groups"][title])
        _add_options(below, _PARAMS.get(name, {}) | said.get("options", {}))
        module, _, function = said["do"].partition(".")
        below.set_defaults(command=getattr(importlib.import_module(f"{__name__}.{module}"), function))


def _add_options(parser: "argparse._ActionsContainer", options: Mapping[str, Mapping[str, Any]]) -> None:
    for name, said in options.items():
        how: dict[str, Any] = {word: one.format(**_WORDS) if isinstance(one, str) else one for word, one in said.items()}
        how |= {"type": _KINDS[how["type"]]} if "type" in how else {}
        how |= {"choices": _CHOICES[how["choices"]]} if isinstance(how.get("choices"), str) else {}
        parser.add_argument(name, **how)
