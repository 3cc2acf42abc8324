"""Accounting: from what a run spent to ε, from ε to noise, and from either to odds.

>>> mu = pc.accounting.mu_of(1.0, 1e-5)
>>> round(pc.accounting.epsilon_of_mu(mu, 1e-5), 6)
1.0
"""

from pillar_core import checks
from pillar_core.accounting import auto, basic, gaussian_dp, pillar, pld, rdp, selection
from pillar_core.accounting.accountant import ACCOUNTANTS, ANSWERS, Accountant
from pillar_core.accounting.auto import resolve, resolve_bound
from pillar_core.accounting.calibration import calibrate, calibration_key
from pillar_core.accounting.elementary import ElementaryEvents as Reading
from pillar_core.accounting.elementary import ElementaryRelease as Release
from pillar_core.accounting.elementary import Kind, read
from pillar_core.accounting.gaussian_dp import delta_of, epsilon_of_mu, mu_of
from pillar_core.accounting.gaussian_runs import (
    SamplerCost,
    epochs,
    epsilon,
    epsilon_against_steps,
    epsilon_of_gaussian,
    gaussian_run,
    noise_multiplier,
    samplers,
)
from pillar_core.accounting.risk import (
    GaussianSummary,
    Odds,
    TradeOff,
    advantage,
    gaussian_summary,
    noise_for_risk,
    odds,
    profile,
    reconstruction,
    tpr_at,
    trade_off,
)

for _accountant in (
    auto.AUTO,
    pillar.PILLAR,
    pld.PRV,
    pld.PLD,
    rdp.RDP,
    rdp.OPACUS_RDP,
    gaussian_dp.GDP,
    gaussian_dp.ANALYTIC_GAUSSIAN,
    basic.BASIC,
    selection.SELECTION,
):
    ACCOUNTANTS.register(_accountant)

__all__ = checks.guarded_names(__name__)
