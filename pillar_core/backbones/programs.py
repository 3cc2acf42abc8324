"""A TorchScript or ONNX file in a process of its own (`confined`): images go in and features come out, as numbers and never as objects."""

import contextlib
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, cast, final

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones import confined
from pillar_core.backbones.devices import OUT_OF_MEMORY, n_threads
from pillar_core.errors import DataError, SettingError

UNCONFINED = "PILLAR_UNCONFINED_PROGRAMS"
PATIENCE_SECONDS = 900.0
"""For opening, and for each batch."""
MEMORY_SHARE = 0.5
"""Of this machine's memory, for what a program holds."""
_NOT_OPENED = {
    "torchscript": "is no TorchScript file; torch.jit.trace(network, example).save(path) writes one",
    "onnx": "cannot be opened as ONNX",
}
_LONGEST_LINE, _LARGEST_ANSWER = 4096, 1 << 22
"""Bytes of what is said about an answer, and numbers for one image."""


def is_confined() -> bool:
    """Whether programs lose files, network and other processes before they run; False only where `UNCONFINED` is set to 1.

    Raises:
        SettingError: they cannot be confined on this machine, and nobody insisted.
    """
    if os.environ.get(UNCONFINED) == "1":
        return False
    if reason := confined.missing():
        raise SettingError(
            f"TorchScript and ONNX files are programs, and this machine cannot confine them: {reason}. Where you would run this one with "
            f"all your rights, set {UNCONFINED}=1 on the command line that starts the app, its jobs or the command extract."
        )
    return True


def warning() -> str:
    """What somebody must know before they say that a program may run.

    Raises:
        SettingError: as `is_confined`.
    """
    if is_confined():
        return (
            "This file is a program. It runs in a process without network, other files and other processes, but sees every image and "
            "decides its features. Run it only if you trust who wrote it."
        )
    return (
        f"This file is a program, and nothing confines it ({UNCONFINED}=1): it may read, change and send whatever you may on this machine. "
        "Run it only if you trust who wrote it."
    )


@final
class Program:
    """The file opened: `answer(images)`, and `size` and `batch` where it takes only one side of images or one number of them.

    Raises:
        DataError: it cannot be opened.
        SettingError: as `is_confined`, or a device where confined programs do not run.
    """

    def __init__(self, path: Path, *, family: Literal["torchscript", "onnx"], device: str, is_mixed: bool) -> None:
        held = is_confined()
        if held and device != "cpu":
            raise SettingError(f"device must be cpu or auto for a program, which is confined to the processor; got {device!r}.")
        asked = {
            "path": str(path),
            "parent": os.getpid(),
            "family": family,
            "device": device,
            "is_mixed": is_mixed,
            "threads": n_threads(),
            "is_confined": held,
            "memory": int(MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) if held else 0,
            "libraries": [place for place in sys.path if Path(place).name in ("site-packages", "dist-packages")],
        }
        self._path = path
        self._process = subprocess.Popen(
            [sys.executable, "-I", confined.__file__, json.dumps(asked)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH", "SYSTEMROOT") if name in os.environ},
        )
        self._requests, self._answers = cast(BinaryIO, self._process.stdin), cast(BinaryIO, self._process.stdout)
        with contextlib.ExitStack() as undone, self._watched():
            undone.callback(self.close)
            opened = self._heard("opened", _NOT_OPENED[family])
            undone.pop_all()
        known = opened if isinstance(opened, dict) else {}
        self.size, self.batch = (known[name] if type(known.get(name)) is int and known[name] > 0 else None for name in ("size", "batch"))

    def answer(self, images: Array) -> Array:
        """What the program makes of (b, 3, side, side) float32 images, float32, one row or map an image where it is honest.

        Raises:
            DataError: it failed, ended, was silent for too long or answered what is no array of numbers for these images.
            MemoryError: the machine, or its share of it, is too small for so many.
        """
        with self._watched():
            with contextlib.suppress(BrokenPipeError):
                self._requests.write(json.dumps(images.shape).encode() + b"\n" + np.ascontiguousarray(images, np.float32).tobytes())
                self._requests.flush()
            shape = self._heard("shape", "failed as a program")
            if not isinstance(shape, list) or len(shape) > 4 or not all(type(extent) is int and extent >= 0 for extent in shape):
                raise DataError(f"{self._path} answers with what is no array.")
            if (size := math.prod(shape)) > _LARGEST_ANSWER * len(images) or max(shape, default=0) > _LARGEST_ANSWER * len(images):
                self.close()  # what it still sends is no answer to what is asked next
                raise DataError(f"{self._path} answers with {size:,} numbers for {len(images)} images.")
            content = self._answers.read(4 * size)
            if len(content) < 4 * size:
                raise self._ended()
        return np.frombuffer(content, np.float32).reshape(shape).copy()

    def close(self) -> None:
        """Ends its process."""
        self._process.kill()
        self._process.communicate()

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        timer = threading.Timer(PATIENCE_SECONDS, self._process.kill)
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _heard(self, what: str, failed: str) -> object:
        """The value of `what` in the next line; a line that tells of a failure is raised, in the words of `failed`."""
        line = self._answers.readline(_LONGEST_LINE)
        if not line:
            raise self._ended()
        try:
            told = dict(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            raise DataError(f"{self._path} answers with what is no array.") from error
        failure = told.get("failed")
        if failure is None:
            return told.get(what)
        cause = "".join(sign if sign.isprintable() else " " for sign in str(failure))
        if cause.startswith(("MemoryError", "OutOfMemoryError")) or OUT_OF_MEMORY.search(cause):
            raise MemoryError(cause)
        held = "" if os.environ.get(UNCONFINED) == "1" else " It has no file but its own, no network and no other process."
        raise DataError(f"{self._path} {failed} ({cause}).{held}")

    def _ended(self) -> DataError:
        status = self._process.wait()
        killed = f": killed, for want of memory or after {PATIENCE_SECONDS:g} seconds without an answer" if abs(status) == 9 else ""
        return DataError(f"the process of {self._path} ended with status {status}{killed}.")
