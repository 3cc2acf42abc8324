"""Does the inverse-Hessian attack find more than LiRA? For research/audit.md.

    PYTHONPATH=. python research/inverse_hessian.py attacks attacks.csv       # 10 minutes
    PYTHONPATH=.:tests:benchmarks python research/inverse_hessian.py faults faults.csv
    PYTHONPATH=. python research/inverse_hessian.py table attacks.csv faults.csv

The attack (Suri, Zhang & Evans, arXiv 2406.11544) knows all other rows and sees the final weights
w. Around them it takes the loss as a quadratic of Hessian H, so T steps of size η on n rows from
zero shrink an error along an eigenvector of eigenvalue λ by a^T, a = 1 − ηλ/n. A row with gradient
g then moves the weights by −(1 − a^T)/λ · g. The mean without it lies (1 − a^T)/λ · G + a^T w
behind w, G the gradient of the other rows. Noise has the variance (ησC/n)² (1 − a^2T)/(1 − a²).
The score is the log-likelihood ratio of two normals. Gradients are clipped as the learner clips
them. H weighs each row by its clip factor and takes all rows of the pool by half, so that a score
never reads whether its own row is in.

Protocol, written down before the cells were read, after a first look at one seed of digits. Pools
of 200 and 1,000 rows (as many as there are), half of them members; ε = 1, 8 and 100; seeds 0 to 2;
64 shadow heads and 8 targets; as many scores for each attack. Faults: those of tests/contract that
a full-batch run can have, at ε = 4 in four steps on 120 rows. 800 trainings with the canary and
without, after 100 that place the threshold; a claim is refuted at p ≤ 0.05. Told is the smallest
number of trainings in each world, out of 25, 50, 100, 200 and 400, at which more than half of the
disjoint groups of so many refute it.
"""

import dataclasses
import sys
from unittest.mock import patch

import numpy as np
import pandas as pd
import torch

import pillar_core as pc
from pillar_core import accounting
from pillar_core.arrays import Array
from pillar_core.auditing import (
    HeadRows,
    ReleaseTape,
    fault_injection,
    lira,
    trajectory,
)
from pillar_core.engine import HeadPlan
from pillar_core.engine.gradient import clip_factors, cross_entropy_residuals
from pillar_core.errors import PillarError
from pillar_core.ledger import Ledger
from pillar_core.runs.run import RunPlan
from pillar_core.studies.evidence import attacks as evidence
from pillar_core.types import RunSpec, SemiPrivateSplit

CELLS = (
    ("breast_cancer", "noisy_gd"),
    ("digits", "noisy_gd"),
    ("digits", "pillar"),
    ("fashion_mnist_2k", "pillar"),
)
POOLS, EPSILONS, SEEDS = (200, 1000), (1.0, 8.0, 100.0), (0, 1, 2)
SHADOWS, TARGETS = 64, 8
LARGEST = 700
"""Weights of a head whose exact Hessian is taken apart."""
TRIALS, PILOT, GROUPS, SIGNIFICANCE = 800, 100, (25, 50, 100, 200, 400), 0.05
IHA = "inverse Hessian"


@dataclasses.dataclass(frozen=True)
class Quadratic:
    """The loss around weights (C, k): eigenvectors (Ck, Ck), a row's push and the noise along
    each."""

    vectors: torch.Tensor
    push: torch.Tensor
    kept: torch.Tensor
    variance: torch.Tensor

    @classmethod
    def around(
        cls, weights: torch.Tensor, z: torch.Tensor, y: torch.Tensor, plan: HeadPlan, share: float
    ) -> "Quadratic":
        """From rows z (N, k) with labels y, each by the same share."""
        logits = (weights @ z.T)[None]
        shares = torch.softmax(logits[0], dim=0)
        factors = share * _factors(cross_entropy_residuals(logits, y)[0], z, plan)
        classes, k = weights.shape
        hessian = torch.zeros((classes, k, classes, k), dtype=torch.float64)
        for a in range(classes):
            for b in range(classes):
                curvature = factors * shares[a] * (float(a == b) - shares[b])
                hessian[a, :, b] = (z * curvature[:, None]).T @ z
        values, vectors = torch.linalg.eigh(hessian.view(classes * k, -1))
        step = plan.learning_rate / (1 - plan.momentum) / plan.n_private
        a = (1 - step * values.clamp(min=1e-9 * float(values[-1]))).clamp(min=-0.99)
        kept = a**plan.steps
        spread = step * plan.l2_clip_norm * plan.noise_multiplier
        return cls(
            vectors, step * (1 - kept) / (1 - a), kept, spread**2 * (1 - kept**2) / (1 - a**2)
        )


