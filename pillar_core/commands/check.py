"""`check`: the certified ε of a training run with another library, from numbers or from its script."""

import argparse
from pathlib import Path

from pillar_core.commands.options import Commands
from pillar_core.errors import DataError
from pillar_core.numerics import round_up
from pillar_core.studies.check import FIELDS, SAMPLERS, check_run


def add_to(commands: Commands) -> None:
    """Adds the command and its options."""
    parser = commands.add_parser("check", help="the certified ε of your own training, and what its library would say")
    for field in FIELDS.values():
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=field.kind, help=field.help)
    parser.add_argument("script", nargs="?", help="Python script or configuration; read, never run")
    parser.add_argument("--sampler", choices=tuple(SAMPLERS), help="how batches are drawn (default: the script's, else poisson)")
    parser.add_argument("--confirmed", action="store_true", help="the run has these numbers and meets the conditions: show its ε")
    parser.set_defaults(command=command)


def command(options: argparse.Namespace) -> int:
    """Prints the numbers counted and what is wrong, then ε by relation, the libraries' figures and advice; 1 where no ε is shown."""
    try:
        script = None if options.script is None else Path(options.script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{options.script} cannot be read as text: {error}.") from error
    result = check_run(**{name: getattr(options, name) for name in FIELDS}, sampler=options.sampler, script=script)
    print("counted: " + ", ".join(f"{name} = {value}" for name, value in result.counted.items()))
    for line in result.problems:
        print(f"! {line}")
    for line in result.conditions:
        print(f"if: {line}")
    if script is not None and not options.confirmed and any(result.epsilon.values()):
        print("Give --confirmed if the script's run has these numbers and meets these conditions: its epsilon is shown then.")
        return 1
    for relation, bounds in result.epsilon.items():
        print(f"certified, {relation}: {'none' if bounds is None else f'epsilon <= {round_up(bounds.upper, 6)}'}. {result.known[relation]}")
    for report in result.reported:
        print(f"{report.library}: epsilon {report.epsilon:.6g}. {report.why}")
    for line in result.advice:
        print(f"> {line}")
    return 0 if any(result.epsilon.values()) else 1
