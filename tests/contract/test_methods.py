"""Every registered learner keeps the contract."""

from __future__ import annotations

import pytest

from contract import checks
from contract.cases import IMAGES, can_sample, case_for, variants
from pillar_core import params
from pillar_core.errors import SettingError
from pillar_core.methods import METHODS

PRIVATE = [name for name, method in METHODS.items() if method.is_private]
SAMPLED = [name for name in PRIVATE if can_sample(METHODS[name])]
ALLOCATED = [name for name in SAMPLED if "sampling" in params.params_of(METHODS[name].settings)]
MODES = [(name, False) for name in PRIVATE] + [(name, True) for name in SAMPLED]


@pytest.mark.parametrize(("name", "sampled"), MODES)
@pytest.mark.parametrize("check", checks.PRIVACY)
def test_privacy_contract(name, sampled, check):
    check(case_for(METHODS[name], sampled=sampled))


@pytest.mark.parametrize("name", ALLOCATED)
@pytest.mark.parametrize("check", [*checks.PRIVACY, checks.grid_equals_single])
def test_privacy_contract_with_random_allocation(name, check):
    """Four steps: a pass of three and the first of the next."""
    check(case_for(METHODS[name], sampled=True, sampling="random_allocation", steps=4))


@pytest.mark.parametrize("name", ALLOCATED)
def test_each_row_enters_one_step_of_each_pass(name):
    checks.samples_as_charged(case_for(METHODS[name], sampled=True, sampling="random_allocation", steps=300))


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_as_charged(name):
    checks.samples_as_charged(case_for(METHODS[name], sampled=True, steps=200))


@pytest.mark.parametrize("name", list(METHODS))
def test_repeats_and_leaves_inputs(name):
    checks.repeats_and_leaves_inputs(case_for(METHODS[name]))


@pytest.mark.parametrize(("name", "sampled"), MODES)
def test_grid_equals_single(name, sampled):
    checks.grid_equals_single(case_for(METHODS[name], sampled=sampled))


@pytest.mark.parametrize("name", list(METHODS))
def test_bad_settings_are_refused_by_name(name):
    method = METHODS[name]
    for setting, value in checks.bad_settings(method):
        with pytest.raises(SettingError, match=setting):
            params.checked(method.settings(**{setting: value}))


VARIANTS = [(name, variant) for name in PRIVATE if name not in IMAGES for variant in variants(METHODS[name])]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_privacy_contract_in_every_variant(name, variant):
    case = case_for(METHODS[name], **variants(METHODS[name])[variant])
    for check in checks.PRIVACY:
        check(case)


def test_the_printed_variant_takes_the_printed_steps():
    checks.takes_the_printed_steps(case_for(METHODS["pillar_noisy_sgd"], variant="as_printed"))
