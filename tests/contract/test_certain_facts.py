"""Promises that one comparison decides, without statistics: what samplers are handed, who scores a
trial, what a person's rows cost."""

import dataclasses
import importlib
from collections.abc import Callable
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import torch

import pillar_core as pc
from contract.answers import CANDIDATES, PRIVATE, PUBLIC
from pillar_core import ledger as events
from pillar_core import rng
from pillar_core.errors import SettingError
from pillar_core.ledger import Ledger
from pillar_core.mechanisms import exact, gaussian
from pillar_core.mechanisms.exponential import ExponentialMechanism
from pillar_core.mechanisms.gaussian import GaussianMechanism
from pillar_core.rng import Streams
from pillar_core.studies import tuning
from pillar_core.types import Persons, RunSpec

EXPONENTIAL = importlib.import_module("pillar_core.mechanisms.exponential")
ROUNDED, SOFTMAX = exact.rounded_gaussian, exact.softmax_choice
"""As they are, whatever stands in for them where they are used."""
MULTIPLIER, CLIP, UNITS, PLACES = 1.7, 0.5, 1 << 20, 64
RANGE, RATE, CHOICES = 1 << 20, 0.8, 4000


def known_words():
    """The same words in each reading."""
    generator = rng.stream(0, "known words")
    return lambda count: generator.integers(0, 2**64, count, dtype=np.uint64)


def test_whole_noise_has_the_scale_that_is_charged():
    ledger = Ledger()
    mechanism = GaussianMechanism(MULTIPLIER, CLIP, Streams(None).secret("noise"), ledger)
    with patch.object(gaussian, "exact_words", lambda _: known_words()):
        released = mechanism.release_integers(torch.zeros(PLACES, dtype=torch.int64), UNITS).numpy()
    assert ledger.total_event == events.gaussian(MULTIPLIER)
    np.testing.assert_array_equal(
        released, ROUNDED(MULTIPLIER * UNITS, (PLACES,), known_words()) * (CLIP / UNITS)
    )


def test_a_choice_has_the_rate_that_is_charged():
    """Two candidates of like chances, so that a rate of another size changes some of the
    choices."""
    ledger, scores = Ledger(), np.tile(np.array([0, RANGE], dtype=np.int64), (CHOICES, 1))
    mechanism = ExponentialMechanism(RATE, RANGE, Streams(None).secret("noise"), ledger)
    with patch.object(EXPONENTIAL, "words_of", lambda _: known_words()):
        chosen = mechanism.choose_each(scores)
    assert ledger.total_event == EXPONENTIAL.exponential(RATE)
    words, rate = known_words(), int(2**64 * RATE / RANGE * (1 - 1e-15))
    np.testing.assert_array_equal(chosen, [SOFTMAX(row, rate, words) for row in scores])


def test_a_sample_feeds_one_release():
    ledger = Ledger()
    mechanism = GaussianMechanism(MULTIPLIER, CLIP, Streams(0).secret("noise"), ledger)
    refusal = ""
    try:
        with ledger.poisson(0.1, PLACES, lambda: np.arange(6)):
            for _ in range(2):
                mechanism.release(torch.zeros(2))
    except SettingError as error:
        refusal = str(error)
    assert "one joint release" in refusal


def test_trials_are_scored_on_public_rows():
    """The one of two classifiers that is right on the public rows wins, whatever private rows say
    of it."""
    split = pc.split(PRIVATE, public=PUBLIC)
    grid = [{"learning_rate": 1.0}, {"learning_rate": 2.0}]
    plain = pc.run("noisy_gd", split, noise_multiplier=100.0, steps=2)
    right = dict(zip(map(bytes, PUBLIC.x_train), PUBLIC.y_train, strict=True))

    def ran(plans, _):
        wrong = (
            plans[0].settings.learning_rate == 2.0
        )  # on public rows, and right on private ones where these have other labels
        classifier = SimpleNamespace(
            predict=lambda x: np.array([right.get(bytes(row), 0) for row in x]) + wrong
        )
        return [dataclasses.replace(plain, classifier=classifier)]

    for labels in (PRIVATE.y_train, np.ones_like(PRIVATE.y_train), np.zeros_like(PRIVATE.y_train)):
        rows = dataclasses.replace(split, features=dataclasses.replace(PRIVATE, y_train=labels))
        with patch.object(tuning, "run_many", ran), patch.object(tuning, "_trials", lambda *_: 40):
            assert (
                tuning.tune(RunSpec.of("noisy_gd", epsilon=2.0, steps=2), rows, grid).chosen
                == grid[0]
            )


def test_a_choice_costs_all_rows_of_a_person():
    many = dataclasses.replace(PRIVATE, persons=Persons(np.arange(len(PRIVATE.x_train)) // 3, 3))
    assert pc.choose(many, {"near": CANDIDATES["near"]}, epsilon=1.0).guarantee.epsilon.upper <= 1.0


def test_clusters_are_counted_by_public_numbers():
    """As many for private rows that are all equal."""
    equal = dataclasses.replace(
        PRIVATE, x_train=np.repeat(PRIVATE.x_train[:1], len(PRIVATE.x_train), axis=0)
    )
    made = [
        len(pc.screening.trim(rows, PUBLIC, share=0.5, epsilon=20.0).votes)
        for rows in (PRIVATE, equal)
    ]
    assert made[0] == made[1] > 2


CHECKS: dict[str, Callable[[], None]] = {
    "whole noise": test_whole_noise_has_the_scale_that_is_charged,
    "choice": test_a_choice_has_the_rate_that_is_charged,
    "sample": test_a_sample_feeds_one_release,
    "trials": test_trials_are_scored_on_public_rows,
    "a person's choice": test_a_choice_costs_all_rows_of_a_person,
    "clusters": test_clusters_are_counted_by_public_numbers,
}
"""By where a fault is planted."""
