"""Faults planted in the library, and what catches each: the contract's checks, or the audit that
pages offer.

`PYTHONPATH=tests python -m contract.faults` prints the table of research/audit.md. Every fault
replaces one function for the length of a `with` block; nothing of it is left behind.
"""

import contextlib
import dataclasses
import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any
from unittest.mock import patch

import deep_rows
import numpy as np
import torch

from contract import (
    checks,
    test_methods,
    test_persons_and_tuning,
    test_private_answers,
    test_releases,
    test_screening_releases,
)
from contract.answers import ONE_RELEASE
from contract.cases import case_for, small_split
from contract.test_certain_facts import CHECKS as CERTAIN
from pillar_core import ledger, rng
from pillar_core.engine import gradient
from pillar_core.errors import PillarError
from pillar_core.mechanisms import gaussian, poisson
from pillar_core.mechanisms.exponential import ExponentialMechanism
from pillar_core.mechanisms.gaussian import GaussianMechanism
from pillar_core.mechanisms.printed_noisy_sgd import PrintedNoisySgd
from pillar_core.methods import METHODS, Method
from pillar_core.methods.baselines import dp_pca
from pillar_core.methods.closed_form import pillar_kalman, pillar_one_shot
from pillar_core.methods.parts import descent, voting
from pillar_core.methods.parts.deep import gradients as deep_gradients
from pillar_core.methods.parts.deep import networks, train
from pillar_core.methods.parts.deep import settings as deep_settings
from pillar_core.methods.parts.deep.pixels import Input
from pillar_core.methods.voting import prototypes
from pillar_core.rng import Streams
from pillar_core.runs import run as runs
from pillar_core.screening import class_signal
from pillar_core.screening import release as screening_release
from pillar_core.splits import View
from pillar_core.splits import split as splits
from pillar_core.studies import tuning as selection
from pillar_core.studies.advice import choice
from pillar_core.studies.evidence import attacks
from pillar_core.types import Persons, Provenance, RunSpec

EXPONENTIAL = importlib.import_module("pillar_core.mechanisms.exponential")
TRIM = importlib.import_module("pillar_core.screening.trim")
"""The modules: their packages have a function of that name."""
SCREENING = "screening"
PRINTED = "pillar_noisy_sgd, printed"
DEEP = "private_fine_tuning"
SPLIT, TUNE = test_persons_and_tuning.CHECKS
SOLVE = "solve"
FEW_ROWS = "from_scratch, batches of a few rows"
PAGE = ("dp_sgd", "one sum")
"""Where the audit of the pages is asked too: both are DP-SGD."""
WHOLE = ("one sum", "sums on samples", "class sums", "class signal, answered")
"""Releases of whole numbers, which draw words."""
OF_WORDS = (*WHOLE, "Poisson samples", "random allocation")
SCALED = tuple(
    name
    for name in test_releases.SHAPES
    if name not in (*test_releases.OF_UNIFORMS, *WHOLE, "directions")
)
"""Shapes of release whose normals have a scale: directions have none."""
MANY = ("the stream", "directions", "screen, answered")
"""Those that draw more than 4,096 normals."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """`made(original)` stands in for attribute `name` of `owner`. learners: what it is looked for
    in, each by itself, with `settings`."""

    kind: str
    words: str
    owner: Any
    name: str
    made: Callable[[Any], Any]
    learners: tuple[str, ...]
    sampled: bool = False
    settings: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @contextlib.contextmanager
    def planted(self):
        with patch.object(self.owner, self.name, self.made(getattr(self.owner, self.name))):
            yield


def noise_by(change):
    """Noise of the Gaussian mechanism, changed."""
    return lambda original: lambda self, like, std: change(original(self, like, std))


def law_by(
    draw,
):
    """Noise of another law, of variance 1, in units of the standard deviation."""
    generator = np.random.default_rng(0)
    return lambda original: (
        lambda self, like, std: std * torch.as_tensor(draw(generator, tuple(like.shape))).to(like)
    )


class Stuck:
    """A stream that gives its first normals again and again."""

    def __init__(self, make):
        self._make, self._stream = make, make()

    def standard_normal(self, size):
        return self._make().standard_normal(size)

    def random(self, size):
        return self._stream.random(size)


def stuck(original):
    return lambda self, purpose, **more: Stuck(lambda: original(self, purpose, **more))


def seedless(original):
    return lambda self, purpose, **more: (
        rng.stream(0, purpose)
        if "noise" in purpose or purpose == "second moment"
        else original(self, purpose, **more)
    )


def shared_by_classes(noise):
    if noise.ndim > 1:
        return noise[:1].expand_as(noise).clone()
    return noise if len(noise) < 2 else noise[: len(noise) // 2 + 1].repeat(2)[: len(noise)]


def one_place_twice(original, *, place=3):
    """The fourth row of a batch, or that of another place, may be twice as long."""

    def factors(squared_norms, clip, **more):
        found = original(squared_norms, clip, **more).clone()
        found[:, place : place + 1] *= 2
        return found

    return factors


def first_place_twice(original):
    """As `one_place_twice`; the trial of a network's places meets it by taking rows one at a time,
    each in the first place."""
    return one_place_twice(original, place=0)


def unfilled(original):
    """No blank images: kernels then round by how many rows the batch has."""
    return lambda batches, x, y, drawn, size: original(batches, x, y, drawn, len(y))


def no_bit_of_another_row_changes():
    """One row more leaves the other rows' clipped gradients as they are, whatever the draw."""
    module = networks.build("small_cnn", channels=1, n_classes=10, seed=0).module
    found = deep_rows.found_in(
        deep_rows.drawn(module, 0), Input((8, 8), 1, None), 0, threads=1, expected=4
    )
    assert found.changed == 0


