"""Evidence about a registered learner's run: membership attacks, and trials with a canary.

Everything here reads private rows without noise: non-private diagnostics, experiments on simulated
releases. Heads of full-batch descent only, where a run is a function of its releases; other
learners are refused with the reason.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core import accounting, auditing, rng
from pillar_core.accounting import TradeOff
from pillar_core.arrays import Array
from pillar_core.auditing import (
    Finding,
    HeadRows,
    ReleaseTape,
    fault_injection,
    hypothesis_test,
    lira,
    membership,
    noise,
    trajectory,
)
from pillar_core.deferred import torch
from pillar_core.engine import HeadPlan, LinearClassifier, exact
from pillar_core.errors import DataError, UnsupportedError
from pillar_core.grouping import grouped, slices
from pillar_core.ledger import Ledger
from pillar_core.memo import Memo
from pillar_core.methods import METHODS
from pillar_core.methods.parts import descent
from pillar_core.methods.parts.rules import HasDimension
from pillar_core.runs.run import RunPlan, solve_spec
from pillar_core.splits import View
from pillar_core.types import RunRecord, RunSpec, SemiPrivateSplit, TrainResult

SHADOWS, TARGETS, POOL = 64, 8, 2000
AUDIT_ROWS = 120
"""An audit's trials take this many private rows: a claim holds for any data, so for fewer rows
too."""
CANARY_LENGTH = 10.0
FEWEST_PILOT = 50
CHUNK_FLOATS = 1 << 24
"""Numbers released by the trials that are held at once, 64 MB."""
WEIGHTS_TOLERANCE = 1e-3
SIGNIFICANCE = 0.05
NOISE_RUNS, SMALL_SIGNIFICANCE = 100, 1e-8
"""Trials whose noise is tested for its law and for dependence; of those tests, which have no seed,
and of the model's answers, each apart from `SIGNIFICANCE` and small beside it."""
EXACT_GRID = 1 / exact.SUM_UNITS
"""What an exact release rounds to, in clip norms: there two numbers may be equal by chance, and no
noise is used twice."""
LOSS_THRESHOLD, ALL_STEPS = "loss threshold", "all steps, other rows known"


@dataclasses.dataclass(frozen=True)
class Attack:
    """One membership attack: scores of members and others, higher for likelier members.

    `uses_shadows`: scores compare a head with shadow heads (LiRA). `repeats`: how many scores each
    row has on its side; intervals count a row once.
    """

    name: str
    members: Array = dataclasses.field(repr=False)
    others: Array = dataclasses.field(repr=False)
    uses_shadows: bool = False
    repeats: int = 1

    @property
    def auc(self) -> float:
        """Area under the ROC, 0.5 for a coin."""
        return membership.auc(self.members, self.others)

    def roc(self) -> pd.DataFrame:
        """Columns attack, false_positive_rate, true_positive_rate."""
        false, true = membership.roc(self.members, self.others)
        return pd.DataFrame(
            {"attack": self.name, "false_positive_rate": false, "true_positive_rate": true}
        )

    def band(self) -> pd.DataFrame:
        """Columns attack, false_positive_rate, low, high: between them lies the true ROC, at 95 %
        for all rates at once."""
        rates, low, high = membership.roc_band(self.members, self.others, repeats=self.repeats)
        return pd.DataFrame(
            {"attack": self.name, "false_positive_rate": rates, "low": low, "high": high}
        )

    def rates(self) -> pd.DataFrame:
        """One row per low false-positive rate: the true-positive rate with its 95 % Clopper–Pearson
        interval."""
        rate_at = functools.partial(
            membership.tpr_at_fpr, self.members, self.others, repeats=self.repeats
        )
        rows = [
            (self.name, rate, *dataclasses.astuple(rate_at(false_positive_rate=rate)))
            for rate in (0.001, 0.01, 0.1)
            if rate * len(self.others) >= 1
        ]
        return pd.DataFrame(
            rows, columns=["attack", "false_positive_rate", "true_positive_rate", "low", "high"]
        )


