"""Clipped sums of per-example gradients of a network: Opacus computes the gradients, rows are
clipped here, sums are float64, of releases int64.

An example's gradient is the mean over its augmented copies (De et al. 2022), taken before it is
clipped, so copies cost no privacy.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Iterator
from typing import Any

from pillar_core.deferred import torch
from pillar_core.engine.exact import SUM_UNITS
from pillar_core.engine.gradient import clip_factors
from pillar_core.methods.parts.deep.networks import set_training_mode

FLOATS, FLOATS_DEVICE = 1 << 25, 1 << 30
"""Per-example gradients of one micro-batch: 128 MB on the CPU, 4 GB on a GPU."""
MOST_ROWS, MOST_ROWS_DEVICE = 128, 512
"""Images at a time: what layers keep for the backward pass grows with them too."""


@contextlib.contextmanager
def per_row(module: torch.nn.Module) -> Iterator[Any]:
    """`module` wrapped by Opacus so that a backward pass of a summed loss leaves `grad_sample` (n,
    …) on trained parameters."""
    from pillar_core.methods.parts.deep.layers import FixedNorm, StandardisedConv2d

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus' hooks warn about their own use of torch
        from opacus.grad_sample import GradSampleModule

        GradSampleModule.GRAD_SAMPLERS.setdefault(FixedNorm, _norm_gradients)
        GradSampleModule.GRAD_SAMPLERS.setdefault(StandardisedConv2d, _standardised_gradients)
        wrapped = GradSampleModule(set_training_mode(module), loss_reduction="sum")
        try:
            yield wrapped
        finally:
            wrapped.to_standard_module()
            for parameter in module.parameters():
                parameter.grad = None


def micro_rows(
    n_parameters: int, copies: int, where: torch.device, *, expected: float, chance: float
) -> int:
    """Rows of every micro-batch, for Poisson batches of `expected` rows in which each row has this
    `chance`: public numbers alone.

    A batch two deviations larger than expected takes the fewest micro-batches that fit in memory,
    of equal size, in eights.
    """
    on_cpu = where.type == "cpu"
    by_gradients = (FLOATS if on_cpu else FLOATS_DEVICE) // max(n_parameters * copies, 1)
    most = max(1, min(by_gradients, (MOST_ROWS if on_cpu else MOST_ROWS_DEVICE) // copies))
    batch = expected + 2 * math.sqrt(expected * (1 - chance))
    eights = math.ceil(batch / math.ceil(batch / most) / 8)
    return min(8 * eights, most // 8 * 8 or most)


def of_rows(
    wrapped: Any,
    parameters: list[torch.nn.Parameter],
    images: torch.Tensor,
    labels: torch.Tensor,
    *,
    copies: int,
) -> list[torch.Tensor]:
    """The gradients of n examples, each the mean over its copies: for every parameter (n, its
    numbers) float32.

    images: (n · copies, c, h, w), an example's copies side by side; labels: (n,) int64.
    Nothing of a call that raises, for want of memory say, is left for the next.
    """
    try:
        logits = wrapped(images)
        loss = (
            torch.nn.functional.cross_entropy(
                logits, labels.repeat_interleave(copies), reduction="sum"
            )
            / copies
        )
        torch.autograd.backward(loss)
        return [_summed_copies(parameter, copies) for parameter in parameters]
    except BaseException:
        _forget(wrapped, parameters)
        raise


def factors_of(rows: list[torch.Tensor], clip: float) -> torch.Tensor:
    """(n,) float64: what clips each example's gradient, all parameters together; 0 where it is not
    finite."""
    squares = torch.stack([row.square().sum(1, dtype=torch.float64) for row in rows]).sum(0)
    return clip_factors(
        squares[None], torch.tensor([clip], dtype=torch.float64, device=squares.device)
    )[0]


def clipped_sum(rows: list[torch.Tensor], factors: torch.Tensor) -> torch.Tensor:
    """(p,) float64 Σ_i factor_i · gradient_i, all parameters as one vector; an example with factor
    0 adds 0, whatever its gradient."""
    return torch.cat([factors @ row.double() for row in _counted_rows(rows, factors)])


def integer_sum(rows: list[torch.Tensor], factors: torch.Tensor, clip: float) -> torch.Tensor:
    """(p,) int64 sum of the same vectors in whole numbers of norm at most SUM_UNITS, which stand
    for `clip`; a longer one adds 0."""
    reach = (
        SUM_UNITS - math.sqrt(sum(row.shape[1] for row in rows)) / 2 - 1
    )  # rounding lengthens p numbers by at most √p / 2
    scales = (factors * (reach / clip))[:, None]
    whole = [row.double().mul_(scales).round_() for row in _counted_rows(rows, factors)]
    fits = torch.stack([part.square().sum(1) for part in whole]).sum(0) <= SUM_UNITS**2
    return torch.cat([torch.where(fits[:, None], part, 0.0).sum(0) for part in whole]).long()


def _counted_rows(rows: list[torch.Tensor], factors: torch.Tensor) -> list[torch.Tensor]:
    """The gradients, 0 in place of those whose factor is 0, which need not be finite."""
    return [torch.where(factors[:, None] > 0, row, 0.0) for row in rows]


def _forget(wrapped: Any, parameters: list[torch.nn.Parameter]) -> None:
    """Takes off what Opacus' hooks left on layers and parameters half-way."""
    for layer in wrapped.modules():
        for name in ("activations", "max_batch_len"):
            vars(layer).pop(name, None)
    for parameter in parameters:
        vars(parameter).pop("_current_grad_sample", None)
        parameter.grad = parameter.grad_sample = None  # type: ignore[attr-defined]
        parameter._forward_counter = 0  # type: ignore[attr-defined]


