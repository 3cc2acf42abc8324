"""What the best informed attacker sees of one image: the noisy class sums that a learner released,
less those of all other rows.

The learner is DP-LS, whose only release is one noisy sum of unit rows for each class. The attacker
knows all other rows, the class of the image and the parameters. What is left is the clipped image
plus the mechanism's own noise, to the last bit, so no attacker sees more. Reads private rows: a
non-private diagnostic, an experiment on simulated releases.
"""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from pillar_core import accounting, rng
from pillar_core.arrays import Array
from pillar_core.auditing import ReleaseTape
from pillar_core.errors import DataError
from pillar_core.ledger import Ledger
from pillar_core.methods.closed_form.pillar_one_shot import class_sums
from pillar_core.runs.run import solve_spec
from pillar_core.types import RunSpec, SemiPrivateSplit

LEARNER = "dp_ls"
CANDIDATES, DRAWS = 100, 50_000
"""Images among which the attacker picks the right one, and draws of image and noise of which the
share of right picks is told."""


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstruction:
    """What is left of one image in a release at each ε.

    table: columns epsilon, noise_std, correlation (of what is left with the clipped image), right
    (share of right picks among `candidates` images, each as likely beforehand), allowed (the most
    that the guarantee lets any attacker reach). image: (h, w) in [0, 1]. clipped: (d,), what the
    image adds to a sum. left: (ε, d). pictures: (ε, h, w), what is left as pixels, of an average
    public image's length.
    """

    table: pd.DataFrame
    candidates: int
    image: Array
    clipped: Array
    left: Array
    pictures: Array


def reconstruct(
    split: SemiPrivateSplit,
    epsilons: Sequence[float],
    *,
    row: int = 0,
    delta: float = 1e-5,
    relation: str = "add_or_remove_one",
    seed: int = 0,
) -> Reconstruction:
    """Attacks private row number `row` (from 0) in one release at each ε.

    Raises DataError: rows that are no pixels, no public rows, or fewer than two private rows or
    public ones.
    """
    shape = split.features.pixel_shape
    if shape is None or not 0 <= row < len(split.private) or len(split.public_x) < 2:
        raise DataError(
            "a reconstruction needs rows of pixels (the backbone raw_pixels), a private row of that"
            " number and public rows."
        )
    plans = [
        solve_spec(RunSpec(LEARNER, epsilon, delta, relation, seed=seed), split)
        for epsilon in epsilons
    ]
    view, settings = plans[0].view, plans[0].settings
    rows = view.prepare(standardise=settings.standardise, centre=settings.centre, normalise=True)
    is_known = np.arange(len(rows.z)) != row
    known = class_sums(
        rows.z[is_known], view.y[is_known], n_classes=view.facts.n_classes, count_weight=0.0
    )
    candidates = np.concatenate([rows.z[[row]], rows.z_public[: CANDIDATES - 1]]).astype(np.float64)
    right_picks, lines, left = _picker(candidates, seed), [], []
    for epsilon, plan in zip(epsilons, plans, strict=True):
        tape = ReleaseTape()
        plan.method.train(plan.settings, view, plan.streams(seed), Ledger(tape))
        left.append((tape.released[0] - known)[view.y[row]].numpy())
        correlation, noise_std = (
            float(np.corrcoef(left[-1], rows.z[row])[0, 1]),
            tape.calls[0].noise_std,
        )
        allowed = accounting.reconstruction(
            accounting.trade_off(plan.cost, relation=relation), len(candidates)
        )
        lines.append((epsilon, noise_std, correlation, right_picks(noise_std), allowed))
    table = pd.DataFrame(lines, columns=["epsilon", "noise_std", "correlation", "right", "allowed"])
    unclipped = dataclasses.replace(rows.transform, normalise=False)
    length = float(
        np.linalg.norm(unclipped(view.x_public), axis=1).mean()
    )  # clipping took the image's own
    scale, mean = (
        (1.0 if unclipped.scale is None else unclipped.scale),
        (0.0 if unclipped.mean is None else unclipped.mean),
    )
    pictures = np.stack([_grey(length * part * scale + mean, shape) for part in left])
    image = _grey(split.features.x_train[split.private[row]], shape)
    return Reconstruction(table, len(candidates), image, rows.z[row], np.stack(left), pictures)


def _picker(candidates: Array, seed: int) -> Callable[[float], float]:
    """By the noise, the share of draws in which the likeliest of the candidates (m, d), each as
    likely beforehand, is the right one."""
    stream = rng.stream(seed, "reconstruction")
    truth, products = stream.integers(len(candidates), size=DRAWS), candidates @ candidates.T
    directions = np.linalg.qr(
        candidates.T, mode="r"
    )  # the noise along the candidates is all that a pick hangs on
    noise = stream.standard_normal((DRAWS, len(directions))) @ directions
    known = products[truth] - products.diagonal() / 2
    return lambda noise_std: float(((known + noise_std * noise).argmax(axis=1) == truth).mean())


def _grey(pixels: Array, shape: tuple[int, ...]) -> Array:
    """(h, w) mean over colours."""
    return np.asarray(pixels.reshape(*shape[:2], -1).mean(axis=2))
