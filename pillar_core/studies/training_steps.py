"""One private training of PILLAR step by step: what its rows said, what noise made of it, and where that moved the head.

Read off the engine's own steps at the ledger's gate, and seen in the first two public directions. Rows and sums without noise are
diagnostics of private rows; the noisy sums and the heads are what a run releases.
"""

import dataclasses

import numpy as np
import pandas as pd

from pillar_core.arrays import Array
from pillar_core.auditing import HeadRows, ReleaseTape, trajectory
from pillar_core.deferred import torch
from pillar_core.ledger import Ledger
from pillar_core.methods.public_subspace.pillar import project
from pillar_core.studies.evidence.attacks import descent_run, head_plan_of
from pillar_core.types import RunSpec, SemiPrivateSplit

POINTS, MOST_STEPS = 400, 40


@dataclasses.dataclass(frozen=True)
class TrainingSteps:
    """A run's steps, at most MOST_STEPS of them, evenly picked.

    points: some private rows, columns x, y, class. heads: (T, C, 2) weights after each step. pushes: a row a step, with the number
    `step`; where one class's head is pushed, `clean_x`, `clean_y` by the rows and `noisy_x`, `noisy_y` with noise; `clean` and `noise`, the
    lengths of both over all directions and classes. opened: the same as one row, clip, sum, noise and step (columns step, what,
    first, second, length). noise: the standard deviation of each of a sum's numbers. pushed: the class.
    """

    points: pd.DataFrame
    heads: Array
    pushes: pd.DataFrame
    opened: pd.DataFrame
    noise: float
    pushed: str
    k: int


def training_steps(spec: RunSpec, split: SemiPrivateSplit) -> TrainingSteps:
    """The steps of a run of PILLAR, which is trained again, with the same noise.

    Raises UnsupportedError: another learner, or a run on samples of its rows.
    """
    plan, tape = descent_run(spec, split), ReleaseTape()
    plan.method.train(plan.settings, plan.view, plan.streams(plan.seed), Ledger(tape))
    head_plan, z, y = head_plan_of(plan), project(plan.settings, plan.view, plan.streams(plan.seed)).z, plan.view.y
    clean, noisy = (torch.stack(values).double() for values in (tape.values, tape.released))
    states = trajectory.states(noisy[:, None], head_plan)
    c = int(max(np.unique(y), key=clean[0, :, :2].norm(dim=1).__getitem__))
    row = int(np.flatnonzero(y == c)[0])
    rows = HeadRows.of(z[row : row + 1], y[row : row + 1])
    pushes, opened = [], []
    picked = np.unique(np.linspace(0, len(clean) - 1, MOST_STEPS).round().astype(int))
    for t in picked:
        noise = noisy[t] - clean[t]
        ends = [float(value) for part in (clean[t], noisy[t]) for value in -part[c, :2]]
        pushes.append((t + 1, *ends, float(clean[t].norm()), float(noise.norm())))
        clipped = trajectory.clipped_rows(rows, states[t][0], head_plan).view(*clean[t].shape)
        full = clipped * (float(trajectory.gradient_norms(rows, states[t], head_plan)) / max(float(clipped.norm()), 1e-30))
        moved = (states[t + 1] - states[t])[0].double()
        for part_name, part in zip(_WHAT, (-full, -clipped, -clean[t], -noise, -noisy[t], moved), strict=True):
            opened.append((t + 1, part_name, *(float(value) for value in part[c, :2]), float(part.norm())))
    points = np.unique(np.linspace(0, len(z) - 1, POINTS).astype(int))
    names = np.asarray(split.features.classes)
    return TrainingSteps(
        pd.DataFrame({"x": z[points, 0], "y": z[points, 1], "class": names[y[points]]}),
        np.stack([states[t + 1][0, :, :2].numpy() for t in picked]),
        pd.DataFrame(pushes, columns=["step", "clean_x", "clean_y", "noisy_x", "noisy_y", "clean", "noise"]),
        pd.DataFrame(opened, columns=["step", "what", "first", "second", "length"]),
        head_plan.noise_multiplier * head_plan.l2_clip_norm,
        str(names[c]),
        z.shape[1],
    )


_WHAT = ("one row's push", "the same, clipped", "sum over all rows", "noise", "sum with noise: released", "step of the head")
