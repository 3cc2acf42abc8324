"""Class names as vectors in an image backbone's feature space: by any open_clip model, or from an
npz made elsewhere.

What comes back goes to `split(..., text_embeddings=...)`. It belongs to image features of the same
model; with others, the dimension mostly differs and the split refuses it.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pillar_core.arrays import Array
from pillar_core.errors import DataError, SettingError
from pillar_core.extras import needed
from pillar_core.types import FeatureSet

OPEN_CLIP = "open_clip:"
SENTENCE = "a photo of a {}."
KEYS = ("text_embeddings", "classes")


def text_embeddings(
    classes: Sequence[str],
    source: str | Path,
    *,
    weights: str | Path | None = None,
) -> Array:
    """(C, d) float32 unit vectors, one row a class, in the order of `classes`.

    source: "open_clip:<model>" (such as open_clip:ViT-B-32), or the path of an npz with
    `text_embeddings` (C, d) and, where the order could differ, `classes`. weights: a file of
    weights, or a tag that open_clip fetches from its hub; only for models.

    Raises SettingError: no class, a source of neither kind, or a model without weights.
    MissingDependencyError: open_clip is not installed. DataError: a file without these vectors, or
    vectors for other classes.
    """
    if not classes:
        raise SettingError("classes must name at least one class; got none.")
    if str(source).startswith(OPEN_CLIP):
        return _unit(
            _encode_sentences(
                [SENTENCE.format(name) for name in classes],
                str(source).removeprefix(OPEN_CLIP),
                weights,
            )
        )
    path = Path(source)
    if path.suffix != ".npz":
        raise SettingError(
            f"source must be open_clip:<model> or the path of an .npz file; got {str(source)!r}."
        )
    if weights is not None:
        raise SettingError("weights go with open_clip:<model>; an npz holds vectors already.")
    return _unit(_load_embeddings(path, list(classes)))


def zero_shot_accuracy(features: FeatureSet, vectors: Array) -> float:
    """The share of test rows whose nearest class name, by angle, is that of their class: no train
    row is read, so ε = 0.

    vectors: (C, d) of the class names in the features' space, as `text_embeddings` gives them.

    Raises DataError: no labelled test rows, or vectors of other classes or another space.
    """
    if features.x_test is None or features.y_test is None or not len(features.y_test):
        raise DataError("zero-shot accuracy needs labelled test rows; these features have none.")
    if vectors.shape != (features.n_classes, features.d):
        raise DataError(
            f"vectors must have shape ({features.n_classes}, {features.d}), one row a class; got"
            f" {vectors.shape}."
        )
    return float(((features.x_test @ _unit(vectors).T).argmax(axis=1) == features.y_test).mean())


def _load_embeddings(path: Path, classes: list[str]) -> Array:
    if not path.is_file():
        raise DataError(f"there is no file {path}.")
    with np.load(path, allow_pickle=False) as arrays:
        if KEYS[0] not in arrays:
            raise DataError(
                f"{path} must hold an array {KEYS[0]}; it holds {', '.join(arrays) or 'nothing'}."
            )
        vectors = np.asarray(arrays[KEYS[0]], dtype=np.float32)
        names = [str(name) for name in arrays[KEYS[1]]] if KEYS[1] in arrays else classes
    if vectors.ndim != 2 or len(vectors) != len(names):
        raise DataError(
            f"{KEYS[0]} must have one row a class, ({len(names)}, d); got {vectors.shape}."
        )
    missing = [name for name in classes if name not in names]
    if missing:
        raise DataError(
            f"{path} has no vector for {', '.join(missing[:5])}; it names {', '.join(names[:5])}."
        )
    return vectors[[names.index(name) for name in classes]]


def _encode_sentences(sentences: list[str], model_name: str, weights: str | Path | None) -> Array:
    if weights is None:
        raise SettingError(
            f"weights must be a file or a hub tag of {model_name}: class names mean nothing to"
            " random weights."
        )
    with needed("encoding class names here (an npz of text_embeddings will do instead)"):
        import open_clip
    import torch

    try:
        model = open_clip.create_model(model_name, pretrained=str(weights)).eval()
    except RuntimeError as error:  # a file of the image half alone fills an image backbone
        raise DataError(
            f"{weights} does not hold both halves of {model_name} ({str(error).splitlines()[0]})."
        ) from error
    with torch.no_grad():
        vectors = model.encode_text(open_clip.get_tokenizer(model_name)(sentences))
    return np.asarray(vectors.float().numpy())


def _unit(vectors: Array) -> Array:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not np.isfinite(vectors).all() or not (lengths > 0).all():
        raise DataError("text embeddings must be finite and not zero.")
    return np.ascontiguousarray(vectors / lengths, dtype=np.float32)
