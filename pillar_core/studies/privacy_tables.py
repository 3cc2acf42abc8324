"""Tables behind the accounting and evidence pages: one call each, tidy, from the accountants and
audits alone."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from pillar_core import accounting, ledger
from pillar_core.accounting import ACCOUNTANTS, TradeOff
from pillar_core.auditing import Finding, hypothesis_test, one_run
from pillar_core.errors import UnsupportedError
from pillar_core.ledger import DpEvent
from pillar_core.studies.tuning import SHAPE, trial_epsilon
from pillar_core.types import EpsilonBounds, Values

QUICK = ("pillar", "rdp", "gdp", "basic")
SLOW = ("opacus_rdp", "prv", "pld")
WHY = {
    "auto": "takes the tightest sound one for the run",
    "pillar": "certified lower and upper ends; composes the privacy loss itself",
    "prv": "composes the privacy loss by Fourier transform, with error bounds",
    "pld": "composes a loss rounded up to a grid: slightly above",
    "rdp": "one moment at a time: sound, loose, most of all at small ε",
    "opacus_rdp": "the same moments over fewer orders: sound, as loose or looser",
    "gdp": "exact for full batches; else the central limit, perhaps below the truth",
    "analytic_gaussian": "exact, for full batches only",
    "basic": "adds each part's ε: sound; tight for full batches, else loose",
}
"""What tells the accountants apart, by name."""
NO_SELECTION = (
    "no sound bound for a choice among Poisson-sampled runs when one row is replaced: use full"
    " batches, or add/remove."
)
POINTS, FEW_POINTS = 28, 6


@dataclasses.dataclass(frozen=True)
class GaussianSetting:
    """One run of noisy steps: noise multiplier, sampling probability, steps, δ and relation."""

    noise_multiplier: float
    sampling_probability: float
    steps: int
    delta: float
    relation: str

    @property
    def event(self) -> DpEvent:
        """Its privacy event."""
        return accounting.gaussian_run(
            self.noise_multiplier, sampling_probability=self.sampling_probability, steps=self.steps
        )

    def obstacle(self, accountant: str) -> str:
        """Why this accountant has no bound for it; "" where it has one."""
        return ACCOUNTANTS[accountant].supports(self.event, self.relation)

    def epsilon(self, accountant: str) -> EpsilonBounds:
        """Its ε by this accountant."""
        return accounting.epsilon(
            self.event, delta=self.delta, relation=self.relation, accountant=accountant
        )


def by_accountant(setting: GaussianSetting, names: Sequence[str]) -> pd.DataFrame:
    """Columns name, accountant, epsilon, lower, is_bound, why; accountants without a bound here
    carry the reason and NaN."""
    rows = []
    for name in names:
        accountant, reason = ACCOUNTANTS[name], setting.obstacle(name)
        bounds = None if reason else setting.epsilon(name)
        ends = (math.nan, math.nan) if bounds is None else (bounds.upper, bounds.lower)
        why = reason or WHY.get(name, accountant.source)
        rows.append((name, accountant.title, *ends, accountant.is_bound, why))
    return pd.DataFrame(rows, columns=["name", "accountant", "epsilon", "lower", "is_bound", "why"])


def against_steps(setting: GaussianSetting, names: Sequence[str]) -> pd.DataFrame:
    """Columns accountant, steps, epsilon, is_bound: every accountant that covers the run, from one
    step to four times as many."""
    rows = []
    for name in names:
        accountant, points = ACCOUNTANTS[name], FEW_POINTS if name in SLOW else POINTS
        counts = sorted(
            {round(float(count)) for count in np.geomspace(1, 4 * setting.steps, points)}
            | {setting.steps}
        )
        for count in counts:
            run = dataclasses.replace(setting, steps=count)
            if not run.obstacle(name):
                upper = run.epsilon(name).upper
                if 0 < upper < math.inf:
                    rows.append((accountant.title, count, upper, accountant.is_bound))
    return pd.DataFrame(rows, columns=["accountant", "steps", "epsilon", "is_bound"])


def profile(setting: GaussianSetting) -> pd.DataFrame:
    """Columns epsilon, delta."""
    epsilons, deltas = accounting.profile(setting.event, relation=setting.relation)
    return pd.DataFrame({"epsilon": epsilons, "delta": deltas})


def trade_off(curve: TradeOff, *, logarithmic: bool = False) -> pd.DataFrame:
    """Columns false_positive_rate, true_positive_rate: the most that any attack can reach."""
    grid = (
        np.geomspace(1e-4, 1.0, 200)
        if logarithmic
        else np.concatenate([np.geomspace(1e-5, 0.02, 40), np.linspace(0.025, 1.0, 160)])
    )
    rates = grid if logarithmic else np.concatenate([[0.0], grid])
    return pd.DataFrame(
        {"false_positive_rate": rates, "true_positive_rate": 1.0 - curve.miss_rate(rates)}
    )


def widest(table: pd.DataFrame) -> float:
    """The false-positive rate where the best attacker gains most over a coin."""
    return float(
        table["false_positive_rate"].iloc[
            int((table["true_positive_rate"] - table["false_positive_rate"]).argmax())
        ]
    )


def noise_curve(setting: GaussianSetting, *, points: int = 14) -> pd.DataFrame:
    """Columns epsilon, noise_multiplier: the noise that each budget needs at these steps and this
    sampling."""
    shared: Values = {
        name: getattr(setting, name)
        for name in ("sampling_probability", "steps", "delta", "relation")
    }
    budgets = np.geomspace(0.1, 20.0, points)
    return pd.DataFrame(
        {
            "epsilon": budgets,
            "noise_multiplier": [
                accounting.noise_multiplier(float(budget), **shared) for budget in budgets
            ],
        }
    )


def samplers(setting: GaussianSetting) -> pd.DataFrame:
    """The same noise under three samplers and both relations: columns label, epsilon, is_bound,
    known."""
    relations = {"add_or_remove_one": "one row added or removed", "replace_one": "one row replaced"}
    costs = accounting.samplers(
        setting.noise_multiplier,
        sampling_probability=setting.sampling_probability,
        steps=setting.steps,
        delta=setting.delta,
    )
    return pd.DataFrame(
        {
            "label": f"{cost.title}, {relations[str(cost.relation)]}",
            "epsilon": cost.epsilon.upper,
            "is_bound": cost.epsilon.is_bound,
            "known": cost.known,
        }
        for cost in costs
    )


def composed_epsilons(setting: GaussianSetting, *, selection: float, trials: float) -> pd.DataFrame:
    """What comes on top of training: choosing public data by one Gaussian release, as Public data
    does, and the best of `trials` runs.

    selection: the ε of that release alone, at the run's δ, 0 for none; trials: mean number of runs
    (logarithmic law), 1 for none. Columns label, epsilon, is_bound, event. Selection among runs
    composes only as a Rényi bound; where there is none, ε is NaN and event says why.
    """
    rows: list[tuple[str, DpEvent]] = [("training alone", setting.event)]
    choice = None
    if selection > 0:
        choice = ledger.gaussian(
            accounting.noise_multiplier(selection, delta=setting.delta, relation=setting.relation)
        )
        rows.append(("+ choosing public data", ledger.compose(setting.event, choice)))
    if trials > 1:
        best = ledger.best_of(setting.event, mean_trials=trials, shape=SHAPE)
        rows.append(
            (
                f"+ best of {trials:g} runs on average",
                best if choice is None else ledger.compose(best, choice),
            )
        )
    bounded = []
    for label, event in rows:
        try:
            bounds = accounting.epsilon(event, delta=setting.delta, relation=setting.relation)
        except UnsupportedError:
            bounded.append((label, math.nan, False, NO_SELECTION))
        else:
            bounded.append(
                (label, bounds.upper, bounds.is_bound, "; ".join(ledger.describe(event)))
            )
    return pd.DataFrame(bounded, columns=["label", "epsilon", "is_bound", "event"])


def tuning_price(epsilon: float, *, delta: float, means: Sequence[float]) -> pd.DataFrame:
    """Columns label, epsilon, is_bound: what one run may spend when the best of so many must stay
    within `epsilon`."""
    spent = {"one run, nothing tuned": epsilon} | {
        f"best of {mean:g} runs on average": trial_epsilon(epsilon, delta=delta, mean_trials=mean)
        for mean in means
    }
    return pd.DataFrame({"label": [*spent], "epsilon": [*spent.values()], "is_bound": True})


def power(
    claimed: TradeOff, *, trials: Sequence[int], significance: float, delta: float, top: float
) -> pd.DataFrame:
    """Columns trials, epsilon, power: the chance to notice each true ε up to `top`."""
    largest = accounting.mu_of(top, delta)
    mus = [float(mu) for mu in np.linspace(0.01, largest, 40)]
    rows = [
        (
            count,
            accounting.epsilon_of_mu(mu, delta),
            hypothesis_test.power(claimed, true_mu=mu, trials=count, significance=significance),
        )
        for count in trials
        for mu in mus
    ]
    return pd.DataFrame(rows, columns=["trials", "epsilon", "power"])


def worlds(finding: Finding) -> pd.DataFrame:
    """Columns world, score."""
    parts = (("with the canary", finding.with_canary), ("without", finding.without_canary))
    return pd.concat(
        [pd.DataFrame({"world": name, "score": scores}) for name, scores in parts],
        ignore_index=True,
    )


def one_run_reach(*, canaries: int, delta: float) -> pd.DataFrame:
    """Columns epsilon, plain, curve: what an ideal one-run audit certifies."""
    rows = [
        (epsilon, *one_run.most_certifiable(epsilon, canaries=canaries, delta=delta))
        for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
    ]
    return pd.DataFrame(rows, columns=["epsilon", "plain", "curve"])
