"""Per-example gradients of any network, in chunks, by `torch.func`: one row of parameters for each example."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pillar_core.deferred import torch

CHUNK_NUMBERS = 64_000_000
"""Gradient numbers per chunk: a quarter of a gigabyte of float32."""
LARGEST_CHUNK = 64


def gradient_chunks(
    module: torch.nn.Module,
    inputs: Any,
    labels: torch.Tensor,
    *,
    names: Sequence[str] | None = None,
    read: Callable[[Any], torch.Tensor] | None = None,
    at_once: int = LARGEST_CHUNK,
) -> Iterator[torch.Tensor]:
    """(c, p) float32 gradients of each example's own cross-entropy, chunk after chunk.

    module: a network without batch statistics; inputs: (m, …), of which `read` (None: none needed) makes a chunk float32 in its turn;
    labels: (m,) int64; names: the parameters that are differentiated (None: all), the others stay frozen; at_once: examples
    in a chunk at most.
    """
    every = dict(module.named_parameters())
    chosen = {name: value.detach() for name, value in every.items() if names is None or name in names}
    frozen = {name: value.detach() for name, value in every.items() if name not in chosen} | dict(module.named_buffers())

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        logits = torch.func.functional_call(module, {**parameters, **frozen}, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(logits, y.unsqueeze(0))

    rows = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    size = max(1, min(at_once, CHUNK_NUMBERS // max(1, sum(value.numel() for value in chosen.values()))))
    for start in range(0, len(inputs), size):
        parts = rows(chosen, (read or torch.as_tensor)(inputs[start : start + size]), labels[start : start + size])
        yield torch.cat([parts[name].flatten(1) for name in chosen], dim=1)
