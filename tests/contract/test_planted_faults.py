"""Faults that were found in published code, planted in a learner that is otherwise sound: the
contract must see each."""

import contextlib
import dataclasses

import numpy as np
import pytest
import torch

from contract import checks
from contract.cases import case_for
from pillar_core import ledger as events
from pillar_core.engine import LinearClassifier, clipped_sum
from pillar_core.ledger import Call, Ledger
from pillar_core.mechanisms import GaussianMechanism, draw_batch
from pillar_core.methods import METHODS
from pillar_core.splits import Transform
from pillar_core.types import Provenance, TrainResult


@dataclasses.dataclass
class Pieces:
    """What a fault may change about one sound training loop."""

    clip: object = None
    divisor: object = None
    diagnostics: object = None
    second_release: bool = False
    batches: object = None


def faulty_fit(pieces):
    """A training loop like the engine's, written out, with one piece exchanged."""

    def fit(settings, view, streams, ledger):
        x, y = checks.private_rows(view)
        z, labels = torch.from_numpy(Transform(normalise=True)(x)), torch.from_numpy(y.copy())
        q = 1.0 if settings.batch_size is None else settings.batch_size / view.facts.n_private
        clip = pieces.clip(z) if pieces.clip else settings.l2_clip_norm
        weights = torch.zeros((1, view.facts.n_classes, z.shape[1]))
        mechanism = GaussianMechanism(
            settings.noise_multiplier, clip, streams.secret("noise"), ledger
        )
        sampling = streams.secret("sampling")
        unseen = dataclasses.replace(
            mechanism, ledger=Ledger(), stream=streams.secret("second noise")
        )
        for _ in range(settings.steps):
            with (pieces.batches or draw_batch)(q, len(z), sampling, [ledger]) as indices:
                total = one_sum(z[indices], labels[indices], weights, clip)
                released = mechanism.release(total).float()
            step = released + unseen.release(total).float() if pieces.second_release else released
            divisor = pieces.divisor(z, indices) if pieces.divisor else q * view.facts.n_private
            weights = weights - settings.learning_rate * step / divisor
        head = LinearClassifier(
            Transform(normalise=True),
            weights[0].T.numpy().copy(),
            np.zeros(view.facts.n_classes, dtype=np.float32),
        )
        return TrainResult(head, pieces.diagnostics(x) if pieces.diagnostics else {})

    return fit


def one_sum(rows, labels, weights, clip):
    return clipped_sum(
        rows, rows.square().sum(1), labels, weights, torch.tensor([clip], dtype=torch.float32)
    )


@contextlib.contextmanager
def uncharged_shuffle(q, n, stream, ledgers):
    """A shuffled batch whose Poisson event the method writes itself."""
    sound = ledgers[0].release
    ledgers[0].release = lambda event, *rest, **more: sound(
        events.subsample(event, q), *rest, **more
    )
    yield np.sort(np.argsort(stream.random(n))[: int(q * n)])
    ledgers[0].release = sound


def median_norm_in_the_result(x):
    return {"median norm": (float(np.median(np.linalg.norm(x, axis=1))), Provenance.PRIVATE)}


FAULTS = {
    "clip norm from a private quantile": (
        Pieces(clip=lambda z: max(0.01, float(z.abs().quantile(0.9)))),
        checks.replays,
        False,
    ),
    "realised batch size as divisor": (
        Pieces(divisor=lambda z, indices: max(1, len(indices))),
        checks.replays,
        True,
    ),
    "a Poisson event without a Poisson sample": (
        Pieces(batches=uncharged_shuffle),
        checks.samples_as_charged,
        True,
    ),
    "a private statistic in the result": (
        Pieces(diagnostics=median_norm_in_the_result),
        checks.replays,
        False,
    ),
    "charged once, spent twice": (Pieces(second_release=True), checks.replays, False),
}


def faulty_case(pieces, *, poisson, steps=3):
    case = case_for(METHODS["dp_sgd"], sampled=poisson, bias=False, steps=steps)
    return dataclasses.replace(
        case, method=dataclasses.replace(case.method, fit=faulty_fit(pieces), fit_many=None)
    )


def steps_for(check):
    """A hundred samples tell a wrong law; every other fault shows in the first step."""
    return 100 if check is checks.samples_as_charged else 3


@pytest.mark.parametrize("name", list(FAULTS))
def test_a_planted_fault_is_seen(name):
    pieces, check, poisson = FAULTS[name]
    with pytest.raises(AssertionError):
        check(faulty_case(pieces, poisson=poisson, steps=steps_for(check)))


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize(
    "check",
    [
        checks.declared_is_spent,
        checks.replays,
        checks.is_within_sensitivity,
        checks.samples_as_charged,
    ],
)
def test_the_loop_without_a_fault_passes(check, poisson):
    check(faulty_case(Pieces(), poisson=poisson, steps=steps_for(check)))


def test_calls_compare_to_the_last_bit():
    assert Call("gaussian", (2,), 1.0, 1.0, 1.0) != Call(
        "gaussian", (2,), np.nextafter(1.0, 2), 1.0, 1.0
    )
