"""ResNet-50 trained without labels: BYOL, MoCo v2+, MoCo v3 and DINO, from a checkpoint on this disk.

Checkpoints of solo-learn, torch hub, VISSL and the authors' repositories differ in the names of their tensors alone; what
wraps them is found and taken off, and every tensor of the network must be there (`weights.fill`).
"""

from __future__ import annotations

from pillar_core.errors import SettingError
from pillar_core.features import timm_models
from pillar_core.features.cards import BACKBONES, Backbone, Encoder, Work
from pillar_core.features.devices import encoder
from pillar_core.features.preparing import IMAGENET

__all__: list[str] = []

ARCHITECTURE = "timm:resnet50"


def _open(name: str, work: Work) -> Encoder:
    if work.weights is None:
        raise SettingError(f"the backbone {name} needs its weights.")
    network, notes = timm_models.network(ARCHITECTURE, work.weights)
    return encoder(network, IMAGENET, device=work.device, notes=notes)


for _name, _title, _source, _licence, _weights in (
    (
        "byol_resnet50",
        "ResNet-50, BYOL",
        "Grill et al. 2020",
        "as the checkpoint's",
        "a BYOL checkpoint of solo-learn, VISSL or another PyTorch repository (the authors' own is for JAX: convert it first)",
    ),
    (
        "moco_v2plus_resnet50",
        "ResNet-50, MoCo v2+",
        "Chen, Fan, Girshick & He 2020",
        "CC-BY-NC-4.0 (authors' checkpoint)",
        "moco_v2_800ep_pretrain.pth.tar of facebookresearch/moco, or solo-learn's checkpoint",
    ),
    (
        "moco_v3_resnet50",
        "ResNet-50, MoCo v3",
        "Chen, Xie & He 2021",
        "CC-BY-NC-4.0 (authors' checkpoint)",
        "r-50-1000ep.pth.tar of facebookresearch/moco-v3, or solo-learn's checkpoint",
    ),
    (
        "dino_resnet50",
        "ResNet-50, DINO",
        "Caron et al. 2021",
        "Apache-2.0 (authors' checkpoint)",
        "dino_resnet50_pretrain.pth of facebookresearch/dino (torch hub), or solo-learn's checkpoint",
    ),
):
    BACKBONES.register(
        Backbone(
            name=_name,
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
