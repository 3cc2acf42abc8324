"""The exception tree: everything the library refuses, each also the builtin that a caller would
expect."""

import re
from collections.abc import Mapping, Sequence
from typing import Self

NO_MEMORY = (
    "there is not enough free memory for this: choose fewer rows, features or classes, or free some"
    " and try again."
)
_ALLOCATION = re.compile(r"can't allocate memory|not enough memory|out of memory", re.I)


class PillarError(Exception):
    """Root of every error that the library raises on purpose. `problems`: one line for each.

    `arguments`: what you may set to be rid of it, and to which values where these are known. The
    message says the matter alone, because each door has its own way to set them.
    """

    arguments: Mapping[str, Sequence[str]] = {}

    @property
    def problems(self) -> tuple[str, ...]:
        return (str(self),)

    def naming(self, **arguments: Sequence[str]) -> Self:
        """The error with these `arguments`, which Python's traceback shows below its message."""
        self.arguments = arguments
        named = (f"{name}={list(values) if values else '…'}" for name, values in arguments.items())
        self.add_note(f"Arguments: {', '.join(named)}.")
        return self


class SettingError(PillarError, ValueError):
    """A setting lies outside its range; the message names setting, range, value and what to do."""


class DataError(PillarError, ValueError):
    """Data that cannot be used as given: wrong shape, NaN rows, one class, duplicates."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self._problems = problems

    @property
    def problems(self) -> tuple[str, ...]:
        return self._problems


class MachineError(SettingError, DataError):
    """What this machine lacks: a device, or a file that is named. It says nothing about the run, so
    no store keeps it."""


class BudgetError(PillarError, ValueError):
    """A privacy budget that no noise can meet under the settings given; the message says what
    would."""


class UnsupportedError(PillarError, ValueError):
    """No sound bound, or no implementation, exists for what was asked; the message says why."""


class UnknownNameError(PillarError, KeyError):
    """A name that a registry does not hold; the message lists the nearest names."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MissingDependencyError(PillarError, ImportError):
    """An optional package is absent; the message says how to get it."""


class PluginError(PillarError, RuntimeError):
    """An entry point of another installed package cannot be used; the message names the package,
    the entry point and the cause."""


class LedgerError(PillarError, RuntimeError):
    """A method spent privacy that it had not declared: a bug, and the run is refused."""


class StoreError(PillarError, OSError):
    """The cache could not be read or written."""


class JobError(PillarError, RuntimeError):
    """A job failed; the message carries the cause."""


class Cancelled(PillarError, RuntimeError):
    """Work stopped because its cancel flag was set."""


def memory_ran_out(error: BaseException) -> bool:
    """Whether memory was refused: by Python or numpy, or by torch, which says so in a plain
    RuntimeError."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and _ALLOCATION.search(str(error)) is not None
    )


def shown(value: object) -> str:
    """What was given, for a message: a number or a short text itself; of anything else the type and
    an array's shape, never data."""
    if isinstance(value, bool | int | float | None) or (
        isinstance(value, str) and len(value) <= 80
    ):
        return (
            repr(value)
            if not isinstance(value, int) or abs(value) < 1e300
            else "a whole number of more than 300 digits"
        )
    shape = getattr(value, "shape", None)
    return (
        f"{type(value).__name__} {value.dtype} {shape}"
        if hasattr(value, "dtype") and shape is not None
        else type(value).__name__
    )
