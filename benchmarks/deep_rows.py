"""Whether a row's clipped gradient has the same bits beside one row more: `PYTHONPATH=. python
benchmarks/deep_rows.py [NETS [NAMES]]`.

Random small networks (200 unless NETS says otherwise) and timm's of these NAMES with random
weights, on one to three threads of the CPU. Each net is told how often rows changed when the
micro-batch had the size of the batch, as it once was, and with the shape that private steps take:
no row may change there. It counts the nets whose rows go through one at a time because of that.
Each random network has a process of its own, so that one whose kernels crash is counted and the
rest go on.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import multiprocessing
import sys
from typing import Any

import numpy as np
import torch
from torch import nn

from pillar_core.engine import HeadPlan
from pillar_core.methods.parts.deep import gradients, layers, networks
from pillar_core.methods.parts.deep.pixels import Input, draw_moves
from pillar_core.methods.parts.deep.train import MicroBatches, PrivatePhase, repeatable
from pillar_core.rng import stream
from pillar_core.threads import using

ACTIVATIONS = (nn.ReLU, nn.ReLU, nn.SiLU, nn.GELU, nn.Tanh, nn.LeakyReLU, nn.ELU, nn.Sigmoid)


@dataclasses.dataclass(frozen=True)
class Found:
    """Rows at a time, and of `rows` comparisons how many rows changed: in micro-batches as they
    are, and of the batch's own size."""

    size: int
    rows: int
    changed: int
    changed_unfilled: int


def random_network(number: int) -> tuple[nn.Module, Input]:
    """A small convolutional network with random layers and weights, and the images that it
    takes."""
    torch.manual_seed(number)
    generator = stream(number, "random network")

    def one_of(*choices: Any) -> Any:
        return choices[generator.integers(len(choices))]

    channels, shape = one_of(1, 3), (int(generator.integers(5, 15)), int(generator.integers(5, 15)))
    width, parts = channels, []
    for _ in range(generator.integers(1, 4)):
        kernel, wider = one_of(1, 3, 5), int(one_of(3, 4, 6, 8, 16, 24))
        kind = one_of(nn.Conv2d, nn.Conv2d, layers.StandardisedConv2d)
        parts.append(
            kind(
                width,
                wider,
                kernel,
                stride=one_of(1, 1, 2),
                padding=kernel // 2,
                bias=one_of(True, False),
            )
        )
        width = wider
        parts += one_of(
            [],
            [nn.GroupNorm(1, width)],
            [nn.GroupNorm(width, width)],
            [layers.FixedNorm(nn.BatchNorm2d(width))],
        )
        parts.append(one_of(*ACTIVATIONS)())
    parts += one_of(
        [layers.Pooled(2)],
        [nn.AvgPool2d(2, ceil_mode=True), layers.Pooled(3)],
        [nn.MaxPool2d(2, ceil_mode=True)],
        [],
    )
    parts.append(nn.Flatten())
    with torch.no_grad():
        features = nn.Sequential(*parts)(torch.zeros(1, channels, *shape)).shape[1]
    parts += one_of([], [nn.Linear(features, 12), one_of(*ACTIVATIONS)()])
    parts.append(nn.Linear(12 if isinstance(parts[-2], nn.Linear) else features, one_of(2, 3, 10)))
    return drawn(nn.Sequential(*parts), number), Input((*shape, channels), channels, None)


def drawn(module: nn.Module, number: int) -> nn.Module:
    """The module with some noise in all weights, so that activations lie on both sides of their
    edges."""
    generator = stream(number, "random weights")
    for parameter in module.parameters():
        numbers = torch.from_numpy(generator.standard_normal(tuple(parameter.shape))).float()
        parameter.data += float(generator.choice([0.05, 0.3])) * numbers
    return module


def of_timm(title: str, side: int = 64) -> tuple[nn.Module, Input]:
    """The network of timm with random weights."""
    import timm

    torch.manual_seed(0)
    trunk = timm.create_model(title, pretrained=False, num_classes=0)
    module = nn.Sequential(networks.with_fixed_norms(trunk), nn.Linear(int(trunk.num_features), 10))
    side = trunk.default_cfg["input_size"][1] if trunk.default_cfg.get("fixed_input_size") else side
    return drawn(module, 0), Input((8, 8, 3), 3, side)


