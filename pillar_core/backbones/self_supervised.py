"""ResNet-50 trained without labels, from a checkpoint on this disk: `resnet50:byol`, `:moco_v2plus`, `:moco_v3`, `:dino`.

Checkpoints of solo-learn, torch hub, VISSL and the authors' repositories differ in the names of their tensors alone; what
wraps them is found and taken off, and every tensor of the network must be there (`weights.fill`).
"""

from __future__ import annotations

from pillar_core.backbones import timm_models
from pillar_core.backbones.cards import BACKBONES, Backbone, Encoder, Work, described_with
from pillar_core.backbones.devices import encoder
from pillar_core.backbones.names import address, is_plain
from pillar_core.backbones.preparing import IMAGENET
from pillar_core.errors import SettingError, UnknownNameError

__all__: list[str] = []

FAMILY, ARCHITECTURE = "resnet50", "timm:resnet50"


def _open(name: str, work: Work) -> Encoder:
    if work.weights is None:
        raise SettingError(f"the backbone {name} needs its weights.")
    network, notes = timm_models.network(ARCHITECTURE, work.weights)
    spot = address(name)
    return encoder(network, IMAGENET.changed(spot.options), device=work.device, precision=spot.precision, notes=notes)


def _card(name: str) -> Backbone:
    spot = address(name)
    if spot.base not in KINDS:
        raise UnknownNameError(f"There is no backbone {spot.base!r}; self-supervised ones are {', '.join(KINDS)}.")
    if spot.arguments:
        raise SettingError(
            f"{spot.base} takes weights, options that prepare images, precision and storage; got {', '.join(spot.arguments)}."
        )
    IMAGENET.changed(spot.options)
    return described_with(BACKBONES[spot.base], name)


MODELS = ("byol", "moco_v2plus", "moco_v3", "dino")
KINDS = tuple(f"{FAMILY}:{kind}" for kind in MODELS)


for _name, _title, _source, _licence, _weights in (
    (
        "byol",
        "ResNet-50, BYOL",
        "Grill et al. 2020",
        "as the checkpoint's",
        "a BYOL checkpoint of solo-learn, VISSL or another PyTorch repository (the authors' own is for JAX: convert it first)",
    ),
    (
        "moco_v2plus",
        "ResNet-50, MoCo v2+",
        "Chen, Fan, Girshick & He 2020",
        "CC-BY-NC-4.0 (authors' checkpoint)",
        "moco_v2_800ep_pretrain.pth.tar of facebookresearch/moco, or solo-learn's checkpoint",
    ),
    (
        "moco_v3",
        "ResNet-50, MoCo v3",
        "Chen, Xie & He 2021",
        "CC-BY-NC-4.0 (authors' checkpoint)",
        "r-50-1000ep.pth.tar of facebookresearch/moco-v3, or solo-learn's checkpoint",
    ),
    (
        "dino",
        "ResNet-50, DINO",
        "Caron et al. 2021",
        "Apache-2.0 (authors' checkpoint)",
        "dino_resnet50_pretrain.pth of facebookresearch/dino (torch hub), or solo-learn's checkpoint",
    ),
):
    BACKBONES.register(
        Backbone(
            name=f"{FAMILY}:{_name}",
            title=_title,
            source=_source,
            licence=_licence,
            width="2,048",
            pretraining="ImageNet-1k photos, unlabelled",
            overlap="photos of everyday objects, animals, vehicles, plants and food were seen, without labels; x-rays and digits hardly",
            open=_open,
            parameters="23.5 million",
            weights=_weights,
        )
    )
BACKBONES.register_family(FAMILY, _card, linkable=lambda name: is_plain(name, models=MODELS))
