"""The image half of any open_clip model: `open_clip:<model>`, with `?pretrained=<tag>` for weights
of its hub.

`text_embeddings` gives class names in the same space (`text.py`).
"""

import functools
from pathlib import Path
from typing import Any

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
from pillar_core.backbones.preparing import Preparing, three
from pillar_core.backbones.weights import hub_file
from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.extras import needed
from pillar_core.registry import unknown_name

FAMILY = "open_clip"
FILE = "open_clip_model.safetensors"
_MEAN, _STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)


def _open(name: str, work: Work) -> Encoder:
    spot = address(name)
    network, title = (
        _open_clip().create_model(spot.model).visual,
        f"the image half of {spot.base}",
    )
    return filled(name, work, network, _preparing(name), title=title)


def _preparing(name: str) -> Preparing:
    spot = address(name)
    tag = _tag(name) or {}
    size = _config(spot.model)["vision_cfg"].get("image_size", 224)
    plain = Preparing(
        input_size=int(size[0] if isinstance(size, list | tuple) else size),
        mean=three(tag.get("mean") or _MEAN),
        std=three(tag.get("std") or _STD),
        interpolation="bicubic",
        crop=1.0,
    )
    return plain.with_options(
        {option: value for option, value in spot.options.items() if option != "pretrained"}
    )


def _config(model: str) -> dict[str, Any]:
    known = _open_clip().list_models()
    if (
        model not in known
    ):  # open_clip itself would take hf-hub:… and local-dir:…, an address and a folder
        raise unknown_name("model of open_clip", model, known)
    return dict(_open_clip().get_model_config(model))


def _tag(name: str) -> dict[str, Any] | None:
    """open_clip's facts about the weights that the name's `pretrained` says; None where it says
    none."""
    spot = address(name)
    unknown = set(spot.arguments) - {"pretrained"}
    if unknown:
        raise SettingError(
            f"{spot.base} takes no option {', '.join(sorted(unknown))}; its own one is pretrained"
            " (a tag of open_clip)."
        )
    if "pretrained" not in spot.options:
        return None
    tags = _open_clip().list_pretrained_tags_by_model(spot.model)
    if spot.options["pretrained"] not in tags:
        raise SettingError(
            f"pretrained must be one of {', '.join(tags[:8])} …; got"
            f" {spot.options['pretrained']!r}."
        )
    return dict(_open_clip().get_pretrained_cfg(spot.model, spot.options["pretrained"]))


def _open_clip() -> Any:
    with needed("a backbone named open_clip:…"):
        import open_clip
    return open_clip


def _card(name: str) -> Backbone:
    spot = address(name)
    config, tag = _config(spot.model), _tag(name)
    _preparing(name)

    def fetch(network: bool) -> Path | None:
        return hub_file((tag or {}).get("hf_hub", "").rstrip("/"), FILE, network=network)

    facts: dict[str, Any] = {"width": f"{config['embed_dim']:,}", "parameters": "as its file says"}
    n_bytes = 0 if tag is None else _n_bytes(spot.model)
    return card_with_options(
        card_of(f"{FAMILY}:{spot.model}", open=_open, fetch=fetch, n_bytes=n_bytes, **facts), name
    )


@functools.lru_cache
def _n_bytes(model: str) -> int:
    """The size of a file with both halves of the model."""
    with torch.device("meta"):
        network = _open_clip().create_model(model, device="meta")
    return sum(4 * value.numel() for value in network.state_dict().values())


BACKBONES.register(
    card_of(f"{FAMILY}:ViT-B-32", open=_open, width="512", parameters="87.8 million")
)
BACKBONES.register_family(
    FAMILY,
    _card,
    linkable=lambda name: is_plain(
        name, models=_open_clip().list_models(), arguments=("pretrained",)
    ),
)
