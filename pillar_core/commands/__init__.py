"""Commands of `python -m pillar_core`, a file each or two that go together, which declares their
options."""

import argparse
import importlib

_COMMANDS = {
    "run": ("run", "train one learner within a privacy budget"),
    "compare": ("compare", "every learner that fits the data, at the same budgets"),
    "sweep": ("sweep", "train a grid of runs, from the cache where it can"),
    "papers": ("papers", "published tables beside our own runs"),
    "html": ("html", "write an explorer of one data set's runs as one HTML file"),
    "data": ("data", "data sets: what is here, how to get the others, what one holds"),
    "extract": ("data", "images through a backbone, into the cache; goes on after a kill"),
    "recipe": (
        "data",
        "how a table with words and gaps becomes numbers, as a file for the other commands",
    ),
    "screen": ("screen", "rank public sets for a private one"),
    "advise": ("advise", "which learner and public set to take, and what accuracy to expect"),
    "choose": (
        "advise",
        "private rows choose among public sets within ε, and the model is trained",
    ),
    "list": (
        "listing",
        "what there is by name: methods, datasets, scores …; or what is known of one of them",
    ),
    "epsilon": ("epsilon", "the ε of Gaussian steps with a given noise multiplier"),
    "noise": ("epsilon", "the noise multiplier that keeps Gaussian steps within ε"),
    "check": ("epsilon", "the certified ε of your own training, and what its library would say"),
    "predict": ("predict", "label new rows with an exported model, with probabilities"),
    "private-test": (
        "predict",
        "how good a model is on protected rows with labels, at an ε of their own",
    ),
    "evidence": ("predict", "one page of HTML on an exported model, for a data protection officer"),
    "cache": (
        "cache",
        "ls, verify, prune, export or import cached results, or hand runs to trackers",
    ),
    "starter": ("machine", "rebuild what ships for the first paint from embedded data"),
    "jobs": ("machine", "serve this cache folder's jobs until they are done"),
    "doctor": (
        "machine",
        "what a bug report needs: versions, mode, device, threads, cache, and what is missing",
    ),
}
"""Command → its module and its line of the help, which imports no module."""


def parser(command: str = "") -> argparse.ArgumentParser:
    """The parser of every command; of one that is named its module's alone, and of another word
    names and help alone, which spares imports."""
    top = argparse.ArgumentParser(
        prog="python -m pillar_core", description="Semi-private learning from the command line."
    )
    commands = top.add_subparsers(required=True, metavar="command")
    if command and command not in _COMMANDS:
        for name, (_, words) in _COMMANDS.items():
            commands.add_parser(name, help=words)
        return top
    own = (
        _COMMANDS[command][:1] if command else dict.fromkeys(name for name, _ in _COMMANDS.values())
    )
    for name in own:
        importlib.import_module(f"{__name__}.{name}").add_to(commands)
    return top
