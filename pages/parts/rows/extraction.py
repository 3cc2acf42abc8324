"""The backbone: which one, with which weights, and its features extracted in the background, kept
by content."""

import dataclasses
from collections.abc import Sequence

import streamlit as st

import pillar_core as pc
from pages.frame import core, failures, jobs, local, plain, session
from pages.frame.settings import AUTO, PUBLIC_TITLES, Settings
from pillar_core import mode, texts
from pillar_core.backbones import Backbone, is_ready, names
from pillar_core.backbones.weights import keep_upload
from pillar_core.errors import PillarError
from pillar_core.jobs.kinds import fetch
from pillar_core.jobs.kinds.extraction import specification
from pillar_core.texts import minilm
from pillar_core.types import FeatureSet

_OWN = "by name"
_PENDING = "In the link as `backbone` from the press of its button on."


def panel(settings: Settings, *, public_sets: Sequence[str] = ()) -> bool:
    """Whether there are features to work on: the choice of a backbone for images or of an encoder
    for texts, and the extraction that it asks for.

    public_sets: those that are to pass it, too, besides the settings' own.
    """
    with failures.show_refusal("This data set could not be opened."):
        data, are_texts = core.raw(settings), bool(core.encoders(settings))
        if not are_texts and (isinstance(data, FeatureSet) or not data.is_images):
            st.caption(
                "These rows are numbers already: no backbone is needed. *Backbone* in the sidebar"
                " can map their columns, at no ε."
            )
            return True
        if encoder := texts.encoder_of(data.recipe if are_texts else None):
            card = pc.BACKBONES[encoder["name"]]
            st.caption(
                f"These rows were texts: {plain.text(card.title)} made their numbers when they"
                " were brought."
            )
            if not texts.is_encoder(settings.backbone):
                _facts(card)
        if mode.binds():
            st.caption("On this public server every set has the backbone of its card.")
            return _state(settings, public_sets)
        is_allowed = _choice(settings, core.encoders(settings))
        try:
            return _state(settings, public_sets)
        except PillarError:
            if is_allowed:
                raise
    return False


def _choice(settings: Settings, encoders: Sequence[str]) -> bool:
    """The form of a backbone, or of an encoder of texts; False where it says why what it holds
    cannot be used."""
    now = names.address(settings.backbone)
    cards = sorted(
        (card for card in pc.BACKBONES.values() if card.takes == "images"),
        key=lambda card: card.needs[:6],
    )
    listed = [AUTO, *(encoders or [*(card.name for card in cards), _OWN])]
    base = now.base if now.base in listed else AUTO if encoders else _OWN
    chosen = st.selectbox(
        label=f"Backbone of the {'texts' if encoders else 'images'}",
        key=local.unlinked_key("extract-backbone", _PENDING),
        help=(
            "What turns them into features. Networks need their weights and an extraction; pixels"
            " and the mean of token vectors need neither."
        ),
        options=listed,
        index=listed.index(base),
        format_func=_title,
    )
    if chosen == _OWN:
        chosen = st.text_input(
            label="Its name",
            key=local.unlinked_key("extract-name", _PENDING),
            help="timm:<model>, open_clip:<model> or onnx:<path>, a network of your own.",
            placeholder="timm:resnet18",
            value="" if base != _OWN else now.base,
        )
    if chosen == AUTO:
        _use_button(AUTO, settings)
        return True
    card = pc.BACKBONES.get(chosen) if chosen else None
    if card is None:
        st.caption(
            "Write the name of a model."
            if not chosen
            else f"There is no backbone {plain.text(chosen)}: check its spelling."
        )
        return False
    _facts(card)
    if not card.weights:
        _use_button(chosen, settings)
        return True
    weights = None if card.is_own_file else _weights(card, now.weights)
    usual = names.with_options("", now.options).removeprefix("?") if base in (chosen, _OWN) else ""
    options = st.text_input(
        label="Options",
        key=local.unlinked_key("extract-options", _PENDING),
        help=(
            "How images are prepared (input_size, mean, std, interpolation, crop), precision and"
            " storage, and the model's own arguments such as pad_type=same; with & between. None:"
            " as the backbone says."
        ),
        placeholder="input_size=160&mean=0.5&std=0.5",
        value=usual,
    )
    with failures.show_refusal("This backbone cannot be used so."):
        spot = names.address(f"{chosen}?{options.strip()}")
        name = names.with_options(spot.base, spot.options, weights=weights)
        if weights or card.is_own_file:
            mode.refuse("path")
        if weights is not None or pc.BACKBONES[name].fetch is None:
            pc.BACKBONES[name].weights_file()
        _use_button(name, settings)
        return True
    return False


