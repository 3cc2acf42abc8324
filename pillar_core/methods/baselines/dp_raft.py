"""DP-RAFT: full-batch noisy gradient descent with momentum 0.9 from zero weights, no bias, and a
linear rule for the step size.

Two learners share this file: `dp_raft` on all features (or on k public directions, where k is
given) and `dp_raft_pillar`, which always projects and takes k by rule. The linear scaling rule says
that rate × steps grows in proportion to the budget: here η·T_eff = min(μN, 160·C), with T_eff the
steps that momentum really takes, so nothing is tuned and nothing is paid.

Guarantee: that of noisy gradient descent on (public-mapped) rows: each step releases a sum of
gradients clipped to the clip norm; momentum acts on what was released. Source: Panda et al. 2022
(DP-RAFT), PILLAR App. B-F. Cost: as NoisyGD.
"""

import dataclasses
from typing import TypeVar

from pillar_core import params
from pillar_core.methods.method import METHODS, Method, Plan
from pillar_core.methods.parts import descent, rules
from pillar_core.methods.public_subspace.pillar import PillarSettings, fit_many
from pillar_core.types import PublicFacts, PublicUse, Values


@dataclasses.dataclass(frozen=True)
class DpRaftSettings(PillarSettings):
    """Noisy descent with momentum; k None keeps all features."""

    momentum: float = params.setting(params.MOMENTUM, default=0.9)
    k: int | None = params.setting(params.K, none_means="all features")


@dataclasses.dataclass(frozen=True)
class DpRaftPillarSettings(DpRaftSettings):
    """The same on k public directions, k by rule."""

    k: int | None = params.setting(params.K)


Raft = TypeVar("Raft", bound=DpRaftSettings)


def resolve_hyperparameters(settings: DpRaftSettings, facts: PublicFacts) -> Plan[DpRaftSettings]:
    """Fills the rate, so that the path is as long as plain descent's; k stays as it is (None: all
    features)."""
    rules.check_k(settings.k, rules.public_rank(facts))
    return _fill_rate(Plan(settings), facts)


def _fill_rate(plan: Plan[Raft], facts: PublicFacts) -> Plan[Raft]:
    steps = rules.require(plan.settings.steps, "steps")
    length = rules.descent_rate(plan.settings, facts) * steps
    return plan.fill(
        "learning_rate",
        length / rules.effective_steps(steps, plan.settings.momentum),
        "the linear scaling rule, rate × steps in proportion to the budget, momentum counted in",
    )


def uses(settings: Values) -> PublicUse:
    """With k given, the projection comes from the public rows."""
    return PublicUse.NONE if settings["k"] is None else PublicUse.UNLABELLED


_RAFT = Method(
    name="dp_raft",
    title="DP-RAFT",
    source="Panda et al. 2022; PILLAR, App. B-F",
    idea="Full batches, momentum and a step size in proportion to the budget: what works at"
    " small budgets, without tuning.",
    settings=DpRaftSettings,
    cost=descent.cost,
    fit_many=fit_many,
    resolve_schedule=rules.resolve_schedule,
    resolve_hyperparameters=resolve_hyperparameters,
    public_statistics=rules.projection_statistics,
    uses=uses,
    is_head_descent=True,
    is_exact=True,
    version=3,
    presets={
        "paper": {
            "steps": 50,
            "learning_rate": 0.1,
            "l2_clip_norm": 1.0,
            "standardise": False,
            "centre": False,
            "normalise": False,
        }
    },
)

METHODS.register(_RAFT)
METHODS.register(
    dataclasses.replace(
        _RAFT,
        name="dp_raft_pillar",
        title="DP-RAFT + PILLAR",
        source="Panda et al. 2022 on PILLAR's projection; PILLAR, App. B-F, Table IX",
        idea="DP-RAFT on the public rows' top principal components.",
        public_use=PublicUse.UNLABELLED,
        settings=DpRaftPillarSettings,
        resolve_hyperparameters=lambda settings, facts: _fill_rate(
            rules.resolve_k(settings, facts, rules.reach(settings, facts)), facts
        ),
        public_statistics=rules.public_statistics,
        uses=None,
        presets={"paper": {**_RAFT.presets["paper"], "k": 40}},
    )
)
