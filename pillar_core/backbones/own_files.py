"""The user's own network, an ONNX file (`onnx:<path>`), through onnxruntime.

Images are prepared as for ImageNet at 224 pixels unless the name says otherwise, and the file's
fixed sizes count.
"""

from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.backbones.cards import BACKBONES, Backbone, Encoder, Work, card_of
from pillar_core.backbones.devices import n_threads, pool
from pillar_core.backbones.names import address
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.deferred import torch
from pillar_core.errors import DataError, SettingError
from pillar_core.extras import needed

TOLERANCE = 1e-2
"""Of an image's largest feature: above rounding in 16 bits, far below what statistics of a batch
do."""


def _open(name: str, work: Work) -> Encoder:
    """Images prepared by torch and encoded by onnxruntime.

    A file that was written in training mode takes statistics over the batch: a private row would
    then move the features of others, which no ε counts. The first batch shows it, with other images
    beside its first one.
    """
    with needed("a backbone named onnx:…"):
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    path, settings, is_checked = _path(name), onnxruntime.SessionOptions(), False
    if work.weights != path:
        raise SettingError(
            f"weights must be none for {name}: the file in its name holds them; got"
            f" {str(work.weights)!r}."
        )
    failures = tuple(
        error
        for error in vars(state).values()
        if isinstance(error, type) and issubclass(error, Exception)
    )
    settings.intra_op_num_threads, settings.log_severity_level = n_threads(), 4
    wanted = ["CUDAExecutionProvider"] if work.device == "cuda" else []
    providers = [
        each
        for each in (*wanted, "CPUExecutionProvider")
        if each in onnxruntime.get_available_providers()
    ]
    try:
        session = onnxruntime.InferenceSession(str(path), settings, providers=providers)
    except failures as error:
        raise DataError(f"{path} cannot be opened as ONNX ({error}).") from error
    source, target = session.get_inputs()[0], session.get_outputs()[0].name
    batch, side = (
        size if isinstance(size, int) else None for size in (source.shape[0], source.shape[-1])
    )
    preparing = IMAGENET.with_options(
        ({} if side is None else {"input_size": str(side)}) | dict(address(name).options)
    )

    def features(rows: Array) -> Array:
        if batch and len(rows) % batch:
            raise SettingError(
                f"batch_size must be a multiple of {batch}, the one batch size that the ONNX file"
                f" takes; got {len(rows)}."
            )
        images = preparing(torch.from_numpy(np.ascontiguousarray(rows))).numpy()
        try:
            answers = [
                session.run([target], {source.name: part})[0]
                for part in np.split(images, len(rows) // (batch or len(rows)))
            ]
        except failures as error:
            raise (MemoryError if "allocat" in str(error) else DataError)(
                f"{path} failed ({error})."
            ) from error
        return pool(torch.from_numpy(np.concatenate(answers)), n=len(rows))

    def encode(rows: Array) -> Array:
        nonlocal is_checked
        answer = features(rows)
        if not is_checked and len(rows) > 1:
            changed = features(np.concatenate([rows[:1], 255 - rows[1:]]))[0]
            if not np.allclose(
                answer[0], changed, rtol=TOLERANCE, atol=TOLERANCE * float(np.abs(answer[0]).max())
            ):
                raise DataError(
                    f"{path} gives an image other features beside other images; write it from a"
                    " network in eval() mode."
                )
            is_checked = True
        return answer

    return Encoder(encode)


def _path(name: str) -> Path:
    return Path(address(name).model).expanduser().absolute()


def _build(name: str) -> Backbone:
    spot, path = address(name), _path(name)
    if spot.arguments or spot.weights is not None:
        raise SettingError(
            f"{spot.base} takes options that prepare images, precision and storage; got {name!r}."
        )
    IMAGENET.with_options(spot.options)

    def fetch(network: bool) -> Path:
        if not path.is_file():
            raise SettingError(f"the backbone onnx needs an existing file; there is no {path}.")
        return path

    about = {"title": f"ONNX file {path.name}", "weights": f"the file {path}"}
    return card_of(name, open=_open, fetch=fetch, is_own_file=True, **about)


BACKBONES.register_family("onnx", _build, linkable=lambda name: False)
