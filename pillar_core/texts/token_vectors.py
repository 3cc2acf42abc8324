"""A text as the mean of its tokens' vectors, with numpy alone: a file of a model holds this code.

Tokens are those of byte-pair encoding: from single signs on, the pair that was merged first in the
tokenizer's training is merged, again and again. No token goes on over a blank, so a word's tokens
hang on that word alone.
"""

import heapq
import json
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array

LONGEST = 8_192
"""Signs of a text that count, the first ones: about 1,400 English words."""
MOST_WORDS = 100_000
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ud800-\udfff\s]+")
_BLANK = "▁"
_WORD = re.compile(f"{_BLANK}*[^{_BLANK}]+|{_BLANK}+")


def clean(text: object) -> str:
    """One line of what counts of a text: tags of HTML and control characters are blanks, a gap is
    empty."""
    is_gap = text is None or (isinstance(text, float) and text != text)
    return (
        ""
        if is_gap
        else _CONTROL.sub(" ", _TAG.sub(" ", str(text)[: 2 * LONGEST])).strip()[:LONGEST]
    )


class TokenVectors:
    """The vectors of a safetensors file with one array (tokens, width) of float16, and the merges
    of its tokenizer's json."""

    def __init__(self, vectors: Path, tokenizer: Path) -> None:
        with vectors.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            (entry,) = header.values()
            self.vectors = np.fromfile(file, "<f2").reshape(entry["shape"]).astype(np.float32)
        model = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]
        self.places: dict[str, int] = model["vocab"]
        self.ranks = {tuple(merge.split(" ")): rank for rank, merge in enumerate(model["merges"])}

    def means(self, texts: Iterable[object], tokens: dict[str, list[int]]) -> Array:
        """(n, width) float32, each of its text alone; a text without signs is zero. tokens: of
        words, kept there from call to call."""
        if len(tokens) > MOST_WORDS:
            tokens.clear()
        rows = []
        for text in map(clean, texts):
            words = _WORD.findall(_BLANK + text.replace(" ", _BLANK)) if text else []
            for word in words:
                if word not in tokens:
                    tokens[word] = self.tokens(word)
            places = [place for word in words for place in tokens[word]]
            rows.append(
                self.vectors[places].mean(axis=0)
                if places
                else np.zeros(self.vectors.shape[1], dtype=np.float32)
            )
        return np.stack(rows)

    def tokens(self, word: str) -> list[int]:
        """The places of a word's tokens; a sign that is none counts as its bytes."""
        parts = [
            part
            for sign in word
            for part in ([sign] if sign in self.places else map("<0x{:02X}>".format, sign.encode()))
        ]
        # Parts are a linked list that ends, both ways, in an empty one, which no merge names.
        last = len(parts)
        parts.append("")
        after, before = [*range(1, last + 1), last], [*range(-1, last)]
        pairs: list[tuple[int, int]] = []

        def consider(place: int) -> None:
            rank = self.ranks.get((parts[place], parts[after[place]]))
            if rank is not None:
                heapq.heappush(pairs, (rank, place))

        for place in range(last):
            consider(place)
        while pairs:
            rank, place = heapq.heappop(pairs)
            other = after[place]
            if self.ranks.get((parts[place], parts[other])) != rank:
                continue  # one of the two was merged meanwhile
            parts[place] += parts[other]
            parts[other] = ""
            after[place] = after[other]
            before[after[other]] = place
            consider(before[place])
            consider(place)
        return [self.places[part] for part in parts if part]
