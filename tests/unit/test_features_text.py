"""Class names as vectors: from files, and through a stand-in for open_clip."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest
import torch

from pillar_core.errors import DataError, MissingDependencyError, SettingError
from pillar_core.features.text import text_embeddings

CLASSES = ("cat", "dog")
VECTORS = np.array([[3.0, 4.0], [0.0, 2.0]])


def test_a_file_is_read_in_the_order_asked_for(tmp_path):
    path = tmp_path / "text.npz"
    np.savez(path, text_embeddings=VECTORS, classes=np.array(["dog", "cat"]))
    found = text_embeddings(CLASSES, path)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0, 1], [0.6, 0.8]])
    np.savez(path, text_embeddings=VECTORS)
    np.testing.assert_allclose(text_embeddings(CLASSES, path), [[0.6, 0.8], [0, 1]])


def test_a_file_that_does_not_fit_is_refused(tmp_path):
    path = tmp_path / "text.npz"
    with pytest.raises(DataError, match="no file"):
        text_embeddings(CLASSES, path)
    for arrays, match in (
        ({"vectors": VECTORS}, "must hold"),
        ({"text_embeddings": VECTORS, "classes": np.array(["cow", "dog"])}, "no vector for cat"),
        ({"text_embeddings": VECTORS[:1]}, "one row a class"),
        ({"text_embeddings": 0 * VECTORS}, "not zero"),
        ({"text_embeddings": np.nan * VECTORS}, "finite"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(DataError, match=match):
            text_embeddings(CLASSES, path)


def test_bad_arguments_are_refused(tmp_path):
    with pytest.raises(SettingError, match="at least one"):
        text_embeddings((), "open_clip:ViT-B-32", weights="here")
    with pytest.raises(SettingError, match="template"):
        text_embeddings(CLASSES, "open_clip:ViT-B-32", weights="here", template="a photo")
    with pytest.raises(SettingError, match="weights"):
        text_embeddings(CLASSES, "open_clip:ViT-B-32")
    with pytest.raises(SettingError, match="open_clip"):
        text_embeddings(CLASSES, "text.csv")
    with pytest.raises(SettingError, match="npz"):
        text_embeddings(CLASSES, tmp_path / "text.npz", weights="here")


class Lengths:
    """A text model whose vector is (length of the sentence, 1)."""

    def eval(self):
        return self

    def encode_text(self, tokens):
        return torch.stack([tokens, torch.ones_like(tokens)], dim=1)


def test_a_model_encodes_sentences(monkeypatch):
    seen = {}
    stand_in = types.ModuleType("open_clip")
    stand_in.create_model = lambda name, pretrained: seen.update(name=name, pretrained=pretrained) or Lengths()
    stand_in.get_tokenizer = lambda name: lambda sentences: torch.tensor([float(len(text)) for text in sentences])
    monkeypatch.setitem(sys.modules, "open_clip", stand_in)
    found = text_embeddings(("ox", "horse"), "open_clip:ViT-B-32", weights="tag", template="{}!")
    np.testing.assert_allclose(found, np.array([[3, 1], [6, 1]]) / np.sqrt([[10], [37]]), rtol=1e-6)
    assert seen == {"name": "ViT-B-32", "pretrained": "tag"}


def test_without_open_clip_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(MissingDependencyError, match="pip install open_clip_torch"):
        text_embeddings(CLASSES, "open_clip:ViT-B-32", weights="tag")
