"""What people publish: without a seed, all noise, samples and choices come from `rng.SystemStream`,
and have the law that is charged.

No seed fixes these tests; tests/contract/faults.py plants faults that they must see.
"""

import math
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats

import pillar_core as pc
from contract import checks
from contract.answers import ANSWERS, PRIVATE, TUNE, taped
from contract.cases import case_for, settings_for, split_for
from contract.tapes import Recorder
from contract.test_methods import ALLOCATED, SAMPLED
from contract.test_methods import PRIVATE as LEARNERS
from pillar_core import rng
from pillar_core.errors import LedgerError
from pillar_core.mechanisms.bingham import bingham
from pillar_core.methods import METHODS
from pillar_core.rng import Streams

NUMBERS, DRAWS, GAP = 40_000, 2_000, 5.0
RUNS = {"trim": 40, "class signal": 30, "screen": 2}
"""Enough for a thousand numbers."""


def the_stream():
    """Its normals, its uniforms, and the last bits of these."""
    secret = Streams(None).secret("noise")
    uniforms = [secret.random(NUMBERS) for _ in range(4)]
    checks.is_independent([[secret.standard_normal(NUMBERS)] for _ in range(4)])
    for part in (uniforms, [uniform * 2**12 % 1 for uniform in uniforms]):
        assert min(map(np.min, part)) > 0
        checks.is_independent([[stats.norm.ppf(uniform)] for uniform in part])


def noise_of(learner, **asked):
    return lambda: checks.noise_is_as_charged(case_for(METHODS[learner], is_release=True, **asked))


def samples_of(learner, **asked):
    return lambda: checks.samples_as_charged(
        case_for(METHODS[learner], is_release=True, sampled=True, steps=300, **asked)
    )


def noise_of_answer(name):
    def check():
        tapes = [Recorder() for _ in range(RUNS[name])]
        for tape in tapes:
            with taped(tape):
                ANSWERS[name](PRIVATE, "add_or_remove_one", None)
        checks.is_independent(
            [checks.standard_noise(tape) for tape in tapes], grid=checks.grid(tapes[0])
        )

    return check


def directions():
    """Of the Bingham law on the circle, whose doubled angles have von Mises's."""
    secret, exponent = Streams(None).secret("noise"), np.diag([GAP, 0.0])
    x = np.array([bingham(exponent, secret) for _ in range(DRAWS)])
    angles = np.angle((x[:, 0] + 1j * x[:, 1]) ** 2)
    checks.is_independent(
        [[part] for part in stats.norm.ppf(stats.vonmises.cdf(angles, GAP / 2)).reshape(4, -1)]
    )


SHAPES: dict[str, Callable[[], None]] = {
    "the stream": the_stream,
    "one sum": noise_of("dp_sgd"),
    "one sum in floating point": noise_of("dope_sgd"),
    "joint sums": noise_of("gep"),
    "sums on samples": noise_of("dp_sgd", sampled=True),
    "Poisson samples": samples_of("dp_sgd", batch_size=6),
    "random allocation": samples_of("dp_sgd", sampling="random_allocation"),
    "class sums": noise_of("pillar_one_shot"),
    "second moment": noise_of("dp_pca"),
    "votes": noise_of("private_knn"),
    "one choice": noise_of("disjunction", choice_epsilon=1.0),
    "choices": noise_of("prototypes"),
    "noisy SGD as printed": lambda: checks.takes_the_printed_steps(
        case_for(METHODS["pillar_noisy_sgd"], variant="as_printed", is_release=True)
    ),
    "directions": directions,
    **{f"{name}, answered": noise_of_answer(name) for name in RUNS},
}
"""By the shape of what is released."""
OF_UNIFORMS = ("Poisson samples", "random allocation", "one choice", "choices")
"""Those that draw no normals."""


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_release_has_the_law_that_is_charged(shape):
    SHAPES[shape]()


class Counted(rng.SystemStream):
    """Counts the numbers that the operating system gave."""

    numbers = 0

    def words(self, count):
        Counted.numbers += count
        return super().words(count)

    def standard_normal(self, size):
        before, drawn = Counted.numbers, super().standard_normal(size)
        Counted.numbers = before + drawn.size
        return drawn


class FromElsewhere(Recorder):
    """Notes which releases and samples took fewer of these numbers than they need."""

    def __init__(self):
        super().__init__()
        self.offences: set[str] = set()
        self.spent_on_releases = 0

    def release(self, call, value, draw):
        before = Counted.numbers
        released = super().release(call, value, draw)
        taken = Counted.numbers - before
        self.spent_on_releases += taken
        sizes = {"gaussian": call.shape, "exponential": call.shape}
        joint = (
            sum(math.prod(part[0]) for part in call.detail) if call.kind == "gaussian_joint" else 1
        )
        self.offences |= (
            {call.kind}
            if taken < (math.prod(sizes[call.kind]) if call.kind in sizes else joint)
            else set()
        )
        return released


def offenders(*names):
    """Learners and private answers, all or those named, whose releases without a seed draw from
    elsewhere than from the system."""

    def learner(name, **asked):
        rows = split_for(METHODS[name])
        return lambda: pc.run(name, rows, seed=None, **settings_for(METHODS[name], rows, **asked))

    asks = {name: learner(name) for name in LEARNERS}
    asks |= {f"{name}, sampled": learner(name, sampled=True) for name in SAMPLED}
    asks |= {
        f"{name}, allocated": learner(name, sampled=True, sampling="random_allocation", steps=4)
        for name in ALLOCATED
    }
    asks |= {
        name: lambda ask=ask: ask(PRIVATE, "add_or_remove_one", None)
        for name, ask in {**ANSWERS, "tune": TUNE}.items()
    }
    found = []
    with patch.object(rng, "SystemStream", Counted):
        for name, ask in ((name, asks[name]) for name in names or asks):
            tape, Counted.numbers = FromElsewhere(), 0
            with taped(tape):
                ask()
            left, is_sampled = (
                Counted.numbers - tape.spent_on_releases,
                any(probability < 1 for probability, _, _ in tape.samples),
            )
            # each Poisson sample takes a number or more, each pass of random allocation as many as
            # there are rows; tune draws its trials
            needed = len(tape.samples) if is_sampled else 2 if name == "tune" else 0
            offences = sorted(tape.offences | ({"samples or trials"} if left < needed else set()))
            found += [
                f"{name}: {offence}"
                for offence in ([] if tape.calls else ["no release"]) + offences
            ]
    return found


def test_every_release_without_a_seed_draws_from_the_operating_system_and_a_seed_is_seen():
    assert not offenders()
    secret = Streams.secret

    def seeded(self, purpose, **more):
        is_planted = purpose in ("second moment", "sampling", "tuning", "votes")
        return rng.stream(0, purpose) if is_planted else secret(self, purpose, **more)

    with patch.object(Streams, "secret", seeded):
        found = offenders("gep, sampled", "tune", "trim", "dp_sgd", "class signal")
        with pytest.raises(LedgerError, match="floating point"):
            offenders("dp_pca")
    assert found == ["gep, sampled: samples or trials", "tune: samples or trials", "trim: gaussian"]
