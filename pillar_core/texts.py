"""Texts as numbers: the mean of the vectors of a text's tokens. Vectors and tokenizer lie in the package wordllama, whose code never runs.

A text hangs on itself alone: nothing is learnt from it, and its numbers are the same bits beside any other texts.
"""

import functools
import hashlib
import importlib.util
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError, MissingDependencyError

NAME, VERSION, WIDTH = "wordllama_256", 1, 256
PACKAGE, WEIGHTS, TOKENIZER = "wordllama", "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
SHA256 = {
    WEIGHTS: "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    TOKENIZER: "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68",
}
IDENTITY = {"name": NAME, "version": VERSION, "sha256": SHA256[WEIGHTS]}
"""What decides the numbers of a text, as recipes and models name it."""
LONGEST = 8_192
"""Signs of a text that count, the first ones: about 1,400 English words."""
AT_ONCE = 1_024
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ud800-\udfff\s]+")


def clean(text: object) -> str:
    """One line of what counts of a text: tags of HTML and control characters are blanks, a gap is empty."""
    is_gap = text is None or (isinstance(text, float) and text != text)
    return "" if is_gap else _CONTROL.sub(" ", _TAG.sub(" ", str(text)[: 2 * LONGEST])).strip()[:LONGEST]


def blocks(texts: Iterable[object]) -> Iterator[Array]:
    """(m, 256) float32 of some hundred texts at a time. A text without signs is zero.

    Raises MissingDependencyError, DataError: the package is absent, or has other files.
    """
    tokenizer, vectors = _opened()
    rest = iter(texts)
    while some := [clean(text) for text in itertools.islice(rest, AT_ONCE)]:
        rows = np.zeros((len(some), WIDTH), dtype=np.float32)
        for row, tokens in enumerate(tokenizer.encode_batch_fast(some, add_special_tokens=False)):
            if ids := tokens.ids if some[row] else ():
                rows[row] = vectors[ids].mean(axis=0)
        yield rows


def encode(texts: Iterable[object]) -> Array:
    """(n, 256) float32, each text by itself. Raises as `blocks`."""
    return np.concatenate([np.zeros((0, WIDTH), dtype=np.float32), *blocks(texts)])


@functools.cache
def _opened() -> tuple[Any, Array]:
    """The tokenizer and the (32000, 256) float32 vectors of its tokens."""
    from safetensors.numpy import load
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec(PACKAGE)
    folder = None if spec is None or spec.origin is None else Path(spec.origin).parent
    if folder is None or not all((folder / name).is_file() for name in SHA256):
        raise MissingDependencyError("texts need the package with the vectors of their tokens: pip install wordllama.")
    contents = {name: (folder / name).read_bytes() for name in SHA256}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            raise DataError(f"{folder / name} is not the file that this library knows (its SHA-256 differs): install wordllama 0.4 again.")
    return Tokenizer.from_str(contents[TOKENIZER].decode()), load(contents[WEIGHTS])["embedding.weight"].astype(np.float32)
