"""A sentence as the mean of what BERT (Devlin et al. 2019) makes of its tokens, with numpy alone: a
file of a model holds this code.

Words are split at blanks and punctuation, without accents and in small letters. A word's tokens are
its longest known beginning, and so on with its rest (WordPiece).
"""

import itertools
import json
import unicodedata
from collections.abc import Iterable

import numpy as np

from pillar_core.arrays import Array
from pillar_core.texts.token_vectors import MOST_WORDS, clean

MOST_TOKENS, LONGEST_WORD, N_HEADS = 128, 100, 12
"""Tokens of a sentence that count, the first ones (about 100 English words), signs of a word that
has tokens, and heads of attention."""
_UNKNOWN, _FIRST, _LAST = "[UNK]", "[CLS]", "[SEP]"
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class Bert:
    """The network of a safetensors file, by the names of the library transformers, and the
    WordPiece of its tokenizer's json."""

    def __init__(self, weights: bytes, tokenizer: bytes) -> None:
        start = 8 + int.from_bytes(weights[:8], "little")
        self.arrays = {
            name: np.frombuffer(
                weights, "<f4", int(np.prod(entry["shape"])), start + entry["data_offsets"][0]
            ).reshape(entry["shape"])
            for name, entry in json.loads(weights[8:start]).items()
            if entry.get("dtype") == "F32"
        }
        self.places: dict[str, int] = json.loads(tokenizer)["model"]["vocab"]

    def means(self, texts: Iterable[object], tokens: dict[str, list[int]]) -> Array:
        """(n, width) float32, each of its text alone; a text without signs is zero. tokens: of
        words, kept there from call to call."""
        nothing = np.zeros_like(self.arrays["embeddings.LayerNorm.bias"])
        return np.stack(
            [self.mean(text, tokens) if text else nothing for text in map(clean, texts)]
        )

    def mean(self, text: str, tokens: dict[str, list[int]]) -> Array:
        """(width,) float32, a unit vector. text: with signs."""
        if len(tokens) > MOST_WORDS:
            tokens.clear()
        places = []
        for word in words(text):
            if word not in tokens:
                tokens[word] = self.tokens(word)
            places += tokens[word]
        first, last = self.places[_FIRST], self.places[_LAST]
        mean = self.states([first, *places[: MOST_TOKENS - 2], last]).mean(axis=1)
        return np.asarray(mean / np.linalg.norm(mean))

    def tokens(self, word: str) -> list[int]:
        """The places of a word's tokens: of all but the first, "##" stands before the signs."""
        places, start = list[int](), 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self.places), None)
            if end is None or len(word) > LONGEST_WORD:
                return [self.places[_UNKNOWN]]
            places.append(self.places[mark + word[start:end]])
            start = end
        return places

    def states(self, tokens: list[int]) -> Array:
        """(width, n) float32: the last layer's states of n tokens."""
        word, position, kind = (
            self.arrays[f"embeddings.{name}_embeddings.weight"]
            for name in ("word", "position", "token_type")
        )
        summed = word[tokens] + position[: len(tokens)] + kind[0]
        x = self._norm(np.ascontiguousarray(summed.T), "embeddings")
        for layer in itertools.takewhile(
            lambda layer: f"{layer}.output.dense.weight" in self.arrays,
            map("encoder.layer.{}".format, itertools.count()),
        ):
            heads = _attend(
                *(
                    self._linear(x, f"{layer}.attention.self.{name}")
                    for name in ("query", "key", "value")
                )
            )
            x = self._norm(
                x + self._linear(heads, f"{layer}.attention.output.dense"),
                f"{layer}.attention.output",
            )
            inner = _gelu(self._linear(x, f"{layer}.intermediate.dense"))
            x = self._norm(x + self._linear(inner, f"{layer}.output.dense"), f"{layer}.output")
        return x

    def _linear(self, x: Array, name: str) -> Array:
        weight, bias = (self.arrays[f"{name}.{part}"] for part in ("weight", "bias"))
        return np.asarray(weight @ x + bias[:, None])

    def _norm(self, x: Array, name: str) -> Array:
        weight, bias = (self.arrays[f"{name}.LayerNorm.{part}"] for part in ("weight", "bias"))
        x = x - x.mean(axis=0)
        spread = np.sqrt((x * x).mean(axis=0) + np.float32(1e-12))
        return np.asarray(x / spread * weight[:, None] + bias[:, None])


def words(text: str) -> list[str]:
    """A text's words and signs of punctuation, without accents and in small letters."""
    parts = []
    for sign in unicodedata.normalize("NFD", "".join(map(_apart, text))):
        category = unicodedata.category(sign)
        if category == "Mn":
            continue
        is_mark = category[0] == "P" or ("!" <= sign <= "~" and not sign.isalnum())
        parts.append(f" {sign} " if is_mark else sign.lower())
    return "".join(parts).split()


def _apart(sign: str) -> str:
    """A sign as it counts: control characters not at all, and Chinese ones as words."""
    if sign.isspace():
        return " "
    if sign == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(sign) in ("Cc", "Cf", "Co"):
        return ""
    place = ord(sign)
    is_chinese = (
        0x3400 <= place <= 0x4DBF
        or 0x4E00 <= place <= 0x9FFF
        or 0xF900 <= place <= 0xFAFF
        or 0x20000 <= place <= 0x2CEAF
        or 0x2F800 <= place <= 0x2FA1F
    )
    return f" {sign} " if is_chinese else sign


def _attend(query: Array, key: Array, value: Array) -> Array:
    """(width, n): what each token takes of the others, by heads."""
    query, key, value = (part.reshape(N_HEADS, -1, part.shape[1]) for part in (query, key, value))
    shares = key.transpose(0, 2, 1) @ query / np.sqrt(np.float32(query.shape[1]))
    shares = np.exp(shares - shares.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return np.asarray((value @ shares).reshape(-1, query.shape[2]))


def _gelu(x: Array) -> Array:
    """x·Φ(x), with erf to 1.5e-7 (Abramowitz & Stegun 1964, 7.1.26)."""
    size = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = np.zeros_like(x)
    for factor in _ERF:
        tail = (tail + np.float32(factor)) * t
    return np.asarray((1 + np.copysign(1 - tail * np.exp(-size * size), x)) * x / 2)
