"""What a user types, and what a user reads."""

import contextlib
import io
import shlex
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pillar_core.__main__ import main
from pillar_core.errors import DataError


def run_command(line: str) -> int:
    """The exit status of `python -m pillar_core` with these words."""
    return main(shlex.split(line))


class Printed(NamedTuple):
    """What a command wrote to its two streams."""

    out: str
    err: str


def output_of(line: str, *, status: int = 0) -> Printed:
    """What `python -m pillar_core` with these words prints, and fails unless it ends so."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert run_command(line) == status, err.getvalue()
    return Printed(out.getvalue(), err.getvalue())


def table_of(n: int) -> str:
    """A csv of n rows with four numbers and two classes, of this n alone."""
    rows = np.random.default_rng(n).standard_normal((n, 4)).round(6)
    lines = [",".join([*map(str, row), "p" if row[0] > 0 else "q"]) for row in rows]
    return "\n".join(["a,b,c,d,class", *lines])


def is_noted(notes: Iterable[str], *words: str) -> bool:
    """Whether one of the notes holds all these words."""
    return any(all(word in note for word in words) for note in notes)


def texts_in(model: Path | bytes) -> dict[str, str]:
    """What a model's zip, or its bytes, holds by name, each file as text."""
    with zipfile.ZipFile(io.BytesIO(model) if isinstance(model, bytes) else model) as archive:
        return {name: archive.read(name).decode(errors="replace") for name in archive.namelist()}


def refuses(words: str, act: Callable[..., object], *given: Any, **named: Any) -> None:
    """Fails unless what the user does with this is refused as data, in these words (a pattern)."""
    raises(DataError, words, act, *given, **named)


def raises(
    error: type[BaseException], words: str, act: Callable[..., object], *given: Any, **named: Any
) -> None:
    """Fails unless this call ends in the error, whose words fit the pattern."""
    with pytest.raises(error, match=words):
        act(*given, **named)
