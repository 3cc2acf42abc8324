"""Settings, cost and fit that the deep learners share: they differ in where the network starts and
in what is trained."""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

from pillar_core import params
from pillar_core.engine.device import training_device
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger
from pillar_core.methods.parts import descent
from pillar_core.methods.parts.deep import classifier
from pillar_core.methods.parts.deep.classifier import Design, NetworkClassifier
from pillar_core.methods.parts.deep.train import PixelRows, PrivatePhase, private_phase
from pillar_core.params import Param
from pillar_core.rng import Streams
from pillar_core.splits import View
from pillar_core.types import SemiPrivateSplit, TrainResult

NO_PIXELS = (
    "trains a network on images and these rows are no pixels: take a data set of images with the"
    " backbone raw_pixels, such as digits, or a folder, zip or npz of images"
)
TRAINABLE = Param(
    "trainable",
    str,
    "all",
    "Which parameters are trained, besides the head.",
    choices=classifier.CHOICES,
)

PUBLIC_START = "the weights that the network starts from were made without the private rows"
"""What a guarantee of a pre-trained network assumes."""
ROWS_APART = (
    "each row's gradient depends on that row alone, to the last bit, whatever rows go through the"
    " network with it (held in tests of small_cnn, wrn_16_4 and some random small networks on a"
    " CPU; nothing was shown for GPUs or other networks; before each training, random images are"
    " tried)"
)
"""What a guarantee of any network assumes."""


@dataclasses.dataclass(frozen=True)
class DeepSettings:
    """Settings of DP-SGD on a network of images, whose plan and cost are those of a head."""

    bias: ClassVar[bool] = False
    weight_decay: ClassVar[float] = 0.0
    network: str = params.declare(
        "small_cnn", "small_cnn, wrn_16_4, or timm:<name>?weights=<safetensors file>[&size=<side>]."
    )
    steps: int = params.setting(params.STEPS, default=100, none_means="")
    batch_size: int | None = params.setting(params.BATCH_SIZE, default=256)
    sampling: str = params.setting(params.SAMPLING)
    learning_rate: float = params.setting(params.LEARNING_RATE, default=0.5, none_means="")
    l2_clip_norm: float = params.setting(
        params.L2_CLIP_NORM,
        help="Largest L2 norm of one row's gradient, all trained parameters together.",
    )
    momentum: float = params.setting(params.MOMENTUM)
    copies: int = params.declare(
        0,
        "Moved copies of a row whose gradients are averaged before clipping; 0 takes the row as"
        " it is.",
        low=0,
        high=64,
    )
    mirror: bool = params.declare(
        False, "Copies may be mirrored: right for photographs, wrong for digits and signs."
    )
    ema_decay: float = params.declare(
        0.0,
        "Decay of the moving average of the weights that is returned; 0 returns the last.",
        low=0,
        high=1,
        high_open=True,
    )
    noise_multiplier: float | None = params.setting(params.NOISE_MULTIPLIER)

    @property
    def trainable_choice(self) -> tuple[str, str, int]:
        """Which parameters are trained besides the head, in which parts of the network, and the
        rank of additions: all."""
        return "all", "", 1


@dataclasses.dataclass(frozen=True)
class ChosenSettings(DeepSettings):
    """And which parameters are trained."""

    trainable: str = params.setting(TRAINABLE)
    layers: str = params.declare(
        "",
        "Names of the network's parts, by commas: trained (layers) or given low-rank additions"
        " (lora).",
    )
    lora_rank: int = params.declare(8, "Rank of the additions.", low=1, high=256, log=True)

    @property
    def trainable_choice(self) -> tuple[str, str, int]:
        """Those chosen."""
        return self.trainable, self.layers, self.lora_rank


def unsupported_reason(split: SemiPrivateSplit) -> str:
    """Why a network cannot be trained on these features, "" where it can."""
    return "" if split.features.pixel_shape is not None else NO_PIXELS


def design(settings: DeepSettings, view: View) -> Design:
    """The network of these settings for the view's images. Raises DataError where the view's rows
    are not pixels."""
    if view.pixel_shape is None:
        raise DataError(f"this learner {NO_PIXELS}.")
    shape, n_classes = view.pixel_shape, view.facts.n_classes
    return Design(settings.network, *settings.trainable_choice, shape, n_classes)


def fit(
    settings: DeepSettings,
    view: View,
    streams: Streams,
    ledger: Ledger,
    start: Mapping[str, Any] | None = None,
) -> TrainResult:
    """The network after its private steps, from where its name says that it starts, but for the
    tensors in `start`."""
    chosen = design(settings, view)
    module, _, form = chosen.build(seed=streams.seed)
    module.load_state_dict(start or {}, strict=False)
    phase = PrivatePhase(
        descent.plan_of(settings, view.facts), settings.copies, settings.mirror, settings.ema_decay
    )
    rows = PixelRows(view.x, view.row_numbers, view.y, form)
    notes = private_phase(module.to(training_device()), rows, phase, streams, ledger)
    return TrainResult(NetworkClassifier.of(chosen, module), notes=notes)
