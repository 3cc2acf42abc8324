"""Texts as numbers: each by itself, whatever stands in it."""

import hashlib

import numpy as np
from tokenizers import Tokenizer

from pillar_core import texts
from pillar_core.backbones import BACKBONES, extract
from pillar_core.backbones.cards import Work
from pillar_core.data import load_dataset
from pillar_core.texts import token_vectors
from users import refuses

ODD = ["", None, float("nan"), "\x00\x01 \u200b", "<br/><b></b>"]


def test_a_text_has_the_same_bits_beside_any_others():
    said = [
        f"Ticket {number}: the printer on floor {number % 7} shows a paper jam."
        for number in range(2 * texts.AT_ONCE + 3)
    ]
    together = texts.encode(said)
    assert together.shape == (len(said), texts.WIDTH)
    assert together.dtype == np.float32
    for row in (0, texts.AT_ONCE - 1, texts.AT_ONCE, len(said) - 1):
        assert (texts.encode([said[row]])[0] == together[row]).all()
    assert (texts.encode(said[::-1])[::-1] == together).all()


def test_no_text_is_zero_odd_ones_finite_and_near_ones_near():
    assert not texts.encode(ODD).any()
    assert texts.encode([]).shape == (0, texts.WIDTH)
    rows = texts.encode(
        [
            "😀😀",
            "你好，打印机坏了",
            "Сломался принтер",
            "\ud800",
            3.5,
            "<b>jam</b>",
            "jam",
            "a\x00jam",
            "a jam",
        ]
    )
    assert np.isfinite(rows).all()
    assert rows.any(axis=1).tolist() == [True, True, True, False, True, True, True, True, True]
    assert (rows[5] == rows[6]).all()
    assert (rows[7] == rows[8]).all()
    word = "word " * 100_000
    giant, cut, other = texts.encode(
        [word, word[: token_vectors.LONGEST], word + "and an end that nobody reads"]
    )
    assert (giant == cut).all()
    assert (giant == other).all()
    rows = texts.encode(
        [
            "my printer is broken",
            "the printer does not work",
            "please refund my money",
            "I want my payment back",
        ]
    )
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = unit @ unit.T
    assert min(near[0, 1], near[2, 3]) > max(near[0, 2], near[0, 3], near[1, 2], near[1, 3])


def test_the_backbone_is_the_same_and_takes_no_images_or_numbers():
    encode = BACKBONES[texts.NAME].open(texts.NAME, Work()).encode
    assert (encode(["a b c"]) == texts.encode(["a b c"])).all()
    for name in ("digits", "breast_cancer"):
        refuses("takes texts", extract, load_dataset(name), backbone=texts.NAME)


def test_vectors_and_tokenizer_are_those_of_wordllama_bit_by_bit():
    """The fingerprint is in cached features, recipes and exported models; both files are what the
    package wordllama 0.4 held."""
    tokenizer = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
    for path, sha256 in ((texts.VECTORS, texts.SHA256), (texts.TOKENIZER, tokenizer)):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def test_tokens_are_those_of_the_tokenizer_s_own_library():
    """Signs of all kinds at random, and real sentences; equal for any draw."""
    oracle, ours = Tokenizer.from_file(str(texts.TOKENIZER)), texts._opened()
    draw = np.random.default_rng(0)
    signs = [*"the an in <>0xAFunk/s ▁▁▁  éßЖ", "打", "🖨", "\u0301", "\U0001f1e9"] * 3
    signs += map(chr, draw.integers(33, 0xD7FF, 200))
    drawn = ["".join(draw.choice(signs, draw.integers(1, 120))) for _ in range(1_000)]
    said = [*drawn, *load_dataset("scipy_docs").texts]
    cleaned = map(token_vectors.clean, said)
    nothing = np.zeros(texts.WIDTH, dtype=np.float32)
    tokens = oracle.encode_batch_fast([*cleaned], add_special_tokens=False)
    means = [ours.vectors[each.ids].mean(axis=0) if each.ids else nothing for each in tokens]
    assert (np.stack(means) == ours.means(said, {})).all()
