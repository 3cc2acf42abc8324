"""Accounting: from what a run spent to ε, from ε to noise, and from either to odds."""

from pillar_core.accounting.accountant import ACCOUNTANTS, Accountant, forget_epsilons
from pillar_core.accounting.analytic_gaussian import ANALYTIC_GAUSSIAN
from pillar_core.accounting.auto import AUTO, resolve, resolve_bound
from pillar_core.accounting.basic import BASIC
from pillar_core.accounting.calibration import calibrate, calibration_key, forget_calibrations
from pillar_core.accounting.elementary import ElementaryEvents, ElementaryRelease, Kind, read
from pillar_core.accounting.gaussian_dp import delta_of, epsilon_of_mu, mu_of
from pillar_core.accounting.gaussian_runs import (
    epsilon,
    epsilon_against_steps,
    epsilon_of_gaussian,
    gaussian_run,
    noise_multiplier,
)
from pillar_core.accounting.gdp import GDP
from pillar_core.accounting.pillar import PILLAR
from pillar_core.accounting.pld import PLD
from pillar_core.accounting.profile import profile
from pillar_core.accounting.prv import PRV
from pillar_core.accounting.rdp import OPACUS_RDP, RDP
from pillar_core.accounting.risk import (
    GaussianSummary,
    Odds,
    TradeOff,
    advantage,
    gaussian_summary,
    noise_for_risk,
    odds,
    reconstruction,
    tpr_at,
    trade_off,
)
from pillar_core.accounting.samplers import SamplerCost, epochs, samplers
from pillar_core.arguments import guard

Reading = ElementaryEvents  # their public names
Release = ElementaryRelease
for _accountant in (AUTO, PILLAR, PRV, PLD, RDP, OPACUS_RDP, GDP, ANALYTIC_GAUSSIAN, BASIC):
    ACCOUNTANTS.register(_accountant)

__all__ = [
    "ACCOUNTANTS",
    "Accountant",
    "GaussianSummary",
    "Kind",
    "Odds",
    "Reading",
    "Release",
    "SamplerCost",
    "TradeOff",
    "advantage",
    "calibrate",
    "calibration_key",
    "delta_of",
    "epochs",
    "epsilon",
    "epsilon_against_steps",
    "epsilon_of_gaussian",
    "epsilon_of_mu",
    "forget_calibrations",
    "forget_epsilons",
    "gaussian_run",
    "gaussian_summary",
    "mu_of",
    "noise_for_risk",
    "noise_multiplier",
    "odds",
    "profile",
    "read",
    "reconstruction",
    "resolve",
    "resolve_bound",
    "samplers",
    "tpr_at",
    "trade_off",
]

guard(__name__)
