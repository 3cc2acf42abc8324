"""Training of networks: a public phase with Adam, and a private phase whose every step passes the
ledger.

Guarantee: per private step one Gaussian release of a sum of row-wise vectors clipped to
l2_clip_norm, on a Poisson sample at q = batch_size / n_private; the divisor is q · n_private. A
row's augmentation depends on the row's number and the step alone, and momentum and averaging are
post-processing. Exact composition by the accountant.

That a row adds one vector assumes that others do not change it. Kernels choose how they add by the
shape of what they get, and beside one row more a gradient was turned by half its clip norm. So
every micro-batch has one shape, blank images fill it up, and neither its size nor the number of
threads hangs on private rows; one row goes at a time where a trial on random images finds other
bits. On the CPU torch's own kernels are used: oneDNN broke the memory of a random network, and
NNPACK would take its place for larger batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan
from pillar_core.engine.exact import SUM_UNITS
from pillar_core.grouping import slices
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import Batches, GaussianMechanism
from pillar_core.methods.parts.deep import gradients
from pillar_core.methods.parts.deep.pixels import Input, augment, draw_moves
from pillar_core.rng import Streams, stream
from pillar_core.threads import threads_for

ONE_AT_A_TIME = (
    "Rows go through the network one at a time, which is slow: together they would change each"
    " other's last bits here."
)
TURNS = 8
"""How often the images of the trial change places; a kernel that rounds otherwise at the end of a
batch does so for some images only."""
_LOGGER = logging.getLogger(__name__)
_TRAINING = threading.RLock()
"""Held while a network is trained: torch's choice of kernels is one for the whole process, so no
training may end beside another."""


@dataclasses.dataclass(frozen=True)
class PrivatePhase:
    """How a network is trained on private rows; all of it public. copies: augmentations of a row in
    a step, 0 for the row itself."""

    plan: HeadPlan
    copies: int
    mirror: bool
    ema_decay: float


@dataclasses.dataclass(frozen=True)
class PixelRows:
    """Rows of pixels x (N, h·w·c) float32 of which `numbers` (n,) int64 are used, labels y (n,)
    int64, and how they become input."""

    x: Array
    numbers: Array
    y: Array
    form: Input

    def images(self, picked: Array, where: torch.device) -> torch.Tensor:
        """(m, c, h, w) in [0, 1], of the rows at these places."""
        return self.form.images(torch.from_numpy(self.x[self.numbers[picked]]).to(where))


def trainable_parameters(module: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that are trained, in order."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


def private_phase(
    module: torch.nn.Module, rows: PixelRows, phase: PrivatePhase, streams: Streams, ledger: Ledger
) -> tuple[str, ...]:
    """Trains the chosen parameters by DP-SGD on private rows, in place; returns notes about what
    had to be changed on the way.

    With `ema_decay` above 0 the parameters become their exponential moving average over the steps
    (De et al. 2022), its decay at step t at most (1 + t)/(10 + t).
    """
    plan, parameters = phase.plan, trainable_parameters(module)
    where = parameters[0].device
    clip = plan.l2_clip_norm
    mechanism = GaussianMechanism(
        plan.noise_multiplier,
        clip,
        streams.secret("noise", device=str(where)),
        ledger,
        label="noisy gradient",
    )
    state = torch.nn.utils.parameters_to_vector(parameters).detach().clone()
    velocity, average = torch.zeros_like(state), state.clone()
    probability = plan.sampling_probability
    batches = Batches(
        probability, plan.steps_of_pass, len(rows.y), streams.secret("sampling"), [ledger]
    )
    expected = probability * plan.n_private
    with repeatable(module, int(expected)), gradients.per_row(module) as wrapped:
        micro = MicroBatches(wrapped, parameters, rows.form, phase)
        most = gradients.micro_rows(
            len(state), max(phase.copies, 1), where, expected=expected, chance=probability
        )
        torch.nn.utils.vector_to_parameters(
            torch.cat([_values_without_zeros(parameter) for parameter in parameters]), parameters
        )
        size, notes = micro.steady_size(most, rows.x.shape[1])
        if size == 1 and most > 1:
            _LOGGER.warning(
                "%s The %d steps take about %d passes of one row, where batches of %d would take"
                " %d.",
                ONE_AT_A_TIME,
                plan.steps,
                plan.steps * expected,
                most,
                plan.steps * math.ceil(expected / most),
            )
        torch.nn.utils.vector_to_parameters(state, parameters)
        for step in range(plan.steps):
            moving = streams.public(f"augmentation/{step}")
            drawn = draw_moves(moving, int(rows.numbers.max(initial=-1)) + 1, phase.copies)
            with batches.next() as indices:
                total = torch.zeros_like(
                    state, dtype=torch.int64 if mechanism.is_exact else torch.float64
                )
                for part in slices(len(indices), size):
                    picked = indices[part]
                    numbers = rows.numbers[picked]
                    vectors, factors = micro.gradients(
                        rows.x[numbers], rows.y[picked], drawn[numbers], size
                    )
                    total += (
                        gradients.integer_sum(vectors, factors, clip)
                        if mechanism.is_exact
                        else gradients.clipped_sum(vectors, factors)
                    )
                released = (
                    mechanism.release_integers(total, SUM_UNITS)
                    if mechanism.is_exact
                    else mechanism.release(total)
                ).float()
            velocity = plan.momentum * velocity + released / (probability * plan.n_private)
            state = state - plan.learning_rate * velocity
            torch.nn.utils.vector_to_parameters(state, parameters)
            decay = min(phase.ema_decay, (1 + step) / (10 + step))
            average = decay * average + (1 - decay) * state
    if phase.ema_decay:
        torch.nn.utils.vector_to_parameters(average, parameters)
    return notes


@dataclasses.dataclass(frozen=True)
class MicroBatches:
    """Rows that go through a network wrapped by `gradients.per_row`, always as many at a time."""

    wrapped: Any
    parameters: list[torch.nn.Parameter]
    form: Input
    phase: PrivatePhase

    def gradients(
        self, x: Array, y: Array, drawn: Array, size: int
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """`size` rows' gradients and clip factors: of rows x (n, h·w·c) float32 with labels y, then
        of blank images, whose factors are 0.

        drawn: (n, copies, 3), how the rows are moved; nothing is where there are no copies.
        """
        n, where = len(y), self.parameters[0].device
        pixels, labels, moving = (
            torch.from_numpy(
                np.concatenate([part, np.zeros((size - n, *part.shape[1:]), part.dtype)])
            ).to(where)
            for part in (x, y, drawn)
        )
        images = self.form.images(pixels)
        if self.phase.copies:
            images = augment(images, moving, mirror=self.phase.mirror)
        copies = max(self.phase.copies, 1)
        rows = gradients.of_rows(
            self.wrapped, self.parameters, self.form.ready(images), labels, copies=copies
        )
        factors = gradients.factors_of(rows, self.phase.plan.l2_clip_norm)
        factors[n:] = 0
        return rows, factors

    def steady_size(self, most: int, width: int) -> tuple[int, tuple[str, ...]]:
        """(rows at a time, notes): `most`, halved as often as memory runs out; 1 where the bits of
        a row's gradient hang on its place.

        Decided on random images before a private row is read: a size that changed later would
        change the bits of rows.
        """
        size, notes = most, tuple[str, ...]()
        while size > 1:
            try:
                if self._is_steady(size, width):
                    return size, notes
                return 1, (*notes, ONE_AT_A_TIME)
            except torch.OutOfMemoryError:
                size //= 2
                torch.cuda.empty_cache()
                notes = (
                    (
                        f"The GPU ran out of memory: {size} rows at a time instead (the result is"
                        " the same up to rounding)."
                    ),
                )
        return 1, notes

    def _is_steady(self, size: int, width: int) -> bool:
        """Whether random images have the same gradients and clip factors, bit for bit, in other
        places and beside another image."""
        generator = stream(0, "places of a micro-batch")
        pixels, drawn = (
            generator.random((size, width), dtype=np.float32),
            draw_moves(generator, size, self.phase.copies),
        )
        pixels[::4] = pixels[::4, :1]  # of one grey: normalisation enlarges rounding
        labels, first = np.zeros(size, dtype=np.int64), None
        for order in (np.arange(size), *(generator.permutation(size) for _ in range(TURNS))):
            rows, factors = self.gradients(pixels[order], labels, drawn[order], size)
            parts, places = (
                [*rows, factors],
                torch.from_numpy(np.argsort(order)[1:]).to(factors.device),
            )
            first = first or [part[1:] for part in parts]
            if not all(
                bool((part[places] == before).all())
                for part, before in zip(parts, first, strict=True)
            ):
                return False
            pixels[0] = generator.random(width)
        return True


def _values_without_zeros(parameter: torch.nn.Parameter) -> torch.Tensor:
    """A parameter's numbers; small normals in place of zeros alone, through which no gradient would
    pass."""
    numbers = parameter.detach().flatten().clone()
    if not bool(numbers.any()):
        numbers += 0.05 * torch.from_numpy(
            stream(0, "drawn for zeros").standard_normal(len(numbers))
        ).to(numbers)
    return numbers


@contextlib.contextmanager
def repeatable(module: torch.nn.Module, rows: int) -> Iterator[None]:
    """The same sums in every run on one device, and threads by the work of a step (a parameter is
    used about a hundred times)."""
    onednn: Any = torch.backends.mkldnn
    cudnn = torch.backends.cudnn
    with _TRAINING, torch.backends.nnpack.flags(enabled=False):
        before = onednn.enabled, cudnn.deterministic, cudnn.benchmark
        onednn.enabled, cudnn.deterministic, cudnn.benchmark = False, True, False
        try:
            with threads_for(
                100.0 * rows * sum(parameter.numel() for parameter in module.parameters())
            ):
                yield
        finally:
            onednn.enabled, cudnn.deterministic, cudnn.benchmark = before
