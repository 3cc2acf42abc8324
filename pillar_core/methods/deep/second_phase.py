"""Second-phase pre-training: chosen parameters are trained on labelled public images first, and by
DP-SGD on private ones then.

W_PT, the network's start, is followed by θ₀: a parameter-efficient choice (named layers, biases,
low-rank additions, or all) trained by Adam on public images. If the public classes are the private
ones the head goes along, else it starts again from 0.

Guarantee: the public phase sees public rows alone; then every step releases one sum of rows'
gradients, each clipped to l2_clip_norm over all trained parameters together, on a Poisson sample at
q = batch_size / n_private; add/remove or replace-one by the accountant, exact composition. Source:
Gu, Kamath & Wu, gsd, section 5, Tables 3 and 11 to 13, appendix B. Cost: that of private
fine-tuning, and public_epochs passes over the public images.
"""

import dataclasses

import numpy as np

from pillar_core import params
from pillar_core.deferred import torch
from pillar_core.engine.device import training_device
from pillar_core.errors import SettingError
from pillar_core.grouping import slices
from pillar_core.ledger import Ledger
from pillar_core.methods.method import METHODS, Method
from pillar_core.methods.parts import descent
from pillar_core.methods.parts.deep import settings as deep
from pillar_core.methods.parts.deep.networks import set_training_mode
from pillar_core.methods.parts.deep.pixels import augment, draw_moves
from pillar_core.methods.parts.deep.train import PixelRows, repeatable, trainable_parameters
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import PublicUse, TrainResult, Values

SHORT_STEPS = 0.1
"""Measured on three real sets: longer private steps add more noise than they learn after a good
start (docs/methods/second_phase.md)."""


@dataclasses.dataclass(frozen=True)
class SecondPhaseSettings(deep.ChosenSettings):
    """Private fine-tuning's settings and those of the public phase."""

    learning_rate: float = params.setting(params.LEARNING_RATE, default=SHORT_STEPS, none_means="")
    public_epochs: int = params.declare(
        10,
        "Passes of Adam over the public images; 0 leaves the public phase out.",
        low=0,
        high=10_000,
    )
    public_learning_rate: float = params.declare(
        0.001, "Adam's step size on public images.", low=0, low_open=True, high=1, log=True
    )
    public_batch_size: int = params.declare(
        64, "Public images in a minibatch.", low=1, unit="rows", log=True
    )


def uses(settings: Values) -> PublicUse:
    """Public images and labels, unless the public phase is left out."""
    return PublicUse.OTHER_LABELS if settings.get("public_epochs", 1) else PublicUse.NONE


def fit(settings: SecondPhaseSettings, view: View, streams: Streams, ledger: Ledger) -> TrainResult:
    """The network after its public epochs and its private steps.

    Raises SettingError where only the head is trained and the public classes are others, so that
    the public phase would be lost.
    """
    start = _public_state(settings, view, streams) if settings.public_epochs else None
    return deep.fit(settings, view, streams, ledger, start)


def _public_state(
    settings: SecondPhaseSettings, view: View, streams: Streams
) -> "dict[str, torch.Tensor]":
    """The state after the public phase, computed once a split and seed; without the head where the
    public classes are others."""
    where, private_design = training_device(), deep.design(settings, view)
    public = (
        settings.public_epochs,
        settings.public_learning_rate,
        settings.public_batch_size,
        min(settings.copies, 1),
        settings.mirror,
    )
    if view.public_classes and settings.trainable == "head":
        raise SettingError(
            "trainable must be more than the head: the public classes are others, so the head"
            " starts again after them."
        )

    def make() -> "dict[str, torch.Tensor]":
        design = (
            dataclasses.replace(private_design, n_classes=len(view.public_classes))
            if view.public_classes
            else private_design
        )
        module, head, form = design.build(seed=streams.seed)
        y = view.y_public if view.y_public is not None else np.empty(0, dtype=np.int64)
        public_phase(
            module.to(where),
            PixelRows(view.x_public, np.arange(len(view.x_public)), y, form),
            settings,
            streams,
        )
        state = {name: value.cpu() for name, value in module.state_dict().items()}
        return {
            name: value
            for name, value in state.items()
            if not view.public_classes or not name.startswith(head + ".")
        }

    return (
        make()
        if streams.seed is None
        else view.memo.get(("second phase", private_design, public, streams.seed, str(where)), make)
    )


def public_phase(
    module: "torch.nn.Module", rows: PixelRows, settings: SecondPhaseSettings, streams: Streams
) -> None:
    """Trains the chosen parameters by Adam on public rows, in place; minibatches are shuffled, each
    row moved once where copies > 0."""
    generator, where = streams.public("public phase"), next(module.parameters()).device
    optimiser = torch.optim.Adam(trainable_parameters(module), lr=settings.public_learning_rate)
    labels = torch.from_numpy(rows.y).to(where)
    set_training_mode(module)
    with repeatable(module, len(rows.y)):
        for _ in range(settings.public_epochs):
            drawn = torch.from_numpy(draw_moves(generator, len(rows.y), 1)).to(where)
            order = generator.permutation(len(rows.y))
            for part in slices(len(order), settings.public_batch_size):
                index = torch.from_numpy(order[part]).to(where)
                images = rows.images(order[part], where)
                if settings.copies:
                    images = augment(images, drawn[index], mirror=settings.mirror)
                optimiser.zero_grad(set_to_none=True)
                torch.autograd.backward(
                    torch.nn.functional.cross_entropy(
                        module(rows.form.ready(images)), labels[index]
                    )
                )
                optimiser.step()
    optimiser.zero_grad(set_to_none=True)


METHODS.register(
    Method(
        name="second_phase",
        title="Second-phase pre-training",
        source="Gu, Kamath & Wu, gsd, section 5",
        idea="Labelled public images adapt chosen parameters first, so that fewer noisy private"
        " steps are needed.",
        public_use=PublicUse.OTHER_LABELS,
        settings=SecondPhaseSettings,
        cost=descent.cost,
        fit=fit,
        uses=uses,
        unsupported_reason=deep.unsupported_reason,
        assumptions=(deep.ROWS_APART, deep.PUBLIC_START),
        is_exact=True,
        version=2,
        presets={
            "paper": {
                "trainable": "lora",
                "public_learning_rate": 0.003,
                "learning_rate": 0.8,
                "l2_clip_norm": 0.1,
            },
            "paper_convolutions": {
                "public_learning_rate": 5e-05,
                "learning_rate": 0.8,
                "l2_clip_norm": 0.1,
            },
        },
    )
)