def found_in(
    module: nn.Module, taken: Input, number: int, *, threads: int, expected: int | None = None
) -> Found:
    """What becomes of rows' clipped gradients when one row joins them and others stand in for their
    companions."""
    generator, width = stream(number, "rows"), int(np.prod(taken.shape))
    copies, expected = int(generator.integers(0, 3)), expected or int(generator.choice([2, 4, 12]))
    phase = PrivatePhase(
        HeadPlan(1, 0.5, 1.0, 1.0, n_private=20 * expected, batch_size=expected), copies, True, 0.0
    )
    n = max(2, int(generator.poisson(expected)))
    x = generator.random((n + 1, width), dtype=np.float32)
    x[generator.random(n + 1) < 0.3] = np.float32(
        generator.random()
    )  # of one grey: normalisation enlarges rounding
    y, moving = generator.integers(0, 2, n + 1), draw_moves(generator, n + 1, copies)
    joining, parameters = int(generator.integers(n)), list(module.parameters())
    without, alone = np.delete(np.arange(n + 1), joining), np.array([n])
    with repeatable(module, 1), using(threads), gradients.per_row(module) as wrapped:
        micro = MicroBatches(wrapped, parameters, taken, phase)
        numbers, where, chance = (
            sum(map(torch.numel, parameters)),
            torch.device("cpu"),
            phase.plan.sampling_probability,
        )
        most = gradients.micro_rows(
            numbers, max(copies, 1), where, expected=expected, chance=chance
        )
        size, _ = micro.steady_size(most, width)

        def clipped(rows: np.ndarray, at_a_time: int) -> list[torch.Tensor]:
            """Gradients and clip factors, which are multiplied exactly."""
            parts = []
            for start in range(0, len(rows), at_a_time):
                picked = rows[start : start + at_a_time]
                found, factors = micro.gradients(x[picked], y[picked], moving[picked], at_a_time)
                parts.append([part[: len(picked)] for part in (*found, factors[:, None])])
            return [torch.cat(of_rows) for of_rows in zip(*parts, strict=True)]

        whole, before, last = (clipped(rows, size) for rows in (np.arange(n + 1), without, alone))
        changed = _differing(whole, without, before) + _differing(whole, alone, last)
        unfilled = _differing(clipped(np.arange(n + 1), n + 1), without, clipped(without, n))
    return Found(size, n + 1, changed, unfilled)


def _differing(whole: list[torch.Tensor], rows: np.ndarray, others: list[torch.Tensor]) -> int:
    return int(
        torch.stack([(one[rows] != other).any(1) for one, other in zip(whole, others, strict=True)])
        .any(0)
        .sum()
    )


def found_apart(number: int) -> Found | None:
    """What a process of its own finds in a random network; None where it crashes."""
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        try:
            return pool.submit(
                found_in, *random_network(number), number, threads=1 + number % 3
            ).result()
        except concurrent.futures.process.BrokenProcessPool:
            return None


def main(count: int, *titles: str) -> None:
    """Prints what was found."""
    with gradients.per_row(nn.Linear(1, 1)):  # loads Opacus once for all
        results = {number: found_apart(number) for number in range(count)}
    found = [one for one in results.values() if one]
    print(f"{count} random small networks, {sum(one.rows for one in found)} rows:")
    print(f"  crashed: {[number for number, one in results.items() if one is None]}")
    print(
        f"  rows changed: {sum(one.changed for one in found)}, in nets"
        f" {[number for number, one in results.items() if one and one.changed]}"
    )
    print(
        "  in micro-batches of the batch's own size:"
        f" {sum(one.changed_unfilled for one in found)}, in",
        end=" ",
    )
    print(
        f"{sum(one.changed_unfilled > 0 for one in found)} nets; nets whose rows go one at a time:"
        f" {sum(one.size == 1 for one in found)}"
    )
    for title in titles:
        print(title, found_in(*of_timm(title), 0, threads=1, expected=4), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 200, *sys.argv[2:])