def _summed_copies(parameter: torch.nn.Parameter, copies: int) -> torch.Tensor:
    """(n, numbers of the parameter) float32; the gradients are taken off the parameter."""
    gradients: torch.Tensor = parameter.grad_sample  # type: ignore[attr-defined]
    parameter.grad_sample = None  # type: ignore[attr-defined]
    parameter.grad = None
    each = gradients.reshape(-1, copies, math.prod(parameter.shape))
    return each[:, 0] if copies == 1 else each.sum(1)


def _norm_gradients(
    layer: Any, activations: Any, backprops: torch.Tensor
) -> dict[torch.nn.Parameter, torch.Tensor]:
    """Opacus' rule for `FixedNorm`, whose channels are the second axis."""
    gradients: dict[torch.nn.Parameter, torch.Tensor] = {}
    if layer.scale.requires_grad:
        gradients[layer.scale] = (backprops * activations[0]).flatten(2).sum(2)
    if layer.bias.requires_grad:
        gradients[layer.bias] = backprops.flatten(2).sum(2)
    return gradients


def _standardised_gradients(
    layer: Any, activations: Any, backprops: torch.Tensor
) -> dict[torch.nn.Parameter, torch.Tensor]:
    """Opacus' rule for a convolution, then back through the standardisation of its kernels, which
    is the same for all rows."""
    from opacus.grad_sample.conv import compute_conv_grad_sample

    from pillar_core.methods.parts.deep.layers import before_standardisation

    plain = torch.nn.Conv2d(
        layer.in_channels,
        layer.out_channels,
        layer.kernel_size,
        layer.stride,
        layer.padding,
        device="meta",
    )
    plain.weight, plain.bias = layer.weight, layer.bias
    gradients: dict[torch.nn.Parameter, torch.Tensor] = compute_conv_grad_sample(
        plain, activations, backprops
    )
    if layer.weight.requires_grad:
        gradients[layer.weight] = before_standardisation(
            gradients[layer.weight], layer.weight.detach()
        )
    return gradients
