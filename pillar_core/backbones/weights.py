"""Weights from a local file, safely, and into a network whose every tensor must be found.

safetensors hold tensors alone. PyTorch files are read with `weights_only`, which builds tensors and
plain containers and refuses everything that could run code. Checkpoints wrap a network's tensors in
prefixes (`module.encoder_q.`, `backbone.`, `teacher.backbone.`, …): the prefix under which most of
the network's tensors lie is taken off, and said.

huggingface_hub fetches files of weights: its HF_ENDPOINT names a mirror, and it goes on with half a
file. What it does not compare is the checksum.
"""

import argparse
import functools
import hashlib
import importlib
import pickle
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pillar_core import store
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.store.entry import make_private
from pillar_core.store.files import writable, write_whole

Tensors = dict[str, "torch.Tensor"]

SECOND = re.compile(r"momentum|encoder_k|target|student|ema")
"""Words in the prefix of a second copy of the network, which is taken only where there is no
other."""
HEAD = re.compile(
    r"(^|\.)(fc|head|heads|classifier|last_linear|pre_logits|projector|predictor|prototypes|projection_head)(\.|$)"
)
COUNTER = "num_batches_tracked"
FORMER = re.compile(r"(denselayer\d+\.(?:norm|relu|conv))\.(?=[12]\.)")
"""Old spellings of tensor names, with one dot more: torchvision's first DenseNet files."""
_SHOWN = 5


def content_hash(path: Path) -> str:
    """SHA-256 of the file, remembered by this process until it changes. Raises DataError: it cannot
    be read."""
    try:
        about = path.stat()
        return _checksum(path, about.st_mtime_ns, about.st_size, about.st_ino)
    except OSError as error:
        raise DataError(f"the weights {path} cannot be read ({error}).") from error


def keep_upload(content: bytes) -> Path:
    """The file below the cache folder that holds these bytes of a safetensors file, named by their
    hash.

    They are parsed before anything is written. No program is opened from below that folder,
    whatever a tensor's bytes spell.

    Raises DataError: not a safetensors file from the first byte to the last. StoreError: a disk
    that refuses. MissingDependencyError: safetensors is not installed.
    """
    safetensors = _library()
    try:
        safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        raise DataError(
            f"what was sent is no safetensors file ({_first_line(error)}); weights are sent as such"
            " a file."
        ) from error
    cache = store.default()
    path = cache.root / "weights" / f"{hashlib.sha256(content).hexdigest()[:32]}.safetensors"
    if not (path.is_file() and path.stat().st_size == len(content)):
        with writable(path):
            make_private(path.parent, parents_of=cache.root)
            write_whole(
                path, lambda file: file.write(content), claim=lambda written: written.replace(path)
            )
    return path


def read_tensors(path: Path) -> Tensors:
    """Every tensor in the file, by its path through the nested containers, joined with dots.

    Raises DataError: truncated or damaged, no tensors, or Python objects whose reading could run
    code. MissingDependencyError: safetensors is not installed.
    """
    try:
        nested = _safetensors(path) if path.suffix == ".safetensors" else _pytorch(path)
    except pickle.UnpicklingError as error:
        raise DataError(
            f"{path} holds Python objects besides tensors, which can run code when read: refused."
            " Where you trust it, convert it: safetensors.torch.save_file(torch.load(FILE,"
            " weights_only=False)['state_dict'], 'weights.safetensors')."
        ) from error
    except (OSError, RuntimeError, ValueError, EOFError, KeyError) as error:
        raise DataError(
            f"{path} cannot be read as weights ({_first_line(error)}): it is damaged, incomplete or"
            " of another kind."
        ) from error
    tensors = {".".join(parts): tensor for parts, tensor in _flat(nested, ())}
    if not tensors:
        raise DataError(
            f"{path} holds no tensors; a file of weights is a safetensors file or a PyTorch state"
            " dictionary."
        )
    return tensors


def fill(network: "torch.nn.Module", path: Path, *, title: str) -> tuple[str, ...]:
    """What was decided, in words, after every parameter and buffer of `network` was set from the
    file, widened to float32.

    Raises DataError: tensors of the network that the file lacks or holds in another shape, or
    tensors of the file that belong to another network, each by name.
    """
    wanted = network.state_dict()
    tensors = {FORMER.sub(r"\1", name): tensor for name, tensor in read_tensors(path).items()}
    prefix = _best_prefix(tensors, [name for name in wanted if not name.endswith(COUNTER)])
    matched = {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }
    _compare(wanted, matched, path=path, title=title)
    network.load_state_dict(
        {name: matched.get(name, value).to(value.dtype) for name, value in wanted.items()}
    )
    return (
        (f"Weights: {path.name}, its tensors under {prefix.rstrip('.')!r}.",)
        if prefix
        else (f"Weights: {path.name}.",)
    )


