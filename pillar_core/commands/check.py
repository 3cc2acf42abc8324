"""`check`: the certified ε of a training run with another library, from numbers or from its script."""

import argparse
from pathlib import Path

from pillar_core.errors import DataError
from pillar_core.numerics import upwards
from pillar_core.studies.check import FIELDS, check_run


def command(options: argparse.Namespace) -> int:
    """Prints the numbers counted and what is wrong, then ε by relation, the libraries' figures and advice; 1 where no ε is shown."""
    try:
        script = None if options.script is None else Path(options.script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{options.script} cannot be read as text: {error}.") from error
    found = check_run(**{name: getattr(options, name) for name in FIELDS}, sampler=options.sampler, script=script)
    print("counted: " + ", ".join(f"{name} = {value}" for name, value in found.counted.items()))
    for words in found.problems:
        print(f"! {words}")
    for words in found.conditions:
        print(f"if: {words}")
    if script is not None and not options.confirmed and any(found.epsilon.values()):
        print("Give --confirmed if the script's run has these numbers and meets these conditions: its epsilon is shown then.")
        return 1
    for relation, bounds in found.epsilon.items():
        print(f"certified, {relation}: {'none' if bounds is None else f'epsilon <= {upwards(bounds.upper, 6)}'}. {found.known[relation]}")
    for one in found.reported:
        print(f"{one.library}: epsilon {one.epsilon:.6g}. {one.why}")
    for words in found.advice:
        print(f"> {words}")
    return 0 if any(found.epsilon.values()) else 1
