"""The user's own networks: a TorchScript file (`torchscript:<path>`) or an ONNX file (`onnx:<path>`).

Such a file is a program, not only numbers: it runs in a process of its own that is confined, and after a word of trust.
Images are prepared as for ImageNet at 224 pixels unless the name says otherwise, and an ONNX file's fixed input size counts.
"""

from pathlib import Path

import numpy as np

from pillar_core import store
from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Backbone, Encoder, Work, card_of
from pillar_core.backbones.devices import pooled
from pillar_core.backbones.names import address
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.backbones.programs import Program, warning
from pillar_core.deferred import torch
from pillar_core.errors import DataError, SettingError
from pillar_core.extras import needed

TOLERANCE = 1e-2
"""Of an image's largest feature: above rounding in 16 bits, far below what statistics of a batch do."""


def _open(name: str, work: Work) -> Encoder:
    """Images prepared here and encoded where the program runs.

    Raises:
        DataError: no such program. SettingError: nobody trusts it, or a batch, device or machine that will not do.
        MissingDependencyError: an ONNX file without onnxruntime.
    """
    path, spot = _own_file(name, work), address(name)
    if spot.family == "onnx":
        with needed("a backbone named onnx:…"):
            import onnxruntime  # noqa: F401 - the program imports it, in a process of its own
    is_mixed = spot.precision == "mixed" or (spot.precision == "auto" and work.device == "cuda")
    program = Program(path, family="onnx" if spot.family == "onnx" else "torchscript", device=work.device, is_mixed=is_mixed)
    preparing = IMAGENET.changed(({} if program.size is None else {"input_size": str(program.size)}) | dict(spot.options))

    def encode(rows: Array) -> Array:
        images = preparing(torch.from_numpy(np.ascontiguousarray(rows))).numpy()
        answers = [program.answer(part) for part in _parts(images, program.batch)]
        return pooled(torch.from_numpy(np.concatenate(answers)), n=len(rows))

    return _row_by_row(Encoder(encode, close=program.close), path)


def _row_by_row(encoder: Encoder, path: Path) -> Encoder:
    """`encoder`, refused at its first batch if the first image's features change with the images beside it.

    A file that was written in training mode takes statistics over the batch: a private row would then move the features of others,
    which no ε counts.
    """
    is_known = False

    def encode(rows: Array) -> Array:
        nonlocal is_known
        features = encoder.encode(rows)
        if not is_known and len(rows) > 1:
            other = encoder.encode(np.concatenate([rows[:1], 255 - rows[1:]]))
            if not np.allclose(features[0], other[0], rtol=TOLERANCE, atol=TOLERANCE * float(np.abs(features[0]).max())):
                raise DataError(f"{path} gives an image other features beside other images; write it from a network in eval() mode.")
            is_known = True
        return features

    return Encoder(encode, encoder.notes, encoder.close)


def _parts(images: Array, batch: int | None) -> list[Array]:
    """`images` in the only batch size that the file takes, or all at once.

    Raises:
        SettingError: they do not divide into it.
    """
    if batch is None or batch == len(images):
        return [images]
    if len(images) % batch:
        raise SettingError(f"batch_size must be a multiple of {batch}, the one batch size that the ONNX file takes; got {len(images)}.")
    return list(images.reshape(-1, batch, *images.shape[1:]))


def _own_file(name: str, work: Work) -> Path:
    if work.weights is None or work.weights != _path(name):
        raise SettingError(f"weights must be none for {name}: the file in its name holds them.")
    if work.weights.resolve().is_relative_to(store.default().root.resolve()):
        raise SettingError(f"{name} lies in the cache folder, which keeps what others sent: no program is opened from there.")
    if not work.trusts_program:
        raise SettingError(
            f"{name} is a program. {warning()} If you do, extract its features once: --trust-program of the command extract, the box "
            "beside Extract on Data & backbone, or trust_program=True in Python."
        )
    return work.weights


def _path(name: str) -> Path:
    return Path(address(name).model).expanduser().absolute()


def _family(prefix: str, title: str) -> None:
    def build(name: str) -> Backbone:
        spot = address(name)
        if spot.arguments or spot.weights is not None:
            raise SettingError(f"{spot.base} takes options that prepare images, precision and storage; got {name!r}.")
        IMAGENET.changed(spot.options)
        path = _path(name)

        def fetch(network: bool) -> Path:
            if not path.is_file():
                raise SettingError(f"the backbone {prefix} needs an existing file; there is no {path}.")
            return path

        about = {"title": f"{title} {path.name}", "weights": f"the file {path}"}
        return card_of(name, entry="own files", open=_open, fetch=fetch, is_program=True, **about)

    BACKBONES.register_family(prefix, build, linkable=lambda name: False)


_family("torchscript", "TorchScript file")
_family("onnx", "ONNX file")
