"""`epsilon` and `noise`: from noise to ε and back, for Gaussian steps on all rows or on Poisson samples."""

import argparse

from pillar_core import accounting, params
from pillar_core.arrays import Json
from pillar_core.commands.options import Commands
from pillar_core.numerics import round_up


def add_to(commands: Commands) -> None:
    """Adds the commands and their options."""
    forward = commands.add_parser("epsilon", help="the ε of Gaussian steps with a given noise multiplier")
    forward.add_argument("noise_multiplier", type=float, help=params.NOISE_MULTIPLIER.help)
    back = commands.add_parser("noise", help="the noise multiplier that keeps Gaussian steps within ε")
    back.add_argument("epsilon", type=float, help=params.EPSILON.help)
    for parser, command in ((forward, epsilon), (back, noise)):
        parser.add_argument("--sampling-probability", type=float, default=1.0, help="Poisson sampling probability q in (0, 1]")
        parser.add_argument("--steps", type=int, default=1, help=params.STEPS.help)
        parser.add_argument("--delta", type=float, default=params.DELTA.default, help=params.DELTA.help)
        parser.add_argument("--accountant", default="auto", help="see `list accountants`")
        parser.add_argument("--relation", default="add_or_remove_one", help="add_or_remove_one or replace_one")
        parser.set_defaults(command=command)


def epsilon(options: argparse.Namespace) -> int:
    """Prints lower, estimate and upper ε."""
    bounds = accounting.epsilon_of_gaussian(options.noise_multiplier, **_run(options))
    kind = "" if bounds.is_bound else "  (an approximation, not a bound)"
    print(f"epsilon  lower {bounds.lower:.6g}  estimate {bounds.estimate:.6g}  upper {round_up(bounds.upper, 6)}{kind}")
    return 0


def noise(options: argparse.Namespace) -> int:
    """Prints the noise multiplier."""
    print(f"noise_multiplier  {accounting.noise_multiplier(options.epsilon, **_run(options)):.6g}")
    return 0


def _run(options: argparse.Namespace) -> dict[str, Json]:
    names = ("sampling_probability", "steps", "delta", "accountant", "relation")
    return {name: getattr(options, name) for name in names}
