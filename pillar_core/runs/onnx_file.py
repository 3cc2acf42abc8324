"""A model of images as one ONNX file: uint8 images in, probabilities out; importing this imports
torch."""

from pathlib import Path

import numpy as np
import torch

from pillar_core import rng
from pillar_core.backbones.cards import BACKBONES, Work, identity_of
from pillar_core.backbones.preparing import Preparing
from pillar_core.engine import LinearClassifier
from pillar_core.errors import PillarError, UnsupportedError
from pillar_core.extras import needed
from pillar_core.methods.parts.deep.classifier import NetworkClassifier
from pillar_core.runs import use
from pillar_core.splits.transform import SMALLEST_SCALE
from pillar_core.types import Form

TOLERANCE = 1e-4
"""How far a probability of the file may lie from the library's, on images that are tried before the
file is handed out."""


def onnx_bytes(
    head: LinearClassifier | NetworkClassifier, form: Form, weights: str | Path | None = None
) -> bytes:
    """The ONNX file of a model of images: `images` (n, h, w[, 3]) uint8 to `probabilities` (n, C).
    form: the card's `input`.

    Raises UnsupportedError: a model of other rows, a backbone that cannot be written so, or a file
    that does not agree with the library. MissingDependencyError: the extra `onnx` is not installed.
    """
    if form["kind"] != "pixels" and "backbone" not in form:
        raise UnsupportedError("it is for models of images")
    with needed("model.onnx"):
        import onnx  # noqa: F401  # torch writes with both
        import onnxruntime
        import onnxscript  # noqa: F401
    name = form["backbone"]["name"] if "backbone" in form else "raw_pixels"
    try:
        is_same = "backbone" not in form or identity_of(name, weights) == form["backbone"]
        encoder = BACKBONES[name].open(name, Work(BACKBONES[name].weights_file(weights)))
    except PillarError as refusal:
        raise UnsupportedError(f"the backbone {name} could not be opened ({refusal})") from refusal
    if not is_same or (encoder.network is None and "backbone" in form):
        raise UnsupportedError(
            f"the backbone {name}"
            f" {'is no network of torch' if is_same else 'has other weights here'}"
        )
    images = rng.stream(0, "images for onnx").integers(
        0, 256, size=(3, *form["shape"]), dtype=np.uint8
    )
    expected = use.probabilities(head.scores(encoder.encode(images)).astype(np.float64))
    whole = _Whole(head, *(encoder.network or (None, None))).eval()
    for layer in whole.modules():
        vars(layer)["inplace"] = (
            False  # torch takes half as long again to write what overwrites its input
        )
    names: Form = {
        "input_names": ["images"],
        "output_names": ["probabilities"],
        "dynamo": True,
        "verbose": False,
    }
    try:
        with torch.no_grad():
            program = torch.onnx.export(
                whole,
                (torch.from_numpy(images),),
                dynamic_shapes=({0: torch.export.Dim("n", min=1)},),
                **names,
            )
        content = bytes(program.model_proto.SerializeToString())  # type: ignore[union-attr]  # None without dynamo
        p = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"]).run(
            None, {"images": images}
        )[0]
    except Exception as error:
        # torch, onnx and onnxruntime have errors of their own for what they cannot write or run
        raise UnsupportedError(f"torch could not write it ({type(error).__name__})") from error
    if not np.allclose(p, expected, rtol=0, atol=TOLERANCE):
        raise UnsupportedError(
            f"its probabilities would differ by {np.abs(p - expected).max():.2g} from the library's"
        )
    return content


class _Whole(torch.nn.Module):
    """From images to probabilities."""

    mean: torch.Tensor | None
    scale: torch.Tensor | None
    projection: torch.Tensor | None
    weights: torch.Tensor
    bias: torch.Tensor

    def __init__(
        self,
        head: LinearClassifier | NetworkClassifier,
        network: torch.nn.Module | None,
        preparing: Preparing | None,
    ) -> None:
        super().__init__()
        self.network, self.preparing, self.head, self.form = network, preparing, None, None
        if isinstance(head, NetworkClassifier):
            self.head, _, self.form = head.design.build(seed=0, is_filled=False)
            self.head.load_state_dict(
                {
                    name: torch.from_numpy(array.copy())
                    for name, array in zip(head.names, head.arrays, strict=True)
                }
            )
            return
        transform, self.is_unit = head.transform, head.transform.normalise
        scale = None if transform.scale is None else np.maximum(transform.scale, SMALLEST_SCALE)
        parts = {
            "mean": transform.mean,
            "scale": scale,
            "projection": transform.projection,
            "weights": head.weights,
            "bias": head.bias,
        }
        for name, array in parts.items():
            self.register_buffer(
                name, None if array is None else torch.from_numpy(array.astype(np.float64))
            )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """(n, C) float32 from (n, h, w[, 3]) uint8."""
        x = (images.float() / 255).flatten(1)
        if self.form is not None and self.head is not None:
            return torch.softmax(
                self.head(self.form.ready(self.form.images(x))).double(), dim=1
            ).float()
        if self.network is not None and self.preparing is not None:
            x = self.network(self.preparing.prepare(images))
            x = x.mean(dim=(2, 3)) if x.ndim == 4 else x
        x = x.double() if self.mean is None else x - self.mean
        x = x if self.scale is None else x / self.scale
        x = x if self.projection is None else x @ self.projection
        if self.is_unit:
            norms = torch.linalg.vector_norm(x, dim=1, keepdim=True)
            x = x / torch.where(norms > 0, norms, 1.0)
        return torch.softmax(x @ self.weights + self.bias, dim=1).float()
