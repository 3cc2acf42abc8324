"""Texts as numbers: each by itself, whatever stands in it."""

import importlib.util

import numpy as np
import pytest

from pillar_core import texts
from pillar_core.backbones import BACKBONES, extract
from pillar_core.backbones.cards import Work
from pillar_core.data import load_dataset
from pillar_core.errors import DataError, MissingDependencyError

ODD = ["", None, float("nan"), "\x00\x01 \u200b", "<br/><b></b>"]


def test_a_text_has_the_same_bits_beside_any_others() -> None:
    said = [f"Ticket {number}: the printer on floor {number % 7} shows a paper jam." for number in range(2 * texts.AT_ONCE + 3)]
    together = texts.encode(said)
    assert together.shape == (len(said), texts.WIDTH)
    assert together.dtype == np.float32
    for row in (0, texts.AT_ONCE - 1, texts.AT_ONCE, len(said) - 1):
        assert (texts.encode([said[row]])[0] == together[row]).all()
    assert (texts.encode(said[::-1])[::-1] == together).all()


def test_no_text_is_zero_odd_ones_finite_and_near_ones_near() -> None:
    assert not texts.encode(ODD).any()
    assert texts.encode([]).shape == (0, texts.WIDTH)
    rows = texts.encode(["😀😀", "你好，打印机坏了", "Сломался принтер", "\ud800", 3.5, "<b>jam</b>", "jam", "a\x00jam", "a jam"])
    assert np.isfinite(rows).all()
    assert rows.any(axis=1).tolist() == [True, True, True, False, True, True, True, True, True]
    assert (rows[5] == rows[6]).all()
    assert (rows[7] == rows[8]).all()
    word = "word " * 100_000
    giant, cut, other = texts.encode([word, word[: texts.LONGEST], word + "and an end that nobody reads"])
    assert (giant == cut).all()
    assert (giant == other).all()
    rows = texts.encode(["my printer is broken", "the printer does not work", "please refund my money", "I want my payment back"])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    near = unit @ unit.T
    assert min(near[0, 1], near[2, 3]) > max(near[0, 2], near[0, 3], near[1, 2], near[1, 3])


def test_the_backbone_is_the_same_and_takes_no_images_or_numbers() -> None:
    encode = BACKBONES[texts.NAME].open(texts.NAME, Work()).encode
    assert (encode(["a b c"]) == texts.encode(["a b c"])).all()
    for name in ("digits", "breast_cancer"):
        with pytest.raises(DataError, match="takes texts"):
            extract(load_dataset(name), backbone=texts.NAME)


def test_without_the_package_or_with_other_files_the_way_on_is_said(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(texts, "PACKAGE", "no_such_package")
    texts._opened.cache_clear()
    with pytest.raises(MissingDependencyError, match="pip install wordllama"):
        texts.encode(["a"])
    for name in texts.SHA256:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"other")
    spec = importlib.util.spec_from_file_location("other", tmp_path / "__init__.py")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(DataError, match="SHA-256"):
        texts.encode(["a"])
    monkeypatch.undo()
    assert texts.encode(["a"]).any()