def _factors(residuals: torch.Tensor, z: torch.Tensor, plan: HeadPlan) -> torch.Tensor:
    squares = residuals.square().sum(0) * z.square().sum(1)
    clip = torch.tensor([plan.l2_clip_norm], dtype=z.dtype)
    return clip_factors(squares[None].clamp(min=1e-20), clip)[0]


def clipped(
    weights: torch.Tensor, z: torch.Tensor, y: torch.Tensor, plan: HeadPlan
) -> torch.Tensor:
    """(N, Ck) float64 clipped gradients of rows."""
    residuals = cross_entropy_residuals((weights @ z.T)[None], y)[0]
    residuals = residuals * _factors(residuals, z, plan)
    return (residuals.T[:, :, None] * z[:, None, :]).flatten(1)


def inverse_hessian(
    weights: torch.Tensor, rows: HeadRows, included: Array, plan: HeadPlan
) -> Array:
    """(N,) scores of the pool's rows under one head (C, k + bias)."""
    weights, z = weights.double(), rows.wide(bias=plan.bias).double()
    around = Quadratic.around(weights, z, rows.y, plan, 0.5)
    gradients = clipped(weights, z, rows.y, plan) @ around.vectors
    is_in = torch.from_numpy(included).double()
    behind = around.push * (is_in @ gradients) + around.kept * (weights.flatten() @ around.vectors)
    pull = around.push / around.variance
    squares = gradients.square() @ (around.push * pull)
    # without the row itself: `behind` holds its own push where it is in
    scores: Array = (-(gradients @ (pull * behind)) + (is_in - 0.5) * squares).numpy()
    return scores


def measure_attacks(path: str) -> None:
    """Writes a line a cell and attack, as they come."""
    lines = []
    for name, method in CELLS:
        for seed in SEEDS:
            split = pc.split(pc.load_dataset(name), public_fraction=0.3, seed=seed)
            for pool in POOLS:
                for epsilon in EPSILONS:
                    spec = RunSpec.of(method, epsilon=epsilon, seed=seed)
                    for attack in _attacks(spec, split, pool):
                        rate = attack.rates().set_index("false_positive_rate")
                        found = rate["true_positive_rate"].get(0.01, np.nan)
                        line = (name, method, seed, pool, epsilon, attack.name, attack.auc, found)
                        lines.append(line)
                    pd.DataFrame(lines, columns=COLUMNS).to_csv(path, index=False)


COLUMNS = ["set", "learner", "seed", "pool", "epsilon", "attack", "auc", "found"]


def _attacks(spec: RunSpec, split: SemiPrivateSplit, pool: int) -> list[evidence.Attack]:
    seen = {}

    def watched(rows: HeadRows, included: Array, plan: HeadPlan, **more: object) -> object:
        state, ratios = TRAIN(rows, included, plan, **more)
        seen.update(state=state, rows=rows, included=included, plan=plan)
        return state, ratios

    with patch.object(lira, "train_shadows", watched):
        found = list(
            evidence.shadow_attacks(spec, split, count=SHADOWS, targets=TARGETS, pool=pool)
        )
    if seen["state"][0].numel() <= LARGEST:
        included = seen["included"][:TARGETS]
        scores = np.stack(
            [
                inverse_hessian(head, seen["rows"], chosen, seen["plan"])
                for head, chosen in zip(seen["state"], included, strict=False)
            ]
        )
        found.append(evidence.Attack(IHA, scores[included], scores[~included], repeats=4))
    return found


TRAIN = lira.train_shadows


