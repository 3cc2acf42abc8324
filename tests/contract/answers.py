"""What private rows answer beside one training, each as a function of the rows: (ε promised, by
relation)."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np

import pillar_core as pc
from contract.tapes import Recorder
from pillar_core import rng
from pillar_core.ledger import Ledger
from pillar_core.screening import class_signal
from pillar_core.studies import tuning as selection
from pillar_core.studies.advice import choice
from pillar_core.types import Dataset, FeatureSet, NeighboringRelation, RunSpec

N, D, CLASSES, EPSILON = 300, 12, 3, 1.0
ADDED, REPLACED = NeighboringRelation
GRID = ({"learning_rate": 1.0}, {"learning_rate": 2.0})
Promise = dict[NeighboringRelation, float]
Ask = Callable[[FeatureSet, str, int | None], Promise]


def rows(n, *, seed, shift=0.0):
    """Three clusters, the same in all sets."""
    y = np.arange(n) % CLASSES
    means = 2.0 * rng.stream(0, "means of answers").standard_normal((CLASSES, D))
    x = means[y] + rng.stream(seed, "rows of answers").standard_normal((n, D)) + shift
    return FeatureSet(x.astype(np.float32), y, None, None, tuple("abc"), name=f"rows {seed}")


PRIVATE, PUBLIC = rows(N, seed=0), rows(200, seed=1)
CANDIDATES = {
    "own": PUBLIC,
    "near": rows(200, seed=2, shift=0.1),
    "far": rows(200, seed=3, shift=-0.1),
}


def without_labels(one):
    return dataclasses.replace(one, y_train=None, classes=())


def in_words(guarantee):
    added, replaced = re.findall(r"ε ≤ (\S+) ", guarantee)
    return {ADDED: float(added), REPLACED: float(replaced)}


def with_names(one):
    """The rows as a table, whose columns have names, and units where public rows are judged."""
    return dataclasses.replace(one, names=tuple(f"column {place}" for place in range(D)))


def trimmed(private, relation, seed):
    return in_words(
        pc.screening.trim(
            private, PUBLIC, share=0.5, epsilon=EPSILON, relation=relation, seed=seed
        ).guarantee
    )


def ranked_by_class_signal(private, relation, seed):
    table = class_signal.ranking(private, CANDIDATES, epsilon=EPSILON, seed=seed, n_private=N)
    return in_words(table.attrs["guarantee"])


def ranked_by_gradients(private, relation, seed):
    """One Gaussian release of a sample, and directions by the exact sampler."""
    images = {
        name: Dataset(
            name, rng.stream(0, name).integers(256, size=(60, 8, 8)).astype(np.uint8), None
        )
        for name in ("rows", "public")
    }
    settings = {
        "scores": ("gsd", "gsd_pure"),
        "model": "linear_head",
        "k": 2,
        "n_examples": 20,
        "repeats": 1,
    }
    table = pc.screen(
        images["rows"], {"public": images["public"]}, epsilon=EPSILON, seed=seed, **settings
    )
    return in_words(table.attrs["guarantee"])


def chosen(
    private,
    relation,
    seed,
    *,
    candidates=None,
):
    sets = {
        ("mine" if name == "own" else name): one for name, one in (candidates or CANDIDATES).items()
    }
    guarantee = pc.choose(private, sets, epsilon=EPSILON, relation=relation, seed=seed).guarantee
    return {guarantee.relation: guarantee.epsilon.upper}


def chosen_of_table(private, relation, seed):
    """Columns with names, one set of which is in another unit."""
    sides = {name: with_names(one) for name, one in CANDIDATES.items()}
    sides["far"] = dataclasses.replace(sides["far"], x_train=10 * sides["far"].x_train)
    return chosen(with_names(private), relation, seed, candidates=sides)


def chosen_with_backbone(private, relation, seed):
    """The rows as images of large pixels, through one of two backbones, and one of two learners."""
    asked: dict[str, Any] = {
        "backbones": ["raw_pixels", "scattering"],
        "methods": ["pillar", "noisy_gd"],
        "seed": seed,
    }
    choice_ = pc.choose(
        images(private),
        {"near": images(CANDIDATES["near"])},
        epsilon=EPSILON,
        relation=relation,
        **asked,
    )
    return {choice_.guarantee.relation: choice_.guarantee.epsilon.upper}


def images(rows_):
    cells = (
        np.clip(128 + 16 * np.pad(rows_.x_train, ((0, 0), (0, 4))), 0, 255)
        .astype(np.uint8)
        .reshape(-1, 4, 4)
    )
    return Dataset(
        rows_.name, cells.repeat(4, axis=1).repeat(4, axis=2), rows_.y_train, classes=rows_.classes
    )


def tuned(private, relation, seed, *, way, **asked):
    spec = RunSpec.of("noisy_gd", epsilon=EPSILON, relation=relation, seed=seed, steps=2)
    guarantee = getattr(selection, way)(
        spec, pc.split(private, public=PUBLIC), **asked
    ).record.guarantee
    return {guarantee.relation: guarantee.epsilon.upper}


ONE_RELEASE: dict[str, Ask] = {
    "trim": trimmed,
    "class signal": ranked_by_class_signal,
    "paid choice": chosen,
    "paid choice, unlabelled": functools.partial(
        chosen, candidates={name: without_labels(one) for name, one in CANDIDATES.items()}
    ),
    "paid choice of a table": chosen_of_table,
}
"""Those whose first release is their own, and hangs on the rows alone."""
ANSWERS: dict[str, Ask] = {
    **ONE_RELEASE,
    "screen": ranked_by_gradients,
    "paid choice, backbones": chosen_with_backbone,
}
TUNE: Ask = functools.partial(tuned, way="tune", grid=GRID, mean_trials=2.0)
"""Beside the others: what it promises is no composition of its trials."""


PLAYS = ((choice, "predict"), (choice, "plays"))
"""What runs learners on public rows alone (tests/unit/studies holds it)."""


@contextlib.contextmanager
def taped(tape):
    """Every ledger made meanwhile answers to this tape, but those of plays on public rows alone;
    all of them, in order."""
    ledgers: list[Ledger] = []
    made, is_play = Ledger.__init__, False

    def with_tape(self, given=None):
        made(self, given if is_play else given or tape)
        ledgers.extend([] if is_play else [self])

    def play(original):
        def played(*rows, **asked):
            nonlocal is_play
            is_play = True
            try:
                return original(*rows, **asked)
            finally:
                is_play = False

        return played

    with contextlib.ExitStack() as stack:
        for owner, name in PLAYS:
            stack.enter_context(patch.object(owner, name, play(getattr(owner, name))))
        stack.enter_context(patch.object(Ledger, "__init__", with_tape))
        yield ledgers


def lines_of(ledgers):
    return [line for ledger in ledgers for line in ledger.lines]


class Enough(Exception):
    """The first release is made."""


class FirstRelease(Recorder):
    """Records one release, and ends what asked for it."""

    def release(self, call, value, draw):
        super().release(call, value, draw)
        raise Enough


def first_release(ask, private, relation, seed=3):
    """The first release, and what was charged for it."""
    tape = FirstRelease()
    with taped(tape) as ledgers, contextlib.suppress(Enough):
        ask(private, relation, seed)
    return tape, lines_of(ledgers)
