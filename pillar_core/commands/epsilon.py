"""`epsilon` and `noise`: from noise to ε and back, for Gaussian steps on all rows or on Poisson samples."""

import argparse
from typing import Any

from pillar_core import accounting
from pillar_core.numerics import upwards


def epsilon(options: argparse.Namespace) -> int:
    """Prints lower, estimate and upper ε."""
    bounds = accounting.epsilon_of_gaussian(options.noise_multiplier, **_run(options))
    kind = "" if bounds.is_bound else "  (an approximation, not a bound)"
    print(f"epsilon  lower {bounds.lower:.6g}  estimate {bounds.estimate:.6g}  upper {upwards(bounds.upper, 6)}{kind}")
    return 0


def noise(options: argparse.Namespace) -> int:
    """Prints the noise multiplier."""
    print(f"noise_multiplier  {accounting.noise_multiplier(options.epsilon, **_run(options)):.6g}")
    return 0


def _run(options: argparse.Namespace) -> dict[str, Any]:
    names = ("sampling_probability", "steps", "delta", "accountant", "relation")
    return {name: getattr(options, name) for name in names}
