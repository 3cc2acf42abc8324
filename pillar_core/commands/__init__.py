"""Commands of `python -m pillar_core`, a file each or two that go together, which declares their
options."""

import argparse
import importlib

_MODULES = {
    **{name: (name,) for name in ("run", "compare", "sweep", "papers", "html")},
    "data": ("data", "extract", "recipe"),
    "screen": ("screen",),
    "advise": ("advise", "choose"),
    "listing": ("list",),
    "epsilon": ("epsilon", "noise", "check"),
    "predict": ("predict", "private-test", "evidence"),
    "cache": ("cache",),
    "machine": ("starter", "jobs", "doctor"),
}
"""Module → its commands, in the order of the help."""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of every command; of one that is named its module's alone, which spares the other
    modules' imports."""
    top = argparse.ArgumentParser(
        prog="python -m pillar_core", description="Semi-private learning from the command line."
    )
    commands = top.add_subparsers(required=True, metavar="command")
    for name in [name for name, own in _MODULES.items() if command in own] or _MODULES:
        importlib.import_module(f"{__name__}.{name}").add_to(commands)
    return top
