"""ResNet-50 trained without labels, from a checkpoint on this disk: `resnet50:byol`,
`:moco_v2plus`, `:moco_v3`, `:dino`.

Checkpoints of solo-learn, torch hub, VISSL and the authors' repositories differ in the names of
their tensors alone; what wraps them is found and taken off, and every tensor of the network must be
there (`weights.fill`).
"""

from pillar_core.backbones.cards import (
    BACKBONES,
    Backbone,
    Encoder,
    Work,
    card_of,
    card_with_options,
)
from pillar_core.backbones.devices import filled
from pillar_core.backbones.names import address, is_plain
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.backbones.timm_models import build_model
from pillar_core.errors import SettingError, UnknownNameError

FAMILY = "resnet50"
"""And timm's name of the architecture."""


def _open(name: str, work: Work) -> Encoder:
    preparing = IMAGENET.with_options(address(name).options)
    return filled(name, work, build_model(FAMILY, {}), preparing, title=f"timm:{FAMILY}")


def _card(name: str) -> Backbone:
    spot = address(name)
    if spot.base not in KINDS:
        raise UnknownNameError(
            f"There is no backbone {spot.base!r}; self-supervised ones are {', '.join(KINDS)}."
        )
    if spot.arguments:
        raise SettingError(
            f"{spot.base} takes weights, options that prepare images, precision and storage; got"
            f" {', '.join(spot.arguments)}."
        )
    IMAGENET.with_options(spot.options)
    return card_with_options(BACKBONES[spot.base], name)


MODELS = ("byol", "moco_v2plus", "moco_v3", "dino")
KINDS = tuple(f"{FAMILY}:{kind}" for kind in MODELS)

for _kind in KINDS:
    BACKBONES.register(card_of(_kind, open=_open))
BACKBONES.register_family(FAMILY, _card, linkable=lambda name: is_plain(name, models=MODELS))
