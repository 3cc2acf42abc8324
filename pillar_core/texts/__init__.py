"""Texts as numbers: the mean of the vectors of a text's tokens. Vectors and tokenizer come along:
see `data/embedded/README.md`.

A text hangs on itself alone: nothing is learnt from it, and its numbers are the same bits beside
any other texts. So `minilm` and a model of the package sentence-transformers
(`sentence_transformers:<folder or name on the hub>`) get one text at a time: in a batch their
lengths would mix.
"""

import functools
import hashlib
import importlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.extras import needed
from pillar_core.texts import minilm
from pillar_core.texts.token_vectors import TokenVectors, clean

NAME, VERSION, WIDTH = "wordllama_256", 1, 256
_FOLDER = Path(__file__).parents[1] / "data" / "embedded"
VECTORS, TOKENIZER, LICENCE = (
    _FOLDER / f"{NAME}.{ending}" for ending in ("safetensors", "tokenizer.json", "LICENSE.txt")
)
SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
IDENTITY: Mapping[str, Any] = {"name": NAME, "version": VERSION, "sha256": SHA256}
"""What decides the numbers of a text, as recipes and models name it; of other encoders with how
many numbers there are, `width`."""
FAMILY = "sentence_transformers"
OWN: Mapping[str, Mapping[str, Any]] = {NAME: IDENTITY, minilm.NAME: minilm.IDENTITY}
"""The encoders whose numbers are always the same, by name."""
AT_ONCE, SENTENCES_AT_ONCE = 1_024, 32


def blocks(texts: Iterable[object], encoder: Mapping[str, Any] = IDENTITY) -> Iterator[Array]:
    """(m, width) float32 of some hundred texts at a time. A text without signs is zero.

    Raises MissingDependencyError, DataError: the package of another encoder is absent; the encoder
    is another one here.
    """
    rest = iter(texts)
    encode_some, at_once = (
        (functools.partial(_opened().means, tokens={}), AT_ONCE)
        if encoder == IDENTITY
        else (_sentence_encoder(encoder), SENTENCES_AT_ONCE)
    )
    while some := list(itertools.islice(rest, at_once)):
        yield encode_some(some)


def files_of(encoder: Mapping[str, Any] | None) -> Mapping[str, bytes]:
    """What reads texts by this encoder with `token_vectors` or `bert` alone, by file names: all of
    it as it was published, with its licence; empty where it cannot be so, or is not here."""
    if encoder == IDENTITY:
        return {path.name: path.read_bytes() for path in (VECTORS, TOKENIZER, LICENCE)}
    if encoder != minilm.IDENTITY or not minilm.is_installed():
        return {}
    licence = _FOLDER / f"{minilm.NAME}.LICENSE.txt"
    names = (f"{minilm.NAME}.{ending}" for ending in ("safetensors", "tokenizer.json"))
    return {**dict(zip(names, minilm.files(), strict=True)), licence.name: licence.read_bytes()}


def n_bytes_of(encoder: Mapping[str, Any] | None) -> int:
    """How large `files_of` are, without reading them."""
    if encoder == IDENTITY:
        return sum(path.stat().st_size for path in (VECTORS, TOKENIZER, LICENCE))
    return minilm.N_BYTES if encoder == minilm.IDENTITY and minilm.is_installed() else 0


def width_of(encoder: Mapping[str, Any]) -> int:
    """How many numbers an encoder makes of a text."""
    return int(encoder.get("width", WIDTH))


def is_encoder(name: str | None) -> bool:
    """Whether a backbone's name is that of an encoder of texts."""
    return name is not None and (name in OWN or name.startswith(f"{FAMILY}:"))


def encoder_of(recipe: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What made the numbers of a column of texts by the form of a recipe, where there is one."""
    columns = (recipe or {}).get("columns", ())
    return next((column["encoder"] for column in columns if "encoder" in column), None)


def identity_of(name: str, *, network: bool = False) -> Mapping[str, Any]:
    """What decides the numbers that an encoder makes: see `IDENTITY`. The name of a folder stands
    without its path.

    network: whether the model may be fetched. Names in files of others never fetch one.

    Raises MissingDependencyError: its package is absent. DataError: there is no such model here,
    nor a network that could fetch it.
    """
    return OWN.get(name) or _identity_of_model(name.removeprefix(f"{FAMILY}:"), network)


def encode(texts: Iterable[object], encoder: Mapping[str, Any] = IDENTITY) -> Array:
    """(n, width) float32, each text by itself. Raises as `blocks`."""
    nothing = np.zeros((0, width_of(encoder)), dtype=np.float32)
    return np.concatenate([nothing, *blocks(texts, encoder)])


_SENTENCE_MODELS: dict[str, Any] = {}
"""The models of sentence-transformers that were opened, by their fingerprints."""


def _sentence_encoder(encoder: Mapping[str, Any]) -> Callable[[list[object]], Array]:
    encode_one, nothing = _opened_model(encoder), np.zeros(width_of(encoder), dtype=np.float32)
    return lambda some: np.stack(
        [encode_one(text) if text else nothing for text in map(clean, some)]
    ).astype(np.float32)


def _opened_model(encoder: Mapping[str, Any]) -> Callable[[str], Array]:
    """What makes numbers of one text, by another encoder than the token vectors."""
    if encoder == minilm.IDENTITY:
        return minilm.opened()
    if (
        encoder["sha256"] not in _SENTENCE_MODELS
        and (here := identity_of(str(encoder["name"]))) != encoder
    ):
        raise DataError(f"the encoder of the texts is {encoder}, and {here} here.")
    model = _SENTENCE_MODELS[encoder["sha256"]]
    return functools.partial(model.encode, show_progress_bar=False)


@functools.cache
def _identity_of_model(name: str, network: bool) -> Mapping[str, Any]:
    with needed(f"the encoder {FAMILY}:{name}"):
        package = importlib.import_module("sentence_transformers")
    try:
        model = package.SentenceTransformer(name, device="cpu", local_files_only=not network)
    except (OSError, ValueError, RuntimeError) as error:
        raise DataError(
            f"there is no encoder {FAMILY}:{name} here ({error}): name a folder that holds it, or a"
            " model of the hub with a network."
        ) from error
    digest = hashlib.sha256(
        str((model.max_seq_length, sorted(model.tokenizer.get_vocab().items()))).encode()
    )
    for title, weights in sorted(model.state_dict().items()):
        digest.update(title.encode() + weights.detach().cpu().float().numpy().tobytes())
    sha256, title = digest.hexdigest(), Path(name).name if Path(name).is_dir() else name
    _SENTENCE_MODELS[sha256] = model
    return {
        "name": f"{FAMILY}:{title}",
        "version": 1,
        "sha256": sha256,
        "width": len(model.encode("a", show_progress_bar=False)),
    }


@functools.cache
def _opened() -> TokenVectors:
    return TokenVectors(VECTORS, TOKENIZER)
