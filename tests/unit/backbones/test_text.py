"""Class names as vectors: from files, through a stand-in for open_clip, and through a small model
of its own that was never trained."""

import sys

import numpy as np
import pytest
import torch

import pillar_core as pc
from pillar_core.backbones.text import text_embeddings, zero_shot_accuracy
from pillar_core.errors import MissingDependencyError, SettingError
from users import output_of, raises, refuses

CLASSES = ("cat", "dog")
VECTORS = np.array([[3.0, 4.0], [0.0, 2.0]])


def test_a_file_is_read_in_the_order_asked_for_or_refused(tmp_path):
    path = tmp_path / "text.npz"
    np.savez(path, text_embeddings=VECTORS, classes=np.array(["dog", "cat"]))
    found = text_embeddings(CLASSES, path)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [[0, 1], [0.6, 0.8]])
    np.savez(path, text_embeddings=VECTORS)
    np.testing.assert_allclose(text_embeddings(CLASSES, path), [[0.6, 0.8], [0, 1]])
    refuses("no file", text_embeddings, CLASSES, tmp_path / "absent.npz")
    for arrays, match in (
        ({"vectors": VECTORS}, "must hold"),
        ({"text_embeddings": VECTORS, "classes": np.array(["cow", "dog"])}, "no vector for cat"),
        ({"text_embeddings": VECTORS[:1]}, "one row a class"),
        ({"text_embeddings": 0 * VECTORS}, "not zero"),
        ({"text_embeddings": np.nan * VECTORS}, "finite"),
    ):
        np.savez(path, **arrays)
        refuses(match, text_embeddings, CLASSES, path)


def test_class_names_alone_are_judged_by_angle_and_bad_arguments_refused(tmp_path):
    """Long vectors count no more than short ones, and other train rows change nothing."""
    x_test, y_test = np.array([[2, 0.1], [5, 4], [0.1, 9]], dtype=np.float32), np.array([0, 1, 1])
    for train in (np.zeros((2, 2)), np.ones((2, 2))):
        features = pc.features(
            train.astype(np.float32), np.array([0, 1]), x_test, y_test, classes=CLASSES
        )
        assert zero_shot_accuracy(features, np.array([[1.0, 0.0], [0.0, 50.0]])) == pytest.approx(
            2 / 3
        )
    refuses("shape", zero_shot_accuracy, features, np.ones((3, 2)))
    refuses("test rows", zero_shot_accuracy, pc.features(x_test, y_test, classes=CLASSES), VECTORS)
    raises(SettingError, "at least one", text_embeddings, (), "open_clip:ViT-B-32", weights="here")
    raises(SettingError, "weights", text_embeddings, CLASSES, "open_clip:ViT-B-32")
    raises(SettingError, "open_clip", text_embeddings, CLASSES, "text.csv")
    raises(SettingError, "npz", text_embeddings, CLASSES, tmp_path / "text.npz", weights="here")


def test_open_clip_encodes_the_sentences(tiny):
    open_clip = sys.modules["open_clip"]
    name, weights, model = tiny
    found = text_embeddings(CLASSES, name, weights=weights)
    with torch.no_grad():
        wanted = model.encode_text(
            open_clip.get_tokenizer("pillar-tiny")([f"a photo of a {name}." for name in CLASSES])
        ).numpy()
    np.testing.assert_allclose(
        found, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6
    )


def test_without_open_clip_or_with_the_image_half_alone_words_say_so(tiny, tmp_path, monkeypatch):
    from safetensors.torch import save_file

    name, _, model = tiny
    save_file(
        {key: part.contiguous() for key, part in model.visual.state_dict().items()},
        tmp_path / "half.safetensors",
    )
    refuses("both halves", text_embeddings, CLASSES, name, weights=tmp_path / "half.safetensors")
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(MissingDependencyError, match="extra `clip`"):
        text_embeddings(CLASSES, "open_clip:ViT-B-32", weights="tag")


def test_training_starts_from_class_names_in_the_space_of_the_same_model(tiny, tmp_path, own_cache):
    name, weights, _ = tiny
    features = pc.load_features(
        pc.load_dataset("drawn_digits", n=200), name, weights=weights, device="cpu"
    )
    text = text_embeddings(features.classes, name, weights=weights)
    split = pc.split(features, public_per_class=2, text_embeddings=text)
    start = {"initialisation": "text", "standardise": False, "centre": False}
    still = pc.run(
        "adamix", split, epsilon=1.0, learning_rate=1e-12, text_scale=1.0, normalise=False, **start
    )
    np.testing.assert_allclose(
        still.classifier.scores(features.x_test), features.x_test @ text.T, atol=1e-4
    )
    assert pc.METHODS["adamix"].public_words(still.settings) == "labelled and class names"
    path = tmp_path / "features.npz"
    rows = {part: getattr(features, part) for part in ("x_train", "y_train", "x_test", "y_test")}
    np.savez(path, **rows, classes=np.array(features.classes))
    line = f"run --method adamix --dataset {path} --public-per-class 2 --epsilon 1"
    line += "".join(f" --set {setting}={value}" for setting, value in start.items())
    assert (
        "class names alone, which read no train row (ε = 0), reach"
        f" {zero_shot_accuracy(features, text):.2%}"
        in output_of(f"{line} --text-embeddings {name} --text-weights {weights}").out
    )
    assert "text embeddings" in output_of(line, status=2).err
