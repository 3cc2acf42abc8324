"""Named random streams: the only place where generators are made.

A stream depends on its name alone, so adding a consumer never shifts another's numbers. Public
randomness and samples are named by (seed, purpose): runs of one seed share them. Noise and private
choices are named by the query, too: with the same normals at two ε, a private sum could be solved
for from two seeded runs. Common samples with independent noise leave each run's own guarantee as it
is; the joint one of several runs is not that of independently drawn samples. `seed=None` reads the
operating system's generator and can never be repeated.
"""

import hashlib
import math
import os
import secrets
from collections.abc import Callable, Hashable
from typing import Any, Protocol

import numpy as np

from pillar_core.arrays import Array
from pillar_core.deferred import torch
from pillar_core.errors import SettingError


class Stream(Protocol):
    """What mechanisms draw from: independent uniforms in (0, 1) and standard normals, both
    float64."""

    def random(self, size: int | tuple[int, ...]) -> Array: ...
    def standard_normal(self, size: int | tuple[int, ...]) -> Array: ...


class SystemStream:
    """Uniforms and normals from `os.urandom`: a cryptographic source without a seed, for
    releases."""

    def words(self, count: int) -> Array:
        """(count,) uint64: what exact draws are made of."""
        return np.frombuffer(bytearray(os.urandom(8 * count)), dtype=np.uint64)

    def random(self, size: int | tuple[int, ...]) -> Array:
        """Uniforms on the open interval (0, 1), 52 bits each: odd multiples of 2⁻⁵³, so neither end
        can come."""
        bits = self.words(int(np.prod(size)))
        return (((bits >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52).reshape(size)

    def standard_normal(self, size: int | tuple[int, ...]) -> Array:
        """Standard normals by Box and Muller (1958)."""
        return polar_normals(self.random((2, (int(np.prod(size)) + 1) // 2)), size)


def polar_normals(uniforms: Array, size: int | tuple[int, ...]) -> Array:
    """Standard normals of as many uniforms (2, pairs) in (0, 1], which are overwritten."""
    radius, angle = torch.from_numpy(uniforms)
    radius.log_().mul_(-2.0).sqrt_()
    along = torch.cos(angle.mul_(2.0 * math.pi))
    angle.sin_().mul_(radius)
    radius.mul_(along)
    return uniforms.ravel()[: int(np.prod(size))].reshape(size)


def exact_words(stream: Stream) -> Callable[[int], Array] | None:
    """The words that exact draws of a release are made of, or None if the stream is seeded: an
    experiment draws in float64."""
    return stream.words if isinstance(stream, SystemStream) else None


def words_of(stream: Stream) -> Callable[[int], Array]:
    """Words of any stream, 32 bits of a uniform at a time: exact draws of an experiment repeat,
    too."""

    def words(count: int) -> Array:
        halves = (stream.random((2, count)) * 2.0**32).astype(np.uint64)
        return np.asarray(halves[0] << np.uint64(32) | halves[1])

    return exact_words(stream) or words


class PolarStream:
    """Seeded uniforms and normals: numpy's generator, and Box and Muller's way, which takes half of
    the time of its own; other numbers for one seed."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.random = generator.random

    def standard_normal(self, size: int | tuple[int, ...]) -> Array:
        """Standard normals of uniforms of 53 bits each, those of the radius above 0."""
        uniforms = self.random((2, (int(np.prod(size)) + 1) // 2))
        uniforms[0] += 2.0**-54
        return polar_normals(uniforms, size)


class DeviceStream:
    """Seeded uniforms and normals drawn where a tensor lives, as float64 tensors; other numbers
    than the CPU's for one seed."""

    def __init__(self, seed: int, purpose: str, device: str) -> None:
        self._generator = torch.Generator(device=device)
        self._generator.manual_seed(int(stream(seed, purpose, "device").integers(2**63)))

    def random(self, size: int | tuple[int, ...]) -> Any:
        """A float64 tensor of uniforms in [0, 1) on the device."""
        return torch.rand(
            size, generator=self._generator, device=self._generator.device, dtype=torch.float64
        )

    def standard_normal(self, size: int | tuple[int, ...]) -> Any:
        """A float64 tensor of standard normals on the device."""
        return torch.randn(
            size, generator=self._generator, device=self._generator.device, dtype=torch.float64
        )


class Streams:
    """The random streams of one run; each purpose ("noise", "sampling", "public" …) has its own.

    ask: the fingerprint of everything that changes the query on the private rows; runs that differ
    in it share no noise.
    """

    def __init__(self, seed: int | None, ask: str = "") -> None:
        self.seed = seed
        self.ask = ask

    @property
    def identity(self) -> Hashable:
        """Equal for streams with the same samples and public draws: the seed, or in a release
        something that no other streams have."""
        return self if self.seed is None else self.seed

    def secret(self, purpose: str, *, device: str = "cpu") -> Stream:
        """The stream that a mechanism draws from: seeded in an experiment, the operating system's
        in a release.

        An experiment on another `device` draws there; a release never does: a GPU's generator is no
        cryptographic source.
        """
        if self.seed is None:
            return SystemStream()
        name = f"{purpose}/{self.ask}" if self.ask else purpose
        return stream(self.seed, name) if device == "cpu" else DeviceStream(self.seed, name, device)

    def normals(self, purpose: str, *, device: str = "cpu") -> Stream:
        """As `secret`, for many normals: an experiment draws them faster, and others."""
        secret = self.secret(purpose, device=device)
        return PolarStream(secret) if isinstance(secret, np.random.Generator) else secret

    def sampling(self, purpose: str = "sampling") -> Stream:
        """As secret as `secret`, for Poisson samples and labels that runs of one seed share."""
        return SystemStream() if self.seed is None else stream(self.seed, purpose)

    def public(self, purpose: str) -> np.random.Generator:
        """Randomness that is no secret (a random projection, a minibatch of public rows)."""
        return stream(self.seed, purpose)


def stream(seed: int | None, *purpose: str | int) -> np.random.Generator:
    """An independent generator named by (seed, purpose); with seed None, one seeded by the
    operating system."""
    if seed is None:
        return np.random.Generator(np.random.PCG64(secrets.randbits(256)))
    if not 0 <= seed < 2**63 or seed % 1:
        raise SettingError(f"seed must be a whole number in [0, 2^63); got {seed!r}.")
    name = "/".join([str(int(seed)), *map(str, purpose)])
    digest = np.frombuffer(hashlib.sha256(name.encode()).digest(), dtype=np.uint32)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(digest)))
