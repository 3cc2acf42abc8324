"""What no single learner promises: ε of a person counts all of their rows, and tuning runs as many
trials as it prices."""

import dataclasses
import functools
import math
from collections.abc import Callable
from unittest.mock import patch

import numpy as np
from scipy.stats import norm

import pillar_core as pc
from contract.tapes import Recorder
from pillar_core.data.images import loading
from pillar_core.ledger import Ledger
from pillar_core.rng import stream
from pillar_core.runs.run import solve
from pillar_core.studies import tuning as selection
from pillar_core.types import Dataset, FeatureSet, Persons, RunSpec

MOST, EPSILON, DELTA, MEAN_TRIALS = 3, 2.0, 1e-5, 3.0
GAMMA = 0.14899929651250857
"""Of the logarithmic law: (1/γ − 1) / log(1/γ) is the mean number of trials."""
TUNED = 300
"""Choices whose trials are counted; one standard error of their mean is a fifth of a trial."""


def images():
    """Persons of five images each, with the person's number and the image's own in its pixels, and
    no test images."""
    who = np.repeat(np.arange(100), 5)
    pixels = np.zeros((500, 4, 4), dtype=np.uint8)
    pixels[:, 0, 0], pixels[:, 0, 1] = who, np.arange(500) % 5
    return loading.checked_images(
        Dataset("images", pixels, who % 2, persons=Persons(who, MOST)), name="images"
    )


def test_each_row_keeps_its_person():
    found = images()
    assert found.persons is not None
    assert (found.persons.of == found.x_train[:, 0, 0]).all()


def test_a_person_has_no_more_private_rows_than_are_priced():
    data = images()
    split = pc.split(data, public_fraction=0.2)
    assert np.bincount(data.x_train[split.private, 0, 0]).max() == split.rows_per_person == MOST


def delta_of(mu):
    """δ at EPSILON of a Gaussian run (Dong, Roth & Su 2022, Corollary 2.13)."""
    return norm.cdf(-EPSILON / mu + mu / 2) - math.exp(EPSILON) * norm.cdf(-EPSILON / mu - mu / 2)


def test_the_noise_is_that_of_all_rows_of_a_person():
    """Full Gaussian runs of a person with m rows have μ = m√T/σ."""
    settings = pc.run(
        "noisy_gd", pc.split(images(), public_fraction=0.2), epsilon=EPSILON, delta=DELTA
    ).settings
    mu = MOST * math.sqrt(settings["steps"]) / settings["noise_multiplier"]
    assert delta_of(mu) <= DELTA * (1 + 1e-4)  # the noise is solved for to 1e-6 or better


def test_a_replaced_person_moves_a_sum_as_far_as_is_priced():
    """Three rows of a person against their opposites: at weights 0, the clipped gradients turn
    round. The noise is that of such a μ."""
    x, who = (
        stream(0, "persons").standard_normal((240, 4)).astype(np.float32),
        np.arange(240) // MOST,
    )
    features = FeatureSet(x, who % 2, None, None, ("a", "b"), persons=Persons(who, MOST))
    gone, values = who[pc.split(features, public_fraction=0.2).private[0]], []
    for sign in (1, -1):
        rows = np.where(who[:, None] == gone, sign * np.float32(1e4), x)
        split = pc.split(dataclasses.replace(features, x_train=rows), public_fraction=0.2)
        plan = solve(
            "noisy_gd",
            split,
            epsilon=EPSILON,
            delta=DELTA,
            relation="replace_one",
            steps=4,
            centre=False,
        )
        tape = Recorder()
        plan.method.train(plan.settings, plan.view, plan.streams(0), Ledger(tape))
        values.append(tape.values[0])
    moved = float((values[0] - values[1]).norm()) / plan.settings.l2_clip_norm
    assert 0.99 * 2 * MOST <= moved <= 2 * MOST
    mu = moved * math.sqrt(plan.settings.steps) / plan.settings.noise_multiplier
    assert 0.9 * DELTA <= delta_of(mu) <= DELTA * (1 + 1e-4)


@functools.cache
def tumours():
    return pc.split(pc.load_dataset("breast_cancer"), public_fraction=0.3)


def tuned(seed=0):
    asked = RunSpec.of("noisy_gd", epsilon=EPSILON, delta=DELTA, steps=2, seed=seed)
    return selection.tune(asked, tumours(), [{"learning_rate": 1.0}], mean_trials=MEAN_TRIALS)


def test_the_price_is_that_of_the_declared_number_of_trials():
    """docs/accounting.md, "The best of several runs", on a plain grid: u of the runs lie below the
    winner, the loss of one run is normal."""
    made = tuned()
    settings = made.record.settings
    mu = math.sqrt(settings["steps"]) / settings["noise_multiplier"]
    z = np.linspace(-8, 8, 801)
    with_row, without = (
        MEAN_TRIALS * GAMMA / (GAMMA + (1 - GAMMA) * norm.sf(z - shift)) for shift in (0, mu)
    )
    ratios = np.exp(-mu * (z + mu / 2))
    for promised in (EPSILON, made.guarantee.epsilon.upper, made.record.guarantee.epsilon.upper):
        winners = with_row - math.exp(promised) * np.multiply.outer(ratios, without)
        delta = (winners.max(axis=1).clip(0) * norm.pdf(z)).sum() * (z[1] - z[0])
        # the grid and the tolerance of the noise move δ by about a percent
        assert delta <= DELTA * 1.05


def test_as_many_trials_run_as_are_declared():
    record, ran = tuned().record, []
    with patch.object(
        selection, "run_many", lambda solved, split: ran.extend(solved) or [record] * len(solved)
    ):
        for seed in range(TUNED):
            tuned(seed)
    # the logarithmic law of mean m has variance m/γ − m²
    assert abs(len(ran) / TUNED - MEAN_TRIALS) <= 6.5 * math.sqrt(
        (MEAN_TRIALS / GAMMA - MEAN_TRIALS**2) / TUNED
    )


CHECKS: dict[str, tuple[Callable[[], None], ...]] = {
    "split": (
        test_each_row_keeps_its_person,
        test_a_person_has_no_more_private_rows_than_are_priced,
        test_the_noise_is_that_of_all_rows_of_a_person,
        test_a_replaced_person_moves_a_sum_as_far_as_is_priced,
    ),
    "tune": (
        test_the_price_is_that_of_the_declared_number_of_trials,
        test_as_many_trials_run_as_are_declared,
    ),
}
"""By where a fault is planted."""
