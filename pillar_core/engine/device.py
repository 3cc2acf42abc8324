"""Where heads and networks are trained: PILLAR_DEVICE is cpu (unset means cpu), cuda, cuda:1 … or
auto (cuda where there is one).

The device is asked for, never guessed: another device draws other noise from the same seed and
rounds otherwise, so a seeded result must not depend on which machine happened to have a GPU. A GPU
of Apple's (mps) has no float64, in which clipped rows are summed (docs/decisions/0005), so it is
refused.
"""

import os

from pillar_core.deferred import torch
from pillar_core.errors import SettingError

VARIABLE = "PILLAR_DEVICE"


def training_device() -> "torch.device":
    """The device that this process trains on. Raises SettingError for a device that is not there,
    or that has no float64."""
    name = os.environ.get(VARIABLE) or "cpu"
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()):
        raise SettingError(f"{VARIABLE} must be cpu, cuda, cuda:<number> or auto; got {name!r}.")
    if kind == "cuda" and int(number or 0) >= torch.cuda.device_count():
        raise SettingError(
            f"{VARIABLE} is {name!r} and torch sees {torch.cuda.device_count()} CUDA devices here;"
            " set it to cpu or auto."
        )
    return torch.device(name)