def by_the_batch(original):
    """All rows are scaled by the median row's factor."""
    return lambda squared, clip, **more: (
        original(squared, clip, **more)
        .median(dim=1, keepdim=True)
        .values.expand_as(squared)
        .contiguous()
    )


def by_the_realised_norm(original):
    """Noise in units of the sum's own norm, not of the clip norm."""
    return lambda self, like, std: original(
        self, like, self.noise_multiplier * float(torch.linalg.vector_norm(like))
    )


def of_private_curvature(original):
    """The curvature of the private rows, not of the public ones."""

    def curvature(features, head, *rest):
        private = features.private.double().numpy()
        return original(
            dataclasses.replace(features, public=private), head[: private.shape[1]], *rest
        )

    return curvature


def unclipped(original):
    return lambda squared_norms, clip, **more: torch.ones_like(squared_norms)


def counted_twice(original):
    return lambda *rows, low, high, **more: 2 * original(*rows, low=low, high=high, **more)


def always_first(original):
    return lambda probability, n, stream: np.union1d([0], original(probability, n, stream)).astype(
        np.int64
    )


def fixed_size(original):
    return lambda probability, n, stream: np.sort(
        np.argsort(stream.random(n))[: round(probability * n)]
    )


def equal_parts(original):
    """A shuffle: steps of one size."""
    return lambda steps, n, stream: np.argsort(stream.random(n)) % steps


def drawn_once(original):
    """The rows of one step, or the steps of one pass, for all of them."""
    kept: dict[int, np.ndarray] = {}
    return lambda law, n, stream: kept.setdefault(n, original(law, n, stream))


