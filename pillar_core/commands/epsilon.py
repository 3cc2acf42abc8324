"""`epsilon` and `noise`: from noise to ε and back, for Gaussian steps on all rows or on Poisson
samples; `check`: the certified ε of a training run with another library, from numbers or from its
script.
"""

import argparse
from pathlib import Path

from pillar_core import accounting, params
from pillar_core.arrays import Json
from pillar_core.commands.options import (
    Commands,
    add_budget_options,
    add_command,
    add_options,
    fields_of,
    flag,
    option,
)
from pillar_core.errors import DataError
from pillar_core.numerics import round_up
from pillar_core.studies.check import FIELDS, SAMPLERS, check_run


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    for command, given in ((epsilon, params.NOISE_MULTIPLIER), (noise, params.EPSILON)):
        parser = add_command(
            commands,
            command.__name__,
            command,
            sampling_probability=option("Poisson sampling probability q in (0, 1]", float, 1.0),
            steps=option(params.STEPS.help, int, 1),
        )
        parser.add_argument(given.name, type=float, help=given.help)
        add_budget_options(parser)
    parser = add_command(
        commands,
        "check",
        check,
        command=option(
            "the command line that starts the script, in quotes; its options count", dest="start"
        ),
        sampler=option(
            "how batches are drawn (default: the script's, else poisson)", choices=(*SAMPLERS,)
        ),
        confirmed=flag("the run has these numbers and meets the conditions: show its ε"),
    )
    add_options(parser, **{field.name: option(field.help, field.kind) for field in FIELDS.values()})
    parser.add_argument("script", nargs="?", help="Python script or configuration; read, never run")


def epsilon(options: argparse.Namespace) -> int:
    """Prints lower, estimate and upper ε."""
    bounds = accounting.epsilon_of_gaussian(options.noise_multiplier, **_run(options))
    kind = "" if bounds.is_bound else "  (an approximation, not a bound)"
    print(
        f"epsilon  lower {bounds.lower:.6g}  estimate {bounds.estimate:.6g}  upper"
        f" {round_up(bounds.upper, 6)}{kind}"
    )
    return 0


def noise(options: argparse.Namespace) -> int:
    """Prints the noise multiplier."""
    print(f"noise_multiplier  {accounting.noise_multiplier(options.epsilon, **_run(options)):.6g}")
    return 0


def _run(options: argparse.Namespace) -> dict[str, Json]:
    return fields_of(options, "sampling_probability", "steps", "delta", "accountant", "relation")


def check(options: argparse.Namespace) -> int:
    """Prints the numbers counted and what is wrong, then ε by relation, the libraries' figures and
    advice; 1 where no ε is shown."""
    try:
        script = (
            None if options.script is None else Path(options.script).read_text(encoding="utf-8")
        )
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{options.script} cannot be read as text: {error}.") from error
    given = fields_of(options, *FIELDS, "sampler")
    result = check_run(**given, script=script, command=options.start)
    print("counted: " + ", ".join(f"{name} = {value}" for name, value in result.counted.items()))
    for line in result.problems:
        print(f"! {line}")
    for line in result.conditions:
        print(f"if: {line}")
    if script is not None and not options.confirmed and any(result.epsilon.values()):
        print(
            "Give --confirmed if the script's run has these numbers and meets these conditions: its"
            " epsilon is shown then."
        )
        return 1
    for relation, bounds in result.epsilon.items():
        print(
            f"certified, {relation}:"
            f" {'none' if bounds is None else f'epsilon <= {round_up(bounds.upper, 6)}'}."
            f" {result.known[relation]}"
        )
    for report in result.reported:
        print(f"{report.library}: epsilon {report.epsilon:.6g}. {report.why}")
    for line in result.advice:
        print(f"> {line}")
    return 0 if any(result.epsilon.values()) else 1
