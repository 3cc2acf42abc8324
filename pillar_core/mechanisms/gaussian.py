"""The Gaussian mechanism on sums of rows that were each clipped to an L2 norm.

Guarantee: a sum Σ g_i with ‖g_i‖₂ ≤ C changes by at most C when one row is added or removed (public
size), and by `replace_one_factor` · C (2 unless the query allows less) when one is replaced. Adding
N(0, (σC)²) to every coordinate, once, is the event `ledger.gaussian(σ)`; on a Poisson sample the
ledger charges the subsampled event. Exact.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from pillar_core import ledger as events
from pillar_core.deferred import torch
from pillar_core.errors import SettingError
from pillar_core.ledger import Call, Ledger
from pillar_core.mechanisms.exact import LARGEST_STD, rounded_gaussian
from pillar_core.rng import Stream, exact_words

SMALLEST_STD = 1 << 10
"""Grid units: noise on a coarser grid is no less private, but no longer the model that the fast
path trains."""
COUNT_UNITS = 1 << 24
"""That stand for the clip norm of counts."""


@dataclasses.dataclass(frozen=True)
class GaussianMechanism:
    """Releases clipped sums with noise of standard deviation noise_multiplier · l2_clip_norm per
    coordinate."""

    noise_multiplier: float
    l2_clip_norm: float
    stream: Stream
    ledger: Ledger
    replace_one_factor: float = 2.0
    label: str = "noisy sum"

    def __post_init__(self) -> None:
        if not self.l2_clip_norm > 0 or not self.noise_multiplier >= 0:
            raise SettingError(
                "l2_clip_norm must be above 0 and noise_multiplier at least 0; got"
                f" {self.l2_clip_norm}, {self.noise_multiplier}."
            )

    @property
    def is_exact(self) -> bool:
        """Whether `release_integers` takes the sum, in whole numbers; otherwise `release` takes
        it."""
        return exact_words(self.stream) is not None

    def release(self, total: torch.Tensor) -> torch.Tensor:
        """`total` (any shape) plus noise, after the charge. `total` is a sum of rows clipped to
        `l2_clip_norm`."""
        std = self.noise_multiplier * self.l2_clip_norm
        return self._charged(total, std, lambda: self._noise(total, std).add_(total))

    def release_integers(self, total: torch.Tensor, units: int) -> torch.Tensor:
        """As `release`, exactly: `total` (int64) is a sum of rows of whole numbers of norm at most
        `units`, a power of two, which stand for `l2_clip_norm`. What comes back (float64) is a
        function of the whole numbers `total` + round(N(0, (σ·units)²)).

        Raises SettingError for other numbers, noise below 2¹⁰ or above 2⁴⁸ units, or a stream that
        is not the operating system's.
        """
        std, unit = self.noise_multiplier * units, self.l2_clip_norm / units
        words = exact_words(self.stream)
        if total.dtype != torch.int64 or units & (units - 1) or words is None:
            raise SettingError(
                "an exact release takes int64 sums, a power of two of units, and the operating"
                " system's generator."
            )
        if std and not SMALLEST_STD <= std <= LARGEST_STD:
            raise SettingError(
                f"exact noise must be {SMALLEST_STD:,} to {LARGEST_STD:,.0f} grid units; got"
                f" {std:g}: move the noise there."
            )

        def draw() -> torch.Tensor:
            noise = (
                rounded_gaussian(std, tuple(total.shape), words)
                if std
                else np.zeros(total.shape, dtype=np.int64)
            )
            return (total + torch.from_numpy(noise).to(total.device)).double() * unit

        return self._charged(total.double() * unit, std * unit, draw, noise_law="exact")

    def _charged(
        self,
        total: torch.Tensor,
        std: float,
        draw: Callable[[], torch.Tensor],
        *,
        noise_law: str = "fast",
    ) -> torch.Tensor:
        """What `draw` makes of the sum, after the charge."""
        clip = self.l2_clip_norm
        call = Call("gaussian", tuple(total.shape), std, clip, clip, noise_law=noise_law)
        event = events.gaussian(self.noise_multiplier, replace_one_factor=self.replace_one_factor)
        return self.ledger.release(event, call, total, draw, label=self.label)

    def release_counts(self, counts: torch.Tensor) -> torch.Tensor:
        """`counts` (int64) plus noise, float64; exact in a release. A row moves them by at most
        l2_clip_norm, the root of 1, 2, …"""
        if not self.is_exact:
            return self.release(counts.double())
        return self.release_integers(
            counts * math.isqrt(COUNT_UNITS**2 // round(self.l2_clip_norm**2)), COUNT_UNITS
        )

    def _noise(self, like: torch.Tensor, std: float) -> torch.Tensor:
        if std == 0:
            return torch.zeros_like(like)
        normals = torch.as_tensor(self.stream.standard_normal(tuple(like.shape)))
        return normals.mul_(std).to(like)


def release_joint(
    totals: Sequence[torch.Tensor],
    mechanisms: Sequence[GaussianMechanism],
    *,
    label: str = "joint noisy sums",
) -> list[torch.Tensor]:
    """Several sums of the same rows, each with its own clip and noise, charged as one Gaussian at
    1/σ² = Σ 1/σᵢ².

    This is the right charge when the sums come from one Poisson sample (two subsampled events would
    claim two samples). Raises SettingError for mechanisms on different ledgers.
    """
    first = mechanisms[0]
    if any(mechanism.ledger is not first.ledger for mechanism in mechanisms):
        raise SettingError("a joint release charges one ledger; got several.")
    combined = events.joint_noise_multiplier(
        [mechanism.noise_multiplier for mechanism in mechanisms]
    )
    factor = max(mechanism.replace_one_factor for mechanism in mechanisms)
    stds = [mechanism.noise_multiplier * mechanism.l2_clip_norm for mechanism in mechanisms]
    detail = tuple(
        (tuple(total.shape), std, mechanism.l2_clip_norm)
        for total, std, mechanism in zip(totals, stds, mechanisms, strict=True)
    )
    call = Call("gaussian_joint", (len(totals),), combined, 1.0, 1.0, detail=detail)

    def draw() -> list[torch.Tensor]:
        return [
            total + mechanism._noise(total, std)
            for total, mechanism, std in zip(totals, mechanisms, stds, strict=True)
        ]

    return first.ledger.release(
        events.gaussian(combined, replace_one_factor=factor), call, list(totals), draw, label=label
    )