def in_pairs(original):
    """Neighbouring rows come together."""

    def sample(probability, n, stream):
        pairs = original(probability, (n + 1) // 2, stream)
        return np.sort(np.concatenate([2 * pairs, 2 * pairs + 1]))[:n]

    return lambda probability, n, stream: (lambda drawn: drawn[drawn < n])(
        sample(probability, n, stream)
    )


def with_a_trace(original):
    """A thousandth of the sum goes beside the release."""
    return lambda self, total: original(self, total) + 1e-3 * total.to(torch.float64)


def of_private_rows(original):
    """Mean and scale of preprocessing come from private rows too."""
    return lambda self, **how: original(
        dataclasses.replace(
            self, x_public=np.concatenate([self.x_public, self.x]), memo=type(self.memo)()
        ),
        **how,
    )


def by_the_rows_of_a_batch(original):
    """The divisor is the number of rows that were drawn."""

    @contextlib.contextmanager
    def following(self):
        sound = GaussianMechanism.release
        with original(self) as rows:
            times = self._probability * self._n_rows / max(1, len(rows))
            with patch.object(GaussianMechanism, "release", lambda *of: times * sound(*of)):
                yield rows

    return following


def by_private_norms(original):
    """The clip norm is a quantile of the private rows' numbers."""

    def train_heads(z, y, heads, **more):
        clip = max(0.01, float(np.quantile(np.abs(z), 0.9)))
        plans = [dataclasses.replace(head.plan, l2_clip_norm=clip) for head in heads]
        return original(z, y, [*map(with_plan, heads, plans)], **more)

    return train_heads


def with_plan(head, plan):
    return dataclasses.replace(head, plan=plan)


def with_a_median(original):
    """The result has a statistic of the private rows."""

    def train(self, settings, view, *rest):
        norm = float(np.median(np.linalg.norm(checks.private_rows(view)[0], axis=1)))
        return dataclasses.replace(
            original(self, settings, view, *rest),
            diagnostics={"median norm": (norm, Provenance.PRIVATE)},
        )

    return train


@contextlib.contextmanager
def uncharged_shuffle(q, n, stream, ledgers):
    """A shuffled batch whose Poisson event the learner writes itself."""
    sound = ledgers[0].release
    ledgers[0].release = lambda event, *rest, **more: sound(
        ledger.subsample(event, q), *rest, **more
    )
    yield np.sort(np.argsort(stream.random(n))[: int(q * n)])
    ledgers[0].release = sound


def by_rows_present(original):
    """The divisor is the number of private rows that are there."""

    def private_phase(module, rows, phase, *rest):
        plan = dataclasses.replace(phase.plan, n_private=len(rows.y))
        return original(module, rows, dataclasses.replace(phase, plan=plan), *rest)

    return private_phase


def every_second(original):
    """Every second release is not charged."""

    def release(self, *rest, **more):
        released = original(self, *rest, **more)
        self.count = getattr(self, "count", 0) + 1
        if self.count % 2 == 0:
            self._events.pop()
            self._labels.pop()
        return released

    return release


def half_printed(original):
    return lambda self, z, signs, slope, lipschitz, std: original(
        self, z, signs, slope, lipschitz, std / 2
    )


def repeating_printed(original):
    return lambda self, *rest: original(dataclasses.replace(self, noise=OneRow(self.noise)), *rest)


class OneRow:
    """A stream whose every row of normals is its first one."""

    def __init__(self, stream):
        self._stream = stream

    def standard_normal(self, size):
        drawn = self._stream.standard_normal(size)
        return drawn if drawn.ndim < 2 else np.repeat(drawn[:1], len(drawn), axis=0)


def scaled_choice(times):
    return lambda original: lambda self, scores, scale: original(self, scores, times * scale)


def normal_choice(original):
    """Gaussian noise of the Gumbel law's variance."""
    return lambda self, scores, scale: np.argmax(
        scores + scale * np.pi / 6**0.5 * np.random.default_rng(0).standard_normal(scores.shape),
        axis=-1,
    )


def of_first_rows(original):
    """Rows that are taken out keep the persons of as many first rows."""
    return lambda self, rows: original(self, np.arange(len(rows)))


def in_pairs_of_one(original):
    """Two rows of a person count as one where they are kept."""

    def by_person(*given):
        first, place = original(*given)
        return first, (place + 1) // 2

    return by_person


def twice_as_many(original):
    return lambda *law: 2 * original(*law)


def on_private_rows(original):
    def score(classifier, split):
        rows, labels = split.features.x_train[split.private], split.features.y_train[split.private]
        return float((classifier.predict(rows) == labels).mean())

    return score


def of_one_row(original):
    return lambda mu, moves: original(mu, 1.0)


def distinct(original):
    return lambda private: dataclasses.replace(
        private, x_train=np.unique(private.x_train, axis=0), y_train=None
    )


def unwatched(original):
    return contextlib.contextmanager(lambda self, probability, n_rows, draw: iter([draw()]))


def by_share(share):
    return lambda original: lambda std, *rest: original(share * std, *rest)


def at_higher_rate(original):
    return lambda scores, rate, words: original(scores, int(1.02 * rate), words)


def hundredth(original):
    return lambda self, size: 0.01 * original(self, size)


def of_four_bits(original):
    return lambda self, size: (np.floor(16 * original(self, size)) + 0.5) / 16


def words_of_four_bits(original):
    return lambda self, count: original(self, count) & np.uint64(0xF << 60)


def repeated_words(original):
    """The first words again in every draw."""
    first = original(rng.SystemStream(), 4096)
    return lambda self, count: np.resize(first, count)


def from_a_pool(original):
    """Normals that repeat after 4,096."""
    kept, taken = list[np.ndarray](), 0

    def standard_normal(self, size):
        nonlocal taken
        kept.extend([original(self, 4096)] if not kept else [])
        first, taken = taken, taken + int(np.prod(size))
        return kept[0][np.arange(first, taken) % 4096].reshape(size)

    return standard_normal


def of_one_uniform(original):
    """Box and Muller with the angle from the radius' own uniforms."""

    def standard_normal(self, size):
        uniforms = self.random(size)
        return np.sqrt(-2 * np.log(uniforms)) * np.cos(2 * np.pi * uniforms)

    return standard_normal


def of_private_rank(original):
    """No more directions than the private rows have."""

    def public_facts(learner, settings, view):
        found = original(learner, settings, view)
        least = min(
            found.extra.get("public_rank", 0),
            int(np.linalg.matrix_rank(checks.private_rows(view)[0])),
        )
        return dataclasses.replace(found, extra={**found.extra, "public_rank": least})

    return public_facts


def at_half_of_the_chance(original):
    return lambda event, q: original(event, q / 2 if q < 1 else q)


def of_half_of_the_trials(original):
    return lambda event, mean_trials, shape: original(
        event, mean_trials=mean_trials / 2, shape=shape
    )


def at_half_of_the_trials(original):
    return lambda event, *rest: original(
        ledger.best_of(event.event, mean_trials=event.mean / 2, shape=event.shape), *rest
    )


def double_charge(original):
    return lambda noise_multiplier, **more: original(2 * noise_multiplier, **more)


HEADS = (
    "dp_sgd",
    "pillar",
    "gep",
    "adadps",
    "dope_sgd",
    "pillar_one_shot",
    "pillar_kalman",
    "semi_private_halfspace",
)
RIVALS = ("dp_ls", "dp_fc")
NORMALS = (*HEADS, *RIVALS, "dp_pca", "private_knn", DEEP, SCREENING)
FEW = ("dp_sgd", DEEP)
STEPPED = ("dp_sgd", "pillar", "gep", "adadps", "dope_sgd", "pillar_kalman", "private_knn", DEEP)
PLACED = ("dp_sgd", "pillar", "dope_sgd", "adadps", "semi_private_halfspace")
PROJECTED = ("pillar", "semi_private_halfspace", "pillar_one_shot", "pillar_kalman")
TRACED = ("dp_sgd", "pillar", "dp_pca", "private_knn", DEEP, SCREENING)
OF_UNIFORMS = tuple(
    name for name in test_releases.SHAPES if name not in (*OF_WORDS, "one choice", "choices")
)


def _allocated(kind, words, owner, name, made):
    return Fault(
        kind,
        words,
        owner,
        name,
        made,
        ("dp_sgd", "pillar"),
        True,
        {"sampling": "random_allocation"},
    )


def _noise(kind, words, made, learners):
    return Fault(kind, words, GaussianMechanism, "_noise", made, learners)


def _uniform(generator, size):
    return generator.uniform(-(3**0.5), 3**0.5, size)


def _cut(generator, size):
    """Normals cut at ±2, of variance 1 again."""
    return np.clip(generator.standard_normal(size), -2, 2) / 0.9595


CHOICE, SECRET, SAMPLE = (
    (ExponentialMechanism, "_draw"),
    (Streams, "secret"),
    (poisson, "poisson_sample"),
)
CLIP, SYSTEM_NORMALS, SYSTEM_WORDS = (
    (gradient, "clip_factors"),
    (rng.SystemStream, "standard_normal"),
    (rng.SystemStream, "words"),
)
"""Where several faults are planted: owner and attribute."""

FAULTS = (
    _noise("scale", "half the noise", noise_by(lambda noise: noise / 2), NORMALS),
    _noise("scale", "two thirds of the noise", noise_by(lambda noise: noise * 2 / 3), NORMALS),
    _noise(
        "scale",
        "one place without noise",
        noise_by(lambda n: n * (torch.arange(n.shape[-1]) > 0)),
        ("dp_sgd", "pillar_one_shot"),
    ),
    _noise(
        "scale",
        "noise in units of the realised norm",
        by_the_realised_norm,
        ("pillar_kalman", "pillar_one_shot"),
    ),
    Fault("scale", "half the noise", PrintedNoisySgd, "_descend", half_printed, (PRINTED,)),
    Fault(
        "scale",
        "choice at two thirds of its scale",
        *CHOICE,
        scaled_choice(2 / 3),
        ("disjunction", "pillar_noisy_sgd", "prototypes"),
    ),
    _noise("law", "uniform noise of equal variance", law_by(_uniform), NORMALS),
    _noise(
        "law",
        "Laplace noise of equal variance",
        law_by(lambda g, size: g.laplace(0, 2**-0.5, size)),
        ("dp_sgd", "gep", DEEP),
    ),
    _noise(
        "law", "normals cut at two deviations", law_by(_cut), ("dp_sgd", "pillar_one_shot", DEEP)
    ),
    Fault(
        "law",
        "normal noise for a choice",
        *CHOICE,
        normal_choice,
        ("disjunction", "pillar_noisy_sgd", "prototypes"),
    ),
    Fault("dependence", "the same noise in every step", *SECRET, stuck, STEPPED),
    Fault("dependence", "the same noise in every run", *SECRET, seedless, (*HEADS, DEEP)),
    _noise(
        "dependence",
        "classes share their noise",
        noise_by(shared_by_classes),
        ("dp_sgd", "pillar_one_shot", DEEP),
    ),
    Fault(
        "dependence",
        "the same noise in every step",
        PrintedNoisySgd,
        "_descend",
        repeating_printed,
        (PRINTED,),
    ),
    Fault(
        "relation",
        "replace-one factor 1 for √2",
        dp_pca,
        "REPLACE_ONE_FACTOR",
        lambda _: 1.0,
        ("dp_pca",),
    ),
    Fault(
        "relation",
        "replace-one factor 1 for 2",
        checks.EXPONENTIAL,
        "REPLACE_ONE_FACTOR",
        lambda _: 1.0,
        ("disjunction", "prototypes"),
    ),
    Fault(
        "relation",
        "replace-one factor 1",
        pillar_one_shot,
        "replace_one_factor",
        lambda _: lambda weight: 1.0,
        ("pillar_one_shot",),
    ),
    Fault(
        "relation",
        "votes move by 1",
        voting,
        "VOTE_SENSITIVITY",
        lambda _: 1.0,
        ("private_knn", "pate"),
    ),
    Fault(
        "relation",
        "replace-one factor 1 for √2",
        screening_release,
        "REPLACE_ONE_FACTOR",
        lambda _: 1.0,
        (SCREENING,),
    ),
    Fault("sampling", "batches of fixed size", *SAMPLE, fixed_size, FEW, True),
    Fault(
        "sampling",
        "half as likely again",
        *SAMPLE,
        lambda original: lambda q, n, s: original(min(1.0, 1.5 * q), n, s),
        FEW,
        True,
    ),
    Fault(
        "sampling",
        "the first row in every batch",
        *SAMPLE,
        always_first,
        ("dp_sgd", "gep", "adadps", "dope_sgd"),
        True,
    ),
    Fault(
        "sampling", "one sample for all steps", *SAMPLE, drawn_once, ("dp_sgd", "private_knn"), True
    ),
    Fault("sampling", "rows in pairs", *SAMPLE, in_pairs, ("dp_sgd",), True),
    Fault(
        "sampling",
        "a Poisson event without a Poisson sample",
        poisson,
        "draw_batch",
        lambda _: uncharged_shuffle,
        ("dp_sgd",),
        True,
    ),
    _allocated(
        "sampling", "a shuffle charged as random allocation", poisson, "steps_of_rows", equal_parts
    ),
    _allocated("sampling", "the same steps in every pass", poisson, "steps_of_rows", drawn_once),
    _allocated(
        "sampling",
        "no row enters a pass's last step",
        poisson,
        "steps_of_rows",
        lambda f: lambda steps, n, s: f(steps - 1, n, s),
    ),
    _allocated(
        "ledger",
        "twice as many steps a pass",
        ledger,
        "allocation_pass",
        lambda f: lambda noise, steps: f(noise, 2 * steps),
    ),
    Fault("clip", "one place of a batch twice as high", *CLIP, one_place_twice, PLACED),
    Fault(
        "clip",
        "micro-batches of the batch's own size",
        train.MicroBatches,
        "gradients",
        unfilled,
        (FEW_ROWS,),
    ),
    Fault(
        "clip",
        "the first place of a batch twice as high",
        deep_gradients,
        "clip_factors",
        first_place_twice,
        (DEEP,),
    ),
    Fault("clip", "the batch's median, not each row", *CLIP, by_the_batch, ("dp_sgd", "adadps")),
    Fault("clip", "none", *CLIP, unclipped, ("dp_sgd", "semi_private_halfspace", "dp_fc")),
    Fault(
        "clip",
        "a second moment counts twice",
        dp_pca,
        "second_moment",
        lambda original: lambda *rows: 2 * original(*rows),
        ("dp_pca",),
    ),
    Fault(
        "clip",
        "twice as high",
        screening_release,
        "clip_rows",
        lambda f: lambda rows, clip: f(rows, 2 * clip),
        (SCREENING,),
    ),
    Fault(
        "post-processing",
        "a trace of the sum beside it",
        GaussianMechanism,
        "release",
        with_a_trace,
        TRACED,
    ),
    Fault(
        "post-processing",
        "private rows in the public basis",
        View,
        "basis",
        of_private_rows,
        PROJECTED,
    ),
    Fault(
        "post-processing",
        "curvature of private rows",
        pillar_kalman,
        "expected_curvature",
        of_private_curvature,
        ("pillar_kalman",),
        settings={"check": False},  # a noisy number else decides whether curvature is used
    ),
    Fault(
        "post-processing",
        "private rows in mean and scale",
        View,
        "moments",
        of_private_rows,
        ("dp_sgd", "dope_sgd"),
    ),
    Fault(
        "post-processing",
        "the divisor counts the batch",
        poisson.Batches,
        "next",
        by_the_rows_of_a_batch,
        ("dp_sgd",),
        True,
    ),
    Fault(
        "post-processing",
        "clip norm from a private quantile",
        descent,
        "train_heads",
        by_private_norms,
        ("dp_sgd",),
    ),
    Fault(
        "post-processing",
        "a private statistic beside the model",
        Method,
        "train",
        with_a_median,
        ("dp_sgd",),
    ),
    Fault(
        "post-processing",
        "the divisor counts rows present",
        deep_settings,
        "private_phase",
        by_rows_present,
        (DEEP,),
    ),
    Fault(
        "ledger", "twice the noise is charged", ledger, "gaussian", double_charge, (*HEADS, DEEP)
    ),
    Fault(
        "ledger",
        "every second release is free",
        ledger.Ledger,
        "release",
        every_second,
        ("dp_sgd", "gep", DEEP),
    ),
    Fault(
        "ledger",
        "half the sampling probability",
        ledger,
        "subsample",
        at_half_of_the_chance,
        FEW,
        True,
    ),
    Fault("clip", "similarities count twice", prototypes, "scores", counted_twice, ("prototypes",)),
    Fault(
        "ledger",
        "the larger of two joint charges",
        ledger,
        "joint_noise_multiplier",
        lambda _: max,
        ("gep",),
    ),
    Fault(
        "relation",
        "replace-one factor 1 for √2",
        TRIM,
        "REPLACE_ONE_FACTOR",
        lambda _: 1.0,
        ("trim",),
    ),
    Fault(
        "clip",
        "half of the class sums' sensitivity",
        class_signal,
        "SENSITIVITY",
        lambda _: 0.5,
        ("class signal", "paid choice"),
    ),
    Fault(
        "post-processing",
        "no more directions than private rows span",
        runs,
        "public_facts",
        of_private_rank,
        (SOLVE,),
    ),
    Fault("release", "normals a hundredth as large", *SYSTEM_NORMALS, hundredth, SCALED),
    Fault(
        "release", "uniforms of four bits", rng.SystemStream, "random", of_four_bits, OF_UNIFORMS
    ),
    Fault("release", "words of four bits", *SYSTEM_WORDS, words_of_four_bits, OF_WORDS),
    Fault("release", "the same words in every draw", *SYSTEM_WORDS, repeated_words, OF_WORDS),
    Fault(
        "release",
        "whole noise a hundredth as large",
        gaussian,
        "rounded_gaussian",
        by_share(0.01),
        WHOLE,
    ),
    Fault("release", "normals that repeat after 4,096", *SYSTEM_NORMALS, from_a_pool, MANY),
    Fault(
        "release",
        "the angle from the radius' uniforms",
        *SYSTEM_NORMALS,
        of_one_uniform,
        (*SCALED, "directions"),
    ),
    Fault(
        "persons",
        "rows set apart leave others their persons",
        Persons,
        "at",
        of_first_rows,
        (SPLIT,),
    ),
    Fault(
        "persons", "two rows kept for one counted", splits, "_by_person", in_pairs_of_one, (SPLIT,)
    ),
    Fault(
        "persons",
        "a person priced as one row",
        runs,
        "of_person",
        lambda _: lambda event, rows: event,
        (SPLIT,),
    ),
    Fault(
        "selection",
        "half of the trials are priced",
        ledger,
        "best_of",
        of_half_of_the_trials,
        (TUNE,),
    ),
    Fault(
        "selection",
        "the price of half of the trials is stated",
        selection,
        "guarantee_of",
        at_half_of_the_trials,
        (TUNE,),
    ),
    Fault(
        "selection",
        "twice as many trials as the law draws",
        selection,
        "_trials",
        twice_as_many,
        (TUNE,),
    ),
    Fault(
        "selection",
        "trials are scored on private rows",
        selection,
        "_score",
        on_private_rows,
        ("trials",),
    ),
    Fault(
        "persons",
        "a paid choice prices one row of a person",
        choice,
        "_noise_of_choice",
        of_one_row,
        ("a person's choice",),
    ),
    Fault(
        "post-processing",
        "clusters by distinct private rows",
        TRIM,
        "first_of_each_person",
        distinct,
        ("clusters",),
    ),
    Fault(
        "ledger", "two releases from one sample", ledger.Ledger, "poisson", unwatched, ("sample",)
    ),
    Fault(
        "release",
        "whole noise 5 % too small",
        gaussian,
        "rounded_gaussian",
        by_share(0.95),
        ("whole noise",),
    ),
    Fault(
        "release", "a rate 2 % too high", EXPONENTIAL, "softmax_choice", at_higher_rate, ("choice",)
    ),
)


FIRST = {
    "relation": checks.is_within_sensitivity,
    "clip": checks.is_within_sensitivity,
    "post-processing": checks.replays,
    "ledger": checks.charged_as_called,
}
"""The check that is asked first, after which any other may answer: the table says who did."""


def caught_by(fault, learner):
    """The name of the first check that fails while the fault is planted; empty where none does."""
    with fault.planted():
        for name, check in _checks(fault, learner):
            try:
                check()
            except AssertionError:
                return name
            except PillarError:
                return "refused by the library"
    return ""


def caught_by_the_page(fault):
    """Whether the audit that pages offer rejects DP-SGD with the fault at ε = 4."""
    asked = RunSpec.of("dp_sgd", epsilon=4.0, steps=4)
    with fault.planted():
        try:
            return attacks.canary_audit(
                asked, small_split(n=200), trials=800, significance=1e-3
            ).is_rejected
        except PillarError:
            return True


def _checks(fault, learner):
    if learner in test_persons_and_tuning.CHECKS:
        return [(check.__name__, check) for check in test_persons_and_tuning.CHECKS[learner]]
    if learner in CERTAIN:
        check = CERTAIN[learner]
        return [(check.__name__, check)]
    if learner in test_releases.SHAPES:
        return [("test_a_release_has_the_law_that_is_charged", test_releases.SHAPES[learner])]
    if learner in ONE_RELEASE:
        reaches = test_private_answers.test_one_row_moves_what_is_released_by_what_is_charged_at_most_and_comes_near
        return [(reaches.__name__, lambda: reaches(learner, 3))]
    if learner == FEW_ROWS:
        return [(no_bit_of_another_row_changes.__name__, no_bit_of_another_row_changes)]
    if learner == SOLVE:
        solved = test_methods.test_nothing_that_is_solved_reads_private_rows
        return [(solved.__name__, solved)]
    if learner == SCREENING:
        return [
            (
                "noise_is_as_charged",
                test_screening_releases.test_the_noise_of_the_moment_is_as_charged,
            ),
            (
                "is_within_sensitivity",
                lambda: (
                    test_screening_releases.test_one_row_moves_what_is_released_by_the_sensitivity_at_most_and_reaches_it(
                        "moment", test_screening_releases.N
                    )
                ),
            ),
            (
                "replays",
                lambda: (
                    test_screening_releases.test_with_the_release_replayed_nothing_depends_on_private_rows(
                        "moment", test_screening_releases.N
                    )
                ),
            ),
        ]
    if learner == PRINTED:
        case = case_for(METHODS["pillar_noisy_sgd"], variant="as_printed")
        return [("takes_the_printed_steps", lambda: checks.takes_the_printed_steps(case))]
    case = case_for(METHODS[learner], sampled=fault.sampled, **fault.settings)
    order = sorted(
        checks.PRIVACY,
        key=lambda check: check is not FIRST.get(fault.kind, checks.noise_is_as_charged),
    )
    found = [(check.__name__, lambda check=check: check(case)) for check in order]
    if fault.sampled and fault.kind == "sampling":
        longer = case_for(
            METHODS[learner],
            sampled=True,
            steps=300 if fault.settings else 60,
            queries=40,
            **fault.settings,
        )
        found.insert(0, ("samples_as_charged", lambda: checks.samples_as_charged(longer)))
    return found


def table():
    """The lines of the table, one a fault and the check that caught it, with the learners."""
    yield "| kind | fault | caught by | page's audit | in |"
    yield "| --- | --- | --- | --- | --- |"
    rows: dict[tuple[str, ...], list[str]] = {}
    for fault in FAULTS:
        page = ""
        if {*PAGE} & {*fault.learners} and not fault.sampled:
            page = "rejects" if caught_by_the_page(fault) else "does not reject"
        for learner in fault.learners:
            check = caught_by(fault, learner)
            key = (
                fault.kind,
                fault.words,
                f"`{check}`" if check else "**missed**",
                page if learner in PAGE else "",
            )
            rows.setdefault(key, []).append(f"`{learner}`")
    for key, learners in rows.items():
        yield f"| {' | '.join((*key, ', '.join(learners)))} |"


if __name__ == "__main__":
    for line in table():
        sys.stdout.write(line + "\n")
