"""Every image model of timm by its name: `timm:<model>[?options]`, with the papers' own ones
listed.

Weights come from a local file (weights=FILE, in the name or beside it), else from timm's hub, which
needs a network once. Options of the name prepare images or are arguments of the model:
`timm:mobilenetv2_100?pad_type=same&mean=0.5&std=0.5`.
"""

import functools
import inspect
from collections.abc import Mapping
from typing import Any

from pillar_core.backbones.cards import (
    BACKBONES,
    FACTS,
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
from pillar_core.registry import toml_tables, unknown_name

FAMILY = "timm"
LINKABLE = (
    "pad_type",
    "global_pool",
    "img_size",
    "dynamic_img_size",
    "output_stride",
    "drop_rate",
    "drop_path_rate",
    "act_layer",
)
"""Arguments of models that are numbers or words of timm, whoever says them."""


def preparing_of(name: str) -> Preparing:
    """How timm prepares images for the model, with the changes that the name asks for."""
    spot = address(name)
    facts = _facts(spot.model)
    plain = Preparing(
        input_size=int(facts.input_size[-1]),
        mean=three(facts.mean),
        std=three(facts.std),
        interpolation=(
            facts.interpolation
            if facts.interpolation in ("bilinear", "bicubic", "nearest")
            else "bicubic"
        ),
        crop=float(facts.crop_pct),
    )
    return plain.with_options(spot.options)


def _open(name: str, work: Work) -> Encoder:
    spot = address(name)
    model = build_model(spot.model, spot.arguments)
    return filled(name, work, model, preparing_of(name), title=spot.base)


def build_model(model: str, arguments: Mapping[str, Any], *, num_classes: int = 0) -> Any:
    """timm's model with random weights, without its classifier unless `num_classes` says so.

    Raises UnknownNameError: timm has no such model. SettingError: an argument that the model does
    not take. MissingDependencyError: timm is not installed.
    """
    _facts(model)
    # Arguments of `create_model` itself, such as checkpoint_path, name files that it would load.
    parameters = inspect.signature(_timm().create_model).parameters
    if refused := set(arguments) & (set(parameters) - {"kwargs"}):
        raise SettingError(
            f"{', '.join(sorted(refused))} is no argument of a model; a file of weights is"
            " weights=FILE."
        )
    try:
        return _timm().create_model(model, pretrained=False, num_classes=num_classes, **arguments)
    except (TypeError, ValueError, RuntimeError, KeyError, AssertionError) as error:
        raise SettingError(
            f"timm cannot build {model} with {arguments or 'its defaults'} ({error})."
        ) from error


def _facts(model: str) -> Any:
    """timm's card of the model. Raises UnknownNameError: there is none."""
    known = _models()
    try:
        if facts := _timm().get_pretrained_cfg(
            model, allow_unregistered=model.split(".")[0] not in known
        ):
            return facts
    except RuntimeError:
        known = _timm().list_models(f"{model.split('.')[0]}.*", pretrained=True) or known
    raise unknown_name("model of timm", model, sorted(known))


@functools.lru_cache(maxsize=1)
def _models() -> frozenset[str]:
    """The names that timm lists, which takes it a fifth of a second: files of records ask for each,
    and pages for every backbone."""
    return frozenset(_timm().list_models())


def _timm() -> Any:
    import timm

    return timm


def _card(name: str) -> Backbone:
    spot = address(name)
    preparing_of(name)
    if name != spot.base:
        return card_with_options(BACKBONES[spot.base], name)
    timm_card = _facts(spot.model)
    with torch.device("meta"):
        model = build_model(spot.model, spot.arguments)
    parameters = sum(value.numel() for value in model.parameters())
    return Backbone(
        name=name,
        title=f"{spot.model} (timm)",
        source="timm (Wightman)",
        licence=timm_card.license or "as the weights file says",
        width=f"{int(getattr(model, 'num_features', 0)):,}",
        pretraining=(
            f"as timm's tag {timm_card.tag!r} says" if timm_card.tag else "as the weights file says"
        ),
        overlap=(
            "unknown: look up what it was pre-trained on, and whether the private classes or rows"
            " are in it"
        ),
        parameters=f"{parameters / 1e6:,.1f} million",
        n_bytes=4 * parameters,
        **_ways(spot.model),
    )


def _ways(model: str) -> dict[str, Any]:
    """How the model is opened, and where its weights are from."""
    return {
        "open": _open,
        "weights": (
            f"https://huggingface.co/timm/{model}, file model.safetensors, or any checkpoint of"
            " this architecture"
        ),
        "fetch": lambda network: hub_file(
            _facts(model).hf_hub_id, "model.safetensors", network=network
        ),
    }


for _name in toml_tables(FACTS):
    if _name.startswith(f"{FAMILY}:"):
        BACKBONES.register(card_of(_name, **_ways(_name.removeprefix(f"{FAMILY}:"))))
BACKBONES.register_family(
    FAMILY, _card, linkable=lambda name: is_plain(name, models=_models(), arguments=LINKABLE)
)
