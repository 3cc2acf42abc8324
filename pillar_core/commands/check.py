"""`check`: the certified ε of a training run with another library, from numbers or from its script."""

import argparse
from pathlib import Path

from pillar_core.errors import DataError
from pillar_core.studies.check import FIELDS, check_run


def command(options: argparse.Namespace) -> int:
    """Prints ε by relation, the libraries' figures, problems and advice; 1 where nothing is certified."""
    try:
        script = None if options.script is None else Path(options.script).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{options.script} cannot be read as text: {error}.") from error
    found = check_run(**{name: getattr(options, name) for name in FIELDS}, sampler=options.sampler, script=script)
    for relation, bounds in found.epsilon.items():
        print(f"certified, {relation}: {'none' if bounds is None else f'epsilon <= {bounds.upper:.6g}'}. {found.known[relation]}")
    for one in found.reported:
        print(f"{one.library}: epsilon {one.epsilon:.6g}. {one.why}")
    for words in found.problems:
        print(f"! {words}")
    for words in found.advice:
        print(f"> {words}")
    return 0 if any(found.epsilon.values()) else 1
