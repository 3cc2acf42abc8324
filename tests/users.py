"""What a user types, and what a user reads."""

import shlex
from collections.abc import Iterable

from pillar_core.__main__ import main


def run_command(line: str) -> int:
    """The exit status of `python -m pillar_core` with these words."""
    return main(shlex.split(line))


def is_noted(notes: Iterable[str], *words: str) -> bool:
    """Whether one of the notes holds all these words."""
    return any(all(word in note for word in words) for note in notes)