def _compare(wanted: Tensors, tensors: Tensors, *, path: Path, title: str) -> None:
    absent = [name for name in wanted if name not in tensors and not name.endswith(COUNTER)]
    shapes = [
        f"{name} {tuple(tensors[name].shape)} instead of {tuple(wanted[name].shape)}"
        for name in wanted
        if name in tensors and tensors[name].shape != wanted[name].shape
    ]
    parts = {name.split(".")[0] for name in wanted}
    may_lack = {name for name in tensors if name.endswith(COUNTER) or HEAD.search(name)}
    foreign = [
        name
        for name in tensors
        if name not in wanted and name.split(".")[0] in parts and name not in may_lack
    ]
    problems = [
        f"{len(names)} {heading}: {', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}"
        for heading, names in (
            ("missing", absent),
            ("of another shape", shapes),
            ("that it does not know", foreign),
        )
        if names
    ]
    if problems and len(absent) == len([name for name in wanted if not name.endswith(COUNTER)]):
        problems.append(
            f"it holds {', '.join(list(tensors)[:_SHOWN])}{' …' if len(tensors) > _SHOWN else ''}"
        )
    if problems:
        raise DataError(
            f"{path} does not hold the weights of {title}, which has {len(wanted)} tensors;"
            f" {'; '.join(problems)}."
        )


def _best_prefix(available: Iterable[str], wanted: list[str]) -> str:
    """The prefix under which most wanted names lie; of equal ones that without the words of a
    second copy, then the shortest."""
    names = set(available)
    probes = wanted[:1] + wanted[len(wanted) // 2 : len(wanted) // 2 + 1] + wanted[-1:]
    prefixes = {
        name[: -len(probe)]
        for probe in probes
        for name in names
        if name == probe or name.endswith(f".{probe}")
    }
    scored = [
        (
            sum(prefix + name in names for name in wanted),
            SECOND.search(prefix) is None,
            -len(prefix),
            prefix,
        )
        for prefix in prefixes
    ]
    return max(scored)[3] if scored else ""


def _library() -> Any:
    import safetensors.torch

    return safetensors


def _safetensors(path: Path) -> Tensors:
    library = _library()
    try:
        return dict(library.torch.load_file(str(path)))
    except library.SafetensorError as error:
        raise ValueError(str(error)) from error


def _pytorch(path: Path) -> Any:
    # Checkpoints of several repositories carry their command line, a Namespace of plain values.
    with torch.serialization.safe_globals([argparse.Namespace]):
        return torch.load(path, map_location="cpu", weights_only=True)


def _flat(value: Any, at: tuple[str, ...]) -> "Iterable[tuple[tuple[str, ...], torch.Tensor]]":
    if isinstance(value, torch.Tensor):
        yield at, value
    elif isinstance(value, Mapping) and at[:1] not in (("optimizer",), ("optimizer_states",)):
        for name, inner in value.items():
            if isinstance(name, str):
                yield from _flat(inner, (*at, name))


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


@functools.lru_cache(maxsize=64)
def _checksum(path: Path, *version: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


_SHA256_DIGITS = 64


def hub_file(repository: str | None, filename: str, *, network: bool) -> Path | None:
    """The file of a Hugging Face repository; None where it is not here and `network` is false, or
    no repository is known.

    Raises DataError: it could not be fetched; the message says what to do instead.
    """
    if not repository:
        return None
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    httpx = importlib.import_module("huggingface_hub.utils").httpx
    try:
        if (
            not network
        ):  # hf_hub_download asks the hub for a list even then, to say which program it serves
            cached = huggingface_hub.try_to_load_from_cache(repository, filename)
            return Path(cached) if isinstance(cached, str) else None
        path = Path(huggingface_hub.hf_hub_download(repository, filename))
    except (HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
        if not network:
            return None
        raise DataError(
            f"the weights {filename} of {repository} could not be fetched"
            f" ({str(error).splitlines()[0][:200]}). Without a network: download"
            f" {huggingface_hub.hf_hub_url(repository, filename)} elsewhere, copy it here and pass"
            " weights=FILE."
        ) from error
    blob = path.resolve()
    if (
        len(blob.name) == _SHA256_DIGITS and content_hash(path) != blob.name
    ):  # the hub names large files by their checksum
        blob.unlink()
        raise DataError(
            f"what was sent as {filename} of {repository} has another checksum than the hub says:"
            " ask for it again."
        )
    return path
