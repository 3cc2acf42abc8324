"""Where a network runs, and one that is ready to run there."""

import os
import re
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import Encoder, Work
from pillar_core.backbones.names import address
from pillar_core.backbones.preparing import Preparing
from pillar_core.backbones.weights import fill
from pillar_core.deferred import torch
from pillar_core.errors import DataError, MachineError, SettingError
from pillar_core.threads import asked_threads, idle_cores, usable_cores

DEVICES = ("cuda", "mps", "cpu")
OUT_OF_MEMORY = re.compile(
    r"DefaultCPUAllocator: (can't allocate|not enough) memory|MPS backend out of memory"
)
"""What torch's allocators of the CPU and MPS say in a plain RuntimeError; that of CUDA has an error
of its own."""


def chosen_device(device: str) -> str:
    """cuda, mps or cpu: `asked`, or with "auto" the first of these that is here.

    Raises MachineError: a device that this machine does not have.
    """
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    names = [name for name in DEVICES if present[name]]
    if device == "auto":
        return names[0]
    if device not in names:
        raise MachineError(
            f"device must be one that this machine has ({', '.join(names)}), or auto; got"
            f" {device!r}."
        )
    return device


def n_threads() -> int:
    """Threads of a network on the CPU: PILLAR_THREADS, else the idle cores that this process may
    use (taskset, OMP_NUM_THREADS)."""
    variable = os.environ.get("OMP_NUM_THREADS", "")
    return asked_threads() or max(
        1, min(idle_cores(), int(variable) if variable.isdecimal() else usable_cores())
    )


def encoder(
    network: "torch.nn.Module",
    preparing: Preparing,
    *,
    device: str,
    precision: str = "auto",
    notes: tuple[str, ...] = (),
) -> Encoder:
    """The network as an encoder: images prepared and run on `device`, maps averaged over their
    pixels.

    Mixed precision (float16 products, float32 sums) runs on CUDA unless `precision` says float32;
    elsewhere where it is asked for, as bfloat16. cuDNN is held to one algorithm, so that equal
    batches give equal bytes.
    """
    place = torch.device(device)
    ready = network.eval().to(place).to(memory_format=torch.channels_last)
    is_mixed = precision == "mixed" or (precision == "auto" and device == "cuda")
    kind = torch.float16 if device == "cuda" else torch.bfloat16

    def encode(rows: Array) -> Array:
        images = torch.from_numpy(np.ascontiguousarray(rows)).to(place)
        with (
            torch.inference_mode(),
            torch.autocast(device, dtype=kind, enabled=is_mixed),
            torch.backends.cudnn.flags(
                enabled=True, benchmark=False, deterministic=True, allow_tf32=is_mixed
            ),
        ):
            return pool(
                ready(preparing(images).contiguous(memory_format=torch.channels_last)), n=len(rows)
            )

    return Encoder(encode, notes, (ready, preparing))


def filled(
    name: str, work: Work, network: "torch.nn.Module", preparing: Preparing, *, title: str
) -> Encoder:
    """The encoder of a network with the weights and the precision that the backbone `name` has.

    Raises SettingError: no weights. DataError: weights of another network than `title` says.
    """
    if work.weights is None:
        raise SettingError(f"the backbone {name} needs its weights.")
    notes = fill(network, work.weights, title=title)
    precision = address(name).precision
    return encoder(network, preparing, device=work.device, precision=precision, notes=notes)


def pool(answer: Any, *, n: int) -> Array:
    """(n, width) float32 from a network's answer: rows as they are, maps (n, c, h, w) averaged over
    their pixels.

    Raises DataError: an answer of another shape.
    """
    if isinstance(answer, torch.Tensor) and answer.ndim == 4:
        answer = answer.mean(dim=(2, 3))
    if not isinstance(answer, torch.Tensor) or answer.ndim != 2 or len(answer) != n:
        got = (
            f"shape {tuple(answer.shape)}"
            if isinstance(answer, torch.Tensor)
            else type(answer).__name__
        )
        raise DataError(
            "a backbone must answer a batch with one row (b, width) or one map (b, c, h, w) an"
            f" image; it gave {got}."
        )
    return np.asarray(answer.float().cpu().numpy())