@dataclasses.dataclass(frozen=True)
class CanaryAudit:
    """What trials of a registered learner showed about its claim, and beforehand could have
    shown."""

    finding: Finding
    claimed: TradeOff
    claimed_epsilon: float
    noticed_epsilon: float
    certified_epsilon: float
    significance: float
    noise_p_value: float
    answer_p_value: float

    @property
    def is_rejected(self) -> bool:
        """Whether the claimed curve is refuted, or the noise that it leans on is not independent
        normals as charged."""
        is_told = self.finding.p_value <= self.significance
        return is_told or self.is_answer_rejected or self.is_noise_rejected

    @property
    def is_noise_rejected(self) -> bool:
        """Whether the trials' noise has another law, or depends on itself."""
        return self.noise_p_value <= SMALL_SIGNIFICANCE

    @property
    def is_answer_rejected(self) -> bool:
        """Whether the trained models' loss on the canary refutes the claimed curve."""
        return self.answer_p_value <= SMALL_SIGNIFICANCE


def rates_under(attacks: Sequence[Attack], ceiling: TradeOff) -> pd.DataFrame:
    """The attacks' `rates`, with the share that the ceiling allows at each rate of false alarms,
    `allowed`.

    `allowed_high`: at the upper end of the 95 % interval of that rate, which was counted on the
    others.
    """
    rates = pd.concat([attack.rates() for attack in attacks], ignore_index=True)
    counted = {attack.name: len(attack.others) / attack.repeats for attack in attacks}
    trials = rates["attack"].map(counted).to_numpy()
    stated = rates["false_positive_rate"].to_numpy()
    ends = membership.upper_end(stated * trials, trials, (1 - membership.LEVEL) / 2)
    return rates.assign(
        allowed=1 - ceiling.miss_rate(stated), allowed_high=1 - ceiling.miss_rate(ends)
    )


def loss_attack(record: RunRecord, split: SemiPrivateSplit) -> Attack:
    """The loss threshold on a finished run: private train rows against test rows.

    Raises DataError: no test rows with labels, or a run without its classifier.
    """
    if record.classifier is None:
        raise DataError("a membership attack needs the run's classifier.")
    inside, outside = (
        membership.log_losses(record.classifier.scores(x[places]), y[places])
        for x, y, places in labelled_rows(split)
    )
    return Attack(LOSS_THRESHOLD, -inside, -outside)


