"""Where heads and networks are trained: PILLAR_DEVICE is cpu (unset means cpu), cuda, cuda:1 … or
auto (cuda where there is one).

The device is asked for, never guessed: another device draws other noise from the same seed and
rounds otherwise, so a seeded result must not depend on which machine happened to have a GPU. A GPU
of Apple's (mps) has no float64, in which clipped rows are summed (docs/decisions/0005), so it is
refused.
"""

import contextlib
import contextvars
import os
from collections.abc import Iterator

from pillar_core.deferred import torch
from pillar_core.errors import MachineError

VARIABLE = "PILLAR_DEVICE"
_USED: contextvars.ContextVar[set[str]] = contextvars.ContextVar("devices used")


def asked() -> str:
    """The device that is asked for, whether or not it is here."""
    return os.environ.get(VARIABLE) or "cpu"


def training_device() -> "torch.device":
    """The device that this process trains on. Raises MachineError for a device that is not there,
    or that has no float64."""
    name = asked()
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise MachineError(f"{VARIABLE} must be cpu, cuda, cuda:<number> or auto; got {name!r}.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise MachineError(
            f"{VARIABLE} is {name!r} and torch sees {torch.cuda.device_count()} CUDA devices here;"
            " set it to cpu or auto."
        )
    if (used := _USED.get(None)) is not None:
        used.add(name)
    return torch.device(name)


@contextlib.contextmanager
def devices_used() -> Iterator[set[str]]:
    """The names of the devices that training asks for inside: none of a learner that has no use for
    one."""
    used: set[str] = set()
    token = _USED.set(used)
    try:
        yield used
    finally:
        _USED.reset(token)


@contextlib.contextmanager
def on_gpu() -> Iterator[None]:
    """Training inside is on a GPU, unless PILLAR_DEVICE names a device.

    Raises MachineError: there is none.
    """
    asked = os.environ.get(VARIABLE)
    if asked in (None, "", "auto"):
        os.environ[VARIABLE] = "cuda"
    try:
        training_device()
        yield
    finally:
        os.environ.pop(VARIABLE)
        if asked is not None:
            os.environ[VARIABLE] = asked