def measure_faults(path: str) -> None:
    """Writes a line a fault and attack: the smallest number of trainings that refutes the claim."""
    from contract import faults
    from contract.cases import small_split

    lines = []
    planted = [fault for fault in faults.FAULTS if "dp_sgd" in fault.learners and not fault.sampled]
    spec = RunSpec.of("dp_sgd", epsilon=4.0, steps=4, seed=0)
    for fault in (None, *planted):
        plan = evidence.descent_run(spec, small_split(n=200))
        words = f"{fault.kind}: {fault.words}" if fault else "none"
        try:
            if fault:
                with fault.planted():
                    plan = evidence.descent_run(spec, small_split(n=200))
                    worlds = [_scores(plan, world) for world in (True, False)]
            else:
                worlds = [_scores(plan, world) for world in (True, False)]
        except PillarError as error:
            lines.append((words, "refused", str(error)))
            continue
        claimed = accounting.trade_off(plan.cost, relation=str(plan.guarantee.relation))
        lines += [
            (words, attack, _needed(worlds[0][attack], worlds[1][attack], claimed))
            for attack in worlds[0]
        ]
        pd.DataFrame(lines, columns=["fault", "attack", "trainings"]).to_csv(path, index=False)


def _needed(inside: Array, outside: Array, claimed: accounting.TradeOff) -> str:
    for group in GROUPS:
        starts = range(PILOT, PILOT + TRIALS, group)
        refuted = [
            fault_injection.finding_of(
                "canary",
                np.concatenate([inside[:PILOT], inside[start : start + group]]),
                np.concatenate([outside[:PILOT], outside[start : start + group]]),
                claimed=claimed,
                pilot=PILOT,
            ).p_value
            <= SIGNIFICANCE
            for start in starts
        ]
        if np.mean(refuted) > 0.5:
            return str(group)
    return "more"


def _scores(plan: RunPlan, has_canary: bool) -> dict[str, Array]:
    """The canary's scores of all trainings of one world, by attack."""
    view, canary = evidence.audit_rows(plan.view)
    world = evidence.add_rows(view, *canary) if has_canary else view
    head_plan = evidence.head_plan_of(plan)
    seeds = range(10**6 * has_canary, 10**6 * has_canary + PILOT + TRIALS)
    tapes = [ReleaseTape() for _ in seeds]
    results = plan.method.fit_many(
        [plan.settings] * len(seeds),
        world,
        [plan.streams(seed) for seed in seeds],
        [Ledger(tape) for tape in tapes],
    )
    transform = results[0].classifier.transform
    rows = HeadRows.of(transform(view.x), view.y)
    added = HeadRows.of(transform(canary[0]), canary[1])
    released = torch.stack([torch.stack(tape.released) for tape in tapes], dim=1)
    final = trajectory.states(released, head_plan)[-1]
    known = trajectory.states(
        torch.stack([_noiseless(rows, head_plan)]).transpose(0, 1), head_plan
    )[-1][0].double()
    z = rows.wide(bias=head_plan.bias).double()
    around = Quadratic.around(known, z, rows.y, head_plan, 1.0)
    push = (
        around.vectors.T
        @ clipped(known, added.wide(bias=head_plan.bias).double(), added.y, head_plan).flatten()
    )
    direction = around.vectors @ (around.push / around.variance * push)
    return {
        "all steps": trajectory.canary_scores(
            released,
            added,
            head_plan,
            without=lambda state: trajectory.clipped_gradient(rows, state, head_plan),
        ),
        IHA: -(final.double().flatten(1) @ direction).numpy(),
        "LiRA": lira.confidences(final, added, bias=head_plan.bias)[:, 0],
    }


def _noiseless(rows: HeadRows, plan: HeadPlan) -> torch.Tensor:
    """(T, C, k + bias): the sums of a run on the other rows alone."""
    sums: list[torch.Tensor] = []
    classes = int(rows.y.max()) + 1
    state = torch.zeros((1, classes, rows.z.shape[1] + plan.bias))
    for _ in range(plan.steps):
        sums.append(trajectory.clipped_gradient(rows, state, plan)[0])
        state = trajectory.states(torch.stack(sums)[:, None], plan)[-1]
    return torch.stack(sums)


def print_table(attacks: str, faults: str) -> None:
    """Two tables in Markdown."""
    cells = pd.read_csv(attacks)
    cells["found"] *= 100
    mean = cells.groupby(["set", "learner", "pool", "epsilon", "attack"])[["auc", "found"]].mean()
    words = mean.apply(lambda row: f"{row['auc']:.3f}; {row['found']:.1f} %", axis=1)
    for table in (words.unstack(), pd.read_csv(faults).pivot(index="fault", columns="attack")):
        sys.stdout.write(table.to_csv(sep="|") + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    COMMANDS = {"attacks": measure_attacks, "faults": measure_faults, "table": print_table}
    COMMANDS[sys.argv[1]](*sys.argv[2:])