def shadow_attacks(
    spec: RunSpec,
    split: SemiPrivateSplit,
    *,
    count: int = SHADOWS,
    targets: int = TARGETS,
    pool: int = POOL,
) -> tuple[Attack, ...]:
    """LiRA online, offline and pooled over rows, and the loss threshold, on `targets` heads with
    all others as their shadows; and the likelihood ratio of all steps.

    All heads have the learner's settings and noise, each on a random half of a pool of at most
    `pool` private and test rows, in one batched call. Scores of one head's rows share its noise, so
    the last attack, which needs no shadows, takes as many scores from all heads.
    Raises UnsupportedError: a learner that is no full-batch descent. DataError: no test rows.
    """
    plan = descent_run(spec, split)
    transform = train_on_tape(plan)[1].transform
    heads, classes = count + targets, plan.view.facts.n_classes
    x, y = _pool(split, pool, spec.seed)
    rows = HeadRows.of(transform(x), y)
    stream = rng.stream(spec.seed, "shadow heads")
    included = lira.halves(heads, len(y), stream)
    head_plan = dataclasses.replace(head_plan_of(plan), n_private=len(y) // 2)
    state, ratios = lira.train_shadows(rows, included, head_plan, n_classes=classes, stream=stream)
    seen = lira.confidences(state, rows, bias=head_plan.bias)
    compared = {
        "LiRA, online": lira.online,
        "LiRA, offline": lira.offline,
        "LiRA, pooled over rows": lira.pooled,
    }
    pairs = np.arange(heads) // 2
    # a target and its complement share a draw: both stay out of each other's shadows
    shadows = [pairs != pairs[target] for target in range(targets)]
    scores = {
        name: [
            attack(seen[target], seen[shadow], included[shadow])
            for target, shadow in enumerate(shadows)
        ]
        for name, attack in compared.items()
    }
    scores[LOSS_THRESHOLD] = list(-np.logaddexp(0.0, -seen[:targets]))
    chosen = included[:targets]
    scored = (pairs[:, None] + np.arange(len(y))) % round(heads / targets) == 0
    return (
        *(
            Attack(
                name,
                np.stack(rows_of_heads)[chosen],
                np.stack(rows_of_heads)[~chosen],
                name != LOSS_THRESHOLD,
                (targets + 1) // 2,
            )
            for name, rows_of_heads in scores.items()
        ),
        Attack(
            ALL_STEPS,
            ratios[scored & included],
            ratios[scored & ~included],
            repeats=(int(scored.sum(axis=0).max()) + 1) // 2,
        ),
    )


def canary_audit(
    spec: RunSpec, split: SemiPrivateSplit, *, trials: int = 400, significance: float = SIGNIFICANCE
) -> CanaryAudit:
    """Trains the learner itself `trials` times with a mislabelled canary and without, and tests the
    claimed curve.

    White-box: every release is taken at the ledger's gate and projected on the canary's gradient. A
    quarter more trials place the threshold and are set aside. The trained models' loss on the
    canary is tested, too: it shows private rows that are read beside the releases. Noise is tested
    by itself: that of trials, and the operating system's, which releases use. Raises
    UnsupportedError: a learner that is no full-batch descent, or a run without noise.
    """
    plan = claiming_run(spec, split)
    claimed, pilot = (
        accounting.trade_off(plan.cost, relation=str(plan.guarantee.relation)),
        max(FEWEST_PILOT, trials // 4),
    )
    worlds = canary_worlds(plan, runs=trials + pilot, seed=spec.seed)
    runs, grid = min(NOISE_RUNS, _at_once(plan)), EXACT_GRID / head_plan_of(plan).noise_multiplier
    by_test = [
        p
        for seed, rounding in {spec.seed: 0.0, None: grid}.items()
        for p in noise.p_values(
            _trials(plan, _seeds(seed, runs, has_canary=False), has_canary=False)[1], grid=rounding
        ).values()
    ]
    finding, answers = (
        fault_injection.finding_of("mislabelled row", *scores, claimed=claimed, pilot=pilot)
        for scores in zip(*worlds, strict=True)
    )
    delta = plan.guarantee.delta
    noticed = auditing.noticed_epsilon(
        claimed, trials=trials, significance=significance, delta=delta
    )
    shown = hypothesis_test.epsilon_lower_bound(
        finding.counts, delta=delta, significance=significance
    )
    p_value = min(1.0, len(by_test) * min(by_test))
    return CanaryAudit(
        finding,
        claimed,
        plan.guarantee.epsilon.upper,
        noticed,
        shown,
        significance,
        p_value,
        answers.p_value,
    )


def _seeds(seed: int | None, runs: int, *, has_canary: bool) -> list[int | None]:
    first = 0 if seed is None else (seed + 1) * 10**7 + (not has_canary)
    return [None if seed is None else first + 2 * run for run in range(runs)]


def _at_once(plan: RunPlan) -> int:
    k = plan.settings.k if isinstance(plan.settings, HasDimension) else None
    each = head_plan_of(plan).steps * int(
        plan.view.facts.n_classes * ((k or plan.view.facts.d) + 1)
    )
    return max(1, CHUNK_FLOATS // each)


def canary_worlds(plan: RunPlan, *, runs: int, seed: int | None) -> list[Array]:
    """The canary's scores (2, runs) of `runs` trainings with it and of as many without: by all
    steps, and by the trained model's answer.

    Raises UnsupportedError: a learner that cannot be repeated, or returns no linear head.
    """
    worlds: list[Array] = []
    for has_canary in (True, False):
        seeds = _seeds(seed, runs, has_canary=has_canary)
        parts = (seeds[part] for part in slices(runs, _at_once(plan)))
        scores = [_trials(plan, part, has_canary=has_canary)[0] for part in parts]
        worlds.append(np.concatenate(scores, axis=1))
    return worlds


def supports(method: str) -> str:
    """Empty where `shadow_attacks` and `canary_audit` cover a learner, else the reason why not."""
    if not METHODS[method].is_head_descent:
        return (
            f"{METHODS[method].title} is no full-batch descent on one linear head, so its releases"
            " do not give its steps back"
        )
    return ""


def head_plan_of(plan: RunPlan) -> HeadPlan:
    """The engine's plan of a solved run."""
    return descent.plan_of(plan.settings, plan.view.facts)


def descent_run(spec: RunSpec, split: SemiPrivateSplit) -> RunPlan:
    """A solved run of full-batch descent on one head. Raises UnsupportedError: any other run."""
    reason = supports(spec.method)
    if reason:
        raise UnsupportedError(f"{reason}. Choose noisy_gd, dp_sgd or pillar.")
    plan = solve_spec(spec, split)
    if head_plan_of(plan).sampling_probability < 1:
        raise UnsupportedError("this evidence needs full batches: set batch_size to none.")
    return plan


def claiming_run(spec: RunSpec, split: SemiPrivateSplit) -> RunPlan:
    """`descent_run`, whose claim can be tested. Raises UnsupportedError: also a run without
    noise."""
    plan = descent_run(spec, split)
    if head_plan_of(plan).noise_multiplier == 0:
        raise UnsupportedError("a run without noise claims nothing that could be tested: lower ε.")
    return plan


def linear_head(plan: RunPlan, result: TrainResult) -> LinearClassifier:
    """What a run trained, which must be one linear head."""
    if not isinstance(result.classifier, LinearClassifier):
        raise UnsupportedError(f"{plan.method.title} does not return a linear head.")
    return result.classifier


def train_on_tape(plan: RunPlan) -> "tuple[torch.Tensor, LinearClassifier]":
    """The releases (T, C, k + bias) of the run with its own seed, and its classifier, which they
    must give back."""
    tape = ReleaseTape()
    classifier = linear_head(
        plan, plan.method.train(plan.settings, plan.view, plan.streams(plan.seed), Ledger(tape))
    )
    released = torch.stack(tape.released)
    final = trajectory.states(released[:, None], head_plan_of(plan))[-1][0].numpy()
    away = np.abs(final[:, : len(classifier.weights)].T - classifier.weights).max()
    if not away <= WEIGHTS_TOLERANCE * (1 + np.abs(classifier.weights).max()):
        raise UnsupportedError(
            f"{plan.method.title}'s weights are not plain descent on its releases."
        )
    return released, classifier


def _pool(split: SemiPrivateSplit, size: int, seed: int | None) -> tuple[Array, Array]:
    draw, sides = rng.stream(seed, "shadow pool"), labelled_rows(split)
    half = min(size // 2, *(len(places) for _, _, places in sides))
    chosen = [(x, y, draw.permutation(places)[:half]) for x, y, places in sides]
    return np.concatenate([x[places] for x, _, places in chosen]), np.concatenate(
        [y[places] for _, y, places in chosen]
    )


def labelled_rows(split: SemiPrivateSplit) -> list[tuple[Array, Array, Array]]:
    """(rows, labels, places) of the private rows, then of the test rows. Raises DataError: either
    is missing."""
    data = split.features
    if data.x_test is None or data.y_test is None or data.y_train is None or not len(data.x_test):
        raise DataError(
            "a membership attack needs private labels, and test rows with labels that were not"
            " trained on."
        )
    return [
        (data.x_train, data.y_train, split.private),
        (data.x_test, data.y_test, np.arange(len(data.x_test))),
    ]


def audit_rows(view: View, *, copies: int = 1) -> tuple[View, tuple[Array, Array]]:
    """The first private rows, and a canary opposite to its class's mean: never learnt, so its
    gradient stays at the clip norm.

    copies: how many rows the canary has, all alike: nothing that a person with so many could bring
    moves the sums further.
    """
    rows = view.row_numbers[:AUDIT_ROWS]
    x, y = np.ascontiguousarray(view.x[rows]), view.y[: len(rows)]
    label = int(np.bincount(y).argmax())
    centre = view.x_public.mean(axis=0) if len(view.x_public) else x.mean(axis=0)
    canary = centre - CANARY_LENGTH * (x[y == label].mean(axis=0) - centre)
    added = np.repeat(canary[None].astype(np.float32), copies, axis=0), np.full(copies, label)
    return dataclasses.replace(view, x=x, y=y, rows=None, memo=Memo()), added


def add_rows(view: View, x: Array, y: Array) -> View:
    """The view with these private rows behind its own."""
    return dataclasses.replace(
        view, x=np.concatenate([view.x, x]), y=np.concatenate([view.y, y]), memo=Memo()
    )


def _trials(plan: RunPlan, seeds: Sequence[int | None], *, has_canary: bool) -> tuple[Array, Array]:
    """(scores (2, H), left over (H, T, numbers of a release)): releases less the other rows, in
    units of noise."""
    if plan.method.fit_many is None:
        raise UnsupportedError(f"{plan.method.title} cannot be repeated in one batched call.")
    without, canary = audit_rows(plan.view, copies=plan.guarantee.rows_per_person or 1)
    world = add_rows(without, *canary) if has_canary else without
    tapes = [ReleaseTape() for _ in seeds]
    results = plan.method.fit_many(
        [plan.settings] * len(seeds),
        world,
        [plan.streams(seed) for seed in seeds],
        [Ledger(tape) for tape in tapes],
    )
    head_plan, released = (
        head_plan_of(plan),
        torch.stack([torch.stack(tape.released) for tape in tapes], dim=1),
    )
    scores, left_over = (
        np.zeros(len(seeds)),
        np.zeros((len(seeds), len(released), released[0, 0].numel())),
    )
    classifiers = [linear_head(plan, result) for result in results]
    for heads in grouped(
        id(classifier.transform) for classifier in classifiers
    ):  # a random projection is each run's own, and known
        transform, of_heads = classifiers[heads[0]].transform, released[:, heads]
        rows, added = (
            HeadRows.of(transform(without.x), without.y),
            HeadRows.of(transform(canary[0]), canary[1]),
        )
        scores[heads], left_over[heads] = _score_releases(of_heads, rows, added, head_plan)
    answers = [
        -membership.log_losses(classifier.scores(canary[0]), canary[1]).mean()
        for classifier in classifiers
    ]
    return np.stack([scores, answers]), left_over


def _score_releases(
    released: "torch.Tensor", rows: HeadRows, canary: HeadRows, head_plan: HeadPlan
) -> tuple[Array, Array]:
    sums = []

    def without(state: "torch.Tensor") -> "torch.Tensor":
        sums.append(trajectory.clipped_gradient(rows, state, head_plan).double())
        return sums[-1]

    scores = trajectory.canary_scores(released, canary, head_plan, without=without)
    left_over = (released - torch.stack(sums)) / (
        head_plan.noise_multiplier * head_plan.l2_clip_norm
    )
    return scores, left_over.transpose(0, 1).flatten(2).numpy()