def _title(name: str) -> str:
    if name == _OWN:
        return "Another one, by its name …"
    if name == AUTO:
        return (
            "Automatic: as the data set's card says; of yours, the network for large images and"
            " pixels for small ones, and for texts what read them"
        )
    return pc.BACKBONES[name].label


def _facts(card: Backbone) -> None:
    facts = {
        "Parameters": card.parameters,
        "features": card.width,
        "pre-trained on": card.pretraining,
        "licence": card.licence,
    }
    st.caption(
        plain.text(
            " · ".join([*(f"{heading}: {fact}" for heading, fact in facts.items()), card.source])
        )
    )
    if card.pretraining != "none":
        st.warning(
            f"**What it may have seen:** {plain.text(card.overlap)}. ε does not cover rows that"
            " pre-training saw.",
            icon=":material/visibility:",
        )


def _weights(card: Backbone, now: str | None) -> str | None:
    """The file that the user named or sent; None takes what the backbone's hub offers."""
    left, right = st.columns(2)
    hint = (
        "Tensors are read, never code: safetensors or a PyTorch state dictionary. From:"
        f" {card.weights}."
    )
    path = left.text_input(
        label="Weights: a file on the machine that runs this app",
        key=local.unlinked_key("extract-weights", _PENDING),
        placeholder="/models/weights.safetensors",
        help=hint,
        value=now or "",
    )
    sent = right.file_uploader(
        label="Or send it",
        key="extract-upload",
        help="Kept in the cache on that machine.",
        type=["safetensors"],
        accept_multiple_files=False,
    )
    return str(keep_upload(sent.getvalue())) if sent is not None else path.strip() or None


def _use_button(name: str, settings: Settings) -> None:
    if name == settings.backbone:
        st.caption(":material/check: In use.")
        return
    st.button(
        label="Use this backbone",
        key="use-backbone",
        help=(
            "Every page then works on its features; nothing is computed before you press Extract."
        ),
        type="primary",
        on_click=session.change,
        kwargs={"backbone": name},
    )


def _state(settings: Settings, public_sets: Sequence[str]) -> bool:
    """Whether the features are there; if not, the job that makes them."""
    backbone = core.backbone(settings)
    if backbone is None:
        return True
    counts, missing = {}, []
    for name in dict.fromkeys(
        [
            settings.data,
            *(public for public in (settings.public, *public_sets) if public not in PUBLIC_TITLES),
        ]
    ):
        data = core.raw(dataclasses.replace(settings, data=name))
        are_texts = texts.is_encoder(backbone) and bool(data.texts)
        if are_texts or (not isinstance(data, FeatureSet) and data.is_images):
            counts[name] = len(data.x_train) + data.n_test
            missing += [] if is_ready(data, backbone=backbone) else [name]
    title = pc.BACKBONES[names.address(backbone).base].title
    if not missing:
        st.success(
            f"**Ready:** every page uses the features of {plain.text(title)}.",
            icon=":material/check_circle:",
        )
        return True
    card = pc.BACKBONES[backbone]
    if card.needs_fetching:
        size = (
            f"about {card.n_bytes / 2**20:,.0f} MB"
            if card.n_bytes
            else "a file whose size its hub says"
        )
        cost = (
            f"{jobs.line(size, card.n_bytes)}; licence: {plain.text(card.licence)}. The features"
            " follow by themselves."
        )
        work = jobs.Work(f"Weights of {title}", cost=cost, unit="download", button="Get it")
        jobs.panel([fetch.specification(name, backbone=backbone) for name in missing], work)
        return False
    n_missing = sum(counts[name] for name in missing)
    reads = texts.is_encoder(backbone)
    work = jobs.Work(
        f"Features through {title}",
        f"One core takes {jobs.duration(n_missing * minilm.SECONDS)}." if reads else "",
        cached=sum(counts.values()) - n_missing,
        total=sum(counts.values()),
        unit="text" if reads else "image",
        button="Extract",
    )
    jobs.panel(
        [specification(name, backbone) for name in counts], work
    )  # those that are ready, too, lest progress run backwards
    return False
